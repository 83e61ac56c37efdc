package valkeystore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/store/script"
)

var (
	_ script.Sharded    = (*client)(nil)
	_ script.Locator    = (*client)(nil)
	_ script.Redialer   = (*client)(nil)
	_ script.IdleCloser = (*client)(nil)
	_ script.Sender     = (*client)(nil)
	_ script.Punctual   = (*client)(nil)
)

// Sharded implements script.Sharded.
func (c *client) Sharded() bool { return c.cluster }

// CallsSend implements script.Sender.
func (c *client) CallsSend() bool { return true }

// Redial implements script.Redialer; a cluster client needs none of it: it is told
// MOVED.
//
// valkey-go takes READONLY for an answer like any other, and cannot be told to close
// a connection. But the server can: QUIT closes it, and the PING after it lets the
// client see that. Commands of the application that were sent over the same
// connection behind the QUIT end with an error; on a replica, those that write would
// anyway, and valkey-go repeats those that read. Of the connections for commands that
// block each call ends one.
func (c *client) Redial(ctx context.Context) {
	if c.cluster {
		return
	}
	c.dedicated.discard(nil)
	b := c.valkey.B
	c.valkey.DoMulti(ctx, b().Arbitrary("QUIT").Build(), b().Arbitrary("PING").Build())
	// The client may have told the end of the connection before it drew its
	// conclusion. It has when this one returns, over the old or the next.
	c.valkey.Do(ctx, b().Arbitrary("PING").Build())
	if c.distrusts() {
		c.valkey.DoMulti(ctx, b().Arbitrary("QUIT").Blocking(), b().Arbitrary("PING").Blocking())
	}
}

// distrusted is how long calls have connections of their own after a server was silent:
// longer than valkey-go takes by default until it gives a connection up that many share.
const distrusted = 15 * time.Second

// CloseIdle implements script.IdleCloser. valkey-go cannot be told to close a connection
// that many share. So for a while commands are sent over those that it has for commands
// that block: such a connection has one command at a time, and is closed where that
// command is not answered.
//
// The application may have filled the pool of these. So eight are asked, and 16 more
// where some did not answer: a call each would have to find them otherwise. More would
// be many new connections where a server hangs for a moment.
func (c *client) CloseIdle(ctx context.Context, key string) {
	c.trusted.Store(time.Now().Add(distrusted).UnixNano())
	c.dedicated.discard(nil)
	server := c.valkey
	if c.cluster {
		if server = c.valkey.Nodes()[c.Node(key)]; server == nil {
			return // another server has the key, or nobody knows which
		}
	}
	if !answer(ctx, server, 8) {
		answer(ctx, server, 16)
	}
}

// answer reports whether so many connections for commands that block answer, and closes
// those that do not.
func answer(ctx context.Context, server valkey.Client, connections int) bool {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	var silent atomic.Bool
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			if server.Do(ctx, server.B().Arbitrary("PING").Blocking()).NonValkeyError() != nil {
				silent.Store(true)
			}
		})
	}
	all.Wait()
	return !silent.Load()
}

// distrusts reports whether commands need connections of their own.
func (c *client) distrusts() bool {
	until := c.trusted.Load()
	return until != 0 && time.Now().UnixNano() < until
}
