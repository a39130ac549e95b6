package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// screen is where the program writes, and the person whom it may ask.
type screen struct {
	in        *bufio.Reader
	out, errs io.Writer
	tty       bool // out is a terminal
	ask       bool // in and errs are: questions and progress go there
	colour    bool
	width     int // columns of out; 0: not a terminal
	progress  int // columns of the progress line that stands on errs
}

func newScreen(in io.Reader, out, errs io.Writer) screen {
	s := screen{in: bufio.NewReader(in), out: out, errs: errs}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.tty = true
		s.width, _, _ = term.GetSize(int(f.Fd()))
	}
	f, ok := in.(*os.File)
	e, ok2 := errs.(*os.File)
	s.ask = ok && ok2 && term.IsTerminal(int(f.Fd())) && term.IsTerminal(int(e.Fd()))
	return s
}

// settle decides on colour: on a terminal only, and not where it is not wanted
// (no-color.org: NO_COLOR set to anything but the empty text).
func (s *screen) settle(off bool) {
	s.colour = s.tty && !off && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func (s *screen) paint(c text.Color, t string) string {
	if !s.colour || t == "" {
		return t
	}
	return text.Colors{c}.Sprint(t)
}

func (s *screen) printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// minLast is how many columns a table's last cell, the one with words, should have.
const minLast = 24

// table prints rows under a header. The last column is cut to what the terminal has
// left, and where that is too little the column named spare goes first. In a pipe
// nothing is cut or left out, and columns are separated by tabs.
func (s *screen) table(header []string, rows [][]string, spare string) {
	if s.width == 0 {
		for _, r := range rows {
			s.printf("%s\n", strings.Join(r, "\t"))
		}
		return
	}
	widths := make([]int, len(header))
	used := 0
	for i, h := range header[:len(header)-1] {
		widths[i] = text.StringWidthWithoutEscSequences(h)
		for _, r := range rows {
			widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(r[i]))
		}
		used += widths[i] + padding
	}
	skip := -1
	if s.width-used-padding < minLast {
		skip = slices.Index(header, spare)
	}
	if skip >= 0 {
		used -= widths[skip] + padding
	}
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatUpper
	if s.colour {
		style.Color.Header = text.Colors{text.Bold}
	}
	t.SetStyle(style)
	cells := func(r []string) (row table.Row) {
		for i, c := range r {
			if i == len(r)-1 {
				c = text.Snip(c, max(s.width-used-padding, minLast/2), "…")
			}
			if i != skip {
				row = append(row, c)
			}
		}
		return row
	}
	t.AppendHeader(cells(header))
	for _, r := range rows {
		t.AppendRow(cells(r))
	}
	fmt.Fprintln(s.out, t.Render())
}

// padding is the space that a table puts around a cell, both sides together.
const padding = 2

// confirm asks before something is taken away. Without a terminal nobody can be asked,
// and nothing happens.
func (a *app) confirm(question string) error {
	if a.yes {
		return nil
	}
	s := &a.screen
	if !s.ask {
		return coded{exitUnsure, fmt.Errorf("not done: there is no terminal to ask (%s) and no --yes", strings.TrimSuffix(question, "?"))}
	}
	s.close()
	fmt.Fprintf(s.errs, "%s [y/N] ", question)
	answer, err := s.in.ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return coded{exitUnsure, fmt.Errorf("not done")}
}

// step shows how far long work is, on a terminal only.
func (s *screen) step(what string, n int) {
	if !s.ask || n%64 != 0 {
		return
	}
	line := fmt.Sprintf("%s %d", what, n)
	s.progress = len(line)
	fmt.Fprintf(s.errs, "\r%s", line)
}

// working runs long work, and on a terminal says from the first second on for how long.
func (s *screen) working(what string, do func() error) error {
	if !s.ask {
		return do()
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case <-tick.C:
				line := fmt.Sprintf("%s: %d s", what, n)
				s.progress = len(line)
				fmt.Fprintf(s.errs, "\r%s", line)
			}
		}
	}()
	err := do()
	close(done)
	<-over
	s.close()
	return err
}

// close wipes the progress line.
func (s *screen) close() {
	if s.progress > 0 {
		fmt.Fprintf(s.errs, "\r%s\r", strings.Repeat(" ", s.progress))
		s.progress = 0
	}
}

// plain makes one text safe for a terminal: a memory may hold bytes that move the
// cursor, change colours or hide what stands there. Line feeds and tabs stay.
func plain(t string) string {
	var b strings.Builder
	for _, c := range t {
		switch {
		case c == '\n' || c == '\t':
			b.WriteRune(c)
		case c == '\u200c' || c == '\u200d': // joiners of Persian, Indic and emoji
			b.WriteRune(c)
		case unicode.Is(unicode.Cf, c) || unicode.IsControl(c) || unicode.Is(unicode.Co, c) || c == unicode.ReplacementChar:
			fmt.Fprintf(&b, "<U+%04X>", c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// line is a text on one line.
func line(t string) string { return plain(strings.Join(strings.Fields(t), " ")) }
