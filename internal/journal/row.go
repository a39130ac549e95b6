package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// Version is the format that this package writes, and the newest that it knows.
	Version = 1

	// MaxLine is the most bytes of a line, its line feed included: a path, a target,
	// a reason and some hundred rule names fit several times over.
	MaxLine = 32 << 10

	// MaxBatch is the most rows of one append that carry part and parts.
	MaxBatch = 512

	// Window is how many rows an abort may reach back: a batch, an abort for each of its
	// rows, and as many again for what recovery has to record between them.
	Window = 4 * MaxBatch
)

// The operations. What each does to acceptance is the table in the package comment.
const (
	OpFormat   = "format"   // first row: names the format's version
	OpAnchor   = "anchor"   // the room was bound to this directory; what was accepted elsewhere ends
	OpAdopt    = "adopt"    // the operator accepted bytes that lay in the room, at a shown hash
	OpAdd      = "add"      // a new memory
	OpReplace  = "replace"  // a memory's whole text was exchanged
	OpEdit     = "edit"     // an anchored edit
	OpRemove   = "remove"   // a memory was taken out; its bytes stay in versions
	OpRename   = "rename"   // a memory moved from path to to
	OpAlias    = "alias"    // the memory to was called path on a side that was joined
	OpHold     = "hold"     // a candidate waits for the operator
	OpWithdraw = "withdraw" // a waiting candidate was given up, or replaced by a newer one
	OpApprove  = "approve"  // the operator accepted a waiting candidate
	OpRefuse   = "refuse"   // the operator rejected a candidate or unaccepted bytes
	OpReject   = "reject"   // admission refused a candidate; nothing of its content is kept
	OpArchive  = "archive"  // a memory was retired to the archive; link names what takes its place
	OpStow     = "stow"     // a memory came straight to the archive, by an import
	OpLink     = "link"     // an archived memory's link or category was changed; "" cuts the link
	OpRestore  = "restore"  // a memory came back from the archive
	OpRollback = "rollback" // a path was set back to what it was at row ref
	OpObserve  = "observe"  // a change that somebody made outside was found
	OpAbort    = "abort"    // row ref was not carried out
	OpPurge    = "purge"    // bodies were erased everywhere
	OpPrune    = "prune"    // old texts of path were dropped, those that ended by row ref; without path: the rows up to ref
	OpJoin     = "join"     // rows that continue row ref elsewhere were joined: digest is the hash of their last
	OpWaive    = "waive"    // the host waived a property, for a reason
	OpOpen     = "open"     // the room was opened, where that has to be on record
)

// Stamp is a row's place in the chain. [Encode] fills in all of it but Time.
type Stamp struct {
	Seq  int64     `json:"seq"`            // from 1, without a gap
	Time time.Time `json:"time"`           // UTC
	Prev string    `json:"prev,omitempty"` // hash of the row before; "" in the first
	Hash string    `json:"hash"`           // hex SHA-256
	MAC  string    `json:"mac,omitempty"`  // hex HMAC-SHA-256; "" without a key

	// Verified is set by Decode: MAC is right under the key that was given.
	// It is false for a row without a MAC and when no key was given.
	Verified bool `json:"-"`
}

// Change is what happened to bytes at a path. Hashes are hex SHA-256, lower case
// ([Sum]); "" means that there were, or are, no bytes.
type Change struct {
	Op     string `json:"op"`
	Format int    `json:"format,omitempty"` // format rows only; Encode fills in Version when it is 0
	Path   string `json:"path,omitempty"`   // refused names are for the caller to quote and shorten
	To     string `json:"to,omitempty"`
	Old    string `json:"old,omitempty"`
	New    string `json:"new,omitempty"`
	Trust  string `json:"trust,omitempty"`
	Source string `json:"source,omitempty"`
	Key    string `json:"key,omitempty"`
	Link   string `json:"link,omitempty"` // archive, stow, link: path of the memory that takes its place

	Category string `json:"category,omitempty"` // archive, stow, link: why it was retired
}

// Decision is who decided what, why, and about which proposal.
type Decision struct {
	Act      string   `json:"act,omitempty"`      // hold, approve: one of add, replace, edit, remove, archive, rename, restore
	Ref      int64    `json:"ref,omitempty"`      // seq of an earlier row
	By       string   `json:"by,omitempty"`       // who
	Reason   string   `json:"reason,omitempty"`   // why
	Rules    []string `json:"rules,omitempty"`    // nil and empty are the same
	ID       string   `json:"id,omitempty"`       // the held candidate
	Digest   string   `json:"digest,omitempty"`   // 64 hex, of the proposal
	Approved bool     `json:"approved,omitempty"` // the operator accepted these bytes
}

// Group says which rows belong together.
type Group struct {
	Plan  string `json:"plan,omitempty"`  // candidates that were proposed together
	Part  int    `json:"part,omitempty"`  // from 1; 0 for a row that was appended alone
	Parts int    `json:"parts,omitempty"` // at most MaxBatch
}

// Row is one line of the journal. Its strings are UTF-8.
type Row struct {
	Stamp
	Change
	Decision
	Group
}

// Batch returns a copy of the rows, numbered as parts of one append. Rows that are
// appended in one write need it when there are several: a crash may keep a later
// row of an append and lose an earlier one, and only the numbers tell that from
// tampering. Rows of one part are returned as they are.
func Batch(rows ...Row) []Row {
	out := make([]Row, len(rows))
	copy(out, rows)
	if len(out) < 2 {
		return out
	}
	for i := range out {
		out[i].Part, out[i].Parts = i+1, len(out)
	}
	return out
}

// Members that an operation cannot do without, because the fold relies on them.
const (
	needPath = 1 << iota
	needTo
	needNew
	needID
	needRef
	needAct
	needFormat
)

// needs returns the members that op must have, and whether this version knows op.
func needs(op string) (fields int, known bool) {
	switch op {
	case OpFormat:
		return needFormat, true
	case OpAdd, OpReplace, OpEdit, OpAdopt, OpRestore, OpStow:
		return needPath | needNew, true
	case OpRemove, OpArchive, OpRollback, OpObserve:
		return needPath, true
	case OpLink:
		return needPath | needRef, true
	case OpRename, OpAlias:
		return needPath | needTo, true
	case OpHold:
		return needPath | needNew | needID | needAct, true
	case OpApprove, OpWithdraw:
		return needID, true
	case OpAbort, OpPrune, OpJoin:
		return needRef, true
	case OpAnchor, OpRefuse, OpReject, OpPurge, OpWaive, OpOpen:
		return 0, true
	}
	return 0, false
}

// check reports why a row cannot be in a journal of this version. [Encode] and
// [Decode] share it, so that nothing can be written that cannot be read.
func check(r *Row) error {
	fields, known := needs(r.Op)
	if !known {
		return errors.New("unknown op")
	}
	if r.Act != "" {
		switch r.Act {
		case OpAdd, OpReplace, OpEdit, OpRemove, OpArchive, OpRename, OpRestore:
		default:
			return errors.New("act is not a change to one memory")
		}
		if r.Op != OpHold && r.Op != OpApprove {
			return errors.New("act without hold or approve")
		}
		f, _ := needs(r.Act)
		fields |= f
	}
	for _, f := range [...]struct {
		bit  int
		name string
		have bool
	}{
		{needPath, "path", r.Path != ""},
		{needTo, "to", r.To != "" && r.To != r.Path},
		{needNew, "new", r.New != ""},
		{needID, "id", r.ID != ""},
		{needRef, "ref", r.Ref > 0},
		{needAct, "act", r.Act != ""},
		{needFormat, "format", r.Format > 0},
	} {
		if fields&f.bit != 0 && !f.have {
			return errors.New("missing or unfit " + f.name)
		}
	}
	switch {
	case r.Format != 0 && r.Op != OpFormat:
		return errors.New("format outside a format row")
	case (r.Link != "" || r.Category != "") && r.Op != OpArchive && r.Op != OpStow && r.Op != OpLink:
		return errors.New("link or category of what is not archived")
	case r.Ref < 0 || r.Ref != 0 && r.Ref >= r.Seq:
		return errors.New("ref is not an earlier row")
	case r.Op == OpAbort && r.Seq-r.Ref > Window:
		return fmt.Errorf("abort reaches back more than %d rows", Window)
	case r.Part < 0 || r.Part > r.Parts || r.Parts > MaxBatch || (r.Part == 0) != (r.Parts == 0):
		return fmt.Errorf("part is not within parts, or parts over %d", MaxBatch)
	case int64(r.Part) > r.Seq:
		return errors.New("part is larger than seq")
	case r.Time.Year() < 0 || r.Time.Year() > 9999:
		return errors.New("year does not have four digits")
	}
	return checkText(r)
}

// checkText reports digests that are none and text that is not UTF-8.
func checkText(r *Row) error {
	for _, h := range [...]string{r.Old, r.New, r.Digest} {
		if h != "" && !isHash(h) {
			return errors.New("not a hex SHA-256")
		}
	}
	for _, s := range [...]string{r.Path, r.To, r.Trust, r.Source, r.Key, r.Link, r.Category, r.By, r.Reason, r.ID, r.Plan} {
		if !utf8.ValidString(s) {
			return errors.New("text is not UTF-8")
		}
	}
	for _, s := range r.Rules {
		if !utf8.ValidString(s) {
			return errors.New("text is not UTF-8")
		}
	}
	return nil
}

// Sum returns the hex SHA-256 of data, in lower case: the form of every content
// hash in the journal.
func Sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// isHash reports whether s is a SHA-256 in lower-case hexadecimal.
func isHash(s string) bool {
	return len(s) == 2*sha256.Size && isHex(s)
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

const (
	versionDir    = "versions/"
	versionDigits = 12 // of seq, so that a file manager sorts by age
	versionHex    = 12 // of the hash, enough to tell versions apart by eye and to spot a wrong one
	versionExt    = ".md"
)

// VersionName returns the name, below the library's directory, of the file that
// keeps the bytes with this hash which row seq put in place. It is "" unless seq
// is positive and hash is a hex SHA-256, so that no file can be named by accident.
func VersionName(seq int64, hash string) string {
	if seq < 1 || !isHash(hash) {
		return ""
	}
	return fmt.Sprintf("%s%0*d-%s%s", versionDir, versionDigits, seq, hash[:versionHex], versionExt)
}

// ParseVersionName is the inverse of [VersionName]: the row, and the first twelve
// digits of the hash. It takes only names that VersionName gives.
func ParseVersionName(name string) (seq int64, prefix string, ok bool) {
	s, isVersion := strings.CutPrefix(name, versionDir)
	s, isFile := strings.CutSuffix(s, versionExt)
	digits, prefix, hasHash := strings.Cut(s, "-")
	if !isVersion || !isFile || !hasHash || len(prefix) != versionHex || !isHex(prefix) {
		return 0, "", false
	}
	seq, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || seq < 1 || digits != fmt.Sprintf("%0*d", versionDigits, seq) {
		return 0, "", false
	}
	return seq, prefix, true
}
