package scribe

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/hidden"
)

// maxReason is bytes of a reason: some sentences, and a fraction of a row of the journal
// (journal.MaxLine), however they are escaped.
const maxReason = 1024

// remark is a string from outside the library that a row of the journal is to carry as it
// is: the operator's own, a host's, or out of an export. A row can not be taken back, so
// each of them passes unfit before anything is written. What else a row carries is ours,
// or passed admission as a name or a label.
type remark struct {
	field string
	value string
	most  int // bytes
}

// label is a remark of one line, as all are that are no longer: a name, a category.
func label(field, value string) remark { return remark{field, value, maxLabel} }

// unfit is the first reason why the words can not be kept; no rule: they can. It holds
// neither the words nor a part of them.
func (s remark) unfit(allow [][32]byte) Finding {
	bad := func(rule, message, fix string) Finding { return refuse(rule, Rejected, s.field, message, fix) }
	switch {
	case len(s.value) > s.most: // first: no screen reads more than that
		return bad("words.too-long", fmt.Sprintf("there are more than %d bytes", s.most), "say it in fewer words")
	case !utf8.ValidString(s.value):
		return bad("words.encoding", "the bytes are no UTF-8", "write it as UTF-8")
	}
	if s.most <= maxLabel && strings.ContainsFunc(s.value, unicode.IsControl) {
		return bad("words.line", "this is more than one line", "say it in one")
	}
	found, blobs := hidden.Inspect(s.value)
	if hits := secretsAmong(s.value, blobs, allow); len(hits) > 0 {
		return bad(hits[0].Rule, "this looks like a credential", "say where the credential is kept, never the credential")
	}
	for _, hit := range found {
		if hit.Carries || hit.Strippable() { // nothing is taken out of what somebody said
			return bad(hit.Rule, "there are characters that a reader can not see or tell apart", "write it in plain characters")
		}
	}
	return Finding{}
}

// refuseWords is the error of a call of the operator whose words can not be kept; nil:
// they can. It comes before anything is done.
func refuseWords(call string, allow [][32]byte, all ...remark) error {
	for _, s := range all {
		if f := s.unfit(allow); f.Rule != "" {
			return fmt.Errorf("%s: %w: %s: %s (%s); %s; nothing was done", call, ErrRejected, f.Field, f.Message, f.Rule, f.Fix)
		}
	}
	return nil
}

// fitting is what a rule of the host found, as it may be kept: a constant stands in the
// place of a finding whose words may not be.
func fitting(fs []Finding, allow [][32]byte) []Finding {
	for i, f := range fs {
		for _, s := range []remark{{"rule", f.Rule, maxLabel}, {"field", f.Field, maxLabel}, {"message", f.Message, maxReason}, {"fix", f.Fix, maxReason}} {
			if s.unfit(allow).Rule != "" {
				fs[i] = refuse("host.words", min(f.Outcome, Held), "", "a rule of the host said what can not be kept", "the operator decides")
				break
			}
		}
	}
	return fs
}

// refusedName is a name that the path gate refused, for the audit: quoted and clipped. It is ""
// where a screen finds something in it: a name can carry a credential, or the text of an
// attack, and the rules say what it was.
func (p *proposal) refusedName(allow [][32]byte) string {
	name := remark{"path", p.cand.Path, maxReason}
	if name.value == "" || name.unfit(allow).Rule != "" || slices.ContainsFunc(p.findings, func(f Finding) bool {
		return f.Field == "path" && !strings.HasPrefix(f.Rule, "path.")
	}) {
		return ""
	}
	return fmt.Sprintf("%.80q", name.value)
}
