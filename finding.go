package scribe

import "fmt"

// Outcome is the decision of admission, and the weight of one finding. The zero
// value rejects; of several findings the lowest outcome counts.
type Outcome uint8

const (
	Rejected Outcome = iota // refused: nothing was stored
	Held                    // waits for the operator: nothing was stored where a model reads
	Accepted                // stored; a finding of this weight is a flag, not an obstacle
)

var outcomeNames = [...]string{"rejected", "held", "accepted"}

// String gives "rejected", "held" or "accepted".
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "rejected"
}

// MarshalText gives the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText takes a name. One that it does not know is an error and leaves
// Rejected.
func (o *Outcome) UnmarshalText(name []byte) error {
	*o = Rejected
	for i, n := range outcomeNames {
		if n == string(name) {
			*o = Outcome(i)
			return nil
		}
	}
	return fmt.Errorf("outcome: %.40q is none", name)
}

// Finding is one reason. Message and Fix are constants of ours plus, at most, a
// path in %q: they are safe to show to a model. No finding carries a byte of the
// text that it is about.
type Finding struct {
	Rule    string  // stable identifier, the stage as its prefix: "cap.index-bytes"
	Outcome Outcome // what this finding alone leads to
	Field   string  // "path", "text", "description", ...; for Narrow the tool's name
	Offset  int     // bytes from the start of the field
	Length  int     // bytes; 0 when the finding is about the field as a whole
	Message string  // what is wrong
	Fix     string  // what to do about it
}

// String gives the finding on one line: its rule, what is wrong and what to do.
func (f Finding) String() string {
	s := f.Rule + ": " + f.Message
	if f.Fix != "" {
		s += "; " + f.Fix
	}
	return s
}

// refuse makes a finding about a field as a whole.
func refuse(rule string, o Outcome, field, message, fix string) Finding {
	return Finding{Rule: rule, Outcome: o, Field: field, Message: message, Fix: fix}
}

// ruleNames lists the rules of the findings, each once, in order.
func ruleNames(fs []Finding) []string {
	var names []string
	seen := map[string]bool{}
	for _, f := range fs {
		if !seen[f.Rule] {
			seen[f.Rule] = true
			names = append(names, f.Rule)
		}
	}
	return names
}
