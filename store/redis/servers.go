package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
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

// Sharded implements script.Sharded. A client of a type that is not known may stand
// for a cluster or a ring.
func (c *client) Sharded() bool {
	_, one := c.redis.(*redis.Client)
	return !one
}

// CallsSend implements script.Sender.
func (c *client) CallsSend() bool { return true }

// HonorsDeadline implements script.Punctual. A time-out below 0 of the client switches the
// deadlines of a connection off, those of contexts too.
func (c *client) HonorsDeadline() bool { return c.punctual }

// honorsDeadline reports whether a client is known to heed the deadlines of contexts. A
// cluster client is not: it has more to wait for than a connection and a reply.
func honorsDeadline(c redis.UniversalClient) bool {
	one, is := c.(*redis.Client)
	if !is {
		return false
	}
	o := one.Options()
	return o.ContextTimeoutEnabled && o.ReadTimeout >= 0 && o.WriteTimeout >= 0
}

// Node implements script.Locator.
func (c *client) Node(key string) string {
	if one := c.serverOf(key); one != nil {
		return one.Options().Addr
	}
	return ""
}

// serverOf is the client for the server of a key, nil where it is not known.
func (c *client) serverOf(key string) *redis.Client {
	if !c.answered.Load() {
		return nil // a cluster client would ask the cluster first
	}
	switch r := c.redis.(type) {
	case *redis.Client:
		return r
	case *redis.ClusterClient:
		if one, err := r.MasterForKey(ended, key); err == nil {
			return one
		}
	case *redis.Ring:
		if one, err := r.GetShardClientForKey(key); err == nil {
			return one
		}
	}
	return nil
}

// ended is for what must not wait.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Redial implements script.Redialer for a client of one server; a cluster client knows
// who the primary is.
//
// go-redis closes a connection that is told READONLY, so each of the others would
// fail one more call, for as long as it takes until all have had their turn; and it
// keeps those that are told MASTERDOWN or LOADING.
func (c *client) Redial(ctx context.Context) {
	if one, is := c.redis.(*redis.Client); is {
		closeIdle(ctx, one)
	}
}

// relearnPause is between two questions for the slots of a cluster.
const relearnPause = time.Second

// relearn asks a cluster which server has which slots, where a command was not answered.
// go-redis does so when it is told MOVED, and otherwise once a minute: a server that died
// or hangs tells nothing, and for that long its slots would be asked for there, after
// another has taken them over.
func (c *client) relearn(err error) {
	cluster, is := c.redis.(*redis.ClusterClient)
	var answer redis.Error
	if !is || errors.As(err, &answer) || errors.Is(err, errWithdrawn) {
		return
	}
	now, last := time.Now().UnixNano(), c.learned.Load()
	if now-last >= int64(relearnPause) && c.learned.CompareAndSwap(last, now) {
		cluster.ReloadState(context.Background()) // does not wait
	}
}

// CloseIdle implements script.IdleCloser.
func (c *client) CloseIdle(ctx context.Context, key string) {
	c.relearn(errSilent)
	if one := c.serverOf(key); one != nil {
		closeIdle(ctx, one)
	}
}

var errSilent = errors.New("the server answers nothing")

// closeIdle ends the idle connections of a pool. go-redis closes a connection that a
// command could not be written to, and nothing is written.
func closeIdle(ctx context.Context, one *redis.Client) {
	for idle := one.PoolStats().IdleConns; idle > 0 && ctx.Err() == nil; idle-- {
		_ = one.Process(ctx, redis.NewCmd(ctx, "ping", unwritable{}))
	}
}

// unwritable is a word that cannot be written.
type unwritable struct{}

// MarshalBinary implements encoding.BinaryMarshaler.
func (unwritable) MarshalBinary() ([]byte, error) {
	return nil, errors.New("the connection is given up")
}
