package script

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/batch"
)

// call is one call to the server.
type call struct {
	batch.Call[*pending]
	dispatcher *dispatcher
	takes      bool // as the dispatcher does, but for the look at what was refused
	command    Command
	begun      time.Time
	place      int  // in live of the dispatcher
	answered   bool // by the server

	withdrawn   chan struct{} // closed when nobody waits, and nothing was sent
	isWithdrawn bool          // guarded by mu of the dispatcher
	direct      direct

	names     strings.Builder // of the slots of a batch
	coalesced []coalesced
	last      map[string]int  // of a name, the index of the last of coalesced that has it
	requests  map[request]int // in a batch, counted from 1
}

// request is what ops have to share to be one request of a batch.
type request struct {
	limit *prepared
	algorithm.Request
}

func newCall(d *dispatcher) *call {
	c := &call{dispatcher: d, last: make(map[string]int), requests: make(map[request]int), withdrawn: make(chan struct{})}
	c.direct.init(c)
	return c
}

// run makes the call and answers its groups. withdrawn is closed when nobody waits for
// it any more and nothing was sent, nil for never.
func (c *call) run(withdrawn chan struct{}) {
	trace := c.trace()
	reply, panicked, err := c.send(c.dispatcher.takes, withdrawn)
	for panicked == nil && c.dispatcher.drop(c) && len(c.Groups) > 0 {
		reply, panicked, err = c.send(c.dispatcher.takes, withdrawn)
	}
	c.ended(trace, panicked, err)
	if len(c.Groups) == 0 { // all have left
		c.answered = false
		c.forget()
		return
	}
	short, err := cutReplicaError(err)
	ops := 0
	for _, g := range c.Groups {
		ops += len(g.Value.ops)
		if short != nil {
			g.Value.short = explain(c.dispatcher.verb(), short, true)
		}
	}
	c.dispatcher.store.counters.called(len(c.Groups), ops)
	c.answered = panicked == nil && (err == nil || isReply(err))
	if c.takes && len(c.Groups) > 1 && writeRefused(err) {
		// Alone, a group that writes nothing, such as one that is denied, would have been
		// answered. So it is among others: by a look at all of them.
		for _, g := range c.Groups {
			g.Value.refusal = explain(c.dispatcher.verb(), err, true)
		}
		var lookErr error
		if reply, panicked, lookErr = c.send(false, withdrawn); lookErr == nil {
			err = nil
		}
	}
	switch {
	case panicked != nil:
		for _, g := range c.Groups {
			g.Value.panics(panicked)
		}
	case err != nil:
		err = c.explain(err)
		for _, g := range c.Groups {
			g.Value.answer(0, false, err)
		}
	case c.isSingle():
		p := c.Groups[0].Value
		p.guard(func() { p.single(reply) })
	default:
		c.decode(reply)
	}
	c.forget()
}

// forget lets go of what belongs to the callers.
func (c *call) forget() {
	clear(c.command.Args) // the keys are not kept
	c.names.Reset()
	clear(c.coalesced)
	clear(c.last) // which has keys too
}

// isReply reports whether an error is an error reply of the server.
func isReply(err error) bool {
	var reply *ServerError
	return errors.As(err, &reply)
}

// writeRefused reports whether a server has refused a call for what it writes.
func writeRefused(err error) bool {
	var reply *ServerError
	return errors.As(err, &reply) && writeRefusals[reply.Code()]
}

// isSingle reports whether the call is one op, which has a script of its own.
func (c *call) isSingle() bool { return len(c.Groups) == 1 && len(c.Groups[0].Value.ops) == 1 }

// send sends the call, as one that takes or one that looks.
func (c *call) send(takes bool, withdrawn chan struct{}) (reply string, panicked *recovered, err error) {
	c.takes = takes
	panicked = recoverFrom(func() { reply, err = c.ask(withdrawn) })
	return reply, panicked, err
}

func (c *call) ask(withdrawn chan struct{}) (reply string, err error) {
	s := c.dispatcher.store
	now, err := s.instant()
	if err != nil {
		return "", notSent{err}
	}
	least := "" // a look
	if c.takes {
		least = s.least()
	}
	args, script := c.command.Args[:0], s.batch
	if c.isSingle() {
		p := c.Groups[0].Value
		args = append(append(args, "", "", "1", p.storedNames()[0], now, least), p.numbers[0]...)
		script = p.limits[0].source.single
	} else {
		c.coalesce()
		args, err = c.batch(args, now, least)
	}
	c.command.Args = args
	if err != nil {
		return "", notSent{err}
	}
	c.command.ReadOnly = !c.takes
	ctx := c.direct.context(withdrawn)
	if ctx == nil {
		ctx = s.callContext(withdrawn)
	}
	return s.eval(ctx, script, &c.command)
}

// batch appends the words of a call of the script for a batch.
func (c *call) batch(args []string, now, least string) ([]string, error) {
	keys := 0
	args = append(args, "", "", "")
	for i := range c.coalesced {
		p := c.coalesced[i].first
		args = append(args, p.storedNames()...)
		keys += len(p.ops)
	}
	args[2] = strconv.Itoa(keys)
	args = append(args, now, least, "")
	count := len(args) - 1
	clear(c.requests)
	for i := range c.coalesced {
		r := &c.coalesced[i]
		for k, limit := range r.first.limits {
			args = c.add(args, limit, r.first.ops[k].Request, r.first.numbers[k])
		}
		if r.together {
			limit := r.first.limits[0]
			numbers, err := limit.numbers(r.first.ops[0].Algorithm, r.sum())
			if err != nil {
				return args, err
			}
			args = c.add(args, limit, r.sum(), numbers)
		}
	}
	args[count] = strconv.Itoa(len(c.requests))
	for i := range c.coalesced {
		r := &c.coalesced[i]
		if p := r.first; r.together {
			args = append(args, "0", strconv.Itoa(r.count), c.index(p.limits[0], p.ops[0].Request), c.index(p.limits[0], r.sum()))
			continue
		}
		args = append(args, strconv.Itoa(len(r.first.ops)))
		for k, limit := range r.first.limits {
			args = append(args, c.index(limit, r.first.ops[k].Request))
		}
	}
	return args, nil
}

// add appends a request, unless it is there already.
func (c *call) add(args []string, limit *prepared, asked algorithm.Request, numbers []string) []string {
	r := request{limit, asked}
	if _, known := c.requests[r]; known {
		return args
	}
	c.requests[r] = len(c.requests) + 1
	args = append(args, strconv.Itoa(limit.source.index), strconv.Itoa(len(numbers)))
	return append(args, numbers...)
}

// index is the request of a limit and what is asked, as text.
func (c *call) index(limit *prepared, asked algorithm.Request) string {
	return strconv.Itoa(c.requests[request{limit, asked}])
}
