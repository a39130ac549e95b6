package journal

import (
	"bytes"
	"strconv"
	"time"
)

// scan reads a line in the order in which appendBody and appendSeal write it. It is the quick way
// for lines of our own: ok means only that it got to the end, and what it makes of
// a line counts when writing the row again gives the same bytes. For
// everything else encoding/json decides what the line is.
func scan(line []byte) (r Row, ok bool) {
	c := cursor{rest: line}
	r.Seq = c.number(`{"seq":`)
	when, err := time.Parse(time.RFC3339Nano, c.text(`,"time":"`))
	r.Time = when.UTC()
	r.Op = c.text(`,"op":"`)
	r.Format = int(c.number(`,"format":`))
	r.Path = c.text(`,"path":"`)
	r.To = c.text(`,"to":"`)
	r.Old = c.text(`,"old":"`)
	r.New = c.text(`,"new":"`)
	r.Trust = c.text(`,"trust":"`)
	r.Source = c.text(`,"source":"`)
	r.Key = c.text(`,"key":"`)
	r.Link = c.text(`,"link":"`)
	r.Category = c.text(`,"category":"`)
	r.Act = c.text(`,"act":"`)
	r.Ref = c.number(`,"ref":`)
	r.By = c.text(`,"by":"`)
	r.Reason = c.text(`,"reason":"`)
	for next := `,"rules":["`; c.at(next); next = `,"` {
		r.Rules = append(r.Rules, c.text(next))
	}
	if len(r.Rules) > 0 {
		c.skip(`]`)
	}
	r.ID = c.text(`,"id":"`)
	r.Digest = c.text(`,"digest":"`)
	r.Approved = c.skip(`,"approved":true`)
	r.Plan = c.text(`,"plan":"`)
	r.Part = int(c.number(`,"part":`))
	r.Parts = int(c.number(`,"parts":`))
	r.Prev = c.text(`,"prev":"`)
	r.Hash = c.text(`,"hash":"`)
	r.MAC = c.text(`,"mac":"`)
	return r, c.skip(`}`) && len(c.rest) == 0 && err == nil
}

// cursor is what is left of a line. A member that is not next reads as its zero
// value; so does one that is malformed, and then the end is not reached.
type cursor struct {
	rest []byte
}

func (c *cursor) at(lit string) bool {
	return len(c.rest) >= len(lit) && string(c.rest[:len(lit)]) == lit
}

func (c *cursor) skip(lit string) bool {
	if !c.at(lit) {
		return false
	}
	c.rest = c.rest[len(lit):]
	return true
}

func (c *cursor) number(lit string) int64 {
	if !c.skip(lit) {
		return 0
	}
	n := 0
	for n < len(c.rest) && (c.rest[n] >= '0' && c.rest[n] <= '9' || c.rest[n] == '-') {
		n++
	}
	v, _ := strconv.ParseInt(string(c.rest[:n]), 10, 64)
	c.rest = c.rest[n:]
	return v
}

// text reads a string; lit ends with its opening quote.
func (c *cursor) text(lit string) string {
	if !c.skip(lit) {
		return ""
	}
	end := bytes.IndexByte(c.rest, '"')
	if end < 0 {
		return ""
	}
	if bytes.IndexByte(c.rest[:end], '\\') < 0 {
		s := string(c.rest[:end])
		c.rest = c.rest[end+1:]
		return s
	}
	var out []byte
	for i := 0; i < len(c.rest); i++ {
		switch b := c.rest[i]; {
		case b == '"':
			c.rest = c.rest[i+1:]
			return string(out)
		case b == '\\' && i+6 <= len(c.rest) && c.rest[i+1] == 'u':
			v, _ := strconv.ParseUint(string(c.rest[i+2:i+6]), 16, 16)
			out = append(out, string(rune(v))...)
			i += 5
		case b == '\\' && i+1 < len(c.rest):
			i++
			out = append(out, c.rest[i])
		default:
			out = append(out, b)
		}
	}
	return ""
}
