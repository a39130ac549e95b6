package scribe

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/seal"
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
// counts only while those bytes are the ones that were verified, so a changed row is found
// as if there were no checkpoint. Both are sealed under the host's key, or else the one of
// .scribe/local, so that nobody else can say what the bytes add up to.
type checkpoint struct {
	Bytes int64  // of all files of the journal that exist, joined, from the first one on
	Seal  []byte // tokens of them, see package seal
	Seq   int64  // the last row in them
	Hash  string // its hash
	State *journal.State
}

// checkpointMagic begins what is sealed. A checkpoint of another version is none.
const checkpointMagic = "scribe checkpoint 3\n"

// What is sealed under the key of a checkpoint.
const (
	journalSeal    = "scribe: journal of a checkpoint"
	checkpointSeal = "scribe: checkpoint"
)

// encode gives what is sealed: checkpointMagic, Bytes, Seal in hex, Seq and Hash a line
// each, then the packed state.
func (c *checkpoint) encode() []byte {
	head := fmt.Sprintf("%s%d\n%x\n%d\n%s\n", checkpointMagic, c.Bytes, c.Seal, c.Seq, c.Hash)
	return append([]byte(head), c.State.Pack()...)
}

// decodeCheckpoint reads what encode gave; nil for anything else.
func decodeCheckpoint(body string) *checkpoint {
	rest, ok := strings.CutPrefix(body, checkpointMagic)
	lines := strings.SplitN(rest, "\n", 5)
	if !ok || len(lines) < 5 {
		return nil
	}
	c := checkpoint{Hash: lines[3]}
	var errs [3]error
	c.Bytes, errs[0] = strconv.ParseInt(lines[0], 10, 64)
	c.Seal, errs[1] = hex.DecodeString(lines[1])
	c.Seq, errs[2] = strconv.ParseInt(lines[2], 10, 64)
	if c.State, ok = journal.Unpack(lines[4]); !ok || errors.Join(errs[:]...) != nil {
		return nil
	}
	return &c
}

// sealCheckpoint gives the file of a checkpoint: a MAC of the tokens of what is sealed, their
// size in 4 bytes, little endian, the tokens, and what is sealed.
func sealCheckpoint(key, body []byte) []byte {
	stream := seal.New(key, checkpointSeal)
	_, _ = stream.Write(body)
	tokens := stream.Tokens()
	data := binary.LittleEndian.AppendUint32(checkpointMAC(key, tokens), uint32(len(tokens)))
	return append(append(data, tokens...), body...)
}

// openCheckpoint gives what sealCheckpoint sealed.
func openCheckpoint(key []byte, file io.ReaderAt, size int64) (body string, err error) {
	const head = sha256.Size + 4
	other := errors.New("not the checkpoint of this journal")
	said := make([]byte, head)
	if _, err := file.ReadAt(said, 0); err != nil {
		return "", err
	}
	n := int64(binary.LittleEndian.Uint32(said[sha256.Size:]))
	if n > size-head {
		return "", other
	}
	tokens := make([]byte, n)
	if _, err := file.ReadAt(tokens, head); err != nil && err != io.EOF {
		return "", err
	}
	if !hmac.Equal(said[:sha256.Size], checkpointMAC(key, tokens)) {
		return "", other
	}
	stream := seal.Against(key, checkpointSeal, tokens)
	var b strings.Builder // the state's texts are parts of the one that is made here
	b.Grow(int(size - head - n))
	if _, err := io.CopyBuffer(io.MultiWriter(stream, &b), io.NewSectionReader(file, head+n, size-head-n), make([]byte, 64<<10)); err != nil {
		return "", err
	}
	if !stream.Same() {
		return "", other
	}
	return b.String(), nil
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

// checkpointMAC says that tokens are those of one checkpoint.
func checkpointMAC(key, tokens []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("checkpoint:"))
	mac.Write(tokens)
	return mac.Sum(nil)
}

// readCheckpoint reads the checkpoint; nil when there is none that counts. r.mu is held.
func (r *Room) readCheckpoint() *checkpoint {
	key := r.checkpointKey()
	if key == nil {
		return nil
	}
	var body string
	err := r.disk.LibView(checkpointName, maxCheckpoint, func(file io.ReaderAt, size int64) (err error) {
		body, err = openCheckpoint(key, file, size)
		return err
	})
	if err != nil {
		return nil
	}
	return decodeCheckpoint(body)
}

// covers reports whether the journal begins with the bytes that the checkpoint is about,
// and where they end: in which file, and at which byte of it. The last file is
// audit.jsonl, with the bytes active.
func (c *checkpoint) covers(r *Room, sealed []int64, active []byte) (file int, at int64, ok bool) {
	stream, left := seal.Against(r.checkpointKey(), journalSeal, c.Seal), c.Bytes
	for i := range sealed {
		n, err := r.disk.LibCopy(stream, segmentName(sealed[i]), left)
		if err != nil {
			return 0, 0, false
		}
		if left -= n; left == 0 {
			return i, n, stream.Same()
		}
	}
	if left > int64(len(active)) {
		return 0, 0, false
	}
	_, _ = stream.Write(active[:left])
	return len(sealed), left, stream.Same()
}

// writeCheckpoint stores what was read so far. The room's lock is held and nothing is in
// flight. Failing is no fault: the next Open reads more.
func (r *Room) writeCheckpoint() {
	r.mu.Lock()
	l, key := r.ledger, r.checkpointKey()
	r.mu.Unlock()
	if key == nil || l.first == 0 {
		return
	}
	if !r.stands(l, key) {
		stream := seal.New(key, journalSeal)
		size, err := r.copyUpTo(stream, l)
		if err != nil {
			return
		}
		body := (&checkpoint{Bytes: size, Seal: stream.Tokens(), Seq: l.head.Seq, Hash: l.head.Hash, State: l.state}).encode()
		if r.disk.LibReplace(checkpointName, sealCheckpoint(key, body)) != nil {
			return
		}
	}
	r.mu.Lock()
	r.ledger.fresh = 0
	r.mu.Unlock()
}

// stands reports whether the checkpoint that is there says what was read: sealed anew it
// would be other bytes that say the same.
func (r *Room) stands(l ledger, key []byte) bool {
	r.mu.Lock()
	was := r.readCheckpoint()
	r.mu.Unlock()
	if was == nil || was.head() != l.head {
		return false
	}
	stream := seal.Against(key, journalSeal, was.Seal)
	size, err := r.copyUpTo(stream, l)
	return err == nil && stream.Same() && size == was.Bytes && bytes.Equal(was.State.Pack(), l.state.Pack())
}

// copyUpTo writes the journal's files, joined, as far as l has read them, and gives their
// size.
func (r *Room) copyUpTo(w io.Writer, l ledger) (size int64, err error) {
	sealed, err := r.sealedBefore(l.first)
	if err != nil {
		return 0, err
	}
	for _, first := range sealed {
		n, err := r.disk.LibCopy(w, segmentName(first), maxAudit)
		if err != nil {
			return 0, err
		}
		size += n
	}
	n, err := r.disk.LibCopy(w, auditName, l.size)
	return size + n, err
}
