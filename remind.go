package scribe

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/memoryroom/scribe/internal/due"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
)

// The kinds of reminder, in the order in which they come.
const (
	remindDue      = "due"
	remindConflict = "conflict"
	remindNearCap  = "near-cap"
	remindNudge    = "nudge"
)

const (
	maxDueShown = 10 // memories that a reminder names
	nudgeTurn   = 5  // the turn from which a model that wrote nothing is asked whether something is worth it
)

// Remind is for a step with nothing else to say: one reminder for the main agent, or a
// Snapshot without text. turn counts the turns from 1. In this order: memories whose
// verify_when has come (in Shown), that changes wait which contradict what stands, an
// index near or over a cap, and from the fifth turn on, where nobody wrote anything, a
// nudge to do so.
//
// Each kind is given once in a session, which Commit notes. A reminder says nothing of
// what Delta tells, moves no baseline, and does not come while Delta has something new.
func (s *Session) Remind(ctx context.Context, turn int) (Snapshot, error) {
	if s == nil || s.room == nil {
		return Snapshot{}, fmt.Errorf("session: %w", fs.ErrClosed)
	}
	s.mu.Lock()
	said, committed := s.state.Said, s.state.Commits > 0
	idle := s.wrote == 0 && s.state.Extractions == 0
	s.mu.Unlock()
	if committed {
		if sn, _, err := s.delta(ctx); err != nil || sn.Text != "" {
			return Snapshot{}, err
		}
	}
	for _, kind := range []string{remindDue, remindConflict, remindNearCap, remindNudge} {
		if slices.Contains(said, kind) || kind == remindNudge && (!idle || turn < nudgeTurn || s.room.writable() != nil) {
			continue
		}
		sn, err := s.reminder(ctx, kind)
		if err != nil {
			return Snapshot{}, err
		}
		if sn.Text == "" {
			continue
		}
		sn.Text = fmt.Sprintf("<memory-reminder kind=%q>\n", kind) + sn.Text + "</memory-reminder>\n"
		sn.Hash = journal.Sum([]byte(sn.Text))
		s.handOut(sn.Hash, handout{said: kind})
		return sn, nil
	}
	return Snapshot{}, nil
}

// reminder renders one kind, without its tags; no text where there is nothing to say.
func (s *Session) reminder(ctx context.Context, kind string) (Snapshot, error) {
	switch kind {
	case remindDue:
		return s.dueReminder(ctx)
	case remindConflict:
		if err := cmp.Or(s.room.usable(), s.room.sync()); err != nil {
			return Snapshot{}, err
		}
		if n := conflicts(s.room.stateNow()); n > 0 {
			return Snapshot{Text: fmt.Sprintf("%d proposed changes contradict a memory that stands, and wait. Nothing was overwritten. If it matters now, tell the user: the operator decides.\n", n)}, nil
		}
	case remindNearCap:
		notes, err := s.capNotes(ctx)
		if err != nil || len(notes) == 0 {
			return Snapshot{}, err
		}
		return Snapshot{Text: strings.TrimPrefix(noticeText(notes), "\n") + "\n"}, nil
	case remindNudge:
		return Snapshot{Text: "Nothing was remembered from this conversation yet. If the user stated, decided or corrected something that will matter in later ones, write it down with the memory tool. If not, leave it.\n"}, nil
	}
	return Snapshot{}, nil
}

// conflicts counts what waits because it contradicts what stands or stood.
func conflicts(state *journal.State) (n int) {
	for _, held := range state.Pending {
		if slices.ContainsFunc(held.Rules, func(rule string) bool {
			return strings.HasPrefix(rule, "conflict.") && rule != "conflict.same-text" // that one advises
		}) {
			n++
		}
	}
	return n
}

// dueReminder names what is due, of every room that the session reads.
func (s *Session) dueReminder(ctx context.Context) (sn Snapshot, err error) {
	var lines strings.Builder
	over := 0
	rooms := s.rooms()
	for i, r := range rooms {
		rows, err := r.dueNow(ctx, 0)
		if err != nil {
			return Snapshot{}, err
		}
		label := ""
		if i > 0 {
			label = " in the room " + r.opts.Name
		}
		for _, row := range rows {
			if row.trust < UserObserved || len(sn.Shown) == maxDueShown {
				over++ // the name of a low one is not for a model to be told of
				continue
			}
			line := fmt.Sprintf("- %s%s, since %s\n", row.path, label, row.at.Format(time.DateOnly))
			lines.WriteString(line)
			sn.Shown, sn.Cost = append(sn.Shown, Memory{Path: row.path, Trust: row.trust, VerifyWhen: row.text, Hash: row.hash, Stage: stageActive}), append(sn.Cost, len(line))
		}
	}
	if len(sn.Shown) == 0 {
		return Snapshot{}, nil
	}
	sn.Omitted = over
	sn.Text = "These memories were to be checked again by now and may be out of date. Do not rely on one before that, and tell the user: the operator corrects, keeps or archives each (their program lists them as due).\n" + lines.String()
	if over > 0 {
		sn.Text += fmt.Sprintf("Not shown: %d more.\n", over)
	}
	return sn, nil
}

// dueRow is a memory that is to be checked again.
type dueRow struct {
	path, text, hash string
	at               time.Time
	trust            Trust
}

// dueList is what of a room is to be checked and when, as of a row of its journal.
type dueList struct {
	seq  int64
	rows []dueRow // by time, then path; never changed
}

// Due lists the accepted memories whose verify_when has come, or comes within that time
// (zero: now), the longest due first. verify_when is a date such as 2027-03-01, due from
// its first moment in UTC, or an ISO 8601 duration such as P3M or a phrase such as
// 3个月后, counted from when the memory was accepted; other text never falls due. A
// finding of each, "due.check", says since when it is due.
func (r *Room) Due(ctx context.Context, within time.Duration) ([]Memory, error) {
	rows, err := r.dueNow(ctx, within)
	if err != nil {
		return nil, err
	}
	state := r.stateNow()
	var all []Memory
	for _, row := range rows {
		p, err := relpath.Parse(row.path)
		if err != nil {
			continue
		}
		s, err := r.standing(state, p)
		if err != nil {
			return nil, err
		}
		if s.kind == absent {
			continue
		}
		m := s.memory(row.path)
		m.Findings = append(m.Findings, refuse("due.check", Accepted, "verify_when", "to be checked from "+row.at.Format(time.DateOnly)+" on", "correct it, archive it, or give it another time"))
		all = append(all, m)
	}
	return all, nil
}

// dueNow gives what is due by now, or within that time of it.
func (r *Room) dueNow(ctx context.Context, within time.Duration) ([]dueRow, error) {
	w, err := r.world(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	list := r.dues
	r.mu.Unlock()
	if list.seq != w.state.Seq || list.seq == 0 {
		list = dueList{seq: w.state.Seq, rows: dueRows(w)}
		r.mu.Lock()
		r.dues = list
		r.mu.Unlock()
	}
	n, _ := slices.BinarySearchFunc(list.rows, w.now.Add(within), func(row dueRow, limit time.Time) int {
		if row.at.After(limit) {
			return 1
		}
		return -1
	})
	return list.rows[:n:n], nil
}

// dueRows finds what has a time to be checked at.
func dueRows(w *world) (rows []dueRow) {
	for path, acc := range w.state.Accepted {
		m, ok := w.meta(path)
		if !ok || path == indexName {
			continue
		}
		if when, ok := due.Parse(m.VerifyWhen); ok {
			rows = append(rows, dueRow{path: path, text: m.VerifyWhen, hash: acc.Hash, at: when.At(acc.Time), trust: parseTrust(acc.Trust)})
		}
	}
	slices.SortFunc(rows, func(a, b dueRow) int {
		return cmp.Or(a.at.Compare(b.at), strings.Compare(a.path, b.path))
	})
	return rows
}
