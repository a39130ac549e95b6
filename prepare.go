package scribe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// prepare turns candidates into proposals: the names through the path gate, what
// stands there read, the complete text worked out. It judges nothing.
func (r *Room) prepare(w *world, who author, cs []Candidate) ([]*proposal, error) {
	plan := make([]*proposal, len(cs))
	for i, c := range cs {
		p := &proposal{cand: c, who: who}
		var err error
		if p.names[0], err = r.admitPath("path", c.Path); err != nil {
			return nil, err
		}
		if p.names[0].ok() {
			if p.was, err = r.under(w, &p.names[0], "path", c.Path); err != nil {
				return nil, err
			}
		}
		if c.To != "" {
			if p.names[1], err = r.admitPath("to", c.To); err != nil {
				return nil, err
			}
			if p.names[1].ok() {
				if p.dest, err = r.under(w, &p.names[1], "to", c.To); err != nil {
					return nil, err
				}
			}
		}
		if who.hand && p.was.kind == changed && c.Base == p.was.diskHash() {
			p.was.bytes = p.was.disk // the operator looked at what lies there, and changes that
		}
		p.op = opOf(c, p.was)
		if p.links = slices.Clone(c.Supersedes); p.was.kind != absent { // else it was deleted outside, and its links go with it
			p.links = append(p.links, supersedes(w.state, p.names[0].shown())...)
		}
		slices.Sort(p.links)
		p.links = slices.Compact(p.links)
		p.text = textOf(c, p.op, p.was)
		p.digest = r.digestOf(p.writes(), p.names[0].shown(), p.names[1].shown(), []byte(p.text.base), []byte(p.text.whole))
		p.id = r.keyed("held", p.digest, p.names[0].shown(), p.names[1].shown(), p.was.diskHash(), p.op, p.text.whole)
		plan[i] = p
	}
	return plan, nil
}

// under reads what stands under a name that passed the gate. Where the disk will not
// give it (too large, a link since), the name is refused after all.
func (r *Room) under(w *world, o *pathOutcome, field, name string) (standing, error) {
	s, err := r.standing(w.state, o.path)
	if refusal := (*rootfs.Refusal)(nil); errors.As(err, &refusal) {
		o.bad = append(o.bad, pathFinding(field, name, err))
		return standing{}, nil
	}
	return s, err
}

// digestOf identifies what is proposed, whoever proposes it and whenever: a body in these
// words, under whatever name; of a change that leaves the body as it was, the labels and
// the names. It is keyed, because who can guess a content could confirm the guess.
func (r *Room) digestOf(writes bool, path, to string, base, whole []byte) string {
	m := metaOf("", whole)
	if words := bodyWords(whole); writes && words != "" && (base == nil || words != bodyWords(base)) {
		return r.keyed("body", words)
	}
	return r.keyed("proposal", fmt.Sprint(writes), path, to, m.Description, m.Type, m.Key, m.Topic, m.Tags, m.VerifyWhen, m.Body)
}

// bodyWords is a body with its case, width and spacing taken away: what was refused is
// not to come back with another line break.
func bodyWords(whole []byte) string {
	body := whole
	if e, err := entry.Parse(whole); err == nil {
		body = e.Body()
	}
	return strings.Join(strings.Fields(fold.Key(string(body))), " ")
}

// heldID is the ID under which the proposal waits, or would; "" before the room exists.
func (p *proposal) heldID() string {
	if p.id == "" {
		return ""
	}
	return p.id[:16]
}

// opOf names the operation of a candidate.
func opOf(c Candidate, was standing) string {
	switch {
	case c.Remove:
		return journal.OpArchive
	case c.To != "":
		return journal.OpRename
	case c.Old != "" || c.Text == "" && c.Base != "":
		return journal.OpEdit
	case was.kind == absent:
		return journal.OpAdd
	}
	return journal.OpReplace
}

// memory is what would be stored, for the host's rules and for the verdict.
func (p *proposal) memory(now time.Time) Memory {
	m := describe(p.target().String(), stagePending, []byte(p.text.whole))
	m.Trust, m.Modified, m.Findings = p.trust, now.UTC(), p.findings
	return m
}
