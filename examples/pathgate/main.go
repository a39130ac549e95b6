// Pathgate runs labelled names against scribe's path gate and against the checks
// that a Go program would otherwise use, and prints how many hostile names each lets
// through.
//
//	go run .                     # the cases that ship with it
//	go run . -cases DIR          # DIR/paths.jsonl, one case a line
//	go run . -by class           # a row for each class of the cases
//	go run . -names DIR          # how many .md files of a tree the gate refuses
//
// A case is one JSON object: id, path (or path_b64, for names that are not UTF-8),
// op (write, read, delete), expect (allow, deny), class, and setup, a list of what
// lies in the room beforehand: kind (file, dir, symlink, hardlink, fifo, socket,
// chardev, bind), path, target ($OUT is a directory beside the room). Cases whose
// setup can not be made, for want of rights, are left out and counted.
//
// Every peer is given the test for the ending .md for free; see peers.go for what
// counts as its answer.
//
// Exit codes: 0 when the gate gave every expected answer (or, with -names, refused
// few enough); 1 when it did not, or nothing could be run; 2 for wrong flags.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/memoryroom/scribe/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	flags := cli.Flags("pathgate", "[-cases DIR] [-by group|class] [-names DIR]", errs)
	dir := flags.String("cases", "", "folder that holds paths.jsonl; empty: the cases that ship with this program")
	by := flags.String("by", "group", "rows of the table: group or class")
	names := flags.String("names", "", "walk this tree instead, and judge the names of its .md files")
	if code, ok := cli.Parse(flags, args); !ok {
		return code
	}
	if *by != "group" && *by != "class" {
		return cli.Wrong(flags, "-by is group or class")
	}
	var ok bool
	var err error
	if *names != "" {
		ok, err = judgeTree(*names, out)
	} else {
		ok, err = compare(*dir, *by == "class", out)
	}
	if err == nil && !ok {
		return 1
	}
	return cli.Ended(flags, err)
}

// compare runs the cases and prints the table. It reports whether the gate gave
// every expected answer.
func compare(dir string, byClass bool, out io.Writer) (ok bool, err error) {
	cases, err := readCases(dir)
	if err != nil {
		return false, err
	}
	base, err := os.MkdirTemp("", "pathgate")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(base)
	peers, err := allPeers(base)
	if err != nil {
		return false, err
	}
	t := newTable(peers, byClass)
	for _, c := range cases {
		answers, err := runCase(base, c, peers)
		switch {
		case errors.Is(err, errSetup):
			t.skip(err)
			continue
		case err != nil:
			return false, fmt.Errorf("%s: %w", c.ID, err)
		}
		t.add(c, answers)
		if want := c.Expect == "allow"; answers[0] != want {
			fmt.Fprintf(out, "wrong: %s: %s %+.80q: allowed is %v, want %v\n", c.ID, c.Op, c.Path, answers[0], want)
		}
	}
	t.print(out)
	return t.right(), nil
}
