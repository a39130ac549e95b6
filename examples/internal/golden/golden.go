// Package golden is for the tests of the example programs: what a program printed beside
// what it is to print. With -update the files are written anew; read the difference.
package golden

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files in testdata anew")

// Check compares got with testdata/name.
func Check(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		Write(t, file, strings.TrimSuffix(got, "\n"))
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, strings.ReplaceAll(string(want), "\r\n", "\n")); diff != "" {
		t.Errorf("output (-got +want); run with -update if it is meant:\n%s", diff)
	}
}

// Write makes a file of lines, and the directories that lead to it.
func Write(t *testing.T, file string, lines ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Summary demands that the last line, and no other, is the summary.
func Summary(t *testing.T, out string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if n := strings.Count(out, "\nsummary: "); n != 1 || !strings.HasPrefix(lines[len(lines)-1], "summary: ") {
		t.Errorf("%d summary lines; the last line is %q", n, lines[len(lines)-1])
	}
}

// Output runs a program's entry and returns its exit code and what it printed.
func Output(run func(args []string, out, errs io.Writer) int, args ...string) (code int, out, errs string) {
	var o, e strings.Builder
	code = run(args, &o, &e)
	return code, o.String(), e.String()
}
