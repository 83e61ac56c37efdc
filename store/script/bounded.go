package script

import (
	"context"
	"time"

	"github.com/weirgo/weir/store"
)

// bounded is the context of a call to the server: it has the deadline of
// Options.Timeout, and nothing of the callers. A client library may end a whole
// connection with a call that it gives up, and others of the store may be on it: one
// caller who leaves must not take them along. It is never cancelled: a Client has
// to look at the deadline.
type bounded struct {
	context.Context
	until time.Time
}

// bound returns the context of a call that is sent now.
func (s *Store) bound() context.Context {
	return &bounded{context.Background(), time.Now().Add(s.opts.Timeout)}
}

// Deadline implements context.Context.
func (b *bounded) Deadline() (time.Time, bool) { return b.until, true }

// within runs f for one caller, who does not wait for it beyond its ctx.
func (s *Store) within(ctx context.Context, f func(ctx context.Context) (string, error)) (reply string, err error) {
	if !s.depart() {
		return "", notSent{store.ErrClosed}
	}
	if ctx.Done() == nil {
		defer s.calls.Done()
		return f(s.bound())
	}
	type answer struct {
		reply string
		err   error
		crash *crash
	}
	answered := make(chan answer, 1)
	go func() {
		defer s.calls.Done()
		var a answer
		a.crash = caught(func() { a.reply, a.err = f(s.bound()) })
		answered <- a
	}()
	select {
	case a := <-answered:
		if a.crash != nil {
			panic(a.crash)
		}
		return a.reply, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// depart counts a call that Close has to wait for, and that is done with
// calls.Done; it refuses once the store is closed.
func (s *Store) depart() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return false
	}
	s.calls.Add(1)
	return true
}
