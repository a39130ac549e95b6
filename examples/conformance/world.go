package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memoryroom/scribe"
)

// world is the machine that one group of checks runs on: a workspace with a room in
// it, things outside that nobody may read, and the tools of a main agent.
type world struct {
	host     Host
	bare     bool
	dir      string // holds everything
	room     *scribe.Room
	session  *scribe.Session
	outcomes []outcome

	mu  sync.Mutex // guards what follows
	ran []string   // names of the tools that ran, in order
}

// canary is in every file that a writer must not be able to read. It is made of two
// pieces, so that no search for it finds this line.
const canary = "canary-" + "7f3a91"

const (
	deployText = "The service runs in eu-west-1.\n"
	notesText  = "first\nsecond\nthird\n"
)

func (w *world) ws() string      { return filepath.Join(w.dir, "ws") }
func (w *world) roomDir() string { return filepath.Join(w.ws(), ".agent", "memory") }
func (w *world) homeDir() string { return filepath.Join(w.dir, "home") }
func (w *world) outside() string { return filepath.Join(w.dir, "outside") }
func (w *world) pwned() string   { return filepath.Join(w.outside(), "pwned") }
func (w *world) path(s string) string {
	return strings.NewReplacer("$DIR", w.dir, "$WS", w.ws(), "$ROOM", w.roomDir()).Replace(s)
}

func newWorld(ctx context.Context, dir string, h Host, bare bool) (*world, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	w := &world{host: h, bare: bare, dir: dir}
	for name, text := range map[string]string{
		"ws/README.md":         "The project's read-me.\n",
		"ws/src/main.txt":      "The program.\n",
		"ws/.git/config":       canary,
		"ws/.env":              canary,
		"ws-evil/secret.txt":   canary,
		"outside/secret.txt":   canary,
		"home/.ssh/id_ed25519": canary,
		// Accepted below, at user-observed and as the operator's.
		"ws/.agent/memory/notes.md":  notesText,
		"ws/.agent/memory/deploy.md": deployText,
	} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			return nil, err
		}
	}
	if err := os.Symlink(w.outside(), filepath.Join(w.ws(), "link")); err != nil {
		return nil, err
	}
	if w.room, err = scribe.Open(w.roomDir(), nil); err != nil {
		return nil, err
	}
	for m, err := range w.room.List(ctx, "unaccepted") {
		if err != nil {
			return nil, err
		}
		trust := scribe.UserObserved
		if m.Path == "deploy.md" {
			trust = scribe.Operator
		}
		if _, err := w.room.Adopt(ctx, trust, m); err != nil {
			return nil, err
		}
	}
	w.session, err = w.room.Session(ctx, "conversation", scribe.UserObserved)
	return w, err
}

// input is what an extraction gets when a check changes nothing.
func (w *world) input() Input {
	return Input{
		Session: w.session,
		Turn:    scribe.Turn{N: 1, User: []string{"Please keep in mind what we said about the release."}, Low: scribe.UserObserved},
		Tools:   w.tools(),
		Rules: map[string]scribe.Rule{
			"Read":  {Reads: []string{"file_path"}, Free: []string{"offset", "limit"}, Dirs: []string{w.ws()}, Gives: scribe.UserObserved},
			"Write": {As: "create", Args: map[string]string{"path": "file_path", "file_text": "content"}},
		},
	}
}

// extract runs one extraction, and makes a panic of the wiring's an error.
func (w *world) extract(ctx context.Context, in Input, use func(context.Context, Writer) error) (err error) {
	ok := false
	defer func() {
		if !ok {
			err = fmt.Errorf("the wiring panicked: %v", recover())
		}
	}()
	wiring := w.host.Guarded
	if w.bare {
		wiring = w.host.Bare
	}
	err = wiring(ctx, in, use)
	ok = true
	return err
}

// attack and benign note how a check ended.
func (w *world) attack(name string, errs ...error) {
	w.outcomes = append(w.outcomes, outcome{name, true, errors.Join(errs...)})
}

func (w *world) benign(name string, errs ...error) {
	w.outcomes = append(w.outcomes, outcome{name, false, errors.Join(errs...)})
}

// call makes one call in a turn of its own.
func call(ctx context.Context, wr Writer, tool, args string) (Result, error) {
	rs, err := calls(ctx, wr, Call{tool, args})
	return rs[0], err
}

// sent makes one call, and gives the files as they were before it. What ran earlier is
// forgotten. err is the test's own; cerr is that of the call.
func (w *world) sent(ctx context.Context, wr Writer, tool, args string) (before map[string]string, r Result, cerr, err error) {
	if before, err = w.files(); err != nil {
		return nil, r, nil, err
	}
	_ = w.didRun()
	r, cerr = call(ctx, wr, tool, args)
	return before, r, cerr, nil
}

// calls makes calls in one turn; there are always as many results.
func calls(ctx context.Context, wr Writer, cs ...Call) ([]Result, error) {
	rs, err := wr.Call(ctx, cs...)
	switch {
	case err != nil:
		err = fmt.Errorf("the run was aborted: %w", err)
	case len(rs) != len(cs):
		err = fmt.Errorf("%d results for %d calls", len(rs), len(cs))
	}
	return append(rs, make([]Result, len(cs))...)[:len(cs)], err
}

// refusal says what is wrong with the result of a call that has to be refused.
func (w *world) refusal(r Result, err error) error {
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(r.Text) == "":
		return errors.New("a refusal without a word")
	case !r.IsError && !w.host.Unflagged:
		return fmt.Errorf("a refusal that is not marked as an error: %.200q", r.Text)
	case strings.HasPrefix(r.Text, "Error: Error:"):
		return fmt.Errorf("the mark of an error stands twice: %.200q", r.Text)
	case strings.Contains(r.Text, w.dir):
		return fmt.Errorf("a path of the machine in a text for a model: %.200q", r.Text)
	case strings.Contains(r.Text, canary):
		return fmt.Errorf("the content of a file in a refusal: %.200q", r.Text)
	}
	return nil
}

// success says what is wrong with the result of a call that has to work.
func success(r Result, err error, want string) error {
	switch {
	case err != nil:
		return err
	case r.IsError:
		return fmt.Errorf("refused: %.300q", r.Text)
	case !strings.Contains(r.Text, want):
		return fmt.Errorf("got %.300q, want %q in it", r.Text, want)
	}
	return nil
}

// didRun says which of the tools ran since the last look.
func (w *world) didRun(names ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var bad []string
	for _, n := range w.ran {
		if slices.Contains(names, n) {
			bad = append(bad, n)
		}
	}
	w.ran = nil
	if len(bad) > 0 {
		return fmt.Errorf("the host's own %s ran", strings.Join(bad, ", "))
	}
	return nil
}

// files reads everything below the world, less what the library keeps for itself and
// the index; of those, what an attack put there.
func (w *world) files() (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(w.dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.Type().IsRegular():
			return nil
		case strings.Contains(name, string(filepath.Separator)+".scribe"+string(filepath.Separator)) && d.Name() != "evil.md":
			return nil
		}
		data, err := os.ReadFile(name)
		if d.Name() == "MEMORY.md" && !strings.Contains(string(data), "evil") {
			return err
		}
		rel, _ := filepath.Rel(w.dir, name) // below it, by the walk
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	return files, err
}

// unchanged compares the files with an earlier look.
func (w *world) unchanged(before map[string]string) error {
	after, err := w.files()
	if err != nil {
		return err
	}
	var errs []error
	for name, text := range after {
		if was, ok := before[name]; !ok {
			errs = append(errs, fmt.Errorf("%q was created", name))
		} else if was != text {
			errs = append(errs, fmt.Errorf("%q was changed", name))
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			errs = append(errs, fmt.Errorf("%q was removed", name))
		}
	}
	return errors.Join(errs...)
}

// quote writes arguments as a model would.
func quote(args map[string]any) string {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err) // texts and numbers of ours
	}
	return string(data)
}

// tools are those of a main agent. They take every spelling of a path and every
// spelling of a key that some runtime takes, so that an attack that reaches them works.
func (w *world) tools() []Tool {
	object := func(props string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + props + `},"additionalProperties":false}`)
	}
	text := func(name string) string { return `"` + name + `":{"type":"string"}` }
	tool := func(name, props string, run func([]byte) (string, error)) Tool {
		return Tool{
			Tool: scribe.Tool{Name: name, Description: "The main agent's " + name + ".", Schema: object(props)},
			Run: func(_ context.Context, args []byte) (string, error) {
				w.mu.Lock()
				w.ran = append(w.ran, name)
				w.mu.Unlock()
				return run(args)
			},
		}
	}
	yes := true
	bash := tool("bash", text("command"), w.bash)
	fetch := tool("web_fetch", text("url"), func([]byte) (string, error) { return "a page", nil })
	fetch.OpenWorld = &yes
	server := tool("mcp__issues__create", text("title"), func([]byte) (string, error) { return "created", nil })
	server.Server = "issues"
	tail := tool("Tail", text("file_path"), w.read)
	tail.Stream = true
	task := tool("task", text("prompt"), func([]byte) (string, error) {
		return bash.Run(context.Background(), []byte(`{"command":"id"}`)) // a grandchild with tools of its own
	})
	return []Tool{
		bash,
		tool("Read", text("file_path")+`,"offset":{"type":"integer"},"limit":{"type":"integer"}`, w.read),
		tool("Write", text("file_path")+","+text("content"), w.write),
		tail, fetch, task, server,
		tool("send_file", text("path"), func([]byte) (string, error) { return "sent", nil }),
		// A host's own tools by the names of ours.
		tool("memory", text("command")+","+text("path")+","+text("file_text")+","+text("old_str")+","+text("new_str")+
			`,"insert_line":{"type":"integer"},`+text("insert_text")+","+text("old_path")+","+text("new_path"), w.memory),
		tool("recall", text("query"), w.recall),
	}
}

func (w *world) bash([]byte) (string, error) {
	return "done", os.WriteFile(w.pwned(), []byte("a shell ran"), 0o600)
}

// resolve finds the file that a name means to one runtime or another.
func (w *world) resolve(base, name string) string {
	if rest, ok := strings.CutPrefix(name, "file://"); ok {
		name = strings.TrimPrefix(rest, "localhost")
	}
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	name = strings.ReplaceAll(name, `\`, "/")
	for _, home := range []string{"~", "$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(name, home+"/"); ok {
			name = filepath.Join(w.homeDir(), rest)
		}
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(base, name)
	}
	return filepath.Clean(name)
}

// read reads a file, or the names and texts below a directory.
func (w *world) read(args []byte) (string, error) {
	var in struct {
		Path string `json:"file_path"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	at := w.resolve(w.ws(), in.Path)
	if !w.holds(at) {
		return "", errors.New("outside the world of the check")
	}
	var b strings.Builder
	err := filepath.WalkDir(at, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		b.Write(data)
		return err
	})
	return b.String(), err
}

func (w *world) write(args []byte) (string, error) {
	var in struct {
		Path    string `json:"file_path"`
		Content string
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	at := in.Path
	if rest, ok := strings.CutPrefix(at, "/memories/"); ok {
		at = filepath.Join(w.roomDir(), rest)
	}
	return "written", w.put(w.resolve(w.ws(), at), in.Content)
}

// decode is what a tool made with encoding/json does with its arguments: the last of
// equal keys, in whatever case, and whatever else there is.
func decode(args []byte, into any) error {
	return json.NewDecoder(strings.NewReader(string(args))).Decode(into)
}

// put writes a file below the world and nowhere else: the bare wiring does real harm.
func (w *world) put(name, text string) error {
	if !w.holds(name) {
		return errors.New("outside the world of the check")
	}
	return errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600))
}

func (w *world) holds(name string) bool {
	return strings.HasPrefix(name, w.dir+string(filepath.Separator))
}

// memory is the memory tool as it is written in an afternoon.
func (w *world) memory(args []byte) (string, error) {
	var in struct {
		Command, Path string
		Text          string `json:"file_text"`
		Old           string `json:"old_str"`
		New           string `json:"new_str"`
		Insert        string `json:"insert_text"`
		From          string `json:"old_path"`
		To            string `json:"new_path"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	at := func(p string) string {
		rest := strings.TrimLeft(strings.TrimPrefix(p, "/memories"), "/")
		return w.resolve(w.roomDir(), rest)
	}
	name := at(in.Path)
	old, err := os.ReadFile(name)
	switch in.Command {
	case "create":
		return "ok", w.put(name, in.Text)
	case "str_replace", "insert":
		if err != nil {
			return "", err
		}
		time.Sleep(5 * time.Millisecond) // between the read and the write lies what another call wrote
		if in.Command == "insert" {
			return "ok", w.put(name, in.Insert+string(old))
		}
		return "ok", w.put(name, strings.Replace(string(old), in.Old, in.New, 1))
	case "delete", "rename":
		from, to := name, at(in.To)
		switch {
		case in.Command == "rename":
			from = at(in.From)
		default:
			to = filepath.Join(w.outside(), "deleted")
		}
		if !w.holds(from) || !w.holds(to) {
			return "", errors.New("outside the world of the check")
		}
		return "ok", os.Rename(from, to)
	}
	return w.read([]byte(quote(map[string]any{"file_path": name})))
}

func (w *world) recall([]byte) (string, error) {
	return w.read([]byte(quote(map[string]any{"file_path": w.roomDir()})))
}
