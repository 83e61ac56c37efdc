package script

import (
	"errors"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/weirgo/weir/algorithm"
)

// flight is one call to the server.
type flight struct {
	lane   *lane
	takes  bool // as the lane does, but for the look at a call that was refused
	place  *place
	groups []*Group
	sent   Command
	runs   []run
	last   map[string]int  // of a name, the last of runs that has it
	calls  map[request]int // in the list script, counted from 1
}

// run is a group, or several that ask one slot for the same, with nobody in between
// who asks it for something else: the callers of a hot key. The script decides them
// at once, and the answer of each follows from the state before the first.
type run struct {
	first, final *pending // a chain, by pending.next
	count        int
	together     bool // the script is told that they are several
}

// request is what ops have to share to be one call of the list script.
type request struct {
	limit *prepared
	algorithm.Request
}

func newFlight(l *lane) *flight {
	return &flight{lane: l, last: make(map[string]int), calls: make(map[request]int)}
}

// fly makes the call and answers its groups.
func (f *flight) fly() {
	var reply string
	var err error
	f.takes = f.lane.takes
	crash := caught(func() { reply, err = f.call() })
	if f.takes && len(f.groups) > 1 && writeRefused(err) {
		f.takes = false
		clear(f.last)
		for _, g := range f.groups {
			g.call.refusal = explain(f.lane.verb(), err, true)
		}
		var lookErr error
		if crash = caught(func() { reply, lookErr = f.call() }); lookErr == nil {
			err = nil
		}
	}
	switch {
	case crash != nil:
		for _, g := range f.groups {
			g.call.crashed(crash)
		}
	case err != nil:
		err = explain(f.lane.verb(), err, f.lane.takes)
		for _, g := range f.groups {
			g.call.answer(0, false, err)
		}
	case f.lone():
		p := f.groups[0].call
		p.guard(func() { p.decode(reply) })
	default:
		f.decode(reply)
	}
	clear(f.groups)
	clear(f.sent.Args) // the keys are not kept
	clear(f.runs)
	clear(f.last) // which has keys too
}

// writeRefused reports whether a server has refused a call for what it writes. Alone,
// a group that writes nothing, such as one that is denied, would have been answered. So
// it is in company: by a look at all of them.
func writeRefused(err error) bool {
	var reply *ServerError
	return errors.As(err, &reply) && writeRefusals[reply.Code()]
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
		return s.eval(ctx, p.limits[0].source.lone.program(f.takes), &f.sent)
	}
	f.join()
	f.sent.Args, err = f.list(f.sent.Args[:0], now, s.least())
	if err != nil {
		return "", notSent{err}
	}
	return s.eval(ctx, s.list.program(f.takes), &f.sent)
}

// join makes runs of the groups.
func (f *flight) join() {
	f.runs = f.runs[:0]
	for _, g := range f.groups {
		p := g.call
		p.next = nil
		if i, known := f.last[p.names[0]]; known && f.joins(&f.runs[i], p) {
			r := &f.runs[i]
			r.final.next, r.final, r.count = p, p, r.count+1
			r.together = f.takes
			continue
		}
		for _, name := range p.names {
			f.last[name] = len(f.runs)
		}
		f.runs = append(f.runs, run{first: p, final: p, count: 1})
	}
}

// joins reports whether p can be one of r, the last that touches the first slot of p.
//
// Those that take are decided together as one of n times the cost. A log has an entry
// for each, and a bound on the Delay is one for each.
func (f *flight) joins(r *run, p *pending) bool {
	q := r.first
	if p.keys != 1 || q.keys != 1 || p.limits[0] != q.limits[0] || p.ops[0].Request != q.ops[0].Request {
		return false
	}
	if !f.takes {
		return true
	}
	source, asked := p.limits[0].source, p.ops[0].Request
	return !source.custom && !source.log && asked.MaxDelay == 0 && asked.Cost <= math.MaxInt64/int64(r.count+1)
}

// all is what the groups of r ask for together.
func (r *run) all() algorithm.Request {
	return algorithm.Request{Cost: r.first.ops[0].Request.Cost * int64(r.count)}
}

// list appends the words of a call of the list script.
func (f *flight) list(args []string, now, least string) ([]string, error) {
	keys := 0
	args = append(args, "", "", "")
	for i := range f.runs {
		args = append(args, f.runs[i].first.names...)
		keys += f.runs[i].first.keys
	}
	args[2] = strconv.Itoa(keys)
	args = append(args, now, least, "")
	calls := len(args) - 1
	clear(f.calls)
	for i := range f.runs {
		r := &f.runs[i]
		for k, limit := range r.first.limits {
			args = f.add(args, limit, r.first.ops[k].Request, r.first.numbers[k])
		}
		if r.together {
			limit := r.first.limits[0]
			numbers, err := limit.numbers(r.first.ops[0].Algorithm, r.all())
			if err != nil {
				return nil, err
			}
			args = f.add(args, limit, r.all(), numbers)
		}
	}
	args[calls] = strconv.Itoa(len(f.calls))
	for i := range f.runs {
		r := &f.runs[i]
		if p := r.first; r.together {
			args = append(args, "0", strconv.Itoa(r.count), f.index(p.limits[0], p.ops[0].Request), f.index(p.limits[0], r.all()))
			continue
		}
		args = append(args, strconv.Itoa(r.first.keys))
		for k, limit := range r.first.limits {
			args = append(args, f.index(limit, r.first.ops[k].Request))
		}
	}
	return args, nil
}

// add appends a call, unless it is there already.
func (f *flight) add(args []string, limit *prepared, asked algorithm.Request, numbers []string) []string {
	r := request{limit, asked}
	if _, known := f.calls[r]; known {
		return args
	}
	f.calls[r] = len(f.calls) + 1
	args = append(args, strconv.Itoa(limit.source.index), strconv.Itoa(len(numbers)))
	return append(args, numbers...)
}

// index is the call of a limit and what is asked, as text.
func (f *flight) index(limit *prepared, asked algorithm.Request) string {
	return strconv.Itoa(f.calls[request{limit, asked}])
}

// decode answers the groups from the reply of the list script.
func (f *flight) decode(reply string) {
	at, rest, err := cutInstant(reply, ';')
	if err != nil || strings.Count(rest, ";") != len(f.runs)-1 {
		for _, g := range f.groups {
			g.call.answer(0, false, g.call.garbled())
		}
		return
	}
	for i := range f.runs {
		var one string
		one, rest, _ = strings.Cut(rest, ";")
		f.runs[i].decode(at, one)
	}
}

// decode answers the groups of r.
func (r *run) decode(at algorithm.Instant, reply string) {
	if r.together && reply != "" {
		switch reply[0] {
		case '*':
			r.step(at, reply[1:])
			return
		case '+', '-':
			reply = "" // says nothing of several
		}
	}
	for p := range r.each() {
		p.guard(func() { p.group(at, reply) })
	}
}

// step answers groups that were decided together from how many of them were admitted
// and the state before the first.
func (r *run) step(at algorithm.Instant, reply string) {
	count, text, found := strings.Cut(reply, ",")
	admitted, err := parseWhole(count)
	if !found || err != nil || admitted > int64(r.count) {
		for p := range r.each() {
			p.answer(0, false, p.garbled())
		}
		return
	}
	var state algorithm.State
	if c := caught(func() { state, err = r.first.readState(0, text) }); c != nil {
		for p := range r.each() {
			p.crashed(c)
		}
		return
	}
	for p := range r.each() {
		verdict := byte('-')
		if admitted > 0 {
			admitted, verdict = admitted-1, '+'
		}
		p.guard(func() {
			if err != nil {
				p.answer(0, false, p.unreadable(0, verdict, err))
				return
			}
			p.before = append(p.before[:0], state)
			if err := p.step(at, verdict); err != nil {
				p.answer(0, false, err)
				return
			}
			state = p.after[0] // the same if denied
			p.answer(at, verdict == '+', nil)
		})
	}
}

// each are the groups of r. One belongs to its caller as soon as it is answered.
func (r *run) each() iter.Seq[*pending] {
	return func(yield func(*pending) bool) {
		for p := r.first; p != nil; {
			next := p.next
			if !yield(p) {
				return
			}
			p = next
		}
	}
}
