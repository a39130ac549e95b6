// Recall-eval runs labelled queries against scribe's search and prints how well it
// ranks and what that costs.
//
//	go run ./examples/recall-eval -cases DIR          # the sets in DIR/recall/, or in DIR, or DIR as one set
//	go run ./examples/recall-eval -cases DIR -json    # one JSON object; times in seconds and microseconds
//	go run ./examples/recall-eval -cases DIR -policy lexical_pre_v2    # under the contract's ranking, or lexical_pre_v1
//
//	go run ./examples/recall-eval -gate FILE          # when a memory is worth a look: labelled conversations
//	go run ./examples/recall-eval -cases DIR -leak    # what Session.Suggest hands out of another room: must be nothing
//	go run ./examples/recall-eval -replay FILE        # a recorded conversation again: equal, field by field, or exit code 1
//	go run ./examples/recall-eval -audit DIR          # what the rows of a shadow audit add up to
//
// A recorded conversation is JSON lines: a head that names the policies, then each memory and
// each segment, with its result where there is one, and "void" where a deadline or another
// segment made that count for nothing (see testdata/runs). -replay -json records: it prints the
// run with the results of now.
//
// A conversation is one JSON object a line: id; segments, each with kind, text, tool,
// plugin, failed, child and at, in milliseconds; and label, a letter for each segment:
// r where a search should show something, p where it does no harm, s where it should
// not, and "." where people would not agree. Both policies of the gate run over them.
//
// A set is a folder of two files, one JSON object a line:
//
//	corpus.jsonl    id, scope, title, text
//	queries.jsonl   id, scope, text, relevant: a list of ids, or an object of id to grade
//
// Every scope has an index of its own, and a query sees the documents of its scope
// alone. A relevant id that its scope does not hold stays in the reckoning, as
// one that can not be found; a query without any relevant id is counted, run and
// timed, and left out of the averages.
//
// The measures, of the first ten hits: nDCG@10 with the grade as gain and
// log2(rank+1) as discount; hit@1, whether the first is relevant; R@5 and R@10, the
// share of the relevant that is there; MRR@10, one over the rank of the first
// relevant. A list counts as grade 1, and grades of zero or less as not relevant. The
// mean over sets counts every set once.
//
// Exit codes: 0 when the sets were run; 1 when they could not be; 2 for wrong flags.
package main

import (
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/cli"
	"github.com/memoryroom/scribe/internal/lexical"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	flags := cli.Flags("recall-eval", "-cases DIR [-policy NAME | -leak] [-json], or -gate FILE, -replay FILE or -audit DIR [-json]", errs)
	cases := flags.String("cases", "", "folder that holds sets of corpus.jsonl and queries.jsonl")
	gateFile := flags.String("gate", "", "file of labelled conversations, one a line")
	replayFile := flags.String("replay", "", "file of one recorded conversation, with its memories and results")
	auditDir := flags.String("audit", "", "folder of a shadow audit: .scribe/shadow of a room")
	leak := flags.Bool("leak", false, "with -cases: ask every scope's queries in every scope's room")
	policy := flags.String("policy", lexical.Version, "with -cases: the ranking, one of "+strings.Join(policies(), ", "))
	asJSON := flags.Bool("json", false, "print one JSON object instead of text")
	if code, ok := cli.Parse(flags, args); !ok {
		return code
	}
	var alone []string
	for name, value := range map[string]string{"-audit": *auditDir, "-gate": *gateFile, "-replay": *replayFile} {
		if value != "" {
			alone = append(alone, name)
		}
	}
	slices.Sort(alone)
	switch {
	case !slices.Contains(policies(), *policy):
		return cli.Wrong(flags, "no policy %q: it is one of %s", *policy, strings.Join(policies(), ", "))
	case *leak && *policy != lexical.Version:
		return cli.Wrong(flags, "-leak asks rooms, which have the default policy alone")
	case len(alone) > 1 || len(alone) == 1 && (*cases != "" || *leak || *policy != lexical.Version):
		return cli.Wrong(flags, "%s runs alone", alone[0])
	case *cases == "" && len(alone) == 0:
		return cli.Wrong(flags, "-cases is missing")
	}
	do := func() error { return evaluate(*cases, *policy, *asJSON, out) }
	switch {
	case *gateFile != "":
		do = func() error { return gates(*gateFile, *asJSON, out) }
	case *replayFile != "":
		do = func() error { return replays(*replayFile, *asJSON, out) }
	case *auditDir != "":
		do = func() error { return audits(*auditDir, *asJSON, out) }
	case *leak:
		do = func() error { return leaks(*cases, *asJSON, out) }
	}
	return cli.Ended(flags, do())
}

// policies are the names of all rankings.
func policies() []string { return slices.Sorted(maps.Keys(engines())) }

func evaluate(dir, policy string, asJSON bool, out io.Writer) error {
	dirs, err := setDirs(dir)
	if err != nil {
		return err
	}
	rep := &report{Policy: policy}
	for _, d := range dirs {
		s, err := readSet(d)
		if err != nil {
			return err
		}
		rep.Sets = append(rep.Sets, s.measure(engines()[policy]))
	}
	rep.finish()
	return cli.Print(out, rep, asJSON, rep.print)
}
