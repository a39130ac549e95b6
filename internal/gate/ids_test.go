package gate

import (
	"strings"
	"testing"
)

// TestRowB66_ContractIDs compares with digests that another program made of the contract's
// formulas (Python's hashlib, and json.dumps for JSON.stringify), B53 among them.
func TestRowB66_ContractIDs(t *testing.T) {
	sources := []Source{
		{"Workspace", "workspace:MEMORY.md", "e1", 3, strings.Repeat("aa", 32)},
		{"User", "user:MEMORY.md", "e0", 1, strings.Repeat("bb", 32)},
		{"Workspace", "workspace-log:2026-08-22.md", "e1", 12, strings.Repeat("cc", 32)},
	}
	index := ContractIndex(sources)
	retrieval := ContractRetrieval("session-42", 17, "seg-17", index, "gate_pre_v1", "lexical_pre_v2")
	for _, c := range []struct{ name, got, want string }{
		{"index", index, "idx_pre_aa0f8daf53e9201dd37990905e13b907"},
		{"index of nothing", ContractIndex(nil), "idx_pre_e3b0c44298fc1c149afbf4c8996fb924"},
		{"retrieval", retrieval, "ret_pre_dd2015863e43e65e6e7114450d51532d"},
		{"candidate", ContractCandidate(retrieval, "mem_1", "e1", 3, strings.Repeat("dd", 32)), "cand_pre_1183420517918814498a553bc63fb5a2"},
		{"JSON.stringify", stringify("a\"b\\c\n\t\u0001\u2028é长😀<&>\u007f", int64(-5)), `["a\"b\\c\n\t\u0001` + "\u2028é长😀<&>\u007f" + `",-5]`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
	for i := range sources { // in any order, and each field counts
		turned := append(append([]Source(nil), sources[i:]...), sources[:i]...)
		if ContractIndex(turned) != index {
			t.Errorf("another order of the sources from %d", i)
		}
		turned[0].Version++
		if ContractIndex(turned) == index {
			t.Errorf("another version of source %d", i)
		}
	}
	if codeUnits("😀", "\ufffd") >= 0 {
		t.Error("not the order of UTF-16")
	}
}
