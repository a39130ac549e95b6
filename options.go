package scribe

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Options for [Open]. A nil *Options and every zero field mean the strict default:
// no zero value weakens a guarantee. Open copies and validates them; nothing can
// be set later.
type Options struct {
	// Name labels the room where a session reads several, such as "project": no two of
	// them have one name. It is at most 32 of a-z, 0-9 and '-'. Empty: "memory".
	Name string
	// Key authenticates the journal of a room that travels between machines. It is
	// 32 bytes, kept outside the room. Nil: acceptance is bound to this directory.
	Key []byte
	// Now is the clock; nil: time.Now. Times are stored in UTC.
	Now func() time.Time
	// Limits; zero fields mean their defaults.
	Limits Limits
	// Rules run after the built-in stages, in order, without the room's lock, on
	// what no built-in stage rejected.
	Rules []Admit
	// ReviewAll holds every write of a model for the operator.
	ReviewAll bool
	// Suggest is what [Session.Suggest] does: "" nothing at all, "shadow" an audit row that no
	// model sees, "live" hits.
	Suggest string
	// ReadOnly writes no byte. A room of a newer format opens so by itself.
	ReadOnly bool
	// Allow lists the SHA-256 of exact values that the secret stage lets pass.
	Allow [][32]byte
	// Waive turns named properties off, each with the reason for it. What is waived
	// is audited at open and shown in the header of every snapshot.
	//
	//	"unaccepted"  an outside change of an accepted memory counts as accepted, at
	//	              user-observed: for a folder that its user alone edits
	//	"directive"   instruction-shaped text is flagged where it would be held
	Waive map[string]string

	segment int // bytes of a file of the journal; tests make it small
}

// The properties that Options.Waive may name.
const (
	waiveUnaccepted = "unaccepted"
	waiveDirective  = "directive"
)

// Limits of a room. Soft ones give a notice and the write succeeds; hard ones
// reject. Zero means the default that stands beside the field.
type Limits struct {
	IndexLines    int // soft; lines of MEMORY.md: 200, as the hosts that load it whole cut there
	IndexBytes    int // soft; bytes of MEMORY.md: 25,000
	SnapshotBytes int // render budget of a snapshot: 25,000 bytes, never more and at least 2,000 a room; 200 lines beside it
	DeltaBytes    int // render budget of a delta: 3,072 bytes, 1,500 at least
	Memory        int // hard; bytes of one memory: 65,536
	Memories      int // hard; accepted memories: 10,000
	Pending       int // hard; held candidates: 200
	Sessions      int // sessions whose state is kept: 1,000; the oldest is forgotten, and comes back at the lowest trust
	MinUserWords  int // words of prose below which Extract skips: 3
	Extractions   int // extractions a session may run: 20
}

// The defaults of Limits, and the bounds that no option lifts.
const (
	defIndexLines    = 200
	defIndexBytes    = 25_000
	defSnapshotBytes = 25_000
	defDeltaBytes    = 3_072
	defMemory        = 64 << 10
	defMemories      = 10_000
	defPending       = 200
	defSessions      = 1_000
	defMinUserWords  = 3
	defExtractions   = 20

	snapshotLines   = 200     // lines of a snapshot, whatever its bytes
	maxMemory       = 1 << 20 // bytes of a memory that any option may allow
	frameBytes      = 2_000   // bytes that the fixed words of one room's block fit into
	frameLines      = 20      // and lines
	deltaFrameBytes = 1_500   // bytes that the fixed words of a delta and the longest line fit into
	maxWaiver       = 120     // bytes of the reason for a waiver, shown in every snapshot
	maxName         = 32      // bytes of Options.Name
	keySize         = 32      // bytes of Options.Key
)

// withDefaults fills zero fields and refuses what makes no sense.
func (l Limits) withDefaults() (Limits, error) {
	for _, f := range []struct {
		name          string
		v             *int
		def, min, max int
	}{
		{"IndexLines", &l.IndexLines, defIndexLines, 1, 1 << 20},
		{"IndexBytes", &l.IndexBytes, defIndexBytes, 1, 1 << 30},
		{"SnapshotBytes", &l.SnapshotBytes, defSnapshotBytes, frameBytes, defSnapshotBytes},
		{"DeltaBytes", &l.DeltaBytes, defDeltaBytes, deltaFrameBytes, defSnapshotBytes},
		{"Memory", &l.Memory, defMemory, 1, maxMemory},
		{"Memories", &l.Memories, defMemories, 1, 1 << 20},
		{"Pending", &l.Pending, defPending, 1, 1 << 16},
		{"Sessions", &l.Sessions, defSessions, 1, 1 << 20},
		{"MinUserWords", &l.MinUserWords, defMinUserWords, 1, 1 << 10},
		{"Extractions", &l.Extractions, defExtractions, 1, 1 << 20},
	} {
		switch {
		case *f.v == 0:
			*f.v = f.def
		case *f.v < f.min || *f.v > f.max:
			return l, fmt.Errorf("options: Limits.%s is %d; it must lie in %d..%d, or be 0 for the default %d", f.name, *f.v, f.min, f.max, f.def)
		}
	}
	return l, nil
}

// settle copies o, fills its defaults and validates it.
func (o *Options) settle() (Options, error) {
	var s Options
	if o != nil {
		s = *o
	}
	s.Key, s.Rules, s.Allow, s.Waive = slices.Clone(s.Key), slices.Clone(s.Rules), slices.Clone(s.Allow), maps.Clone(s.Waive)
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Name == "" {
		s.Name = "memory"
	}
	if len(s.Name) > maxName || !plainName(s.Name) {
		return s, fmt.Errorf("options: Name %.40q must be 1 to %d of a-z, 0-9 and '-'", s.Name, maxName)
	}
	if len(s.Key) != 0 && len(s.Key) != keySize {
		return s, fmt.Errorf("options: Key has %d bytes; it needs %d", len(s.Key), keySize)
	}
	if s.Suggest != suggestOff && s.Suggest != suggestShadow && s.Suggest != suggestLive {
		return s, fmt.Errorf("options: Suggest is %.40q; it can be %q, %q, or empty for neither", s.Suggest, suggestShadow, suggestLive)
	}
	for i, rule := range s.Rules {
		if rule == nil {
			return s, fmt.Errorf("options: Rules[%d] is nil", i)
		}
	}
	for name, why := range s.Waive {
		if name != waiveUnaccepted && name != waiveDirective {
			return s, fmt.Errorf("options: Waive names %.40q; it can be %q or %q", name, waiveUnaccepted, waiveDirective)
		}
		if why == "" || len(why) > maxWaiver {
			return s, fmt.Errorf("options: Waive of %q needs a reason of 1 to %d bytes", name, maxWaiver)
		}
		if err := refuseWords("options: Waive", s.Allow, remark{name, why, maxWaiver}); err != nil {
			return s, err
		}
	}
	if s.segment == 0 {
		s.segment = segmentBytes
	}
	var err error
	s.Limits, err = s.Limits.withDefaults()
	return s, err
}

func plainName(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
