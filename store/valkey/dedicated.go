package valkeystore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/store/script"
)

// dedicated counts the connections that the store has in the pool of valkey-go for commands
// that block. Such a connection has one command at a time. The goroutine that makes the call
// then writes and reads itself, where over a connection that many share two goroutines of
// valkey-go do: 64 callers of one key decide a third more (go run ./bench -only
// 'server/.*/64/one/': 7.2 to 8.7 times redis_rate without, 9.5 to 10.5 with). The deadline of a call
// ends that connection alone, and nobody else's command with it.
//
// The first commands, and those after an error, go over the shared connection: while it is
// being made it is certain that nothing was sent. One that is answered lets a connection
// of its own be made for the next.
type dedicated struct {
	idle   atomic.Int32 // that wait for their next command, as far as is known
	making atomic.Bool  // another one
	next   atomic.Int64 // when one may be made after one that failed, in ns
}

const (
	// maxDedicated is the calls in flight of a store: two that take and two that look.
	maxDedicated = 4
	// dedicatedTime bounds the making of a connection.
	dedicatedTime = time.Second
	// dedicatedPause is until another attempt.
	dedicatedPause = 15 * time.Second
)

// HonorsDeadline implements script.Punctual: commands over connections of their own end with
// their deadline.
func (c *client) HonorsDeadline() bool {
	return c.dedicates && c.dedicated.idle.Load() > 0 && !c.distrusts()
}

// askDedicated sends a command over a connection of its own, where there is one.
func (c *client) askDedicated(w *watch, sent *script.Command) valkey.ValkeyResult {
	d := &c.dedicated
	if !d.take() && !sent.Direct {
		result := c.valkey.Do(w, c.build(sent, false))
		if result.NonValkeyError() == nil {
			c.dedicate()
		}
		return result
	}
	result := c.valkey.Do(w, c.build(sent, true))
	if result.NonValkeyError() != nil {
		d.idle.Store(0) // the others may be as dead
	} else {
		d.idle.Add(1)
	}
	return result
}

// take takes a connection out of the count, if there is one.
func (d *dedicated) take() bool {
	for {
		n := d.idle.Load()
		if n <= 0 {
			return false
		}
		if d.idle.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// dedicate makes a connection for the next command, and does not wait for it.
func (c *client) dedicate() {
	d := &c.dedicated
	if d.idle.Load() >= maxDedicated || time.Now().UnixNano() < d.next.Load() || !d.making.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer d.making.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), dedicatedTime)
		defer cancel()
		if c.valkey.Do(ctx, c.valkey.B().Arbitrary("PING").Blocking()).NonValkeyError() != nil {
			d.next.Store(time.Now().Add(dedicatedPause).UnixNano())
			return
		}
		d.idle.Add(1)
	}()
}
