package scribe

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOutsideModule builds and runs testdata/outside/main.go.txt as a module of its
// own, which requires this one: what a host needs is importable, and does what the
// documentation says.
func TestOutsideModule(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to build with")
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir, workspace := t.TempDir(), t.TempDir()
	program, err := os.ReadFile("testdata/outside/main.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go .*`).FindString(string(mod))
	for name, data := range map[string]string{
		filepath.Join(dir, "main.go"):         string(program),
		filepath.Join(dir, "go.sum"):          string(sums),
		filepath.Join(dir, "go.mod"):          "module example.com/outside\n\n" + version + "\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + filepath.ToSlash(root) + "\n",
		filepath.Join(workspace, "notes.txt"): "notes\n",
	} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(goTool, "run", ".", workspace)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := []string{
		"kept: read_file removed: narrow.shell",
		"bash: run false, error true",
		"read_file: run false, error true",
		"read_file: run true, error false",
		"memory: run false, error false",
		`skip "", frozen true`,
		"deploy.md user-verified",
		"",
	}
	if diff := cmp.Diff(strings.Split(string(out), "\n"), want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}
