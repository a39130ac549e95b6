package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
	"github.com/go-git/go-git/v6/plumbing/object"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// A peer answers whether a name may be used in a room. An error is a fault of this
// program, not an answer.
type peer struct {
	name   string
	ours   bool
	allows func(room, op, name string) (bool, error)
}

// allPeers returns the gate first, and os.Root, which does what it is asked, last. git
// is among them where it is installed.
func allPeers(base string) (peers []peer, err error) {
	peers = []peer{
		{name: "scribe", ours: true, allows: gate},
		{name: "IsLocal", allows: func(_, _, name string) (bool, error) { return filepath.IsLocal(name), nil }},
		{name: "securejoin", allows: func(room, _, name string) (bool, error) {
			_, err := securejoin.SecureJoin(room, name)
			return err == nil, nil
		}},
		{name: "go-git", allows: goGit},
	}
	switch g, err := newGit(base); {
	case err != nil:
		return nil, err
	case g != nil:
		peers = append(peers, peer{name: "git", allows: g.allows})
	}
	return append(peers, peer{name: "os.Root", allows: osRoot}), nil
}

// gate is what scribe asks before any write, and a read where one is meant.
func gate(room, op, name string) (bool, error) {
	p, err := relpath.Parse(name)
	if err != nil {
		return false, nil
	}
	d, err := rootfs.Open(room)
	if err != nil {
		return false, err
	}
	defer d.Close()
	if err := d.CheckWrite(p); err != nil {
		return refusal(err)
	}
	if op != "read" {
		return true, nil
	}
	if _, err := d.Read(p, 1<<20); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refusal(err)
	}
	return true, nil
}

// refusal tells an answer from a fault.
func refusal(err error) (bool, error) {
	if r := (*rootfs.Refusal)(nil); errors.As(err, &r) {
		return false, nil
	}
	return false, err
}

// goGit asks go-git's check of tree paths (pathutil.ValidTreePath), through the
// lookup in an empty tree, which makes it first.
func goGit(_, _, name string) (bool, error) {
	_, err := new(object.Tree).FindEntry(name)
	switch {
	case err == nil:
		return false, errors.New("an empty tree has an entry")
	case errors.Is(err, object.ErrEntryNotFound), errors.Is(err, object.ErrDirectoryNotFound):
		return true, nil
	case strings.HasPrefix(err.Error(), "invalid path"):
		return false, nil
	}
	return false, err
}

// git asks git's verify_path by putting the name into the index of an empty
// repository, with the protection of NTFS and HFS+ names switched on.
type git struct{ program, repo string }

// newGit makes the repository. Where there is no git, it returns nil.
func newGit(base string) (*git, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, nil
	}
	g := &git{program: program, repo: filepath.Join(base, "repository")}
	if err := os.MkdirAll(g.repo, 0o700); err != nil {
		return nil, err
	}
	if out, err := g.command("init", "--quiet").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git init: %w: %s", err, out)
	}
	return g, nil
}

func (g *git) command(args ...string) *exec.Cmd {
	cmd := exec.Command(g.program, append([]string{"-c", "core.protectNTFS=true", "-c", "core.protectHFS=true"}, args...)...)
	cmd.Dir = g.repo
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_DIR="+filepath.Join(g.repo, ".git"), "GIT_WORK_TREE="+g.repo)
	return cmd
}

func (g *git) allows(_, _, name string) (bool, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return false, nil // no argument can hold it
	}
	const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	_ = os.Remove(filepath.Join(g.repo, ".git", "index"))
	err := g.command("update-index", "--add", "--cacheinfo", "100644,"+emptyBlob+","+name).Run()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		return false, nil
	}
	return err == nil, err
}

// osRoot does what it is asked below an os.Root. What is not there is no refusal.
func osRoot(room, op, name string) (bool, error) {
	root, err := os.OpenRoot(room)
	if err != nil {
		return false, err
	}
	defer root.Close()
	switch op {
	case "read":
		var f *os.File
		if f, err = root.OpenFile(name, os.O_RDONLY|nonblock, 0); err == nil {
			f.Close()
		}
	case "delete":
		err = root.Remove(name)
	case "write":
		if dir := path.Dir(name); dir != "." {
			if err := root.MkdirAll(dir, 0o700); err != nil {
				return false, nil
			}
		}
		var f *os.File
		if f, err = root.OpenFile(name, os.O_WRONLY|os.O_CREATE|nonblock, 0o600); err == nil {
			f.Close()
		}
	default:
		return false, fmt.Errorf("unknown operation %q", op)
	}
	return err == nil || op != "write" && errors.Is(err, fs.ErrNotExist), nil
}
