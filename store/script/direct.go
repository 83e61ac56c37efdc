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
// BenchmarkServer/.*/callers=1/.*/redisstore$ in bench: 0.6 to 0.75 of the decisions a second
// of redis_rate with the hand-over, 1.0 to 1.1 without.)
type direct struct {
	call    *call
	timeout time.Duration // of the caller; 0 for a call that is not direct
	until   time.Time
	expired bool        // the time-out has ended the call
	timer   *time.Timer // closes withdrawn of the call
}

func (d *direct) init(c *call) { d.call = c }

// isDirect reports whether the caller of p may make a call itself.
func (d *dispatcher) isDirect(p *pending) bool {
	return p.ctx.Done() == nil && p.timeout <= d.store.opts.Timeout && d.store.punctual != nil && d.store.punctual.HonorsDeadline()
}

// begin makes the call a direct one. The caller holds mu of the dispatcher.
func (d *direct) begin(timeout time.Duration) {
	d.timeout, d.until, d.expired = timeout, d.call.begun.Add(timeout), false
	d.call.command.Direct = true
	if d.timer == nil {
		d.timer = time.AfterFunc(timeout, d.end)
	} else {
		d.timer.Reset(timeout)
	}
}

// end ends the context of the call, for what the client library waits for beside the server,
// such as a connection.
func (d *direct) end() {
	c := d.call
	c.dispatcher.mu.Lock()
	defer c.dispatcher.mu.Unlock()
	if d.timeout > 0 && !time.Now().Before(d.until) && !c.isWithdrawn { // not the end of an earlier one, late
		close(c.withdrawn)
		c.isWithdrawn = true
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
	c.direct.begin(p.timeout)
	d.mu.Unlock()
	c.run(c.withdrawn)
	c.direct.timer.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	c.direct.timeout, c.command.Direct = 0, false
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
