package journal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Head is a position in the chain: the last row's seq and hash. The zero Head is
// the position before the first row.
type Head struct {
	Seq  int64
	Hash string // hex SHA-256; "" when Seq is 0
}

// String gives "12:ab34...", the seq in decimal and the whole hash: a text to keep
// elsewhere (in a commit, in a host's database), by which a later reader sees that
// row 12 is still the one it was. The zero Head gives "0:".
func (h Head) String() string {
	return strconv.FormatInt(h.Seq, 10) + ":" + h.Hash
}

// ParseHead is the inverse of [Head.String].
func ParseHead(s string) (Head, error) {
	digits, sum, ok := strings.Cut(s, ":")
	seq, err := strconv.ParseInt(digits, 10, 64)
	h := Head{Seq: seq, Hash: sum}
	if !ok || err != nil || !h.valid() || h.String() != s {
		return Head{}, errors.New("parse journal head: not a seq, a colon and a hash")
	}
	return h, nil
}

func (h Head) valid() bool {
	if h.Seq == 0 {
		return h.Hash == ""
	}
	return h.Seq > 0 && isHash(h.Hash)
}

// Encode renders rows as the lines that continue the journal at head, and returns
// the head after them. It assigns Seq, Prev, Hash and, when mackey is not empty,
// MAC; what the rows say of these is ignored, Time is taken to UTC, and a format row
// without a version gets [Version]. The rows are not modified: to have them as
// stamped, [Decode] the data at the same head.
//
// The first row after the zero Head must be a format row. Encode fails, and
// renders nothing, for a row that Decode would not take: an unknown op, a member
// that the op needs, a hash that is none, text that is not UTF-8, a line over
// [MaxLine]. Encoding rows in several calls gives the same bytes as in one.
func Encode(head Head, mackey []byte, rows ...Row) (data []byte, next Head, err error) {
	if !head.valid() {
		return nil, head, errors.New("encode journal: head is not a seq with its hash")
	}
	sum, mac := sha256.New(), newMAC(mackey)
	next = head
	for _, r := range rows {
		if next.Seq == math.MaxInt64 {
			return nil, head, errors.New("encode journal: seq is used up")
		}
		r.Stamp = Stamp{Seq: next.Seq + 1, Time: r.Time.UTC().Round(0), Prev: next.Hash}
		if r.Op == OpFormat && r.Format == 0 {
			r.Format = Version
		}
		switch err := check(&r); {
		case err != nil:
			return nil, head, fmt.Errorf("encode journal row %d: %w", r.Seq, err)
		case r.Seq == 1 && r.Op != OpFormat:
			return nil, head, errors.New("encode journal: the first row must be a format row")
		case r.Format > Version:
			return nil, head, errors.New("encode journal: format is newer than this package")
		}
		start := len(data)
		data = appendBody(data, &r)
		digest := rowHash(sum, r.Prev, data[start:])
		r.Hash = hex.EncodeToString(digest)
		if mac != nil {
			r.MAC = hex.EncodeToString(rowMAC(mac, digest))
		}
		data = appendSeal(data, &r)
		if len(data)-start > MaxLine {
			return nil, head, fmt.Errorf("encode journal row %d: line is over %d bytes", r.Seq, MaxLine)
		}
		next = Head{Seq: r.Seq, Hash: r.Hash}
	}
	return data, next, nil
}

// newMAC returns nil for an empty key: such a journal has no MACs.
func newMAC(mackey []byte) hash.Hash {
	if len(mackey) == 0 {
		return nil
	}
	return hmac.New(sha256.New, mackey)
}

// rowHash computes SHA-256(prev || body || "}"), where body is a row's JSON up to,
// and without, the comma before its hash.
func rowHash(sum hash.Hash, prev string, body []byte) []byte {
	p, _ := hex.DecodeString(prev) // valid by construction, or equal to a head that is
	sum.Reset()
	sum.Write(p)
	sum.Write(body)
	sum.Write([]byte{'}'})
	return sum.Sum(nil)
}

func rowMAC(mac hash.Hash, digest []byte) []byte {
	mac.Reset()
	mac.Write(digest)
	return mac.Sum(nil)
}

// appendBody appends a row's JSON up to the comma before its hash.
func appendBody(b []byte, r *Row) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, r.Seq, 10)
	b = append(b, `,"time":"`...)
	b = r.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","op":`...)
	b = appendString(b, r.Op)
	b = appendInt(b, "format", int64(r.Format))
	b = appendText(b, "path", r.Path)
	b = appendText(b, "to", r.To)
	b = appendText(b, "old", r.Old)
	b = appendText(b, "new", r.New)
	b = appendText(b, "trust", r.Trust)
	b = appendText(b, "source", r.Source)
	b = appendText(b, "key", r.Key)
	b = appendText(b, "link", r.Link)
	b = appendText(b, "category", r.Category)
	b = appendText(b, "act", r.Act)
	b = appendInt(b, "ref", r.Ref)
	b = appendText(b, "by", r.By)
	b = appendText(b, "reason", r.Reason)
	for i, rule := range r.Rules {
		if i == 0 {
			b = append(b, `,"rules":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendString(b, rule)
	}
	if len(r.Rules) > 0 {
		b = append(b, ']')
	}
	b = appendText(b, "id", r.ID)
	b = appendText(b, "digest", r.Digest)
	if r.Approved {
		b = append(b, `,"approved":true`...)
	}
	b = appendText(b, "plan", r.Plan)
	b = appendInt(b, "part", int64(r.Part))
	b = appendInt(b, "parts", int64(r.Parts))
	return appendText(b, "prev", r.Prev)
}

// appendSeal appends what the hash does not cover, and ends the line.
func appendSeal(b []byte, r *Row) []byte {
	b = append(b, `,"hash":`...)
	b = appendString(b, r.Hash)
	b = appendText(b, "mac", r.MAC)
	return append(b, '}', '\n')
}

func appendText(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return appendString(b, value)
}

func appendInt(b []byte, name string, value int64) []byte {
	if value == 0 {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return strconv.AppendInt(b, value, 10)
}

// appendString appends s, which is UTF-8, as a JSON string with the escapes that
// the package comment lists.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r == '"' || r == '\\':
			b = append(b, s[start:i]...)
			b = append(b, '\\', byte(r))
			start = i + size
		case r < 0x20 || r >= 0x7f && r <= 0x9f || r == 0x2028 || r == 0x2029:
			const digits = "0123456789abcdef"
			b = append(b, s[start:i]...)
			b = append(b, '\\', 'u', digits[r>>12], digits[r>>8&15], digits[r>>4&15], digits[r&15])
			start = i + size
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
