package script

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/batch"
	"github.com/weirgo/weir/store"
)

// pending is an Apply or a Peek that waits for its answer: a group with all that
// belongs to it. ops are a copy, so that nothing of the caller is touched after it has
// left.
type pending struct {
	group      batch.Group[*pending]
	ctx        context.Context
	dispatcher *dispatcher
	tag, node  string // see Store.tag and Store.node
	call       *call  // in which it was sent; guarded by mu of the dispatcher
	withdrawn  bool   // its caller has left before anything of the call was sent
	ops        []store.Op
	names      []string // see storedNames
	limits     []*prepared
	numbers    [][]string
	before     []algorithm.State
	after      []algorithm.State
	answered   chan struct{} // an answer, or why it is waited for no longer
	state      atomic.Int32  // of pendingState
	timeout    time.Duration // 0 for none
	until      time.Duration // when it ends, of expiry; 0 for never; guarded by mu of the dispatcher
	late       error         // where nobody waits any more
	cancelled  bool          // late, and nobody else knows of it
	next       *pending      // of those that are coalesced with it

	at        algorithm.Instant
	committed bool
	err       error
	refusal   error // of the call, where what comes is the reply of a look instead
	short     error // of the call, where too few replicas have what it has written
	panicked  *recovered
}

// States of a pending. Who makes it answered or left hands the caller what came of it; the
// other one does nothing.
const (
	idle     = iota // not sent, or not by the dispatcher
	waiting         // set under mu of the dispatcher
	answered        // or about to be
	left            // the caller waits no longer
)

func newPending(d *dispatcher) *pending {
	p := &pending{dispatcher: d, answered: make(chan struct{}, 1)}
	p.group.Value = p
	return p
}

// pending returns a group of count ops, which are still to be written, and whose caller
// waits for the answer until timeout.
func (d *dispatcher) pending(ctx context.Context, timeout time.Duration, count int) *pending {
	p := d.pendings.Get().(*pending)
	p.group.Init(count)
	p.state.Store(idle)
	p.ctx, p.timeout = ctx, timeout
	p.ops = slices.Grow(p.ops[:0], count)[:count]
	p.names, p.limits, p.numbers = p.names[:0], p.limits[:0], p.numbers[:0]
	return p
}

// prepare finds what the ops need. It reports false where one has no Lua for its verb, and then
// p is of no more use.
func (p *pending) prepare(s *Store) (scripted bool, err error) {
	for i := range p.ops {
		op := &p.ops[i]
		limit, err := s.prepare(op.Algorithm)
		scripted := err == nil && limit != nil
		if scripted {
			scripted, err = p.add(op, limit)
		}
		if !scripted {
			p.release()
			return false, err
		}
	}
	if err := p.locate(s); err != nil {
		p.release()
		return false, err
	}
	return true, nil
}

// add adds what an op of a limit needs, and reports false where no Lua decides its verb:
// it is decided by compare-and-set.
func (p *pending) add(op *store.Op, limit *prepared) (scripted bool, err error) {
	numbers, err := limit.numbers(op.Algorithm, op.Request)
	if err != nil || numbers == nil && op.Request.Verb != algorithm.Take {
		return false, err
	}
	p.limits = append(p.limits, limit)
	p.numbers = append(p.numbers, numbers)
	return true, nil
}

// locate finds where the ops are to be sent.
func (p *pending) locate(s *Store) (err error) {
	if !s.sharded {
		return nil
	}
	names := p.storedNames()
	if p.tag, err = s.tagOf(names); err != nil {
		return err
	}
	p.node = s.node(names[0])
	return nil
}

// storedNames are the names of the slots. They are made where they are first needed: of
// concurrent callers of one slot on one server, one needs its name, which is a tenth of
// the processor's time of such a decision and its only allocation.
func (p *pending) storedNames() []string {
	for i := len(p.names); i < len(p.ops); i++ {
		p.names = append(p.names, p.storedName(i))
	}
	return p.names
}

// namesIn is storedNames, with names that share the memory of b: those of a call are a few
// allocations, where each was one. (Allocations a decision of go run ./bench -only
// 'server/.*/(many|zipf)/': 1.1 to 1.4 before, 0.2 to 0.6 now.)
func (p *pending) namesIn(b *strings.Builder) []string {
	for i := len(p.names); i < len(p.ops); i++ {
		var room [256]byte
		start := b.Len()
		b.Write(appendName(room[:0], p.dispatcher.store.opts.Prefix, p.limits[i].slotID(&p.ops[i].Slot)))
		p.names = append(p.names, b.String()[start:])
	}
	return p.names
}

// storedName is the name of the slot of an op.
func (p *pending) storedName(op int) string {
	return p.dispatcher.store.nameOf(p.limits[op].slotID(&p.ops[op].Slot))
}

// release gives p back to its pool. Nobody else may know of it any more.
func (p *pending) release() {
	clear(p.ops) // the keys are not kept
	clear(p.names)
	clear(p.limits)
	clear(p.numbers)
	clear(p.before)
	clear(p.after)
	p.ctx, p.tag, p.node, p.next, p.err, p.refusal, p.short = nil, "", "", nil, nil, nil, nil
	p.dispatcher.pendings.Put(p)
}

// patient reports whether the caller waits for as long as it takes.
func (p *pending) patient() bool { return p.timeout == 0 && p.ctx.Done() == nil }

// answer hands the caller its answer.
func (p *pending) answer(at algorithm.Instant, committed bool, err error) {
	if err == nil && p.missesReplicas(committed) {
		at, committed, err = 0, false, p.short
	}
	p.at, p.committed, p.err = at, committed, err
	if p.state.Swap(answered) != left {
		p.answered <- struct{}{}
	}
}

// result is the answer, once there is one, with the Outcomes in ops. p is then of no more
// use.
func (p *pending) result(ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	at, committed, err = p.at, p.committed, p.err
	if p.panicked != nil {
		panic(p.panicked) // and p is not used again
	}
	if err == nil {
		for i := range ops {
			ops[i].Outcome = p.ops[i].Outcome
		}
	}
	p.release()
	return at, committed, err
}

// outcome is result for one op.
func (p *pending) outcome() (o algorithm.Outcome, at algorithm.Instant, err error) {
	o, at, err = p.ops[0].Outcome, p.at, p.err
	if p.panicked != nil {
		panic(p.panicked) // and p is not used again
	}
	p.release()
	if err != nil {
		return algorithm.Outcome{}, 0, err
	}
	return o, at, nil
}
