package scribe

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/journal"
)

// Group commit: proposals that wait for the room's lock at the same time are carried out
// together, by whoever gets the lock, and share the two rounds of flushes. Each is judged
// against the room as it is once those before it are carried out, in the order in which
// they came, and each is acknowledged, refused or failed by itself.
//
// What shares a group may not depend on whether the others succeed. So only changes that
// put texts share, each at names and under keys of its own; all else (a refusal, a held
// candidate, a rename, whatever frees a name) is a group by itself. Where a group fails
// as a whole, each of its members is judged and carried out again alone.

// maxGroup bounds a group: with the largest memories it writes 4 MiB twice, and the first
// in the queue waits for all of it.
const maxGroup = 64

// waiter is one proposal in the queue.
type waiter struct {
	ctx   context.Context
	build func(w *world) (*batch, error) // judges under the lock; may be called again
	b     *batch
	err   error
	over  chan struct{} // closed when b and err are decided
	lead  chan struct{} // its turn to carry out the queue; one token
}

// queue is the proposals that wait, in the order in which they came.
type queue struct {
	mu      sync.Mutex // guards what follows
	waiting []*waiter
	led     bool // one of them, or one that is over by now, carries the queue out
	last    int  // size of the last group
}

// share carries a proposal out, possibly with others. When ctx ends before its turn has
// come, nothing was and nothing will be written.
func (r *Room) share(ctx context.Context, build func(w *world) (*batch, error)) (*batch, error) {
	q := &r.queue
	req := &waiter{ctx: ctx, build: build, over: make(chan struct{}), lead: make(chan struct{}, 1)}
	q.mu.Lock()
	q.waiting = append(q.waiting, req)
	if !q.led {
		q.led = true
		req.lead <- struct{}{}
	}
	q.mu.Unlock()
	select {
	case <-req.over:
	case <-req.lead:
		r.carryOut(req)
	case <-ctx.Done():
		switch {
		case q.leave(req):
			return nil, ctx.Err()
		default: // taken, or about to lead
			select {
			case <-req.over:
			case <-req.lead:
				r.carryOut(req)
			}
		}
	}
	return req.b, req.err
}

// leave takes a request out of the queue; false when it was taken, or leads.
func (q *queue) leave(req *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, req)
	if i < 0 || len(req.lead) > 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// next hands the queue on to whoever is first in it.
func (q *queue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.led = len(q.waiting) > 0; q.led {
		q.waiting[0].lead <- struct{}{}
	}
}

// linger waits for those of the last group who come again, as long as more of them come:
// a moment's patience saves them flushes of their own. Who writes alone does not wait.
func (q *queue) linger(ctx context.Context) {
	for still, before := 0, 0; still < lingerTries; still++ {
		q.mu.Lock()
		now, enough := len(q.waiting), len(q.waiting) >= q.last
		q.mu.Unlock()
		if enough {
			return
		}
		if now > before {
			still, before = 0, now
		}
		pause, cancel := context.WithTimeout(ctx, lingerPause)
		<-pause.Done()
		cancel()
	}
}

// lingerTries pauses without anybody new end the patience: about what it takes to judge a
// change, and less than what the two rounds of a group cost on a disk.
const (
	lingerTries = 6
	lingerPause = 500 * time.Microsecond
)

// take empties the queue up to most requests.
func (q *queue) take(most int) []*waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(most, len(q.waiting))
	taken := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return taken
}

// giveBack puts requests back to the front, and notes how many are carried out.
func (q *queue) giveBack(reqs []*waiter, shared int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = shared
	q.waiting = append(slices.Clone(reqs), q.waiting...)
}

// carryOut carries out the queue as far as it shares one group. lead is first in it, so
// that its own request is decided when this returns.
func (r *Room) carryOut(lead *waiter) {
	defer r.queue.next()
	unlock, err := r.lock(lead.ctx)
	if err != nil {
		r.queue.take(1)
		lead.end(nil, err)
		return
	}
	defer unlock()
	r.queue.linger(lead.ctx)
	taken := r.queue.take(maxGroup)
	defer func() {
		if e := recover(); e != nil { // nobody is left waiting, whatever broke
			for _, req := range taken {
				req.end(nil, errCutShort)
			}
			panic(e)
		}
	}()
	group, rest := r.gather(taken)
	taken = group
	r.queue.giveBack(rest, len(group))
	r.carryGroup(group)
}

// gather judges requests in their order, and takes as many as share a group. Those that
// are decided by that alone are over.
func (r *Room) gather(reqs []*waiter) (group, rest []*waiter) {
	var w *world // the room once the first of the group, as many as after says, are carried out
	after := -1
	for i, req := range reqs {
		var b *batch
		err := req.ctx.Err()
		if err == nil && after != len(group) {
			var next *world
			if next, err = r.worldAfter(req.ctx, w, group); err == nil {
				w, after = next, len(group)
			}
		}
		if err == nil {
			b, err = req.build(w)
		}
		switch {
		case err != nil && len(group) > 0 && req.ctx.Err() == nil:
			return group, reqs[i:] // it may be of what comes before it: judged again
		case err != nil:
			req.end(nil, err)
			continue
		case len(group) > 0 && !(b.shares() && apart(group, b)):
			return group, reqs[i:]
		}
		req.b = b
		group = append(group, req)
		for _, m := range b.moves { // for those who are judged next: it has no version yet
			if m.put != nil {
				path := m.path.String()
				r.metas.of(path, journal.Sum(m.put), 4*r.opts.Limits.Memories, func() ([]byte, error) { return m.put, nil })
			}
		}
		if !b.shares() {
			return group, reqs[i+1:]
		}
	}
	return group, nil
}

// worldAfter is the room once the group is carried out. w is the room before its last
// member, nil for none, and is not used any more: its state goes on as that of the next.
func (r *Room) worldAfter(ctx context.Context, w *world, group []*waiter) (*world, error) {
	if len(group) == 0 || w == nil {
		return r.world(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	last := group[len(group)-1].b
	state := w.state
	if len(group) == 1 { // the room's own, which others read; after that it is the group's
		state = state.Clone()
	}
	for _, row := range last.rows {
		row.Seq = state.Seq + 1
		state.Apply(row)
	}
	next := *w
	next.now = r.opts.Now().UTC()
	next.index = patchIndex(w.index, last.set, last.drop, hasLine(w.state))
	next.use(r, state)
	return &next, nil
}

// carryGroup commits a group, or its members one by one where that fails.
func (r *Room) carryGroup(group []*waiter) {
	if len(group) == 0 {
		return
	}
	batches := make([]*batch, len(group))
	for i, req := range group {
		batches[i] = req.b
	}
	// Not bounded by anybody's context: each was asked when it was judged.
	err := r.commitAll(context.WithoutCancel(group[0].ctx), batches)
	if err == nil || len(group) == 1 || r.poisoned() {
		for _, req := range group {
			req.end(req.b, errors.Join(err, req.b.err))
		}
		return
	}
	for _, req := range group {
		alone, rest := r.gather([]*waiter{req})
		if len(rest) > 0 {
			panic("scribe: one request shares no group with itself") // gather takes the first
		}
		r.carryGroup(alone)
	}
}

// errCutShort is what the others of a group get when the one who carries it out panics.
var errCutShort = errors.New("the change was cut short; open the room again to see whether it happened")

// end decides a request, once.
func (req *waiter) end(b *batch, err error) {
	select {
	case <-req.over:
	default:
		req.b, req.err = b, err
		close(req.over)
	}
}

// shares reports whether a batch may be carried out together with others.
func (b *batch) shares() bool {
	if len(b.rows) == 0 || len(b.rows) != len(b.moves) || len(b.files)+len(b.gone)+len(b.keep)+len(b.drop) > 0 {
		return false
	}
	for _, row := range b.rows {
		if row.Op != journal.OpAdd && row.Op != journal.OpReplace && row.Op != journal.OpEdit {
			return false
		}
	}
	return true
}

// apart reports whether a batch has no name and no key in common with those of a group.
func apart(group []*waiter, b *batch) bool {
	for _, req := range group {
		if !req.b.shares() {
			return false
		}
		for _, m := range req.b.moves {
			for _, n := range b.moves {
				if meet(m.path.Segments(), n.path.Segments()) || fold.Key(req.b.rows[m.row].Key) == fold.Key(b.rows[n.row].Key) {
					return false
				}
			}
		}
	}
	return true
}
