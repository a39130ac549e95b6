package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/memoryroom/scribe"
)

// TestMain makes the program, and a writer that fills a room, commands of the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"scribe-room": main,
		"writer":      func() { os.Exit(writer(os.Args[1:])) },
		"many":        func() { os.Exit(many(os.Args[1:])) },
	})
}

// TestScripts runs testdata/script: each file is a scenario of one group of commands.
// Together they hold the behaviours A58 and C53, the commands of a memory.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true})
}

// writer proposes one memory as a model's guard would: writer TRUST PATH TEXT. With
// "edit OLD NEW" or "remove" in the place of TEXT it changes one.
func writer(args []string) int {
	ctx := context.Background()
	var trust scribe.Trust
	if len(args) < 3 || trust.UnmarshalText([]byte(args[0])) != nil {
		fmt.Fprintln(os.Stderr, "usage: writer TRUST PATH TEXT | edit OLD NEW | remove")
		return 2
	}
	r, err := scribe.Open("room", nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer r.Close()
	s, err := r.Session(ctx, "script-"+args[0], trust)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c := scribe.Candidate{Path: args[1], Text: args[2] + "\n"}
	switch args[2] {
	case "edit":
		c = scribe.Candidate{Path: args[1], Old: args[3], New: args[4]}
	case "remove":
		c = scribe.Candidate{Path: args[1], Remove: true}
	}
	if m, err := r.Read(ctx, args[1]); err == nil && c.Old == "" {
		c.Base = m.Hash
	}
	vs, err := s.Guard(1).Propose(ctx, c)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(vs[0].Outcome)
	return 0
}

// many fills the room with N memories of the operator's: many N.
func many(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	for i := range n {
		name := fmt.Sprintf("room/topic-%04d.md", i)
		if os.WriteFile(name, fmt.Appendf(nil, "---\ndescription: topic number %d\n---\nWhat is known of topic %d.\n", i, i), 0o600) != nil {
			return 1
		}
	}
	return 0
}
