package scribe

import "fmt"

// Trust says who stands behind a text. The zero value means unknown and is the
// lowest. The order of the constants is the order of trust.
type Trust uint8

const (
	ExternalWeb  Trust = iota + 1 // fetched from a network, or a third party's tree
	ExternalTool                  // a third party's tool, or shell output
	UserObserved                  // inferred from the conversation or the user's own workspace
	UserVerified                  // the user's own words, verbatim, or their click
	Operator                      // written by the operator's hand
)

var trustNames = [...]string{"unknown", "external-web", "external-tool", "user-observed", "user-verified", "operator"}

// String gives the name that files and the journal use, such as "user-observed".
func (t Trust) String() string {
	if int(t) < len(trustNames) {
		return trustNames[t]
	}
	return fmt.Sprintf("Trust(%d)", uint8(t))
}

// MarshalText gives the name, as files and the journal have it.
func (t Trust) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText takes a name. One that it does not know is an error and leaves the
// lowest trust.
func (t *Trust) UnmarshalText(name []byte) error {
	if *t = parseTrust(string(name)); t.String() != string(name) {
		return fmt.Errorf("trust: %.40q is none", name)
	}
	return nil
}

func (t Trust) valid() bool { return int(t) < len(trustNames) }

// parseTrust is the inverse of String. A name that it does not know is the
// lowest trust, so that a damaged record can only lose authority.
func parseTrust(s string) Trust {
	for i, n := range trustNames {
		if n == s {
			return Trust(i)
		}
	}
	return 0
}
