// Screen-eval runs labelled texts through scribe's three screens (credentials, hidden
// text, instructions) and prints what they catch, what they take for harm that is
// none, and what a text costs.
//
//	go run ./examples/screen-eval -cases DIR            # DIR/screen/*.jsonl and DIR/secrets/*.jsonl, or DIR/*.jsonl
//	go run ./examples/screen-eval -cases FILE.jsonl     # one file
//	go run ./examples/screen-eval -cases DIR -misses    # and the id and rules of every wrong answer
//	go run ./examples/screen-eval -cases DIR -json      # one JSON object; shares from 0 to 1, times in microseconds
//
// A case is one JSON object a line: id, label, and text, or text_b64 (standard
// base64) where the text should not stand in a file as it is. The labels:
//
//	secret, clean    a text with a credential, and one without
//	attack, benign   a text that steers a model, and one that does not
//
// An attack may carry a scope: "B" is the scope of hidden and encoded text, which
// counts as caught also by what the characters carry; every other scope is measured
// on the instruction screen alone. What a row carries of category, class, shape,
// hard, derived, lang, licence and source_repo makes the rows of the tables; false
// positives are listed by file, category, shape and lang.
//
// The screens are put together as admission does: the text, and what its encoded
// runs decode to. An instruction is flagged when a finding is weak or strong, and
// held when one is strong. Ranges are Wilson intervals of 95 %. The mean over sources
// counts every source_repo once, so that a large one does not stand for all.
//
// "Source left out" is the cross-validation by source. Rules and lexicon are written
// by hand, so a source can not be left out of their making; it is left out of what
// they have: for the attacks of each source_repo the screen loses the words of its
// lexicon that occur in no other source's attacks, and the rows and hints that fire in
// no other's. The score keeps its weights, which come from texts of this project
// alone: to it every source is unseen, and its line under "rule" says what it adds.
//
// No text of a case is ever printed.
//
// Exit codes: 0 when the cases were run, however they came out; 1 when they could
// not be; 2 for wrong flags.
package main

import (
	"io"
	"os"

	"github.com/memoryroom/scribe/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	flags := cli.Flags("screen-eval", "-cases DIR [-json] [-misses]", errs)
	cases := flags.String("cases", "", "folder (or one file) of labelled texts, JSONL")
	asJSON := flags.Bool("json", false, "print one JSON object instead of text")
	misses := flags.Bool("misses", false, "list the id and the rules of every wrong answer")
	if code, ok := cli.Parse(flags, args); !ok {
		return code
	}
	if *cases == "" {
		return cli.Wrong(flags, "-cases is missing")
	}
	return cli.Ended(flags, evaluate(*cases, *misses, *asJSON, out))
}

func evaluate(dir string, misses, asJSON bool, out io.Writer) error {
	rows, err := readCases(dir)
	if err != nil {
		return err
	}
	rep := newReport(rows, misses)
	return cli.Print(out, rep, asJSON, rep.print)
}
