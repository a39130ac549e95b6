package journal

import (
	"encoding/binary"
	"time"
)

// packMagic begins a packed state. Its number changes with [State].
const packMagic = "state 1\n"

// Pack gives the state as bytes for [Unpack], without what it takes to take rows back. The
// same state gives the same bytes: texts with their length before them, numbers as
// varints, each map in the order of its keys with its size before it. It is for what is
// read at every start, where JSON would take ten times as long.
func (s *State) Pack() []byte {
	p := packer{b: []byte(packMagic)}
	p.number(s.Seq)
	p.number(s.Epoch)
	packMap(&p, s.Accepted, p.accepted)
	packMap(&p, s.Archived, func(a Archived) {
		p.accepted(a.Accepted)
		p.text(a.Path)
		p.number(a.Retired)
		p.text(a.Category)
		p.text(a.SupersededBy)
	})
	packMap(&p, s.Tombs, func(t Tomb) {
		p.text(t.Hash)
		p.number(t.Seq)
		p.text(t.Key)
		p.text(t.Trust)
		p.number(t.Freed)
		p.text(t.By)
		p.time(t.Time)
	})
	packMap(&p, s.Pending, func(h Held) {
		for _, text := range [...]string{h.Path, h.To, h.Op, h.Hash, h.Base, h.Digest, h.Key, h.Plan} {
			p.text(text)
		}
		p.texts(h.Rules)
		p.origin(h.Origin)
	})
	packMap(&p, s.Refused, p.number)
	packMap(&p, s.Outside, p.text)
	packMap(&p, s.Left, p.text)
	packMap(&p, s.Waived, p.text)
	packMap(&p, s.Former, func(names []Name) {
		p.number(int64(len(names)))
		for _, n := range names {
			p.text(n.Path)
			p.number(n.Row)
			p.flag(n.Alias)
		}
	})
	packMap(&p, s.Purged, p.number)
	return p.b
}

// Unpack reads what Pack gave; ok is false for anything else. The state's texts are parts
// of packed.
func Unpack(packed string) (s *State, ok bool) {
	if len(packed) < len(packMagic) || packed[:len(packMagic)] != packMagic {
		return nil, false
	}
	u := unpacker{rest: packed[len(packMagic):]}
	s = &State{Seq: u.number(), Epoch: u.number()}
	s.Accepted = unpackMap(&u, u.accepted)
	s.Archived = unpackMap(&u, func() Archived {
		return Archived{Accepted: u.accepted(), Path: u.text(), Retired: u.number(), Category: u.text(), SupersededBy: u.text()}
	})
	s.Tombs = unpackMap(&u, func() Tomb {
		return Tomb{Hash: u.text(), Seq: u.number(), Key: u.text(), Trust: u.text(), Freed: u.number(), By: u.text(), Time: u.time()}
	})
	s.Pending = unpackMap(&u, func() Held {
		return Held{
			Path: u.text(), To: u.text(), Op: u.text(), Hash: u.text(), Base: u.text(), Digest: u.text(), Key: u.text(), Plan: u.text(),
			Rules: u.texts(), Origin: u.origin(),
		}
	})
	s.Refused = unpackMap(&u, u.number)
	s.Outside = unpackMap(&u, u.text)
	s.Left = unpackMap(&u, u.text)
	s.Waived = unpackMap(&u, u.text)
	s.Former = unpackMap(&u, func() []Name {
		names := make([]Name, u.count())
		for i := range names {
			names[i] = Name{Path: u.text(), Row: u.number(), Alias: u.number() != 0}
		}
		return names
	})
	s.Purged = unpackMap(&u, u.number)
	return s, !u.bad && u.rest == ""
}

// packer writes a state.
type packer struct{ b []byte }

func (p *packer) number(n int64) { p.b = binary.AppendVarint(p.b, n) }

func (p *packer) flag(set bool) {
	n := int64(0)
	if set {
		n = 1
	}
	p.number(n)
}

func (p *packer) text(s string) {
	p.number(int64(len(s)))
	p.b = append(p.b, s...)
}

func (p *packer) texts(all []string) {
	p.number(int64(len(all)))
	for _, s := range all {
		p.text(s)
	}
}

func (p *packer) time(t time.Time) {
	p.number(t.Unix())
	p.number(int64(t.Nanosecond()))
}

func (p *packer) accepted(a Accepted) {
	p.text(a.Hash)
	p.text(a.Key)
	p.texts(a.Rules)
	p.flag(a.Approved)
	p.number(a.Row)
	p.origin(a.Origin)
}

func (p *packer) origin(o Origin) {
	p.number(o.Seq)
	p.time(o.Time)
	p.text(o.By)
	p.text(o.Trust)
	p.text(o.Source)
}

func packMap[V any](p *packer, m map[string]V, value func(V)) {
	p.number(int64(len(m)))
	for k, v := range Sorted(m) {
		p.text(k)
		value(v)
	}
}

// unpacker reads a state. After the first fault it reads zeros.
type unpacker struct {
	rest string
	bad  bool
}

func (u *unpacker) number() int64 {
	var v uint64
	for i := 0; i < len(u.rest) && i < binary.MaxVarintLen64; i++ {
		c := u.rest[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			u.rest = u.rest[i+1:]
			return int64(v>>1) ^ -int64(v&1)
		}
	}
	u.bad, u.rest = true, ""
	return 0
}

// count reads a number of things, of a byte each at least.
func (u *unpacker) count() int {
	n := u.number()
	if n < 0 || n > int64(len(u.rest)) {
		u.bad, u.rest = true, ""
		return 0
	}
	return int(n)
}

func (u *unpacker) text() string {
	n := u.count()
	s := u.rest[:n]
	u.rest = u.rest[n:]
	return s
}

func (u *unpacker) texts() []string {
	n := u.count()
	if n == 0 {
		return nil
	}
	all := make([]string, n)
	for i := range all {
		all[i] = u.text()
	}
	return all
}

func (u *unpacker) time() time.Time {
	sec, nsec := u.number(), u.number()
	return time.Unix(sec, nsec).UTC()
}

func (u *unpacker) accepted() Accepted {
	return Accepted{Hash: u.text(), Key: u.text(), Rules: u.texts(), Approved: u.number() != 0, Row: u.number(), Origin: u.origin()}
}

func (u *unpacker) origin() Origin {
	return Origin{Seq: u.number(), Time: u.time(), By: u.text(), Trust: u.text(), Source: u.text()}
}

func unpackMap[V any](u *unpacker, value func() V) map[string]V {
	n := u.count()
	if n == 0 {
		return nil
	}
	m := make(map[string]V, n)
	for range n {
		k := u.text()
		if m[k] = value(); u.bad {
			return nil
		}
	}
	if len(m) != n {
		u.bad, u.rest = true, ""
	}
	return m
}
