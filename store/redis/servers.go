package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/store/script"
)

var (
	_ script.Sharded  = (*client)(nil)
	_ script.Redialer = (*client)(nil)
)

// Sharded implements script.Sharded. A client of a type that is not known may stand
// for a cluster or a ring.
func (c *client) Sharded() bool {
	_, one := c.redis.(*redis.Client)
	return !one
}

// Redial implements script.Redialer for a client that has a pool of its own; a
// cluster client knows who the primary is.
//
// go-redis closes a connection that is told READONLY, so each of the others would
// fail one more call, for as long as it takes until all have had their turn; and it
// keeps those that are told MASTERDOWN or LOADING. To end them takes a round trip
// each.
func (c *client) Redial(ctx context.Context) {
	pool, has := c.redis.(interface {
		PoolStats() *redis.PoolStats
		EphemeralConn() *redis.Conn
	})
	if !has {
		return
	}
	for idle := pool.PoolStats().IdleConns; idle > 0 && ctx.Err() == nil; idle-- {
		conn := pool.EphemeralConn()
		conn.Ping(ctx) // takes a connection out of the pool, whatever the answer
		_ = conn.Close()
	}
}
