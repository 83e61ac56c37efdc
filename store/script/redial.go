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
	if !s.asks && !c.Send() {
		return "", notSent{context.Canceled} // nobody waits
	}
	s.counters.commands.Add(1)
	if s.waits(c) {
		reply, err = s.doAndWait(ctx, c)
	} else {
		reply, err = s.client.Do(ctx, c)
	}
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

// idleCloser tells a client not to trust its idle connections: a proxy or a firewall that
// has forgotten them says nothing, and each would hold a call up for a time-out.
type idleCloser struct {
	client IdleCloser // nil where the client is not
	mu     sync.Mutex
	last   map[string]time.Time // by node
}

const (
	// silence is how long a server answers nothing, with a call in flight, before its
	// idle connections are not trusted.
	silence = 50 * time.Millisecond
	// closePause is between two times for one server.
	closePause = time.Second
)

// closeIdle ends the idle connections to the server of a key.
func (s *Store) closeIdle(node, key string) {
	c := &s.closer
	if c.client == nil {
		return
	}
	c.mu.Lock()
	now := time.Now()
	soon := now.Sub(c.last[node]) < closePause
	if !soon {
		if c.last == nil || len(c.last) > maxCalls {
			c.last = make(map[string]time.Time) // servers come and go
		}
		c.last[node] = now
	}
	c.mu.Unlock()
	if soon || !s.begin() {
		return
	}
	go func() {
		defer s.calls.Done()
		ctx, cancel := context.WithTimeout(context.Background(), redialTime)
		defer cancel()
		c.client.CloseIdle(ctx, key)
	}()
}
