package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadme holds README.md to the program: each command and each exit code.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	a := &app{screen: newScreen(strings.NewReader(""), new(bytes.Buffer), new(bytes.Buffer))}
	for _, c := range a.root().Commands() {
		if c.GroupID != "" && !regexp.MustCompile("`"+c.Name()+"[ `]").Match(data) {
			t.Errorf("README.md does not name the command %s", c.Name())
		}
		if c.GroupID != "" && c.Example == "" {
			t.Errorf("%s has no example", c.Name())
		}
	}
	codes := regexp.MustCompile(`(?m)^  (\d)  `).FindAllStringSubmatch(exitHelp, -1)
	if len(codes) != exitUnsure+1 {
		t.Errorf("the help lists %d exit codes, want %d", len(codes), exitUnsure+1)
	}
	for _, c := range codes {
		if !bytes.Contains(data, []byte("| "+c[1]+" | ")) {
			t.Errorf("README.md does not explain exit code %s", c[1])
		}
	}
}
