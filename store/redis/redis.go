// Package redisstore keeps rate-limiter states in a Redis or Valkey server, or a
// cluster of them, through a go-redis client.
//
//	client := redis.NewClient(&redis.Options{
//		Addr:                  "127.0.0.1:6379",
//		ContextTimeoutEnabled: true,
//	})
//	defer client.Close()
//	s, err := redisstore.New(client, nil)
//
// It works with go-redis 9.23 or newer, and with Redis 7.0 and Valkey 7.2 or
// newer. The client stays the caller's, who may use it for other things and
// closes it after the store.
//
// A command of the store is sent once, whatever MaxRetries says: a decision that
// is sent again is charged again. These options of the client are worth a thought:
//
//   - ContextTimeoutEnabled lets the deadline of a call end the wait for a reply.
//     Without it only ReadTimeout does, and a call that nobody waits for any more
//     keeps its connection until then. With it, a single caller that has a time-out and a
//     context that never ends makes its call itself, which takes a third less time; not
//     in a cluster or a ring.
//   - DialerRetries is 5 with pauses of 100 ms: a server that is down is noticed
//     after 0.4 s. 1 notices it immediately.
//   - MaxRetries repeats the greeting of a new connection, also where that is cut
//     already, with pauses of up to MaxRetryBackoff. -1 is never; 0 is 3 times, and
//     never in a cluster. A cluster takes backoffs of -1 for the defaults.
//   - PoolSize may stay: a store with Options.Share as it is has a few calls in
//     flight, however many callers there are. In a cluster or a ring it has a few
//     for each hash tag, and not above 64 for a server.
//   - ReadOnly, RouteByLatency and RouteRandomly of a cluster have no effect on
//     the store: a replica may lag behind.
//
// With a client of any type but *redis.Client, keys may lie on several servers: then
// only those that share a {tag} can be taken together, and others are refused with
// store.ErrCrossNode before anything is sent.
//
// A Ring gives a key to another server while its own is down, and that one knows
// nothing of what was taken; a cluster or Sentinel does not have that weakness.
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/internal/nilcheck"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// Store is a store.Store on a server.
type Store = script.Store

// Options are the optional settings of a Store; nil means all defaults.
type Options = script.Options

// New returns a store that uses c, which may be of any kind but one: an
// AutoPipeliner is refused, give the client that it was made from. The store
// shares calls by itself, and a pipeline keeps its connection to a server that has
// become a replica. New sends nothing, and closing the store leaves c open.
func New(c redis.UniversalClient, opts *Options) (*Store, error) {
	if nilcheck.IsNil(c) {
		return nil, refuse("nil", "a redis.UniversalClient")
	}
	if _, is := c.(*redis.AutoPipeliner); is {
		return nil, refuse("a *redis.AutoPipeliner", "the client that it was made from")
	}
	if opts != nil && opts.Replicas > 0 && !knowsNodes(c) {
		return nil, refuse(fmt.Sprintf("a %T with Options.Replicas", c), "a *redis.Client, *redis.ClusterClient or *redis.Ring")
	}
	return script.New(newClient(c), opts)
}

func refuse(value, allowed string) error {
	return &store.InputError{Op: -1, Field: "client", Value: value, Allowed: allowed}
}

// client sends commands through go-redis.
type client struct {
	redis    redis.UniversalClient
	commands sync.Pool
	punctual bool         // see HonorsDeadline
	answered atomic.Bool  // by a server, once at least
	learned  atomic.Int64 // when a cluster was last asked for its slots, in ns
}

var _ script.Client = (*client)(nil)

func newClient(c redis.UniversalClient) *client {
	return &client{
		redis:    c,
		commands: sync.Pool{New: func() any { return new(command) }},
		punctual: honorsDeadline(c),
	}
}

// Do implements script.Client. A hook of the client must not keep a command
// beyond its ProcessHook: the next one has its memory.
func (c *client) Do(ctx context.Context, sent *script.Command) (reply string, err error) {
	if err := ctx.Err(); err != nil {
		return "", unavailable(err)
	}
	cmd := c.commands.Get().(*command)
	cmd.fill(ctx, sent)
	// go-redis works on this goroutine and is done with the command afterwards.
	err = c.redis.Process(ctx, cmd)
	if err == nil || errors.Is(err, redis.Nil) && cmd.last.written {
		reply = cmd.Val()
		cmd.empty()
		if !c.answered.Load() {
			c.answered.Store(true)
		}
		c.commands.Put(cmd)
		return reply, nil
	}
	c.relearn(err)
	return "", meaning(err, cmd.last.written)
}

// meaning turns an error of go-redis into one of a script.Client.
func meaning(err error, written bool) error {
	var answer redis.Error
	switch {
	case !written:
		// Whatever it was, it came before the command: no connection, none
		// free, a failed login, a hook or a limiter that said no.
		return unavailable(err)
	case errors.As(err, &answer):
		return &script.ServerError{Message: answer.Error(), Err: err}
	}
	return fmt.Errorf("redisstore: %w", err)
}

// unavailable marks an error as one from before anything was sent.
func unavailable(err error) error {
	return fmt.Errorf("redisstore: %w: %w", store.ErrUnavailable, err)
}
