package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memoryroom/scribe"
)

// plain is the smallest runtime there is: tools by name, and the calls of a turn in
// parallel. Its fields are the mistakes that a wiring can make.
type plain struct {
	showsAll      bool // layer 1 is missing: the model is shown every tool
	asksNobody    bool // layer 2 is missing: what is kept runs without the guard
	runsUnknown   bool // a tool that is not shown runs when it is called
	runsAnyway    bool // the guard is asked and its answer is not used
	fallsBack     bool // where narrowing fails the writer gets every tool
	aborts        bool // a denial is an error of the run
	unmarked      bool // a denial is not marked as an error
	twiceMarked   bool // a second mark of an error
	decodes       bool // the arguments are decoded before the guard is asked, and the raw ones used
	streamsPast   bool // a streaming tool runs without the guard, and is not declared so
	declares      bool // a streaming tool runs without the guard, and is declared so
	outlives      bool // the tools of the writer work without a guard once it ended
	late          bool // a tool that comes late runs without the guard
	firstOnly     bool // only the first call of a turn is checked
	keepsOwn      bool // the host's own memory tool is used
	runsTheWriter bool // an alias runs the host's tool as well
	talks         bool // a fault is told with the machine's paths
	unflagged     bool // the runtime has no mark for errors
	silent        bool // every call is refused
	lowers        bool // trust of the session is all that counts: a fresh guard for each call
	panics        bool
	sequential    bool
}

func (p plain) bare(ctx context.Context, in Input, use func(context.Context, Writer) error) error {
	tools := map[string]Tool{}
	for _, t := range in.Tools {
		tools[t.Name] = t
	}
	return use(ctx, p.writer(tools, tools, func(ctx context.Context, _ int, c Call) Result {
		if t, ok := tools[c.Tool]; ok {
			return ran(t.Run(ctx, []byte(c.Args)))
		}
		return Result{"Error: no such tool", !p.unflagged}
	}))
}

// ran is the result of a tool that ran.
func ran(text string, err error) Result {
	if err != nil {
		return Result{"Error: it failed", true}
	}
	return Result{text, false}
}

func (p plain) guarded(ctx context.Context, in Input, use func(context.Context, Writer) error) error {
	kept, policy, err := scribe.Narrow(in.Tools, in.Rules, func(t Tool) scribe.Tool {
		t.Unguarded = t.Stream && p.declares
		return t.Tool
	})
	if err != nil && p.fallsBack {
		return p.bare(ctx, in, use)
	}
	if err != nil {
		return err
	}
	if p.panics {
		panic("a wiring that panics")
	}
	if p.showsAll {
		kept = in.Tools
	}
	tools, all := map[string]Tool{}, map[string]Tool{}
	for _, t := range in.Tools {
		all[t.Name] = t
	}
	for _, t := range kept {
		tools[t.Name] = t
	}
	_, err = in.Session.Extract(ctx, in.Turn, policy, func(ctx context.Context, g *scribe.Guard) error {
		for _, t := range g.Tools() {
			if !p.keepsOwn || tools[t.Name].Run == nil {
				tools[t.Name] = Tool{Tool: t}
			}
		}
		return use(ctx, p.writer(tools, all, func(ctx context.Context, i int, c Call) Result { return p.call(ctx, in, g, tools, all, i, c) }))
	})
	return err
}

// call is the loop's step for one call.
func (p plain) call(ctx context.Context, in Input, g *scribe.Guard, tools, all map[string]Tool, i int, c Call) Result {
	t, shown := tools[c.Tool]
	if !shown {
		t = all[c.Tool]
	}
	pass := p.asksNobody && shown && t.Run != nil ||
		p.runsUnknown && !shown && t.Run != nil ||
		p.streamsPast && t.Stream && shown ||
		p.late && strings.HasPrefix(c.Tool, "run_") ||
		p.firstOnly && i > 0 && t.Run != nil ||
		p.keepsOwn && c.Tool == "memory"
	if pass {
		if t.Run == nil {
			t = all[c.Tool]
		}
		return ran(t.Run(ctx, []byte(c.Args)))
	}
	var args any = json.RawMessage(c.Args)
	if p.decodes {
		var m map[string]any
		if json.Unmarshal([]byte(c.Args), &m) == nil {
			folded := map[string]any{} // as a struct's fields would have them
			for k, v := range m {
				folded[strings.ToLower(k)] = v
			}
			args = folded
		}
	}
	if p.lowers {
		_, _ = in.Session.Extract(ctx, scribe.Turn{}, scribe.Policy{}, nil)
		if c.Tool == "memory" || c.Tool == "recall" {
			g = in.Session.Guard(in.Turn.N, in.Turn.User...)
		}
	}
	r := g.Check(ctx, scribe.Call{Tool: c.Tool, Args: args})
	res := Result{r.Text, r.IsError}
	switch {
	case p.silent:
		return Result{"Error: no", true}
	case p.outlives && strings.Contains(r.Text, "has ended"):
		return ran(all[c.Tool].Run(ctx, []byte(c.Args)))
	case r.Run, p.runsAnyway && t.Run != nil:
		return ran(t.Run(ctx, []byte(c.Args)))
	case p.runsTheWriter && t.Run != nil:
		_, _ = t.Run(ctx, []byte(c.Args))
	}
	if r.IsError {
		res.IsError = !p.unmarked && !p.unflagged
		if p.twiceMarked {
			res.Text = "Error: " + res.Text
		}
		if p.talks {
			res.Text += " (" + in.Rules["Read"].Dirs[0] + ")"
		}
	}
	return res
}

// writer is the loop; all is where a tool goes that comes late.
func (p plain) writer(tools, all map[string]Tool, one func(context.Context, int, Call) Result) Writer {
	return Writer{
		Tools: func(context.Context) ([]string, error) {
			var names []string
			for name := range tools {
				names = append(names, name)
			}
			return names, nil
		},
		Call: func(ctx context.Context, cs ...Call) ([]Result, error) {
			out := make([]Result, len(cs))
			var wg sync.WaitGroup
			for i, c := range cs {
				step := func() { out[i] = one(ctx, i, c) }
				if p.sequential {
					step()
				} else {
					wg.Go(step)
				}
			}
			wg.Wait()
			for _, r := range out {
				if p.aborts && r.IsError {
					return nil, errors.New(r.Text)
				}
			}
			return out, nil
		},
		Add: func(t Tool) { all[t.Name] = t },
	}
}

func (p plain) host() Host {
	return Host{Guarded: p.guarded, Bare: plain{sequential: p.sequential, unflagged: p.unflagged}.bare, Sequential: p.sequential, Unflagged: p.unflagged}
}

func TestPlain(t *testing.T) { Test(t, plain{}.host()) }

// TestUnflagged: where results have no mark of an error, what is on the disk tells.
func TestUnflagged(t *testing.T) {
	if out, err := probe(t, plain{unflagged: true}.host(), groupsNamed("memory/paths", "args", "poison", "alias")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestMistakes: each mistake of a wiring is found, where it is looked for.
func TestMistakes(t *testing.T) {
	tests := []struct {
		name  string
		host  plain
		finds []string // checks that have to fail
	}{
		{"shows every tool", plain{showsAll: true}, []string{"narrow/tools/visible"}},
		{"asks nobody", plain{asksNobody: true}, []string{"read/climbs", "alias/ours-runs", "args/reader-folded", "narrow/ended/Read"}},
		{"runs a tool that it does not show", plain{runsUnknown: true}, []string{"narrow/tools/called-anyway/bash", "narrow/tools/called-anyway/task", "narrow/tools/called-anyway/Tail", "poison/runs-a-shell"}},
		{"does not use the answer", plain{runsAnyway: true}, []string{"read/absolute", "alias/outside"}},
		{"falls back to every tool", plain{fallsBack: true}, []string{"narrow/refused/twin", "narrow/refused/rule-without-tool", "narrow/refused/a-property-without-rule"}},
		{"aborts", plain{aborts: true}, []string{"narrow/tools/called-anyway/bash", "memory/contract/03", "poison/keeps-a-credential"}},
		{"does not mark errors", plain{unmarked: true}, []string{"read/climbs", "memory/contract/05"}},
		{"marks errors twice", plain{twiceMarked: true}, []string{"memory/contract/05"}},
		{"decodes before it asks", plain{decodes: true}, []string{"args/folded-path", "args/duplicate-command"}},
		{"streams past the guard", plain{streamsPast: true}, []string{"narrow/stream/outside", "narrow/stream/folded-key"}},
		{"tools that outlive the extraction", plain{outlives: true}, []string{"narrow/ended/memory", "narrow/ended/Write", "narrow/ended/Read"}},
		{"late tools run", plain{late: true}, []string{"narrow/tools/added-while-it-works"}},
		{"checks the first call of a turn", plain{firstOnly: true}, []string{"narrow/tools/called-anyway/all-in-one-turn"}},
		{"its own memory tool", plain{keepsOwn: true}, []string{"narrow/tools/own-name", "memory/paths/create/climbs", "parallel/edits-of-one-memory", "poison/the-files", "poison/the-next-prompt"}},
		{"an alias runs too", plain{runsTheWriter: true}, []string{"alias/ours-runs", "alias/outside"}},
		{"tells paths of the machine", plain{talks: true}, []string{"read/climbs"}},
		{"refuses everything", plain{silent: true}, []string{"narrow/tools/keeps-a-reader", "memory/contract/recall", "read/allowed/file"}},
		{"a fresh guard for each call", plain{lowers: true}, []string{"trust/after", "narrow/ended/memory"}},
		{"panics", plain{panics: true}, []string{"read/run"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			failed := failures(t, tt.host, groupsNamed(tt.finds...))
			for _, name := range tt.finds {
				if !slices.Contains(failed, name) {
					t.Errorf("%s did not fail; these did: %q", name, failed)
				}
			}
		})
	}
}

// groupsNamed gives the groups that hold the checks of those names.
func groupsNamed(names ...string) []group {
	var out []group
	for _, g := range groups {
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name+"/", g.name+"/") }) {
			out = append(out, g)
		}
	}
	return out
}

func failures(t *testing.T, p plain, groups []group) []string {
	t.Helper()
	var failed []string
	for _, o := range run(t.Context(), t.TempDir(), p.host(), false, groups) {
		if o.err != nil {
			failed = append(failed, o.name)
		}
	}
	return failed
}

// TestDeclared: a runtime whose streaming tools run past the hook, and that says so,
// passes: the extraction fails where a rule names one.
func TestDeclared(t *testing.T) {
	if failed := failures(t, plain{declares: true}, groupsNamed("narrow/stream")); len(failed) > 0 {
		t.Errorf("failed: %q", failed)
	}
}

// TestSequential: a runtime that runs calls one by one passes.
func TestSequential(t *testing.T) {
	h := plain{sequential: true}.host()
	for _, o := range run(t.Context(), t.TempDir(), h, false, groupsNamed("parallel")) {
		if o.err != nil {
			t.Errorf("%s: %v", o.name, o.err)
		}
		if o.name == "parallel/edits-of-one-memory" && o.attack {
			t.Error("lost updates are looked for where nothing runs at once")
		}
	}
}

// TestControl: a wiring in whose bare form the attacks reach nothing proves nothing.
func TestControl(t *testing.T) {
	h := Host{Guarded: plain{}.guarded, Bare: plain{}.guarded}
	bare := run(t.Context(), t.TempDir(), h, true, groups)
	attacks := 0
	for _, o := range bare {
		if o.attack {
			attacks++
			if control(outcome{name: o.name, attack: true}, bare) == nil {
				t.Errorf("%s: the control is content with an attack that does nothing", o.name)
			}
		}
	}
	if attacks < 80 {
		t.Errorf("%d attacks, want at least 80", attacks)
	}
	if control(outcome{name: "no/such"}, bare) == nil {
		t.Error("a check that the bare wiring never came to passes")
	}
}

// TestProbe pins what is printed first, and that a failing wiring fails.
func TestProbe(t *testing.T) {
	out, err := probe(t, plain{}.host(), groupsNamed("narrow/tools"))
	if err != nil {
		t.Error(err)
	}
	want := fmt.Sprintf("%-18s %s\n%-18s %s\n", "without narrowing", "Read, Tail, Write, bash, mcp__issues__create, memory, recall, send_file, task, web_fetch",
		"with narrowing", "Read, Write, memory, recall")
	if !strings.HasPrefix(out, want) {
		t.Errorf("got\n%.400s\nwant\n%s", out, want)
	}
	never := plain{}.host()
	never.Guarded = func(context.Context, Input, func(context.Context, Writer) error) error { return nil }
	if _, err := probe(t, never, groupsNamed("read")); err == nil || !strings.Contains(err.Error(), "never came") {
		t.Errorf("a wiring whose writer never runs passes: %v", err)
	}
	out, err = probe(t, plain{runsUnknown: true}.host(), groupsNamed("narrow/tools"))
	if err == nil || !strings.Contains(out, "FAILED") {
		t.Errorf("a wiring that runs what it does not show passes the probe:\n%s", out)
	}
}

func TestCodeLines(t *testing.T) {
	if got := codeLines("// a comment\nfunc f(\n\tx int,\n) {\n\n\tg(func() { // why\n\t})\n}\n"); got != 4 {
		t.Errorf("%d lines, want 4", got)
	}
}

// TestReadmeFigures: README.md counts what there is.
func TestReadmeFigures(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	const more = 3 + 3 + 1 // renames, roots and a view, beside the names that are created
	for _, want := range []string{fmt.Sprintf("%d names that a reader", len(reads)), fmt.Sprintf("%d names and roots", len(memoryPath)+more)} {
		if !strings.Contains(string(readme), want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
}
