package script

import (
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// lane carries groups to the server: those that take on one, looks on another.
type lane struct {
	store *Store
	takes bool

	mu      sync.Mutex
	batcher *Batcher
	closed  bool
	flights sync.WaitGroup

	pendings sync.Pool // of *pending
	idle     sync.Pool // of *flight
}

func (l *lane) init(s *Store, takes bool) {
	l.store, l.takes = s, takes
	limits := BatchLimits{Groups: s.opts.Share, Keys: store.MaxOps, InFlight: s.opts.InFlight}
	if s.opts.Share == 1 {
		limits.InFlight = math.MaxInt
	}
	l.batcher = NewBatcher(limits)
	l.pendings.New = func() any { return newPending(l) }
	l.idle.New = func() any { return newFlight(l) }
}

// send hands a group to the batcher, and makes the call where it may leave at once.
func (l *lane) send(p *pending) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		p.answer(0, false, store.ErrClosed)
		return
	}
	l.batcher.Enqueue(&p.Group)
	f := l.flush()
	l.mu.Unlock()
	switch {
	case f == nil:
	case len(f.groups) == 1 && f.groups[0] == &p.Group && p.ctx.Done() == nil:
		f.fly() // nobody else is aboard, and the caller waits anyway
	default:
		go f.start()
	}
}

// flush returns the next call to make, if one is to be made now.
func (l *lane) flush() *flight {
	f := l.idle.Get().(*flight)
	f.groups = l.batcher.Flush(f.groups[:0])
	if len(f.groups) == 0 {
		l.idle.Put(f)
		return nil
	}
	l.flights.Add(1)
	return f
}

// land counts a call as answered and makes the next one.
func (l *lane) land(f *flight) {
	l.mu.Lock()
	l.batcher.Reply()
	next := l.flush()
	l.mu.Unlock()
	l.idle.Put(f)
	if next != nil {
		go next.start()
	}
	l.flights.Done()
}

// wait returns the answer to p and writes the Outcomes to ops. A caller whose
// context ends leaves: before its group was sent nothing has happened, after it the
// outcome is unknown.
func (l *lane) wait(p *pending, ops []store.Op) (algorithm.Instant, bool, error) {
	select {
	case <-p.answered:
		return p.result(ops)
	default:
	}
	select {
	case <-p.answered:
		return p.result(ops)
	case <-p.ctx.Done():
	}
	l.mu.Lock()
	waiting := l.batcher.Cancel(&p.Group)
	l.mu.Unlock()
	if waiting {
		return 0, false, p.ctx.Err()
	}
	select {
	case <-p.answered:
		return p.result(ops)
	default:
		return 0, false, explain(l.verb(), p.ctx.Err(), l.takes)
	}
}

func (l *lane) verb() string {
	if l.takes {
		return "apply"
	}
	return "peek"
}

// close tells those that wait that they were not sent, and waits for those that
// were.
func (l *lane) close() {
	l.mu.Lock()
	l.closed = true
	left := l.batcher.Drain()
	l.mu.Unlock()
	for _, g := range left {
		g.call.answer(0, false, store.ErrClosed)
	}
	l.flights.Wait()
}

// flight is one call to the server.
type flight struct {
	lane   *lane
	groups []*Group
	sent   Command
	calls  map[request]int
	start  func() // fly, as a value that costs nothing to start
}

// request is what ops have to share to be one call of the list script.
type request struct {
	limit *prepared
	algorithm.Request
}

func newFlight(l *lane) *flight {
	f := &flight{lane: l, calls: make(map[request]int)}
	f.start = f.fly
	return f
}

// fly makes the call and answers its groups.
func (f *flight) fly() {
	reply, err := f.call()
	switch {
	case err != nil:
		err = explain(f.lane.verb(), err, f.lane.takes)
		for _, g := range f.groups {
			g.call.answer(0, false, err)
		}
	case f.lone():
		f.groups[0].call.decode(reply)
	default:
		f.decode(reply)
	}
	clear(f.groups)
	f.lane.land(f)
}

// lone reports whether the call is one op.
func (f *flight) lone() bool { return len(f.groups) == 1 && f.groups[0].keys == 1 }

func (f *flight) call() (reply string, err error) {
	s := f.lane.store
	now, err := s.instant()
	if err != nil {
		return "", notSent{err}
	}
	ctx := s.bound()
	if f.lone() {
		p := f.groups[0].call
		args := append(f.sent.Args[:0], "", "", "1", p.names[0], now, s.least())
		f.sent.Args = append(args, p.numbers[0]...)
		return s.eval(ctx, p.limits[0].source.lone.program(f.lane.takes), &f.sent)
	}
	f.sent.Args = f.list(f.sent.Args[:0], now, s.least())
	return s.eval(ctx, s.list.program(f.lane.takes), &f.sent)
}

// list appends the words of a call of the list script.
func (f *flight) list(args []string, now, least string) []string {
	keys := 0
	args = append(args, "", "", "")
	for _, g := range f.groups {
		args = append(args, g.call.names...)
		keys += g.keys
	}
	args[2] = strconv.Itoa(keys)
	args = append(args, now, least, "")
	count := len(args) - 1
	clear(f.calls)
	for _, g := range f.groups {
		for i, limit := range g.call.limits {
			r := request{limit, g.call.ops[i].Request}
			if _, known := f.calls[r]; known {
				continue
			}
			f.calls[r] = len(f.calls) + 1
			numbers := g.call.numbers[i]
			args = append(args, strconv.Itoa(limit.source.index), strconv.Itoa(len(numbers)))
			args = append(args, numbers...)
		}
	}
	args[count] = strconv.Itoa(len(f.calls))
	for _, g := range f.groups {
		args = append(args, strconv.Itoa(g.keys))
		for i, limit := range g.call.limits {
			args = append(args, strconv.Itoa(f.calls[request{limit, g.call.ops[i].Request}]))
		}
	}
	return args
}

// decode answers the groups from the reply of the list script.
func (f *flight) decode(reply string) {
	at, rest, err := cutInstant(reply, ';')
	if err != nil || strings.Count(rest, ";") != len(f.groups)-1 {
		for _, g := range f.groups {
			g.call.answer(0, false, g.call.garbled())
		}
		return
	}
	for _, g := range f.groups {
		var one string
		one, rest, _ = strings.Cut(rest, ";")
		g.call.group(at, one)
	}
}
