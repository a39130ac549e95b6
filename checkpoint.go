package scribe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"

	"github.com/memoryroom/scribe/internal/journal"
)

const (
	checkpointName = "checkpoint"
	maxCheckpoint  = 256 << 20 // bytes; a memory takes some three hundred
	// checkpointRows is how many rows Open decodes, at some four microseconds each, before
	// it writes a new checkpoint.
	checkpointRows = 500
)

// checkpoint is what the journal's first Bytes bytes add up to: a cache, so that opening a
// room does not decode every row again. It is never believed over the journal: it
// counts only while those bytes have the digest that they had when they were verified,
// so a changed row is found as if there were no checkpoint. Its MAC is under the
// host's key, or else the one of .scribe/local, so that nobody else can say what the
// bytes add up to.
type checkpoint struct {
	Bytes int64  // of all files of the journal that exist, joined, from the first one on
	Sum   string // hex SHA-256 of them
	Seq   int64  // the last row in them
	Hash  string // its hash
	State *journal.State
}

// checkpointMagic begins what the MAC is over. A checkpoint of another version is none.
const checkpointMagic = "scribe checkpoint 2\n"

// encode gives what the MAC is over: checkpointMagic, Bytes, Sum, Seq and Hash a line
// each, then the packed state.
func (c *checkpoint) encode() []byte {
	head := fmt.Sprintf("%s%d\n%s\n%d\n%s\n", checkpointMagic, c.Bytes, c.Sum, c.Seq, c.Hash)
	return append([]byte(head), c.State.Pack()...)
}

// decodeCheckpoint reads what encode gave; nil for anything else.
func decodeCheckpoint(body string) *checkpoint {
	rest, ok := strings.CutPrefix(body, checkpointMagic)
	lines := strings.SplitN(rest, "\n", 5)
	if !ok || len(lines) < 5 {
		return nil
	}
	c := checkpoint{Sum: lines[1], Hash: lines[3]}
	var err1, err2 error
	c.Bytes, err1 = strconv.ParseInt(lines[0], 10, 64)
	c.Seq, err2 = strconv.ParseInt(lines[2], 10, 64)
	if c.State, ok = journal.Unpack(lines[4]); !ok || err1 != nil || err2 != nil {
		return nil
	}
	return &c
}

func (c *checkpoint) head() journal.Head { return journal.Head{Seq: c.Seq, Hash: c.Hash} }

// checkpointKey is the key of its MAC; nil where nothing counts yet.
func (r *Room) checkpointKey() []byte {
	switch {
	case r.opts.Key != nil:
		return r.opts.Key
	case r.local != nil && r.local.ok:
		return r.local.key
	}
	return nil
}

// checkpointMAC is the MAC of a checkpoint that is written to it.
func checkpointMAC(key []byte) hash.Hash {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("checkpoint:"))
	return mac
}

// readCheckpoint reads the checkpoint; nil when there is none that counts. r.mu is held.
func (r *Room) readCheckpoint() *checkpoint {
	key := r.checkpointKey()
	if key == nil {
		return nil
	}
	const head = 2*sha256.Size + 1
	var body strings.Builder // its texts are parts of the one that is made here
	err := r.disk.LibView(checkpointName, maxCheckpoint, func(file io.ReaderAt, size int64) error {
		said := make([]byte, head)
		if _, err := file.ReadAt(said, 0); err != nil {
			return err
		}
		body.Grow(int(size) - head)
		sum := checkpointMAC(key)
		if _, err := io.CopyBuffer(io.MultiWriter(sum, &body), io.NewSectionReader(file, head, size-head), make([]byte, 64<<10)); err != nil {
			return err
		}
		if mac, err := hex.DecodeString(string(said[:head-1])); err != nil || !hmac.Equal(mac, sum.Sum(nil)) {
			return errors.New("not the checkpoint of this journal")
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return decodeCheckpoint(body.String())
}

// covers reports whether the journal begins with the bytes that the checkpoint is about,
// and where they end: in which file, and at which byte of it. The last file is
// audit.jsonl, with the bytes active.
func (c *checkpoint) covers(r *Room, sealed []int64, active []byte) (file int, at int64, ok bool) {
	sum, left := sha256.New(), c.Bytes
	for i := range sealed {
		n, err := r.disk.LibCopy(sum, segmentName(sealed[i]), left)
		if err != nil {
			return 0, 0, false
		}
		if left -= n; left == 0 {
			return i, n, hexSum(sum) == c.Sum
		}
	}
	if left > int64(len(active)) {
		return 0, 0, false
	}
	sum.Write(active[:left])
	return len(sealed), left, hexSum(sum) == c.Sum
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// writeCheckpoint stores what was read so far. The room's lock is held and nothing is in
// flight. Failing is no fault: the next Open reads more.
func (r *Room) writeCheckpoint() {
	r.mu.Lock()
	l, key := r.ledger, r.checkpointKey()
	r.mu.Unlock()
	if key == nil || l.first == 0 {
		return
	}
	size, sum, err := r.digestUpTo(l)
	if err != nil {
		return
	}
	body := (&checkpoint{Bytes: size, Sum: sum, Seq: l.head.Seq, Hash: l.head.Hash, State: l.state}).encode()
	mac := checkpointMAC(key)
	mac.Write(body)
	data := append([]byte(hexSum(mac)+"\n"), body...)
	if r.disk.LibReplace(checkpointName, data) == nil {
		r.mu.Lock()
		r.ledger.fresh = 0
		r.mu.Unlock()
	}
}

// digestUpTo gives the size and the digest of the journal's files, joined, as far as l has
// read them.
func (r *Room) digestUpTo(l ledger) (size int64, digest string, err error) {
	sealed, err := r.sealedBefore(l.first)
	if err != nil {
		return 0, "", err
	}
	sum := sha256.New()
	for _, first := range sealed {
		body, err := r.disk.LibRead(segmentName(first), maxAudit)
		if err != nil {
			return 0, "", err
		}
		sum.Write(body)
		size += int64(len(body))
	}
	body, err := r.disk.LibRead(auditName, maxAudit)
	if err != nil {
		return 0, "", err
	}
	body = body[:min(l.size, int64(len(body)))]
	sum.Write(body)
	return size + int64(len(body)), hexSum(sum), nil
}
