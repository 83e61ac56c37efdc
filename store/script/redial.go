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
	busy   bool      // somebody is at it
	last   time.Time // the end of the last one
}

const (
	// redialPause is between two redials: a server that is loading for a minute
	// is not to be dialled for each call.
	redialPause = 100 * time.Millisecond
	// redialTime bounds one.
	redialTime = time.Second
)

// do sends a command. All that the store sends goes this way. A redial does not keep
// the answer: its caller may not have so long, and knows by it that nothing was done.
func (s *Store) do(ctx context.Context, c *Command) (reply string, err error) {
	s.counters.commands.Add(1)
	reply, err = s.client.Do(ctx, c)
	if err != nil && s.redialer.begin(err) && s.begin() {
		go func() {
			defer s.calls.Done()
			s.redialer.redial()
		}()
	}
	return reply, err
}

// begin reports whether err is the answer of a wrong server, and the time for a redial.
func (r *redialer) begin(err error) bool {
	var answer *ServerError
	if r.client == nil || !errors.As(err, &answer) {
		return false
	}
	switch answer.Code() {
	case "READONLY", "MASTERDOWN", "LOADING":
	default:
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy || time.Since(r.last) < redialPause {
		return false
	}
	r.busy = true
	return true
}

func (r *redialer) redial() {
	ctx, cancel := context.WithTimeout(context.Background(), redialTime)
	defer cancel()
	r.client.Redial(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy, r.last = false, time.Now()
}
