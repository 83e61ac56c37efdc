package script

import (
	"context"
	"time"

	"github.com/weirgo/weir/store"
)

// callContext is the context of a call to the server: it has the deadline of
// Options.Timeout, and nothing of the callers. A client library may end a whole
// connection with a call that it gives up, and others of the store may be on it: one
// caller who leaves must not take them along. It is cancelled only where nobody waits for
// the call any more and nothing of it was sent; a Client has to look at the deadline. The
// context of a direct call ends at its deadline.
type callContext struct {
	context.Context
	until     time.Time
	withdrawn chan struct{} // nil for never
}

// callContext returns the context of a call that is sent now.
func (s *Store) callContext(withdrawn chan struct{}) context.Context {
	return newCallContext(time.Now().Add(s.opts.Timeout), withdrawn)
}

func newCallContext(until time.Time, withdrawn chan struct{}) context.Context {
	return &callContext{context.Background(), until, withdrawn}
}

// Deadline implements context.Context.
func (c *callContext) Deadline() (time.Time, bool) { return c.until, true }

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} { return c.withdrawn }

// Err implements context.Context.
func (c *callContext) Err() error {
	select {
	case <-c.withdrawn:
		if !time.Now().Before(c.until) {
			return context.DeadlineExceeded
		}
		return context.Canceled
	default:
		return nil
	}
}

// within sends c for one caller, who does not wait for it beyond ctx.
func (s *Store) within(ctx context.Context, c *Command, send sender) (reply string, err error) {
	if !s.begin() {
		return "", notSent{store.ErrClosed}
	}
	if s.opts.Trace != nil {
		send = s.traced(ctx, c, send)
	}
	if ctx.Done() == nil {
		defer s.calls.Done()
		return send(s.callContext(nil), c)
	}
	type answer struct {
		reply    string
		err      error
		panicked *recovered
	}
	answered, withdrawn := make(chan answer, 1), make(chan struct{})
	go func() {
		defer s.calls.Done()
		var a answer
		a.panicked = recoverFrom(func() { a.reply, a.err = send(s.callContext(withdrawn), c) })
		answered <- a
	}()
	select {
	case a := <-answered:
		if a.panicked != nil {
			panic(a.panicked)
		}
		return a.reply, a.err
	case <-ctx.Done():
		if c.withdraw() {
			close(withdrawn)
			return "", notSent{ctx.Err()}
		}
		return "", ctx.Err()
	}
}

// begin counts a call that Close has to wait for, and that ends with calls.Done; it
// refuses once the store is closed.
func (s *Store) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return false
	}
	s.calls.Add(1)
	return true
}
