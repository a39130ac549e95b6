package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the measured processes be this very binary.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-room" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestMeasure runs the whole over a room that is large enough for a cache.
func TestMeasure(t *testing.T) {
	var out, errs strings.Builder
	if code := run([]string{"-n", "1100", "-rounds", "1"}, &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	row := strings.Fields(out.String()[strings.IndexByte(out.String(), '\n'):])
	if row[0] != "1100" || row[len(row)-1] == "0.00" {
		t.Errorf("no cache was kept:\n%s", out.String())
	}
	if code := run([]string{"-n", "x"}, &out, &errs); code != 2 {
		t.Errorf("exit code %d for a number that is none", code)
	}
	if code := run([]string{"-room", filepath.Join(t.TempDir(), "none")}, &out, &errs); code != 1 {
		t.Errorf("exit code %d for a room without memories", code)
	}
}
