package journal

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"unicode/utf8"
)

// Damage says where a journal stops being one.
type Damage struct {
	Offset int    // bytes from the start of the data: the end of what is good
	Seq    int64  // of the row that should be there
	Torn   bool   // an append that a crash cut short: may be cut off at Offset
	Why    string // a constant of ours, never text from the file
}

func (d *Damage) Error() string {
	kind := "damaged"
	if d.Torn {
		kind = "torn"
	}
	return fmt.Sprintf("audit journal %s at row %d, byte %d: %s", kind, d.Seq, d.Offset, d.Why)
}

// Newer says that the journal is of a version that this package does not know. Its
// rows may be read; nothing may be written, and nothing repaired. For the latter
// reason Damage is not in the error's chain.
type Newer struct {
	Version int     // as the format row names it
	Damage  *Damage // nil when every row verified
}

func (n *Newer) Error() string {
	s := fmt.Sprintf("audit journal has format %d, newer than %d: read only", n.Version, Version)
	if n.Damage != nil {
		s += ": " + n.Damage.Error()
	}
	return s
}

// Decode reads rows that continue the journal at from, the zero Head for a whole
// file. It returns the rows before the first damage, the head after them, and their
// length in bytes: data[:good] is the longest prefix that verifies. With a mackey,
// each row's Verified says whether its MAC is right; a wrong or missing one is not damage.
//
// The error is nil, a [*Damage] or a [*Newer]; rows, next and good are valid with
// each of them. After a format row of a newer version rows are read leniently and
// the error is a *Newer. That is known only to a call that saw the format row: of a
// newer journal, read the whole file.
//
// The rows do not alias data.
func Decode(data []byte, from Head, mackey []byte) (rows []Row, next Head, good int, err error) {
	d := decoder{head: from, sum: sha256.New(), mac: newMAC(mackey), version: Version}
	if n := bytes.Count(data, []byte{'\n'}); n > 0 {
		rows = make([]Row, 0, n)
	}
	for good < len(data) {
		line, size := firstLine(data[good:])
		row, why := d.row(line)
		if why != nil {
			damage := &Damage{Offset: good, Seq: d.head.Seq + 1, Why: why.Error()}
			damage.Torn = torn(data[good:], damage.Seq)
			if d.version > Version {
				return rows, d.head, good, &Newer{Version: d.version, Damage: damage}
			}
			return rows, d.head, good, damage
		}
		rows = append(rows, row)
		good += size
	}
	if d.version > Version {
		return rows, d.head, good, &Newer{Version: d.version}
	}
	return rows, d.head, good, nil
}

// Before returns the head that data continues, as its first line claims: to read
// rows from the middle of a journal, such as a file's last kilobytes, cut at a line's
// start. Decode at that head then shows that the rows hang together, not that
// they hang together with what is before them.
func Before(data []byte) (from Head, ok bool) {
	line, size := firstLine(data)
	if size == 0 || size > MaxLine || line == nil {
		return Head{}, false
	}
	var r Row
	if json.Unmarshal(line, &r) != nil {
		return Head{}, false
	}
	from = Head{Seq: r.Seq - 1, Hash: r.Prev}
	return from, from.valid()
}

// firstLine returns the first line without its line feed, and its size with it.
// The line is nil when the line feed is missing.
func firstLine(data []byte) (line []byte, size int) {
	i := bytes.IndexByte(data, '\n')
	if i < 0 {
		return nil, len(data)
	}
	return data[:i:i], i + 1
}

type decoder struct {
	head    Head
	sum     hash.Hash
	mac     hash.Hash // nil without a key
	version int       // of the format, as far as rows told
	buf     []byte
}

// row verifies the line after d.head and moves the head past it. The error's
// text is a constant.
func (d *decoder) row(line []byte) (Row, error) {
	switch {
	case line == nil:
		return Row{}, errors.New("line has no end")
	case len(line) >= MaxLine:
		return Row{}, errors.New("line is too long")
	case bytes.IndexByte(line, 0) >= 0:
		return Row{}, errors.New("zero bytes")
	}
	r, ours := scan(line)
	ours = ours && d.renders(&r, line)
	if !ours {
		r = Row{}
		if json.Unmarshal(line, &r) != nil {
			return Row{}, errors.New("not a row in JSON")
		}
		r.Time = r.Time.UTC()
	}
	body, sum, mac, ok := unseal(line)
	switch {
	case !ok || r.Hash != sum || r.MAC != mac:
		return Row{}, errors.New("hash is not the last member but mac")
	case r.Seq != d.head.Seq+1:
		return Row{}, errors.New("wrong seq")
	case r.Prev != d.head.Hash:
		return Row{}, errors.New("does not continue the row before")
	case r.Seq == 1 && r.Op != OpFormat:
		return Row{}, errors.New("first row is not a format row")
	}
	digest := rowHash(d.sum, r.Prev, body)
	if hex.EncodeToString(digest) != r.Hash {
		return Row{}, errors.New("hash does not match")
	}
	version := d.version
	if r.Op == OpFormat {
		version = max(version, r.Format)
	}
	if version == Version {
		if !ours {
			return Row{}, errors.New("not written in the one form")
		}
		if err := check(&r); err != nil {
			return Row{}, err
		}
	}
	if d.mac != nil {
		got, err := hex.DecodeString(mac)
		r.Verified = err == nil && hmac.Equal(got, rowMAC(d.mac, digest))
	}
	d.version = version
	d.head = Head{Seq: r.Seq, Hash: r.Hash}
	return r, nil
}

// renders reports whether line is how r is written. There is one way to write a row:
// this refuses duplicate and unknown members, white space, other escapes, and names
// that only encoding/json takes for ours.
func (d *decoder) renders(r *Row, line []byte) bool {
	d.buf = appendSeal(appendBody(d.buf[:0], r), r)
	return string(d.buf[:len(d.buf)-1]) == string(line) && utf8.Valid(line)
}

// unseal splits a line into what its hash covers, less the closing brace, and the
// hash and MAC that end it.
func unseal(line []byte) (body []byte, sum, mac string, ok bool) {
	const hexSize = 2 * sha256.Size
	body, ok = bytes.CutSuffix(line, []byte(`"}`))
	if !ok {
		return nil, "", "", false
	}
	if rest, text, found := cutMember(body, `,"mac":"`, hexSize); found {
		if rest, ok = bytes.CutSuffix(rest, []byte{'"'}); !ok {
			return nil, "", "", false
		}
		body, mac = rest, text
	}
	body, sum, ok = cutMember(body, `,"hash":"`, hexSize)
	return body, sum, mac, ok && isHash(sum) && (mac == "" || isHash(mac))
}

// cutMember cuts a member's name and a value of n bytes from the end of b.
func cutMember(b []byte, name string, n int) (rest []byte, value string, ok bool) {
	i := len(b) - n - len(name)
	if i < 0 || string(b[i:i+len(name)]) != name {
		return b, "", false
	}
	return b[:i], string(b[len(b)-n:]), true
}

// torn reports whether rest, which begins with a line that does not verify where
// row seq should be, is what a crash leaves of an append: the rule in the package
// comment. Appends are flushed one by one, so only the last can be incomplete.
func torn(rest []byte, seq int64) bool {
	line, size := firstLine(rest)
	if line == nil {
		return true
	}
	holed := bytes.IndexByte(line, 0) >= 0
	if size == len(rest) {
		return !json.Valid(line) // and so are zero bytes
	}
	if !holed {
		return false
	}
	for rest = rest[size:]; len(rest) > 0; rest = rest[size:] {
		line, size = firstLine(rest)
		if line == nil || bytes.IndexByte(line, 0) >= 0 {
			continue
		}
		var r Row
		if size > MaxLine || json.Unmarshal(line, &r) != nil || !sameAppend(line, &r, seq) {
			return false
		}
	}
	return true
}

// sameAppend reports whether a whole row after a hole is of an append that began
// at or before row seq, and is what it was when it was written.
func sameAppend(line []byte, r *Row, seq int64) bool {
	body, sum, _, ok := unseal(line)
	if !ok || r.Seq <= seq || r.Part < 1 || r.Seq-int64(r.Part)+1 > seq {
		return false
	}
	return hex.EncodeToString(rowHash(sha256.New(), r.Prev, body)) == sum
}
