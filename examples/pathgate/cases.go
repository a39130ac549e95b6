package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// ownCases are cases of this program's own.
//
//go:embed testdata/paths.jsonl
var ownCases []byte

// A pathCase is one name, what is done with it, and what a gate should answer.
type pathCase struct {
	ID      string    `json:"id"`
	Path    string    `json:"path"`
	PathB64 string    `json:"path_b64"`
	Op      string    `json:"op"`
	Expect  string    `json:"expect"`
	Class   string    `json:"class"`
	Setup   []fixture `json:"setup"`
}

// A fixture is one thing that lies in the room beforehand.
type fixture struct{ Kind, Path, Target string }

func readCases(dir string) ([]pathCase, error) {
	data := ownCases
	if dir != "" {
		var err error
		if data, err = os.ReadFile(filepath.Join(dir, "paths.jsonl")); err != nil {
			return nil, err
		}
	}
	var cases []pathCase
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var c pathCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("paths.jsonl: line %d: %w", n, err)
		}
		if c.PathB64 != "" {
			raw, err := base64.StdEncoding.DecodeString(c.PathB64)
			if err != nil {
				return nil, fmt.Errorf("paths.jsonl: line %d: %w", n, err)
			}
			c.Path = string(raw)
		}
		if c.Expect != "allow" && c.Expect != "deny" {
			return nil, fmt.Errorf("paths.jsonl: line %d: expect is %q", n, c.Expect)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, errors.New("paths.jsonl holds no case")
	}
	return cases, nil
}

// errSetup: what the case needs on disk can not be made here.
var errSetup = errors.New("setup")

// runCase makes a room of the case's own and asks every peer. os.Root, which is the
// only one that touches the disk to answer, is last.
func runCase(base string, c pathCase, peers []peer) (allowed []bool, err error) {
	dir, err := os.MkdirTemp(base, "case")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	room, out := filepath.Join(dir, "room"), filepath.Join(dir, "outside")
	for _, d := range []string{room, out} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(out, "secret.md"), []byte("secret"), 0o600); err != nil {
		return nil, err
	}
	for _, f := range c.Setup {
		undo, err := f.build(room, out)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %v", errSetup, f.Kind, err)
		}
		defer undo()
	}
	for _, p := range peers {
		ok, err := p.allows(room, c.Op, c.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		allowed = append(allowed, ok && (p.ours || strings.HasSuffix(c.Path, ".md")))
	}
	return allowed, nil
}

// build makes the fixture; undo takes away what deleting the room can not.
func (f fixture) build(room, out string) (undo func(), err error) {
	at := filepath.Join(room, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return nil, err
	}
	target := strings.ReplaceAll(f.Target, "$OUT", out)
	undo = func() {}
	switch f.Kind {
	case "file":
		err = os.WriteFile(at, []byte("x\n"), 0o600)
	case "dir":
		err = os.MkdirAll(at, 0o700)
	case "symlink":
		err = os.Symlink(target, at)
	case "hardlink":
		err = os.Link(target, at)
	case "socket":
		// A socket's address is short: bind it under a short name and move it.
		short := filepath.Join(os.TempDir(), fmt.Sprintf("s%d", os.Getpid()))
		var l *net.UnixListener
		if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"}); err == nil {
			l.SetUnlinkOnClose(false)
			undo = func() { l.Close() }
			err = os.Rename(short, at)
		}
	case "fifo", "chardev", "bind":
		undo, err = special(f.Kind, at, target)
	default:
		err = errors.New("unknown kind " + f.Kind + " on " + runtime.GOOS)
	}
	return undo, err
}
