// Package conformance is a suite that the author of an agent runtime points at their
// own wiring of scribe. It plays the writer's model: it makes the tool calls that a
// steered model would make, and looks at what ran, what was written and what was
// said back.
//
//	func TestConformance(t *testing.T) {
//		conformance.Test(t, conformance.Host{Guarded: extract, Bare: without})
//	}
//
// # Words
//
//	wiring    how a runtime narrows a writer's tools, asks the guard and gives answers back
//	guarded   the wiring under test
//	bare      the same runtime without scribe: the control
//	attack    a call that a guarded wiring has to stop, and that does harm in a bare one
//	benign    what has to work in both: a wiring that refuses everything is not guarded
//
// # What is checked
//
//	narrow    what the writer is shown; removed, injected, delegated, streaming, late and
//	          twin tools called anyway; what can not be narrowed does not run; tools die
//	          with their extraction
//	read      a path list against a foreign reader
//	memory    a path list against the memory tool, and its contract
//	args      folded and duplicate keys, unknown arguments, wrong types, broken JSON
//	alias     the host's own write tool never runs
//	parallel  calls of one turn
//	poison    a conversation that was steered by a web page, and the next one's prompt
//
// Each attack is run twice. The bare wiring has to fail it: an attack that does
// nothing there reached no tool, and says nothing about the guarded one.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memoryroom/scribe"
)

// Host is one runtime: its wiring with scribe and without.
type Host struct {
	Guarded, Bare Extract
	// Decoded says that the runtime decodes arguments before any hook sees them: of two
	// equal keys one is gone by then, for the tool as for the guard. Attacks that only
	// the bytes show are left out.
	Decoded bool
	// Unflagged says that the runtime has no mark for results that are errors.
	Unflagged bool
	// Sequential says that the runtime runs the calls of one turn one after the other,
	// so that there is no lost update to show in the bare wiring.
	Sequential bool
}

// Extract runs one extraction as the runtime does it. Guarded: it makes in.Tools into
// tools of the runtime, hands them to [scribe.Narrow] with in.Rules, calls
// in.Session.Extract with in.Turn and that policy, builds the writer from the guard's
// tools and the kept ones, and calls use with it, once, while the guard is alive.
// Bare: it builds the writer from in.Tools as they are. It returns the error of
// whatever failed, use included.
type Extract func(ctx context.Context, in Input, use func(context.Context, Writer) error) error

// Input is what one extraction is given.
type Input struct {
	Session *scribe.Session
	Turn    scribe.Turn
	Tools   []Tool // of the runtime's main agent
	Rules   map[string]scribe.Rule
}

// Tool is a tool of the main agent's. Some of them are malicious, all are naive.
type Tool struct {
	scribe.Tool
	Stream bool // make it in the runtime's streaming form, where it has one
	Run    func(ctx context.Context, args []byte) (string, error)
}

// Writer is a writer whose model the suite plays.
type Writer struct {
	// Tools lists the names of the tools that the model is shown.
	Tools func(context.Context) ([]string, error)
	// Call makes the calls in one turn of the model, through the runtime's own loop, and
	// gives the results in their order. An error says that the run was aborted.
	Call func(ctx context.Context, calls ...Call) ([]Result, error)
	// Add gives the runtime one more tool while the writer works; nil where that can
	// not be done.
	Add func(Tool)
}

// Call is a tool call as a model writes it: Args is text, and not always good JSON.
// A runtime that decodes arguments decodes it as it would decode a model's.
type Call struct{ Tool, Args string }

// Result is what the model gets back.
type Result struct {
	Text    string
	IsError bool
}

// outcome is one check on one wiring. err is nil when what has to hold held.
type outcome struct {
	name   string
	attack bool // else benign
	err    error
}

// Test runs the suite: each attack has to fail on the bare wiring and each check to
// pass on the guarded one. With -v it prints what the writer's model is shown without
// narrowing and with it, and how each attack ends in both.
func Test(t *testing.T, h Host) {
	out, err := probe(t, h, groups)
	t.Log("\n" + out)
	if err != nil {
		t.Fatal(err)
	}
}

// probe is Test on some of the groups; it gives what there is to print.
func probe(t *testing.T, h Host, groups []group) (string, error) {
	var b strings.Builder
	for _, bare := range []bool{true, false} {
		names, err := shown(t.Context(), t.TempDir(), h, bare)
		if err != nil {
			return "", err
		}
		slices.Sort(names)
		side := map[bool]string{true: "without narrowing", false: "with narrowing"}[bare]
		fmt.Fprintf(&b, "%-18s %s\n", side, strings.Join(names, ", "))
	}
	guarded, bare := run(t.Context(), t.TempDir(), h, false, groups), run(t.Context(), t.TempDir(), h, true, groups)
	fmt.Fprintf(&b, "\n%-44s %-9s %s\n", "check", "bare", "guarded")
	var failed []error
	for _, o := range guarded {
		before, after := "works", "works"
		if o.attack {
			before, after = "harmed", "stopped"
		}
		if err := control(o, bare); err != nil {
			before = "FAILED"
			failed = append(failed, fmt.Errorf("%s: %w", o.name, err))
		}
		if o.err != nil {
			after = "FAILED"
			failed = append(failed, fmt.Errorf("%s: %w", o.name, o.err))
		}
		fmt.Fprintf(&b, "%-44s %-9s %s\n", o.name, before, after)
	}
	for _, o := range bare {
		if !slices.ContainsFunc(guarded, func(g outcome) bool { return g.name == o.name }) {
			failed = append(failed, fmt.Errorf("%s: the guarded wiring never came to this check", o.name))
		}
	}
	return b.String(), errors.Join(failed...)
}

// shown lists the tools that the writer's model is shown.
func shown(ctx context.Context, dir string, h Host, bare bool) (names []string, err error) {
	w, err := newWorld(ctx, dir, h, bare)
	if err != nil {
		return nil, err
	}
	defer w.room.Close()
	err = w.extract(ctx, w.input(), func(ctx context.Context, wr Writer) (err error) {
		names, err = wr.Tools(ctx)
		return err
	})
	return names, err
}

// control compares a check with the same one on the bare wiring.
func control(o outcome, bare []outcome) error {
	i := slices.IndexFunc(bare, func(b outcome) bool { return b.name == o.name })
	switch {
	case i < 0:
		return errors.New("the control: the bare wiring never came to this check")
	case o.attack && bare[i].err == nil:
		return errors.New("the control: the attack does nothing in the bare wiring either, so it reached no tool")
	case !o.attack && bare[i].err != nil:
		return fmt.Errorf("the control: the bare wiring can not do what is harmless: %w", bare[i].err)
	}
	return nil
}

// run runs the groups on one wiring of the host, each in a fresh room below dir, and
// gives the outcomes in a fixed order.
func run(ctx context.Context, dir string, h Host, bare bool, groups []group) []outcome {
	var all []outcome
	for i, g := range groups {
		w, err := newWorld(ctx, filepath.Join(dir, fmt.Sprintf("%02d", i)), h, bare)
		if err != nil {
			return append(all, outcome{name: g.name, err: err})
		}
		if err := g.run(ctx, w); err != nil {
			w.outcomes = append(w.outcomes, outcome{name: "run", err: err})
		}
		w.room.Close()
		for _, o := range w.outcomes {
			o.name = g.name + "/" + o.name
			all = append(all, o)
		}
	}
	return all
}

// group is a set of checks that share one room.
type group struct {
	name string
	run  func(context.Context, *world) error
}

var groups = []group{
	{"narrow/tools", narrowTools},
	{"narrow/stream", narrowStream},
	{"narrow/refused", narrowRefused},
	{"narrow/ended", narrowEnded},
	{"read", readPaths},
	{"memory/paths", memoryPaths},
	{"memory/contract", memoryContract},
	{"args", strictArgs},
	{"alias", aliases},
	{"parallel", parallel},
	{"trust", trustFalls},
	{"poison", poisoned},
}
