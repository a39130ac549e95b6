package rootfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/memoryroom/scribe/internal/relpath"
)

// TestWindowsNames asks the system itself which names it takes for a stored one, or
// for something else altogether: none of them reaches the room. It runs under Wine
// too, which cannot delete through an os.Root; so it uses no t.TempDir and writes
// nothing by way of the package.
func TestWindowsNames(t *testing.T) {
	room, err := os.MkdirTemp("", "room")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"Topics", Library} {
		if err := os.Mkdir(filepath.Join(room, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	stored := filepath.Join(room, "Topics", "Caf\u00e9.md")
	if err := os.WriteFile(stored, []byte("memory"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, path := range []string{stored, filepath.Join(room, "Topics"), filepath.Join(room, Library), room} {
			os.Remove(path)
		}
	})
	d, err := Open(room)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	own, err := relpath.Parse("Topics/Caf\u00e9.md")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := d.Read(own, 100); err != nil || string(data) != "memory" {
		t.Fatalf("read: %q, %v", data, err)
	}
	if err := d.CheckWrite(own); err != nil {
		t.Fatal(err)
	}

	aliases := 0
	for _, name := range []string{
		"topics/Caf\u00e9.md", "Topics/caf\u00e9.md", "TOPICS/CAF\u00c9.MD", "Topics/CAF\u00c9.md", "Topics./Caf\u00e9.md", "Topics /Caf\u00e9.md",
		"Topics/Caf\u00e9.md.", "Topics/Caf\u00e9.md ", "Topics/Caf\u00e9.md. .", "Topics\\Caf\u00e9.md", "topics\\caf\u00e9.md", "Topics//Caf\u00e9.md", "Topics/./Caf\u00e9.md",
		"Topics/../Topics/Caf\u00e9.md", "Topics/Caf\u00e9.md::$DATA", "./Topics/Caf\u00e9.md",
	} {
		data, err := os.ReadFile(room + "/" + name)
		if err == nil && string(data) == "memory" {
			aliases++
		}
		p, err := relpath.Parse(name)
		if err != nil {
			continue
		}
		if data, err := d.Read(p, 100); err == nil {
			t.Errorf("read %q: %q", name, data)
		}
		if r := (*Refusal)(nil); !errors.As(d.CheckWrite(p), &r) {
			t.Errorf("%q may be written", name)
		}
	}
	if aliases < 8 {
		t.Errorf("this system took only %d names for the stored one", aliases)
	}

	for _, name := range []string{"nul.md", "con.md", "com1.md", "aux", "lpt9.x.md", "conin$", "a?.md", "a*.md", "a<.md", "a|b.md", "a\".md", "C:x.md", "a.md:s"} {
		if _, err := relpath.Parse(name); err == nil {
			t.Errorf("%q is allowed", name)
		}
	}
}
