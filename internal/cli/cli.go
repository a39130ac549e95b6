// Package cli is what the command lines of examples and benchmarks share: flags that end
// with one exit code whatever is wrong with them, and a result for people or as JSON. No
// package of the library imports it.
//
// Exit codes: 0; 1 when the program could not run; 2 for wrong flags.
package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Flags gives an empty set of flags that reports to errs. usage is what follows the
// program's name in its usage line.
func Flags(program, usage string, errs io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() {
		fmt.Fprintf(errs, "usage: %s %s\n", program, usage)
		flags.PrintDefaults()
	}
	return flags
}

// Parse reads a command line that has flags alone. ok says to go on; code is the exit code
// otherwise.
func Parse(flags *flag.FlagSet, args []string) (code int, ok bool) {
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0, false
	case err != nil:
		return 2, false
	case flags.NArg() > 0:
		return Wrong(flags, "unexpected argument %q: every input has a flag", flags.Arg(0)), false
	}
	return 0, true
}

// Numbers is a flag that takes whole numbers from 1 on, with commas between them.
type Numbers []int

// String gives the numbers as the flag takes them.
func (ns *Numbers) String() string {
	var words []string
	for _, n := range *ns {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ",")
}

// Set takes the place of the numbers that were there.
func (ns *Numbers) Set(text string) error {
	var all Numbers
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return errors.New("it takes numbers from 1 on, with commas between them")
		}
		all = append(all, n)
	}
	*ns = all
	return nil
}

// Wrong says what is wrong with the flags and what they are, and gives the exit code for it.
func Wrong(flags *flag.FlagSet, format string, args ...any) int {
	fmt.Fprintf(flags.Output(), "%s: %s\n", flags.Name(), fmt.Sprintf(format, args...))
	flags.Usage()
	return 2
}

// Ended gives the exit code for what the program's run returned, and reports its error.
func Ended(flags *flag.FlagSet, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(flags.Output(), "%s: %v\n", flags.Name(), err)
	return 1
}

// Print prints a result: one indented JSON object, or what text writes.
func Print(out io.Writer, result any, asJSON bool, text func(io.Writer) error) error {
	if !asJSON {
		return text(out)
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(result)
}
