package rootfs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// childRoom makes the test binary a second process that works on that room.
const childRoom = "ROOTFS_TEST_LOCK_ROOM"

func TestMain(m *testing.M) {
	if room := os.Getenv(childRoom); room != "" {
		if err := count(room, 100); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// count adds one to a number n times, with a read and a write that only a lock makes
// one step.
func count(room string, n int) error {
	d, err := Open(room)
	if err != nil {
		return err
	}
	defer d.Close()
	for range n {
		unlock, err := d.Lock(context.Background())
		if err != nil {
			return err
		}
		data, err := d.LibRead("n", 10)
		if err == nil {
			i, _ := strconv.Atoi(string(data))
			// Not LibReplace: the test is about the lock, not about the disk.
			err = os.WriteFile(filepath.Join(room, Library, "n"), []byte(strconv.Itoa(i+1)), 0o600)
		}
		unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func lockRoom(t *testing.T) (string, *Dir) {
	t.Helper()
	room := t.TempDir()
	d, err := Open(room)
	if err == nil {
		err = d.Ensure()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return room, d
}

func TestLockTwoProcesses(t *testing.T) {
	room, d := lockRoom(t)
	if err := d.LibWriteNew("n", []byte("0")); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skipf("no path to the test binary: %v", err)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), childRoom+"="+room)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("child: %v: %s", err, out)
			}
		})
		wg.Go(func() {
			if err := count(room, 100); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, _ := d.LibRead("n", 10); string(got) != "400" {
		t.Errorf("got %s, want 400", got)
	}
}

func TestLockEnds(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (*Dir, *Dir){
		"one Dir": func(t *testing.T) (*Dir, *Dir) { _, d := lockRoom(t); return d, d },
		"two Dirs": func(t *testing.T) (*Dir, *Dir) {
			room, d := lockRoom(t)
			e, err := Open(room)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			return d, e
		},
		"Mem": func(t *testing.T) (*Dir, *Dir) {
			m := NewMem()
			d := New(m)
			if err := d.Ensure(); err != nil {
				t.Fatal(err)
			}
			return d, New(m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, e := open(t)
			unlock, err := d.Lock(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
			defer cancel()
			if _, err := e.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("held: got %v, want the deadline", err)
			}
			unlock()
			unlock() // twice is once
			if _, err := e.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("free, context over: got %v, want the deadline", err)
			}
			again, err := e.Lock(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			again()
		})
	}
}

// TestLockReplaced removes the lock file under a holder: the next caller makes a new
// file and gets it; a caller who opened the old one notices and moves on.
func TestLockReplaced(t *testing.T) {
	room, d := lockRoom(t)
	e, err := Open(room)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	unlock, err := d.Lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		release, err := e.Lock(context.Background())
		if err == nil {
			// The file that is locked now is the one that has the name.
			third := &disk{dir: room}
			f, ferr := third.lockFile(Library + "/lock")
			if ferr == nil {
				if ok, _ := tryLock(f); ok {
					err = errors.New("the waiter holds a file that has no name")
				}
				f.Close()
			}
			third.Close()
			release()
		}
		got <- err
	}()
	time.Sleep(20 * time.Millisecond) // the waiter has opened the old file
	file := filepath.Join(room, Library, "lock")
	if err := os.Rename(file, file+".old"); err != nil {
		t.Fatal(err)
	}
	unlock()
	if err := <-got; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the lock file is gone: %v", err)
	}
}
