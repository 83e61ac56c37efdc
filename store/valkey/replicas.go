package valkeystore

import (
	"context"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/store/script"
)

var _ script.Replicator = (*client)(nil)

// DoAndWait implements script.Replicator. It uses a connection for commands that block:
// on the shared one, all other commands would wait for the replicas, too.
func (c *client) DoAndWait(ctx context.Context, sent *script.Command, replicas int, timeout time.Duration) (reply string, acknowledged int, waitErr, err error) {
	if err := ctx.Err(); err != nil {
		return "", 0, nil, unavailable(err)
	}
	w := c.watches.Get().(*watch)
	w.begin(ctx, sent)
	wait := c.valkey.B().Arbitrary("WAIT", strconv.Itoa(replicas), strconv.FormatInt(milliseconds(timeout), 10)).Blocking()
	results := c.together(w, c.build(sent, true), wait)
	if err := results[0].NonValkeyError(); err != nil {
		return "", 0, nil, meaning(ctx, err, w.sent())
	}
	message, _ := results[0].ToMessage()
	if reply, err = text(&message); err != nil {
		return "", 0, nil, err
	}
	count, waitErr := results[1].AsInt64()
	if results[1].NonValkeyError() == nil { // nobody holds the watch any more
		w.end()
		c.watches.Put(w)
	}
	return reply, int(count), waitErr, nil
}

// together sends commands over one connection. A cluster client would send the one that
// is told MOVED again, alone and to another server; a dedicated one does not.
func (c *client) together(ctx context.Context, commands ...valkey.Completed) []valkey.ValkeyResult {
	if !c.cluster {
		return c.valkey.DoMulti(ctx, commands...)
	}
	dedicated, release := c.valkey.Dedicate()
	defer release()
	return dedicated.DoMulti(ctx, commands...)
}

// milliseconds rounds up: 0 would be to wait for ever.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
