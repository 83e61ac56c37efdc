package valkeystore

import (
	"context"

	"github.com/weirgo/weir/store/script"
)

var (
	_ script.Sharded  = (*client)(nil)
	_ script.Locator  = (*client)(nil)
	_ script.Redialer = (*client)(nil)
	_ script.Sender   = (*client)(nil)
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
// anyway, and valkey-go repeats those that read.
func (c *client) Redial(ctx context.Context) {
	if c.cluster {
		return
	}
	b := c.valkey.B
	c.valkey.DoMulti(ctx, b().Arbitrary("QUIT").Build(), b().Arbitrary("PING").Build())
	// The client may have told the end of the connection before it drew its
	// conclusion. It has when this one returns, over the old or the next.
	c.valkey.Do(ctx, b().Arbitrary("PING").Build())
}
