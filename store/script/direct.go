package script

import (
	"context"
	"errors"
	"time"

	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// direct is what a call has to itself that a single caller makes on its own goroutine,
// because the client is Punctual: to hand such a call to another goroutine and to be woken
// by it costs a third of the time of a decision on the loopback interface. (Measured with
// go run ./bench -only 'server/.*/1/one/.*/redisstore$': 0.6 to 0.75 of the decisions a second
// of redis_rate with the hand-over, 1.0 to 1.1 without.)
type direct struct {
	call    *call
	timeout time.Duration // of the caller; 0 for a call that is not direct
	at      time.Duration // when it ends, of expiry; 0 for a call that is not direct
	until   time.Time     // the same
	expired bool          // the time-out has ended the call
}

func (d *direct) init(c *call) { d.call = c }

// isDirect reports whether the caller of p may make a call itself. A time-out that ends beyond
// all Durations is no deadline of a call.
func (d *dispatcher) isDirect(p *pending) bool {
	return p.ctx.Done() == nil && p.until > 0 && p.timeout <= d.store.opts.Timeout && d.store.punctual != nil && d.store.punctual.HonorsDeadline()
}

// begin makes the call a direct one of p. The caller holds mu of the dispatcher.
func (d *direct) begin(p *pending) {
	d.timeout, d.at, d.until, d.expired = p.timeout, p.until, p.dispatcher.expiry.base.Add(p.until), false
	p.until = 0 // the call ends, and with it the wait
	d.call.command.Direct = true
}

// end ends the context of the call, for what the client library waits for beside the server,
// such as a connection. The caller holds mu of the dispatcher.
func (d *direct) end() {
	if !d.call.isWithdrawn {
		close(d.call.withdrawn)
		d.call.isWithdrawn = true
	}
}

// context is the context of a direct call, nil for another one.
func (d *direct) context(withdrawn chan struct{}) context.Context {
	if d.timeout == 0 {
		return nil
	}
	return newCallContext(d.until, withdrawn)
}

// runDirect makes the call of p alone on the goroutine of its caller, which holds mu; it is
// not held when runDirect returns.
func (d *dispatcher) runDirect(c *call, p *pending) {
	c.direct.begin(p)
	d.mu.Unlock()
	c.run(c.withdrawn)
	d.mu.Lock()
	defer d.mu.Unlock()
	c.direct.timeout, c.direct.at, c.command.Direct = 0, 0, false
	if c.direct.expired {
		d.distrust(c, p)
	}
}

// explain gives the error of the call its meaning. A caller who made the call itself and
// whose time is up gets the error of one that has left.
func (c *call) explain(err error) error {
	d, verb := &c.direct, c.dispatcher.verb()
	if d.expired = d.timeout > 0 && !isReply(err) && !time.Now().Before(d.until); d.expired {
		late := deadline.Exceeded(d.timeout)
		if errors.Is(err, store.ErrUnavailable) || c.command.withdraw() { // nothing was sent
			return notSentInTime(verb, late)
		}
		err = late
	}
	return explain(verb, err, c.dispatcher.takes)
}
