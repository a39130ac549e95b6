package scribe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memoryroom/scribe/internal/gate"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// The shadow audit: a line of JSON for each segment that the gate judged, in a file for
// each day of the room's clock, in UTC.
const (
	shadowDir   = "shadow/"
	shadowDays  = 14       // files of earlier days go
	shadowBytes = 32 << 20 // of all files; the oldest go first
	shadowRow   = 32 << 10 // bytes of a line

	shadowSchema = 2
	maxEpoch     = 1 << 30
	shadowState  = shadowDir + "state.json" // shadowEpoch
	shadowWait   = time.Second              // the longest that a row waits for another process
)

// shadowEpoch counts how often a room was opened to keep the audit and did: nothing that a
// session remembers lasts longer, so what the gate decides in one epoch does not depend on
// another. It is all that is stored besides the rows.
type shadowEpoch struct {
	Schema int `json:"schema"`
	Epoch  int `json:"epoch"`
}

// shadowAudit is what a room knows of its audit.
type shadowAudit struct {
	mu    sync.Mutex // held over a write; guards what follows
	ready string     // the file of the day that was last made ready
	epoch int        // 0: no row was written yet
}

// shadowLine is what of an attempt is kept. It names no word of the conversation or of a
// memory, no path and no session. What tells texts apart are keyed digests, which nobody
// without the room's key can compare with a guess; a memory is the number of the journal's
// row that put it in place, which says no more once it is purged.
type shadowLine struct {
	Schema  int       `json:"schema"`
	ID      string    `json:"id"` // "ret_" and a keyed digest of what it depends on; no clock is in it
	At      time.Time `json:"at"`
	Epoch   int       `json:"epoch"`               // rises whenever a room is opened that keeps this audit
	Trigger time.Time `json:"trigger_at,omitzero"` // when the segment happened
	N       int       `json:"n"`
	Kind    string    `json:"kind"`
	Segment string    `json:"segment"`         // keyed digest
	Query   string    `json:"query,omitempty"` // keyed digest

	Gate    shadowGate   `json:"gate"`
	Lexical string       `json:"lexical"`
	Index   string       `json:"index,omitempty"` // version of what was searched
	Outcome string       `json:"outcome"`
	Hits    []shadowHit  `json:"hits,omitempty"`
	Dropped []shadowDrop `json:"dropped,omitempty"`
	Counts  struct {
		Rooms   int `json:"rooms"`
		Records int `json:"records"`
		Raw     int `json:"raw"`
		Kept    int `json:"kept"`
		Dropped int `json:"dropped"`
	} `json:"counts"`
	Took struct { // by the room's clock, in microseconds
		Gate   int64 `json:"gate"`
		Rank   int64 `json:"rank"`
		Reload int64 `json:"reload"`
		Total  int64 `json:"total"`
	} `json:"us"`
	Truncated string `json:"truncated,omitempty"`          // "audit-truncated": hits or drops are missing at the end
	Missed    int    `json:"audit_write_failed,omitempty"` // rows before this one that could not be written

	// What a shadow row is not, said in every one.
	ShadowOnly bool    `json:"shadow_only"`
	Injected   bool    `json:"injected"`
	Packet     *string `json:"packet_id"`
	Delivered  bool    `json:"delivered"`
	Evidence   bool    `json:"access_evidence_created"`
}

type shadowGate struct {
	Policy     string           `json:"policy"`
	Action     string           `json:"action"`
	Phase      string           `json:"state"`
	Reason     string           `json:"reason"`
	Raw        int64            `json:"raw"` // millionths, as are the others
	Hesitation int64            `json:"hesitation"`
	Latched    bool             `json:"latched"`
	Cooldown   int64            `json:"cooldown"`
	Signals    map[string]int64 `json:"signals,omitempty"` // those that are not 0
}

type shadowHit struct {
	ID    string   `json:"id"` // "cand_" and a keyed digest of the row's ID, room, path and hash
	Room  string   `json:"room"`
	Row   int64    `json:"row"` // of the room's journal
	Trust Trust    `json:"trust"`
	Score int64    `json:"score"`
	Notes []string `json:"notes,omitempty"` // noteFlagged
}

type shadowDrop struct {
	Stage  string `json:"stage"`
	Reason string `json:"reason"`
	Room   string `json:"room,omitempty"`
	Row    int64  `json:"row,omitempty"`
	N      int    `json:"n,omitempty"`
}

const noteFlagged = "flagged" // reads like an instruction

// shadow writes the row of an attempt. Failing is nobody's business but the next row's.
func (s *Session) shadow(ctx context.Context, try *attempt) {
	if slices.Contains([]string{gate.Duplicate, gate.NoSegment, gate.Disposed}, try.decision.Reason) {
		return // it has its row
	}
	sg := try.of
	sg.mu.Lock()
	missed := sg.missed
	sg.mu.Unlock()
	err := s.room.appendShadow(ctx, s.shadowLine(try, missed))
	sg.mu.Lock()
	defer sg.mu.Unlock()
	if err != nil {
		sg.missed++
		return
	}
	sg.missed -= missed
}

// shadowLine projects an attempt.
func (s *Session) shadowLine(try *attempt, missed int) shadowLine {
	r, d := s.room, try.decision
	l := shadowLine{
		Schema: shadowSchema, At: r.opts.Now().UTC(), Trigger: try.segment.Time.UTC(), N: d.N, Kind: "other",
		Segment: r.brief("segment", d.Segment), Lexical: lexicalUsed, Index: try.index, Outcome: try.outcome,
		Missed: missed, ShadowOnly: true,
		Gate: shadowGate{d.Policy, d.Action, d.Phase, d.Reason, d.Raw, d.Hesitation, d.Latched, d.Cooldown, map[string]int64{}},
	}
	if slices.Contains([]string{gate.KindUser, gate.KindToolCall, gate.KindToolResult, gate.KindAssistant}, try.segment.Kind) {
		l.Kind = try.segment.Kind
	}
	if d.Query != "" {
		l.Query = r.brief("query", d.Query)
	}
	for i, v := range d.Signals {
		if v != 0 {
			l.Gate.Signals[gate.Signal(i).String()] = v
		}
	}
	l.ID = "ret_" + r.brief("retrieval", s.id, l.Segment, l.Index, d.Policy, lexicalUsed)
	for _, h := range try.hits {
		hit := shadowHit{
			ID: "cand_" + r.brief("candidate", l.ID, h.Room, h.Memory.Path, h.Memory.Hash), Room: h.Room,
			Row: try.rows[memoryIn{h.Room, h.Memory.Path}], Trust: h.Memory.Trust, Score: h.Score,
		}
		if h.Flagged {
			hit.Notes = append(hit.Notes, noteFlagged)
		}
		l.Hits = append(l.Hits, hit)
	}
	l.Counts.Records, l.Counts.Raw, l.Counts.Kept = try.records, try.raw, len(try.hits)
	for _, d := range try.dropped {
		l.Dropped = append(l.Dropped, shadowDrop{d.Stage, d.Reason, d.Room, try.rows[memoryIn{d.Room, d.Path}], d.N})
		if d.N == 0 { // of those that came back from the index
			l.Counts.Dropped++
		}
	}
	l.Took.Gate, l.Took.Rank = try.took.gate.Microseconds(), try.took.rank.Microseconds()
	l.Took.Reload, l.Took.Total = try.took.reload.Microseconds(), try.took.total.Microseconds()
	if try.index != "" {
		l.Counts.Rooms = len(s.rooms())
	}
	return l
}

// brief is a keyed digest of 32 hex digits.
func (r *Room) brief(parts ...string) string {
	key := r.keyed(parts...)
	return key[:min(32, len(key))]
}

// encode gives the line, cut at the end of its lists where it would be too long.
func (l shadowLine) encode() ([]byte, error) {
	for {
		data, err := json.Marshal(l)
		if err != nil || len(data) < shadowRow {
			return append(data, '\n'), err
		}
		l.Truncated = "audit-truncated"
		switch {
		case len(l.Dropped) > 0:
			l.Dropped = l.Dropped[:len(l.Dropped)/2]
		case len(l.Hits) > 0:
			l.Hits = l.Hits[:len(l.Hits)/2]
		default:
			return nil, errors.New("a shadow row is too long")
		}
	}
}

// appendShadow adds a row to the file of its day. A room that does not exist, can not be
// written, or was closed meanwhile, keeps none.
func (r *Room) appendShadow(ctx context.Context, l shadowLine) error {
	ctx, cancel := context.WithTimeout(ctx, shadowWait)
	defer cancel()
	r.shadow.mu.Lock()
	defer r.shadow.mu.Unlock()
	if r.writable() != nil || !r.disk.HasLibrary() {
		return nil
	}
	unlock, err := r.disk.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	name := shadowDir + l.At.Format(time.DateOnly) + ".jsonl"
	if err := r.readyShadow(name, l.At); err != nil {
		return err
	}
	l.Epoch = r.shadow.epoch
	data, err := l.encode()
	if err != nil {
		return err
	}
	size, err := r.disk.LibStat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r.disk.LibWriteNew(name, data)
	case err != nil:
		return err
	case size+int64(len(data)) > shadowBytes:
		return errors.New("the shadow audit of the day is full")
	}
	return r.disk.LibAppend(name, data)
}

// readyShadow is done once for each day's file in a process: what is too old or too much
// goes, and a line that a crash cut off.
func (r *Room) readyShadow(name string, now time.Time) error {
	if r.shadow.ready == name {
		return nil
	}
	if err := r.beginShadow(); err != nil {
		return err
	}
	files, err := r.disk.LibList(strings.TrimSuffix(shadowDir, "/"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	first, total := now.AddDate(0, 0, 1-shadowDays).Format(time.DateOnly), int64(0)
	for _, f := range slices.Backward(files) { // the newest first
		day, isLog := strings.CutSuffix(f, ".jsonl")
		if _, err := time.Parse(time.DateOnly, day); err != nil || !isLog {
			continue // not ours to remove
		}
		size, err := r.disk.LibStat(shadowDir + f)
		if err != nil {
			return err
		}
		if total += size; (day < first || total > shadowBytes) && shadowDir+f != name {
			if err := r.disk.LibRemove(shadowDir + f); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	data, err := r.disk.LibRead(name, shadowBytes)
	if err == nil {
		if end := bytes.LastIndexByte(data, '\n') + 1; end < len(data) {
			err = r.disk.LibTruncate(name, int64(end))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.shadow.ready = name
	return nil
}

// beginShadow gives the rows of this handle their epoch. A state that can not be read
// counts as none: the times of the rows still tell them apart.
func (r *Room) beginShadow() error {
	if r.shadow.epoch != 0 {
		return nil
	}
	var was shadowEpoch
	data, err := r.disk.LibRead(shadowState, 1<<10)
	refused := new(rootfs.Refusal)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &refused) {
		return err
	}
	if json.Unmarshal(data, &was) != nil || was.Schema != 1 || was.Epoch < 0 || was.Epoch > maxEpoch {
		was.Epoch = 0
	}
	next, err := json.Marshal(shadowEpoch{1, was.Epoch + 1})
	if err != nil {
		return err
	}
	if err := r.disk.LibReplace(shadowState, append(next, '\n')); err != nil {
		return err
	}
	r.shadow.epoch = was.Epoch + 1
	return nil
}
