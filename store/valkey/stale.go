package valkeystore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/store/script"
)

// stale ends the connection of the store where it leads to the wrong server.
//
// Behind an address that stays, a fail-over leaves the client connected with the
// server that was the primary, whose READONLY valkey-go takes for an answer like
// any other. A client cannot be told to close a connection, but the server can:
// QUIT closes it, and the PING after it lets the client see that. The next call
// dials anew. A cluster client needs none of it: it is told MOVED.
//
// Commands of the application that were sent over the same connection behind the
// QUIT end with an error; on a replica, those that write would anyway, and
// valkey-go repeats those that read.
type stale struct {
	mu   sync.Mutex
	last time.Time // guarded by mu
}

const (
	// dropPause is between two drops: a server that is loading for a minute
	// is not to be dialled for each call.
	dropPause = 100 * time.Millisecond
	// dropTime bounds a drop.
	dropTime = time.Second
)

// drop ends the connection if err says that it leads to the wrong server.
func (s *stale) drop(ctx context.Context, c valkey.Client, err error) {
	var answer *script.ServerError
	if !errors.As(err, &answer) {
		return
	}
	switch answer.Code() {
	case "READONLY", "MASTERDOWN", "LOADING":
	default:
		return
	}
	if !s.mu.TryLock() {
		return // somebody is at it
	}
	defer s.mu.Unlock()
	if time.Since(s.last) < dropPause {
		return
	}
	defer func() { s.last = time.Now() }()
	// The caller may be waiting. What is left when its time is up is for the next.
	ctx, cancel := context.WithTimeout(ctx, dropTime)
	defer cancel()
	c.DoMulti(ctx, c.B().Arbitrary("QUIT").Build(), c.B().Arbitrary("PING").Build())
	// The client may have told the end of the connection before it drew its
	// conclusion. It has when this one returns, over the old or the next.
	c.Do(ctx, c.B().Arbitrary("PING").Build())
}
