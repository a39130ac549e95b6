package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/memoryroom/scribe"
)

// app is what the commands share: the flags of every command, and where to read and
// write.
type app struct {
	dir     string
	keyFile string
	by      string
	json    bool
	yes     bool
	noColor bool

	screen screen
}

const longHelp = `scribe-room looks after the memories that an agent keeps in one directory, a room.

An agent only proposes. What scribe is not sure of waits here for you: look at it with
pending and show, then approve or reject it. Whatever was changed can be taken back.

The room is the directory given by --room, or the current one.`

const rootExamples = `  scribe-room list                      what the agent knows
  scribe-room pending                   what waits for you, and why
  scribe-room show --pending 1d4aadf7   one of them in full, as a difference
  scribe-room approve 1d4aadf7          look at it once more, and let it in
  scribe-room audit --last 20           what happened lately
  scribe-room check                     is everything in order?`

// run is the whole program; it returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	a := &app{screen: newScreen(in, out, errs)}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	a.screen.close()
	if err != nil {
		fmt.Fprintf(errs, "scribe-room: %s\n", plain(err.Error()))
	}
	return exitCode(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "scribe-room",
		Short:         "Look after an agent's memories",
		Long:          longHelp,
		Example:       rootExamples,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no command %.40q; scribe-room --help lists them", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(*cobra.Command, []string) {
			a.screen.settle(a.noColor || a.json)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%w", err) })
	f := root.PersistentFlags()
	f.StringVarP(&a.dir, "room", "C", ".", "the room's `directory`")
	f.StringVar(&a.keyFile, "key-file", "", "`file` with the key of a room that travels: 32 bytes, or 64 hex digits")
	f.StringVar(&a.by, "by", "operator", "`name` for the audit log")
	f.BoolVar(&a.json, "json", false, "print JSON")
	f.BoolVarP(&a.yes, "yes", "y", false, "do not ask before a step that takes something away")
	f.BoolVar(&a.noColor, "no-color", false, "no colour; NO_COLOR in the environment does the same")
	must(root.MarkPersistentFlagDirname("room"))
	must(root.MarkPersistentFlagFilename("key-file"))

	root.AddGroup(
		&cobra.Group{ID: "look", Title: "Look:"},
		&cobra.Group{ID: "decide", Title: "Decide:"},
		&cobra.Group{ID: "keep", Title: "Keep in order:"},
	)
	for group, commands := range map[string][]*cobra.Command{
		"look":   {a.list(), a.show(), a.recall(), a.snapshot(), a.audit(), a.versions(), a.due()},
		"decide": {a.pending(), a.conflicts(), a.approve(), a.reject(), a.adopt()},
		"keep":   {a.archive(), a.suspend(), a.restore(), a.rollback(), a.prune(), a.purge(), a.check(), a.importRoom(), a.exportRoom()},
	} {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	root.AddCommand(&cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitHelp, Run: func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), exitHelp) }})
	return root
}

// must is for what only a mistake in this program can make fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// mode is what a command wants of the room.
type mode bool

const (
	reads  mode = false
	writes mode = true
)

// open opens the room. Commands that only look take no lock and record nothing, so
// that they work beside a running agent and on a directory that can not be written.
func (a *app) open(m mode) (*scribe.Room, error) {
	info, err := os.Stat(a.dir)
	switch {
	case err != nil:
		return nil, missing("there is no directory %.200q; --room gives the room's, and mkdir makes one", a.dir)
	case !info.IsDir():
		return nil, usage("%.200q is a file; --room gives the room's directory", a.dir)
	}
	o := &scribe.Options{ReadOnly: m == reads}
	if a.keyFile != "" {
		if o.Key, err = readKey(a.keyFile); err != nil {
			return nil, err
		}
	}
	return scribe.Open(a.dir, o)
}

// keySize is the size of Options.Key, in bytes.
const keySize = 32

func readKey(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, coded{exitUsage, fmt.Errorf("the key file can not be read: %w", err)}
	}
	if len(data) == keySize {
		return data, nil
	}
	key, err := hex.DecodeString(string(bytes.TrimSpace(data)))
	if err != nil || len(key) != keySize {
		return nil, usage("the key file must hold %d bytes, or %d hex digits", keySize, 2*keySize)
	}
	return key, nil
}

// with runs a command's body over the open room.
func (a *app) with(m mode, body func(ctx context.Context, r *scribe.Room, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		r, err := a.open(m)
		if err != nil {
			return err
		}
		defer r.Close()
		return body(cmd.Context(), r, args)
	}
}

// print writes a command's answer: as JSON where that was asked for, else as text.
func (a *app) print(v any, text func()) error {
	if !a.json {
		text()
		return nil
	}
	enc := json.NewEncoder(a.screen.out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// args says in our words how many arguments a command takes.
func args(lo, hi int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= lo && (hi < 0 || len(args) <= hi) {
			return nil
		}
		return usage("%s takes %s; scribe-room %s --help has examples", cmd.Name(), what, cmd.Name())
	}
}
