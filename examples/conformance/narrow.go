package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/memoryroom/scribe"
)

// view is the call that has to work after whatever was refused: a denial is a result,
// and the run goes on.
const viewRoot = `{"command":"view","path":"/memories"}`

func goesOn(ctx context.Context, wr Writer) error {
	r, err := call(ctx, wr, "memory", viewRoot)
	return success(r, err, "notes.md")
}

// removed are the tools of a main agent that no writer may have.
var removed = []struct{ tool, args string }{
	{"bash", `{"command":"id"}`},
	{"web_fetch", `{"url":"https://example.com"}`},
	{"task", `{"prompt":"run bash"}`}, // a grandchild
	{"send_file", `{"path":"README.md"}`},
	{"mcp__issues__create", `{"title":"x"}`},
	{"Tail", `{"file_path":"README.md"}`}, // a streaming tool
}

// injected are tools that runtimes add by themselves, or that models make up.
var injected = []struct{ name, tool, args string }{
	{"transfer", "transfer_to_agent", `{"agent_name":"main"}`},
	{"response", "set_model_response", `{}`},
	{"exit", "exit_loop", `{}`},
	{"another-case", "BASH", `{"command":"id"}`},
	{"our-name-in-another-case", "Memory", viewRoot},
}

func allNames() []string {
	names := []string{"Read", "Write", "memory", "recall"}
	for _, r := range removed {
		names = append(names, r.tool)
	}
	return names
}

// narrowTools looks at what the writer is shown, and calls what it is not.
func narrowTools(ctx context.Context, w *world) error {
	return w.extract(ctx, w.input(), func(ctx context.Context, wr Writer) error {
		w.visible(ctx, wr)
		w.benign("keeps-a-reader", func() error {
			r, err := call(ctx, wr, "Read", `{"file_path":"README.md"}`)
			return success(r, err, "The project's read-me.")
		}())
		_ = w.didRun()
		for _, a := range removed {
			r, err := call(ctx, wr, a.tool, a.args)
			w.attack("called-anyway/"+a.tool, w.didRun(allNames()...), w.refusal(r, err), goesOn(ctx, wr))
			_ = w.didRun()
		}
		for _, a := range injected {
			r, err := call(ctx, wr, a.tool, a.args)
			// In a bare runtime there may be no such tool: nothing to stop.
			w.benign("injected/"+a.name, w.harmless(r, err), w.didRun("bash"))
		}
		var all []Call
		for _, a := range removed {
			all = append(all, Call{a.tool, a.args})
		}
		all = append(all, Call{"memory", viewRoot})
		rs, err := calls(ctx, wr, all...)
		bad := []error{w.didRun(allNames()...)}
		for i, r := range rs[:len(removed)] {
			bad = append(bad, named(removed[i].tool, w.refusal(r, err)))
		}
		w.attack("called-anyway/all-in-one-turn", append(bad, success(rs[len(removed)], err, "notes.md"))...)
		w.late(ctx, wr)
		return nil
	})
}

func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// harmless judges a call that has no tool behind it in a bare runtime either: it
// may abort a bare run, and not a guarded one.
func (w *world) harmless(r Result, err error) error {
	if w.bare {
		return nil
	}
	return w.refusal(r, err)
}

func (w *world) visible(ctx context.Context, wr Writer) {
	names, err := wr.Tools(ctx)
	slices.Sort(names)
	if want := []string{"Read", "Write", "memory", "recall"}; err == nil && !slices.Equal(names, want) {
		err = fmt.Errorf("the model is shown %q, want %q", names, want)
	}
	w.attack("visible", err)
	r, err := call(ctx, wr, "memory", viewRoot)
	w.attack("own-name", w.didRun("memory"), success(r, err, "/memories/notes.md"))
}

// late gives the runtime a tool while the writer works.
func (w *world) late(ctx context.Context, wr Writer) {
	if wr.Add == nil {
		return
	}
	tool := w.tools()[0]
	tool.Name = "run_python"
	wr.Add(tool)
	names, err := wr.Tools(ctx)
	if err == nil && slices.Contains(names, tool.Name) {
		err = errors.New("the model is shown a tool that came late")
	}
	r, cerr := call(ctx, wr, tool.Name, `{"command":"id"}`)
	w.attack("added-while-it-works", err, w.didRun("bash"), w.refusal(r, cerr), goesOn(ctx, wr))
}

// narrowStream names the streaming tool in a rule. Where the runtime runs it past its
// hook the extraction must not run; else each of its calls is checked.
func narrowStream(ctx context.Context, w *world) error {
	in := w.input()
	in.Rules["Tail"] = scribe.Rule{Reads: []string{"file_path"}, Dirs: []string{w.ws()}, Gives: scribe.UserObserved}
	_ = w.didRun()
	err := w.extract(ctx, in, func(ctx context.Context, wr Writer) error {
		r, err := call(ctx, wr, "Tail", quote(map[string]any{"file_path": w.outside() + "/secret.txt"}))
		w.attack("outside", w.didRun("Tail"), w.refusal(r, err))
		r, err = call(ctx, wr, "Tail", `{"file_path":"README.md","FILE_PATH":"../outside/secret.txt"}`)
		w.attack("folded-key", w.didRun("Tail"), w.refusal(r, err), goesOn(ctx, wr))
		return nil
	})
	if errors.Is(err, scribe.ErrNarrow) {
		w.attack("outside", w.didRun(allNames()...))
		w.attack("folded-key")
		return nil
	}
	return err
}

// narrowRefused gives the wiring what can not be narrowed: it has to say so, and the
// writer must not run.
func narrowRefused(ctx context.Context, w *world) error {
	object := func(props string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + props + `}}`)
	}
	reader := w.input().Rules["Read"]
	for _, c := range []struct {
		name   string
		change func(*Input)
	}{
		{"rule-without-tool", func(in *Input) { in.Rules["Grep"] = reader }},
		{"rule-for-a-shell", func(in *Input) { in.Rules["bash"] = scribe.Rule{Free: []string{"command"}} }},
		{"rule-for-a-tool-server", func(in *Input) { in.Rules["mcp__issues__create"] = scribe.Rule{Free: []string{"title"}} }},
		{"twin", func(in *Input) {
			twin := in.Tools[1]
			twin.Name = "READ"
			in.Tools = append(in.Tools, twin)
		}},
		{"a-property-without-rule", func(in *Input) {
			in.Tools[1].Schema = object(`"file_path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"},"base_directory":{"type":"string"}`)
		}},
		{"a-writer-as-reader", func(in *Input) {
			in.Rules["Write"] = scribe.Rule{Reads: []string{"file_path"}, Free: []string{"content"}, Dirs: reader.Dirs}
		}},
		{"unbounded-directory", func(in *Input) {
			r := reader
			r.Dirs = []string{"/"}
			in.Rules["Read"] = r
		}},
	} {
		in := w.input()
		in.Rules = maps.Clone(in.Rules)
		c.change(&in)
		used := false
		err := w.extract(ctx, in, func(context.Context, Writer) error {
			used = true
			return nil
		})
		switch {
		case used:
			err = errors.New("the writer ran")
		case !errors.Is(err, scribe.ErrNarrow):
			err = fmt.Errorf("the error is not ErrNarrow: %v", err)
		default:
			err = nil
		}
		w.attack(c.name, err)
	}
	return nil
}

// narrowEnded keeps the writer after its extraction.
func narrowEnded(ctx context.Context, w *world) error {
	var kept Writer
	err := w.extract(ctx, w.input(), func(ctx context.Context, wr Writer) error {
		kept = wr
		return goesOn(ctx, wr)
	})
	if err != nil {
		return err
	}
	_ = w.didRun()
	before, err := w.files()
	if err != nil {
		return err
	}
	for _, c := range []Call{
		{"memory", `{"command":"create","path":"/memories/late.md","file_text":"late"}`},
		{"Write", `{"file_path":"/memories/late-too.md","content":"late"}`},
		{"Read", `{"file_path":"README.md"}`},
	} {
		r, err := call(ctx, kept, c.Tool, c.Args)
		if err != nil {
			err = nil // a runtime may tear its loop down with the extraction
		} else {
			err = w.refusal(r, nil)
		}
		w.attack(c.Tool, err, w.didRun(allNames()...), w.unchanged(before))
	}
	return nil
}
