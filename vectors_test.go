package scribe

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// A vector is one file of testdata/vectors: a proposal with one defect, or with
// none. Lines "key: value" come first, then an empty line, then the text of the
// candidate, verbatim. The keys:
//
//	expect        accepted, held or rejected
//	stage, rule   what decides; for an accepted one, what flags it (both or none)
//	comment       what the vector shows
//	by            writer (the default) or operator
//	ceiling       of the writer: a trust; user-observed by default
//	user          one message of the user; may stand more than once
//	path, to, old, new, description, type, key, supersedes    of the candidate
//	remove        yes
//	base          current: the hash of what is stored; else the text itself
//	stored        an accepted memory at path, "\n" escaped; stored-at: at another path
//	other, other-key, other-text    a second accepted memory: path, key, text
//	stored-trust  of both; operator by default
//	outside       what another program left at path, after all that
//	retired       yes: the stored memory was archived since
//	refused       yes: the operator refused the same proposal before
//	review-all    yes: Options.ReviewAll
//	limit         Limits.Memory
//
// In every value and in the text, {{...}} stands for what no file should show:
// {{u:200b}} a character, {{tags:text}} text in tag characters, {{byte:ff}} a byte,
// {{rep:30:x}} a repetition, {{github-token}} and its like a credential that is
// assembled here.
type vector struct {
	name                                 string
	expect, stage, rule, comment         string
	by                                   string
	ceiling                              Trust
	user                                 []string
	cand                                 Candidate
	stored, storedAt, storedTrust        string
	other, otherKey, otherText, outside  string
	hasOutside, retired, refused, review bool
	limit                                int
}

func readVectors(dir string) ([]vector, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no vector", dir)
	}
	var all []vector
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		v, err := parseVector(string(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		v.name = strings.TrimSuffix(filepath.Base(file), ".txt")
		all = append(all, v)
	}
	return all, nil
}

func parseVector(data string) (vector, error) {
	v := vector{by: "writer", ceiling: UserObserved, storedTrust: Operator.String()}
	head, text, ok := strings.Cut(data, "\n\n")
	if !ok {
		head = strings.TrimSuffix(data, "\n")
	}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			return v, fmt.Errorf("no header: %q", line)
		}
		value, err := expand(strings.TrimPrefix(value, " "))
		if err != nil {
			return v, err
		}
		if err := v.set(key, value); err != nil {
			return v, err
		}
	}
	var err error
	if v.cand.Text, err = expand(text); err != nil {
		return v, err
	}
	switch {
	case !slices.Contains(outcomeNames[:], v.expect):
		return v, fmt.Errorf("expect is %q", v.expect)
	case v.comment == "":
		return v, errors.New("no comment")
	case (v.stage == "") != (v.rule == "") || v.stage == "" && v.expect != "accepted":
		return v, errors.New("stage and rule go together, and are there unless it is accepted")
	case v.by != "writer" && v.by != "operator":
		return v, fmt.Errorf("by is %q", v.by)
	}
	return v, nil
}

// set takes one header line. An unknown key is an error: it would test nothing.
func (v *vector) set(key, value string) error {
	texts := map[string]*string{
		"expect": &v.expect, "stage": &v.stage, "rule": &v.rule, "comment": &v.comment, "by": &v.by,
		"path": &v.cand.Path, "to": &v.cand.To, "description": &v.cand.Description, "type": &v.cand.Type, "key": &v.cand.Key,
		"base": &v.cand.Base, "stored-at": &v.storedAt, "stored-trust": &v.storedTrust, "other": &v.other, "other-key": &v.otherKey,
	}
	escaped := map[string]*string{"old": &v.cand.Old, "new": &v.cand.New, "stored": &v.stored, "other-text": &v.otherText, "outside": &v.outside}
	flags := map[string]*bool{"remove": &v.cand.Remove, "retired": &v.retired, "refused": &v.refused, "review-all": &v.review}
	lines := strings.NewReplacer(`\n`, "\n", `\r`, "\r")
	switch {
	case texts[key] != nil:
		*texts[key] = value
	case escaped[key] != nil:
		*escaped[key] = lines.Replace(value)
		v.hasOutside = v.hasOutside || key == "outside"
	case flags[key] != nil:
		if value != "yes" {
			return fmt.Errorf("%s is %q, not yes", key, value)
		}
		*flags[key] = true
	case key == "user":
		v.user = append(v.user, lines.Replace(value))
	case key == "supersedes":
		v.cand.Supersedes = append(v.cand.Supersedes, value)
	case key == "ceiling":
		v.ceiling = parseTrust(value)
		if v.ceiling.String() != value {
			return fmt.Errorf("ceiling is %q", value)
		}
	case key == "limit":
		var err error
		v.limit, err = strconv.Atoi(value)
		return err
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return nil
}

var macro = regexp.MustCompile(`\{\{([a-z0-9-]+)(?::([^{}]*))?\}\}`)

func expand(s string) (string, error) {
	var bad error
	out := macro.ReplaceAllStringFunc(s, func(m string) string {
		parts := macro.FindStringSubmatch(m)
		text, err := expandOne(parts[1], parts[2])
		bad = errors.Join(bad, err)
		return text
	})
	if bad == nil && strings.Contains(out, "{{") {
		bad = errors.New("a macro that can not be read")
	}
	return out, bad
}

func expandOne(name, arg string) (string, error) {
	switch name {
	case "u":
		n, err := strconv.ParseUint(arg, 16, 32)
		return string(rune(n)), err
	case "byte":
		n, err := strconv.ParseUint(arg, 16, 8)
		return string([]byte{byte(n)}), err
	case "tags":
		var b strings.Builder
		for _, c := range arg {
			b.WriteRune(0xE0000 + c)
		}
		return b.String(), nil
	case "rep":
		count, text, _ := strings.Cut(arg, ":")
		n, err := strconv.Atoi(count)
		return strings.Repeat(text, n), err
	case "github-token":
		return githubToken(), nil
	case "github-token-base64":
		return base64.StdEncoding.EncodeToString([]byte("token " + githubToken())), nil
	case "private-key":
		dashes := strings.Repeat("-", 5)
		body := strings.Repeat("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ1x"+"\n", 4)
		return dashes + "BEGIN OPENSSH PRIVATE KEY" + dashes + "\n" + body + dashes + "END OPENSSH PRIVATE KEY" + dashes, nil
	case "password":
		return "kV7" + "q-Trom" + "9zXp4", nil
	}
	return "", fmt.Errorf("unknown macro %q", name)
}

// githubToken has the shape of a classic token, its checksum included: CRC-32 of
// the random part, in six digits of base 62.
func githubToken() string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	body := "q7Rk2mXz" + "9LtVb4Nc" + "8WpYd3Hs" + "6JfGa1"
	sum := crc32.ChecksumIEEE([]byte(body))
	tail := make([]byte, 6)
	for i := len(tail) - 1; i >= 0; i-- {
		tail[i] = digits[sum%62]
		sum /= 62
	}
	return "gh" + "p_" + body + string(tail)
}

// prepare builds the room that the vector asks for, and the proposal in it.
func (v *vector) prepare(t *testing.T) (*Room, *world, *proposal) {
	t.Helper()
	ctx := context.Background()
	mem := rootfs.NewMem()
	o := &Options{ReviewAll: v.review, Limits: Limits{Memory: v.limit}}
	r := reopen(t, mem, nil)
	if v.other != "" {
		store(t, r, parseTrust(v.storedTrust), Candidate{Path: v.other, Key: v.otherKey, Text: v.otherText})
	}
	if v.stored != "" {
		path := v.storedAt
		if path == "" {
			path = v.cand.Path
		}
		m := store(t, r, parseTrust(v.storedTrust), Candidate{Path: path, Text: v.stored})
		if v.cand.Base == "current" {
			v.cand.Base = m.Hash
		}
		if v.retired {
			if err := archived(r, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if v.refused {
		strict := reopen(t, mem, &Options{ReviewAll: true})
		held := offer(t, strict, v.ceiling, v.cand, v.user...)
		if held.Outcome != Held {
			t.Fatalf("to be refused, it has to be held first: %v", held.Err())
		}
		if _, err := strict.Resolve(ctx, Resolution{ID: held.ID, Hash: held.Memory.Hash}); err != nil {
			t.Fatal(err)
		}
	}
	if v.hasOutside {
		mem.Plant(v.cand.Path, rootfs.File, []byte(v.outside))
	}
	r = reopen(t, mem, o)
	if listed(t, r); r.local == nil {
		// A room has to be there for the keyed identity of the proposal.
		unlock, err := r.lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	}
	w, err := r.world(ctx)
	if err != nil {
		t.Fatal(err)
	}
	who := author{ceiling: v.ceiling, session: "vector", turn: 1, user: v.user}
	if v.by == "operator" {
		who = author{hand: true, ceiling: Operator}
	}
	ps, err := r.prepare(w, who, []Candidate{v.cand})
	if err != nil {
		t.Fatal(err)
	}
	return r, w, ps[0]
}

// refusedBy names the stages that a proposal does not pass.
func refusedBy(p *proposal, w *world) (names []string) {
	for _, stage := range stages {
		for _, f := range stage.judge(p, w) {
			if f.Outcome < Accepted {
				names = append(names, stage.name)
				break
			}
		}
	}
	return names
}

func allRules(p *proposal) []string { return ruleNames(slices.Concat(p.findings, p.notices)) }

func TestVectors(t *testing.T) {
	vectors, err := readVectors("testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for _, v := range vectors {
		covered[v.stage] = true
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			r, w, p := v.prepare(t)
			judge(p, w)
			if got := p.outcome().String(); got != v.expect {
				t.Errorf("got %s %q, want %s (%s)", got, allRules(p), v.expect, v.comment)
			}
			if v.rule != "" && !slices.Contains(allRules(p), v.rule) {
				t.Errorf("got %q, want %s among them", allRules(p), v.rule)
			}
			v.teeth(t)
			v.wire(t, r)
		})
	}
	for _, stage := range stages {
		if !covered[stage.name] {
			t.Errorf("no vector is about the stage %q", stage.name)
		}
	}
}

// teeth shows that the vector is about the stage that it names: that stage alone
// refuses it, and without the stage it passes.
func (v *vector) teeth(t *testing.T) {
	t.Helper()
	if v.stage == "" {
		return
	}
	_, w, p := v.prepare(t)
	judge(p, w, v.stage)
	if slices.Contains(allRules(p), v.rule) {
		t.Errorf("%s is still found without the stage %s", v.rule, v.stage)
	}
	if v.expect == "accepted" {
		return
	}
	if p.outcome() != Accepted {
		t.Errorf("without the stage %s it is still %v: %q", v.stage, p.outcome(), allRules(p))
	}
	_, w, p = v.prepare(t)
	if got := refusedBy(p, w); !slices.Equal(got, []string{v.stage}) {
		t.Errorf("refused by %q, want by %s alone", got, v.stage)
	}
}

// wire shows that the public way leads to the same outcome, and that its error, its
// texts and the room say so.
func (v *vector) wire(t *testing.T, r *Room) {
	t.Helper()
	var got Verdict
	if v.by == "operator" {
		got = byHand(t, r, v.cand)
	} else {
		got = offer(t, r, v.ceiling, v.cand, v.user...)
	}
	if got.Outcome.String() != v.expect {
		t.Errorf("proposed, it is %v, want %s", got.Outcome, v.expect)
	}
	held := listed(t, r, stagePending)
	if (len(held) == 1) != (v.expect == "held") {
		t.Errorf("%d wait for the operator", len(held))
	}
	for _, f := range slices.Concat(got.Findings, got.Notices) {
		if f.Rule == "" || f.Message == "" {
			t.Errorf("a finding without rule or message: %+v", f)
		}
		if f.Outcome < Accepted && f.Fix == "" {
			t.Errorf("%s does not say what to do", f.Rule)
		}
	}
}

func TestVectorLoader(t *testing.T) {
	if _, err := readVectors(t.TempDir()); err == nil {
		t.Error("an empty directory is no error")
	}
	const good = "expect: held\nstage: hidden\nrule: hidden.x\ncomment: c\npath: a.md\n\nText.\n"
	if _, err := parseVector(good); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]string{
		"unknown key":   strings.Replace(good, "path:", "paht:", 1),
		"no expect":     strings.Replace(good, "expect: held\n", "", 1),
		"no comment":    strings.Replace(good, "comment: c\n", "", 1),
		"no rule":       strings.Replace(good, "rule: hidden.x\n", "", 1),
		"unknown trust": strings.Replace(good, "path:", "ceiling: high\npath:", 1),
		"unknown macro": strings.Replace(good, "Text", "{{secret}}", 1),
		"no header":     strings.Replace(good, "comment: c", "comment", 1),
	} {
		if _, err := parseVector(bad); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}
