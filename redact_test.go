package scribe

import (
	"fmt"
	"strings"
	"testing"
)

// TestRedactDecodes: a credential that is refused in some encoding is redacted in it.
func TestRedactDecodes(t *testing.T) {
	token := "gl" + "pat-" + "x7Kq2mWv9Rb4Tz8LcN3d"
	var codes []string
	for _, c := range []byte("the deploy token of the runner is " + token) {
		codes = append(codes, fmt.Sprint(c))
	}
	for name, coded := range map[string]string{"plain": token, "decimal codes": strings.Join(codes, " ")} {
		got, found := Redact("note: " + coded + ".")
		if len(found) != 1 || found[0].Offset < 6 || strings.Contains(got, coded) || !strings.Contains(got, "[redacted secret.gitlab-pat]") {
			t.Errorf("%s: got %q, %v", name, got, found)
		}
	}
}
