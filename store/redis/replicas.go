package redisstore

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/store/script"
)

var _ script.Replicator = (*client)(nil)

// knowsNodes reports whether commands can be sent over one connection to the server of a
// key.
func knowsNodes(c redis.UniversalClient) bool {
	switch c.(type) {
	case *redis.Client, *redis.ClusterClient, *redis.Ring:
		return true
	}
	return false
}

// nodeOf is the client for the server of a key. It may ask a cluster for its slots.
func (c *client) nodeOf(ctx context.Context, key string) (*redis.Client, error) {
	switch r := c.redis.(type) {
	case *redis.ClusterClient:
		return r.MasterForKey(ctx, key)
	case *redis.Ring:
		return r.GetShardClientForKey(key)
	}
	return c.redis.(*redis.Client), nil // knowsNodes
}

// DoAndWait implements script.Replicator. A pipeline is sent over one connection, and
// not again where it holds a command that is not.
func (c *client) DoAndWait(ctx context.Context, sent *script.Command, replicas int, timeout time.Duration) (reply string, acknowledged int, waitErr, err error) {
	if err := ctx.Err(); err != nil {
		return "", 0, nil, unavailable(err)
	}
	one, err := c.nodeOf(ctx, sent.Args[sent.Key])
	if err != nil {
		c.relearn(err)
		return "", 0, nil, unavailable(err)
	}
	cmd := new(command)
	cmd.fill(ctx, sent)
	wait := redis.NewCmd(ctx, "wait", strconv.Itoa(replicas), strconv.FormatInt(milliseconds(timeout), 10))
	pipe := one.Pipeline()
	_ = pipe.Process(ctx, cmd) // both have their own errors
	_ = pipe.Process(ctx, wait)
	_, _ = pipe.Exec(ctx)
	if err := cmd.Err(); err != nil && !(errors.Is(err, redis.Nil) && cmd.last.written) {
		c.relearn(err)
		c.follow(err)
		return "", 0, nil, meaning(err, cmd.last.written)
	}
	if !c.answered.Load() {
		c.answered.Store(true)
	}
	count, waitErr := wait.Int()
	return cmd.Val(), count, waitErr, nil
}

// follow lets a cluster client learn where a slot is now.
func (c *client) follow(err error) {
	cluster, is := c.redis.(*redis.ClusterClient)
	var answer redis.Error
	if is && errors.As(err, &answer) && strings.HasPrefix(answer.Error(), "MOVED ") {
		cluster.ReloadState(context.Background()) // does not wait
	}
}

// milliseconds rounds up: 0 would be to wait for ever.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
