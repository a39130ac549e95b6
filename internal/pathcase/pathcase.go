// Package pathcase reads labelled names for the path gate and sets up what each needs on
// disk. It serves tests and the programs that measure; the library does not import it.
//
// A file of cases holds one JSON object a line: id, path (or path_b64, where the name is
// no text), op, expect ("allow" or "deny"), reason, class, and setup, a list of fixtures.
package pathcase

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// File is the name of a file of cases in its folder.
const File = "paths.jsonl"

// A Case is one name, what is done with it, and what a gate should answer.
type Case struct {
	ID      string
	Path    string
	PathB64 string `json:"path_b64"`
	Op      string
	Expect  string
	Reason  string
	Class   string
	Setup   []Fixture
}

// A Fixture is one thing that lies in the room beforehand: a file, dir, symlink, hardlink,
// socket, and on Linux a fifo, chardev or bind mount. In Target, $OUT is a directory beside
// the room.
type Fixture struct{ Kind, Path, Target string }

// Parse reads a file of cases. A file without a case is an error.
func Parse(data []byte) ([]Case, error) {
	cases, err := Lines[Case](File, data)
	for i, c := range cases {
		if c.PathB64 == "" {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(c.PathB64)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", File, c.ID, err)
		}
		cases[i].Path = string(raw)
	}
	return cases, err
}

// Lines decodes one JSON value a line, of a file that errors call by name. Blank lines are
// passed over; a file without a value is an error.
func Lines[T any](name string, data []byte) ([]T, error) {
	var values []T
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, n, err)
		}
		values = append(values, v)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(values) == 0 {
		return nil, errors.New(name + " holds no case")
	}
	return values, nil
}

// Make builds what the case needs: a room and, beside it, a directory with a file that no
// name of the room may lead to. base is an empty directory of the case's own. undo takes
// away what deleting base can not; it is never nil.
func (c Case) Make(base string) (room string, undo func(), err error) {
	var undos []func()
	undo = func() {
		for i := len(undos) - 1; i >= 0; i-- {
			undos[i]()
		}
	}
	room = filepath.Join(base, "memory")
	out := filepath.Join(base, "outside")
	for _, dir := range []string{room, out} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", undo, err
		}
	}
	if err := os.WriteFile(filepath.Join(out, "secret.md"), []byte("secret"), 0o600); err != nil {
		return "", undo, err
	}
	for _, f := range c.Setup {
		back, err := f.build(room, out)
		if back != nil {
			undos = append(undos, back)
		}
		if err != nil {
			return "", undo, fmt.Errorf("set up a %s: %w", f.Kind, err)
		}
	}
	return room, undo, nil
}

func (f Fixture) build(room, out string) (undo func(), err error) {
	at := filepath.Join(room, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return nil, err
	}
	target := strings.ReplaceAll(f.Target, "$OUT", out)
	switch f.Kind {
	case "file":
		return nil, os.WriteFile(at, []byte("x\n"), 0o600)
	case "dir":
		return nil, os.MkdirAll(at, 0o700)
	case "symlink":
		return nil, os.Symlink(target, at)
	case "hardlink":
		return nil, os.Link(target, at)
	case "socket":
		return socket(at)
	}
	return special(f.Kind, at, target)
}

// socket makes a socket. Its address has to be short: it is bound under a short name and
// moved.
func socket(at string) (undo func(), err error) {
	short := filepath.Join(os.TempDir(), fmt.Sprintf("s%d", os.Getpid()))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	return func() { l.Close() }, os.Rename(short, at)
}
