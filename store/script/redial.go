package script

import (
	"context"
	"errors"
	"sync"
	"time"
)

// redialer tells a client when its connections lead to the wrong server. Behind an
// address that stays, a fail-over leaves them at the server that was the primary.
type redialer struct {
	client Redialer // nil where the client is not
	mu     sync.Mutex
	last   time.Time // guarded by mu
}

const (
	// redialPause is between two redials: a server that is loading for a minute
	// is not to be dialled for each call.
	redialPause = 100 * time.Millisecond
	// redialTime bounds one.
	redialTime = time.Second
)

// do sends a command. All that the store sends goes this way.
func (s *Store) do(ctx context.Context, c *Command) (reply string, err error) {
	reply, err = s.client.Do(ctx, c)
	if err != nil {
		s.redialer.after(ctx, err)
	}
	return reply, err
}

// after redials if err is the answer of a wrong server.
func (r *redialer) after(ctx context.Context, err error) {
	var answer *ServerError
	if r.client == nil || !errors.As(err, &answer) {
		return
	}
	switch answer.Code() {
	case "READONLY", "MASTERDOWN", "LOADING":
	default:
		return
	}
	if !r.mu.TryLock() {
		return // somebody is at it
	}
	defer r.mu.Unlock()
	if time.Since(r.last) < redialPause {
		return
	}
	defer func() { r.last = time.Now() }()
	// The caller may be waiting. What is left when its time is up is for the next.
	// ctx has a deadline and does not end by itself; see bounded.
	most := redialTime
	if until, has := ctx.Deadline(); has {
		most = min(most, time.Until(until))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	r.client.Redial(ctx)
}
