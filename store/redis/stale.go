package redisstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/store/script"
)

// stale ends the connections of a pool that lead to the wrong server.
//
// Behind an address that stays, a fail-over leaves the pool full of connections to
// the server that was the primary. go-redis closes one when it is told READONLY,
// so each of the others would fail one more call, for as long as it takes until
// all have had their turn; and it keeps those that are told MASTERDOWN or LOADING.
// So the first such reply ends all idle ones, and the next call dials anew. A
// cluster client needs none of it: it knows who the primary is.
type stale struct {
	pool interface {
		PoolStats() *redis.PoolStats
		EphemeralConn() *redis.Conn
	}
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

// newStale returns nil where a client has no pool of its own.
func newStale(c redis.UniversalClient) *stale {
	s := new(stale)
	var has bool
	if s.pool, has = c.(interface {
		PoolStats() *redis.PoolStats
		EphemeralConn() *redis.Conn
	}); !has {
		return nil
	}
	return s
}

// drop closes the connections that are idle if err says that they lead to the
// wrong server, one round trip each.
func (s *stale) drop(ctx context.Context, err error) {
	var answer *script.ServerError
	if s == nil || !errors.As(err, &answer) {
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
	for idle := s.pool.PoolStats().IdleConns; idle > 0 && ctx.Err() == nil; idle-- {
		conn := s.pool.EphemeralConn()
		conn.Ping(ctx) // takes a connection out of the pool, whatever the answer
		_ = conn.Close()
	}
}
