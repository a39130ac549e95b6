package scribe

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/directive"
	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/hidden"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/secret"
)

// The types of a memory.
var memoryTypes = []string{"user", "feedback", "project", "reference"}

// Bounds of the labels: what a person reads on one line of a listing.
const (
	maxDescription = 1_000 // bytes
	maxKey         = 128   // bytes
)

// text is what a proposal would store: the file, and which part of it is new.
type text struct {
	whole    string // the complete file, but for the keys that the library mirrors into it
	base     string // the file that it changes; "" for a new one
	lo, hi   int    // whole[lo:hi] is what the author puts in
	composed bool   // the frontmatter is the library's own
	labels   []field
	cut      []Finding // hidden text that was taken out
	bad      []Finding // why there is no text
}

// field is one place that an author can put words into.
type field struct{ name, value string }

// inserted is the author's own words: the lines that are new against the base, and
// where the frontmatter is touched each of its values, one a line. The names of our own
// keys and the type say nothing of the author's. pure reports that nothing of the base
// went for them.
func (t text) inserted() (words []byte, pure bool) {
	base, whole := slices.Collect(strings.Lines(t.base)), slices.Collect(strings.Lines(t.whole))
	first := 0
	for first < min(len(base), len(whole)) && base[first] == whole[first] {
		first++
	}
	last := 0
	for last < min(len(base), len(whole))-first && base[len(base)-1-last] == whole[len(whole)-1-last] {
		last++
	}
	pure = first+last == len(base)
	added := strings.Join(whole[first:len(whole)-last], "")
	lo := len(strings.Join(whole[:first], ""))
	e, err := entry.Parse([]byte(t.whole))
	if err != nil {
		return []byte(added), pure
	}
	head := len(t.whole) - len(e.Body())
	if lo >= head {
		return []byte(added), pure
	}
	if strings.Contains(t.whole[:head], "#") {
		return []byte(added), pure // a comment is text, and no value of a key
	}
	var b strings.Builder
	for _, v := range e.Scalars() {
		if v != e.Type() && !slices.Contains(writerKeys, v) {
			b.WriteString(strings.ReplaceAll(v, "\n", " ") + "\n")
		}
	}
	b.WriteString(t.whole[head:max(head, lo+len(added))])
	return []byte(b.String()), pure
}

// writerKeys are the frontmatter keys that a writer may set.
var writerKeys = []string{"metadata", "description", "type", "key", "topic", "tags", "verify_when"}

// textOf works out the complete file that c would leave behind.
func textOf(c Candidate, op string, was standing) text {
	t := text{base: string(was.bytes)}
	for _, l := range []field{
		{"description", c.Description},
		{"type", c.Type},
		{"key", c.Key},
		{"topic", c.Topic},
		{"tags", strings.Join(c.Tags, ", ")},
		{"verify_when", c.VerifyWhen},
	} {
		if l.value == "" {
			continue
		}
		clean := text{whole: l.value, hi: len(l.value)}
		clean.strip(l.name)
		t.cut = append(t.cut, clean.cut...)
		t.labels = append(t.labels, field{l.name, clean.whole})
	}
	switch {
	case op == journal.OpArchive || op == journal.OpRename:
		t.whole, t.lo, t.hi = t.base, len(t.base), len(t.base)
		return t
	case c.Old != "":
		t.edit(c, was)
	case c.Text == "" && c.Base != "":
		t.whole = t.base
	default:
		t.whole, t.hi = c.Text, len(c.Text)
		t.narrowInserted(was)
	}
	t.strip("text")
	t.label()
	return t
}

// edit replaces the one occurrence of c.Old, counting overlaps.
func (t *text) edit(c Candidate, was standing) {
	t.whole = t.base
	i := strings.Index(t.base, c.Old)
	switch {
	case was.kind == absent:
		return // the conflict stage says that there is nothing to edit
	case i < 0:
		t.bad = append(t.bad, refuse("stale.anchor", Rejected, "old", "the text to replace does not occur in the memory", "read the memory again and quote the text exactly"))
		return
	case strings.Contains(t.base[i+1:], c.Old):
		t.bad = append(t.bad, refuse("edit.ambiguous", Rejected, "old", "the text to replace occurs more than once", "quote more of the text around it"))
		return
	}
	t.whole = t.base[:i] + c.New + t.base[i+len(c.Old):]
	t.lo, t.hi = i, i+len(c.New)
}

// narrowInserted finds the new part of a whole text that replaces a stored one:
// what is left when the common start and end are taken off, widened to whole lines
// so that a line counts as inserted when any byte of it is.
func (t *text) narrowInserted(was standing) {
	if was.kind == absent {
		return
	}
	n := min(len(t.whole), len(t.base))
	lo := 0
	for lo < n && t.whole[lo] == t.base[lo] {
		lo++
	}
	hi := 0
	for hi < n-lo && t.whole[len(t.whole)-1-hi] == t.base[len(t.base)-1-hi] {
		hi++
	}
	t.lo = strings.LastIndexByte(t.whole[:lo], '\n') + 1
	t.hi = len(t.whole) - hi
	if nl := strings.IndexByte(t.whole[t.hi:], '\n'); nl >= 0 {
		t.hi += nl
	} else {
		t.hi = len(t.whole)
	}
}

// strip takes out of the inserted part what is invisible and carries nothing. What
// carries something stays for the hidden stage to hold.
func (t *text) strip(name string) {
	found := hidden.Scan(t.whole)
	if len(found) == 0 || slices.ContainsFunc(found, func(f hidden.Finding) bool { return f.Rule == "hidden.bidi" && f.Carries }) {
		return // what is left of a pair of marks would be worse than the pair
	}
	clean, removed := hidden.Strip(t.whole, func(f hidden.Finding) bool {
		return !f.Carries && f.Offset >= t.lo && f.Offset+f.Length <= t.hi
	})
	for _, f := range removed {
		t.cut = append(t.cut, Finding{
			Rule: f.Rule, Outcome: Accepted, Field: name, Offset: f.Offset, Length: f.Length,
			Message: "invisible characters were removed", Fix: "none needed: the text reads the same without them",
		})
	}
	t.whole, t.hi = clean, t.hi-(len(t.whole)-len(clean))
}

// label writes the labels into the frontmatter, composing one where there is none.
func (t *text) label() {
	if len(t.labels) == 0 || len(t.bad) > 0 {
		return
	}
	e, err := entry.Parse([]byte(t.whole))
	if err != nil {
		return // the frontmatter stage says why
	}
	if !e.HasFrontmatter() {
		fields := make([]entry.Field, len(t.labels))
		for i, l := range t.labels {
			fields[i] = entry.Field{Path: labelPath(l.name), Value: l.value}
		}
		head := entry.Compose(fields, "")
		t.whole, t.composed = string(entry.Compose(fields, t.whole)), true
		t.lo, t.hi = 0, t.hi+len(head)
		return
	}
	for _, l := range t.labels {
		before := len(t.whole)
		out, err := e.Set(l.value, labelIn(e, l.name)...)
		if err == nil {
			e, err = entry.Parse(out)
		}
		if err != nil {
			t.bad = append(t.bad, refuse("frontmatter.malformed", Rejected, l.name, "the frontmatter can not take this value", "write the frontmatter anew with the whole text"))
			return
		}
		t.whole = string(out)
		t.lo, t.hi = 0, max(t.hi, 0)+len(t.whole)-before
	}
	t.hi = max(t.hi, len(t.whole)-len(e.Body()))
}

func labelPath(name string) []string {
	if name == "description" {
		return []string{name}
	}
	return []string{"metadata", name}
}

// fields lists everything that the author can put words into, for the screens. The
// path is read as the words that it shows.
func (p *proposal) fields() []field {
	fs := []field{{"path", p.cand.Path}}
	if p.cand.To != "" {
		fs = append(fs, field{"to", p.cand.To})
	}
	if !p.writes() {
		return fs
	}
	fs = append(fs, p.text.labels...)
	if e, err := entry.Parse([]byte(p.text.whole)); err == nil {
		// Values as YAML reads them: an escape can hold what the bytes do not show.
		for _, v := range e.Scalars() {
			fs = append(fs, field{"frontmatter", v})
		}
	}
	return append(fs, field{"text", p.text.whole})
}

// judgeShape refuses what is not one well-formed operation.
func judgeShape(p *proposal, w *world) []Finding {
	c := p.cand
	fs := slices.Clone(p.text.bad)
	kinds := 0
	for _, is := range []bool{c.Text != "", c.Old != "", c.Remove, c.To != ""} {
		if is {
			kinds++
		}
	}
	if kinds > 1 || (c.Old == "" && c.New != "") || ((c.Remove || c.To != "") && len(p.text.labels) > 0) {
		fs = append(fs, refuse("candidate.operation", Rejected, "", "a candidate is one operation", "give exactly one of Text, Old with New, Remove and To"))
	}
	if c.To != "" && c.To == c.Path {
		fs = append(fs, refuse("candidate.to", Rejected, "to", "the new path is the old one", "choose another name, or leave it"))
	}
	if len(c.Supersedes) > 0 && !p.who.hand {
		fs = append(fs, refuse("candidate.supersedes", Rejected, "supersedes", "only the operator says what a memory takes the place of", "propose the memory without it"))
	}
	for _, f := range []field{
		{"path", c.Path},
		{"to", c.To},
		{"description", c.Description},
		{"type", c.Type},
		{"key", c.Key},
		{"topic", c.Topic},
		{"tags", strings.Join(c.Tags, ", ")},
		{"verify_when", c.VerifyWhen},
		{"text", c.Text},
		{"new", c.New},
	} {
		if !utf8.ValidString(f.value) {
			fs = append(fs, refuse("candidate.utf8", Rejected, f.name, "the field is not valid UTF-8", "send text"))
		}
	}
	if len(c.Description) > maxDescription || strings.ContainsAny(c.Description, "\n\r") {
		fs = append(fs, refuse("candidate.description", Rejected, "description", fmt.Sprintf("a description is one line of at most %d bytes", maxDescription), "shorten it; details belong in the text"))
	}
	if len(c.Key) > maxKey || strings.ContainsAny(c.Key, "\n\r\t") {
		fs = append(fs, refuse("candidate.key", Rejected, "key", fmt.Sprintf("a key is one line of at most %d bytes", maxKey), "use a short name such as auth-migration"))
	}
	return append(fs, badLabels("candidate", c.Topic, c.Tags, c.VerifyWhen)...)
}

// judgeLabels refuses malformed frontmatter, unknown types, and keys that are the
// library's to write.
func judgeLabels(p *proposal, _ *world) []Finding {
	if !p.writes() {
		return nil
	}
	e, err := entry.Parse([]byte(p.text.whole))
	if err != nil {
		f := refuse("frontmatter.malformed", Rejected, "text", "the frontmatter can not be read", "write plain key: value lines between two --- lines, or leave it out")
		if bad := (*entry.Error)(nil); errors.As(err, &bad) {
			f.Rule, f.Offset = bad.Rule, bad.Offset
			if bad.Rule == "frontmatter.utf8" {
				f.Message, f.Fix = "the text is not valid UTF-8", "save it as UTF-8"
			}
		}
		return []Finding{f}
	}
	var fs []Finding
	base, baseErr := entry.Parse([]byte(p.text.base))
	baseOwned, baseType := map[string]string{}, ""
	if baseErr == nil {
		baseOwned, baseType = base.OwnedValues(), base.Type()
	}
	if baseErr == nil && base.HasFrontmatter() && !p.who.hand {
		head := p.text.base[:len(p.text.base)-len(base.Body())]
		if at := strings.Index(p.text.whole, head); at > 0 {
			fs = append(fs, refuse("frontmatter.displaced", Rejected, "text", "text before the frontmatter would make it part of the body", "insert after the line that closes the frontmatter"))
		}
	}
	owned := e.OwnedValues()
	if p.op == journal.OpReplace {
		// A whole text may leave the library's keys out: the stored ones were mirrors.
		maps.DeleteFunc(baseOwned, func(key, _ string) bool { _, kept := owned[key]; return !kept })
	}
	for _, key := range changedKeys(baseOwned, owned) {
		fs = append(fs, refuse("frontmatter.reserved-key", Rejected, "text", "the frontmatter key "+key+" is written by the library alone", "leave it as it is, or out"))
	}
	if d := e.Description(); !p.text.labelled("description") && d != describeText(p.text.base) {
		if len(d) > maxDescription {
			fs = append(fs, refuse("frontmatter.description", Rejected, "description", fmt.Sprintf("a description is one line of at most %d bytes", maxDescription), "shorten it; details belong in the text"))
		}
	}
	if !p.text.labelled("key") && (len(e.Key()) > maxKey || strings.ContainsFunc(e.Key(), unicode.IsControl)) {
		fs = append(fs, refuse("frontmatter.key", Rejected, "key", fmt.Sprintf("a key is one line of at most %d bytes", maxKey), "use a short name such as auth-migration"))
	}
	if was, now := metaOf("", []byte(p.text.base)), metaOf("", []byte(p.text.whole)); !p.text.labelled("topic") && !p.text.labelled("tags") && !p.text.labelled("verify_when") &&
		(was.Topic != now.Topic || was.Tags != now.Tags || was.VerifyWhen != now.VerifyWhen) {
		fs = append(fs, badLabels("frontmatter", e.Topic(), e.Tags(), e.VerifyWhen())...)
	}
	if t := e.Type(); t != "" && t != baseType && !slices.Contains(memoryTypes, t) {
		fs = append(fs, refuse("frontmatter.type", Rejected, "type", "the type is not one that a room knows", "use user, feedback, project or reference"))
	}
	return fs
}

// labelled reports whether the candidate names that field itself: the candidate stage
// judges it then.
func (t text) labelled(name string) bool {
	return slices.ContainsFunc(t.labels, func(l field) bool { return l.name == name })
}

func describeText(s string) string {
	e, err := entry.Parse([]byte(s))
	if err != nil {
		return ""
	}
	return e.Description()
}

// changedKeys lists, sorted, the keys whose values differ.
func changedKeys(a, b map[string]string) []string {
	var keys []string
	for k, v := range b {
		if old, ok := a[k]; !ok || old != v {
			keys = append(keys, k)
		}
	}
	for k := range a {
		if _, ok := b[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// judgeSecrets refuses credential-shaped material, whoever proposes it: a room ends
// up in git. Only rule, field, offset and length are kept.
func judgeSecrets(p *proposal, w *world) []Finding {
	var fs []Finding
	for _, f := range p.fields() {
		_, blobs := p.inspect(f.value)
		for _, hit := range secretsAmong(f.value, blobs, w.opts.Allow) {
			fs = append(fs, Finding{
				Rule: hit.Rule, Outcome: Rejected, Field: f.name, Offset: hit.Offset, Length: hit.Length,
				Message: "this looks like a credential", Fix: "say where the credential is kept, never the credential",
			})
		}
	}
	return fs
}

// secretsIn scans a text, and what its encoded blobs decode to.
func secretsIn(s string, allow [][32]byte) []secret.Finding {
	return secretsAmong(s, hidden.Blobs(s), allow)
}

// secretsAmong is secretsIn for a text whose blobs are known. What the scanner decodes
// itself is found once.
func secretsAmong(s string, blobs []hidden.Blob, allow [][32]byte) []secret.Finding {
	allowed := func(value string) bool { return slices.Contains(allow, sha256.Sum256([]byte(value))) }
	hits := secret.ScanAllow(s, allowed)
	for _, blob := range blobs {
		if slices.ContainsFunc(hits, func(h secret.Finding) bool {
			return h.Offset < blob.Offset+blob.Length && blob.Offset < h.Offset+h.Length
		}) {
			continue
		}
		for _, hit := range secret.ScanAllow(blob.Text, allowed) {
			hits = append(hits, secret.Finding{Rule: hit.Rule, Offset: blob.Offset, Length: blob.Length})
		}
	}
	return hits
}

// inspected is what the hidden screen says of the text of a proposal, which three
// stages ask for.
type inspected struct {
	text  string
	found []hidden.Finding
	blobs []hidden.Blob
}

// inspect is hidden.Inspect, once for the text that would be stored.
func (p *proposal) inspect(s string) ([]hidden.Finding, []hidden.Blob) {
	if s != p.text.whole {
		return hidden.Inspect(s)
	}
	if p.seen.text != s {
		found, blobs := hidden.Inspect(s)
		p.seen = inspected{s, found, blobs}
	}
	return p.seen.found, p.seen.blobs
}

// judgeHidden holds invisible text that says something, and reports what was taken
// out because it said nothing.
func judgeHidden(p *proposal, _ *world) []Finding {
	if !p.writes() {
		return nil
	}
	fs := slices.Clone(p.text.cut)
	for _, f := range p.fields() {
		found, _ := p.inspect(f.value)
		for _, hit := range found {
			if f.name == "text" && (hit.Offset+hit.Length <= p.text.lo || hit.Offset >= p.text.hi) {
				continue // it stood there before
			}
			out := Finding{
				Rule: hit.Rule, Outcome: Accepted, Field: f.name, Offset: hit.Offset, Length: hit.Length,
				Message: "characters that a reader can not see or tell apart", Fix: "write it in plain characters",
			}
			if hit.Carries || f.name == "frontmatter" && hit.Strippable() {
				out.Outcome, out.Message = Held, "hidden characters that carry text or break up a word"
			}
			fs = append(fs, out)
		}
	}
	return fs
}

// judgeDirective weighs instruction-shaped text. Strong shapes wait for the
// operator whatever the trust; weak ones where the author's words count for little.
func judgeDirective(p *proposal, w *world) []Finding {
	var fs []Finding
	for _, f := range p.fields() {
		texts := []string{f.value}
		switch f.name {
		case "path", "to":
			texts = []string{pathWords(f.value)}
		case "text":
			_, blobs := p.inspect(f.value)
			for _, blob := range blobs {
				texts = append(texts, blob.Text)
			}
		}
		for i, s := range texts {
			for _, hit := range directive.Scan(s) {
				out := Finding{
					Rule: hit.Rule, Outcome: p.weigh(hit.Tier, w), Field: f.name, Offset: hit.Offset, Length: hit.Length,
					Message: directiveMessage(hit), Fix: "state what is true, and leave what to do about it to the reader",
				}
				if i > 0 || f.name == "path" || f.name == "to" {
					out.Offset, out.Length = 0, 0 // the words are not where the field's bytes are
				}
				if hit.Tier > directive.Convention || p.who.ceiling < UserObserved {
					fs = append(fs, out)
				}
			}
		}
	}
	return fs
}

// weigh turns the tier of an instruction into an outcome for this author.
func (p *proposal) weigh(t directive.Tier, w *world) Outcome {
	switch {
	case p.who.hand || w.opts.Waive[waiveDirective] != "":
		return Accepted
	case t >= directive.Strong:
		return Held
	case t >= directive.Weak && p.who.ceiling < UserObserved:
		return Held
	}
	return Accepted
}

// directiveMessage says what a shape does. Rules that are not in the table share a
// sentence, so that a new one never goes without.
func directiveMessage(hit directive.Finding) string {
	words := map[string]string{
		"override":       "it sets earlier instructions aside",
		"persona":        "it gives the agent another self",
		"concealment":    "something is to be kept from the user",
		"exfiltration":   "data is to go to an address",
		"prompt-leak":    "the agent is to give its own instructions away",
		"trigger-action": "what a user says is tied to what the agent then does",
		"persistence":    "it lays down what is to be done from now on",
		"privilege":      "somebody is given rights",
		"bypass-control": "an approval or a check is taken away",
		"memory-write":   "the agent's memory or instructions are to be changed",
		"redirect":       "something is pointed to another place",
		"promotion":      "a product or source becomes the answer",
		"authority":      "it borrows authority, or an agreement",
		"role-tag":       "it holds a chat template's marks",
		"payload":        "it holds a command or markup that acts",
		"pair":           "several weak signs of an instruction stand together: " + strings.ReplaceAll(hit.Why, " ", ", "),
		"score":          "its words together are those of an instruction to an agent",
		"convention":     "it orders something, and its source is of low trust",
	}
	if w, ok := words[strings.TrimPrefix(hit.Rule, "directive.")]; ok {
		return w
	}
	return "this reads as an instruction to an agent"
}

// pathWords is a path as the words that a reader sees in it.
func pathWords(path string) string {
	return strings.NewReplacer("-", " ", "_", " ", ".", " ", "/", ". ").Replace(strings.TrimSuffix(path, ".md"))
}

// flags is what the read-time screen says of a description that is about to be
// shown: the rules may have learned since it was admitted.
func flags(description string) bool {
	for _, hit := range directive.Scan(description) {
		if hit.Tier >= directive.Weak {
			return true
		}
	}
	for _, hit := range hidden.Scan(description) {
		if hit.Carries {
			return true
		}
	}
	return false
}

// Redact replaces credential-shaped material by the name of its rule, for a
// transcript before a writer sees it. The findings give offsets in the text that
// was passed in.
func Redact(s string) (string, []Finding) {
	clean, hits := secret.RedactSpans(s, secretsIn(s, nil))
	fs := make([]Finding, 0, len(hits))
	for _, hit := range hits {
		fs = append(fs, Finding{Rule: hit.Rule, Outcome: Rejected, Field: "text", Offset: hit.Offset, Length: hit.Length, Message: "this looks like a credential"})
	}
	return clean, fs
}
