package storeurl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/valkey-io/valkey-go"
)

// counted counts the connections that a dialer has opened and that are not closed yet:
// valkey-go, which sends everything over a few, does not tell.
type counted struct{ open atomic.Int64 }

// dialer is the dialer of valkey-go, counted.
func (c *counted) dialer(network string) func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	return func(ctx context.Context, address string, d *net.Dialer, secure *tls.Config) (conn net.Conn, err error) {
		if secure != nil && network != "unix" {
			conn, err = (&tls.Dialer{NetDialer: d, Config: secure}).DialContext(ctx, network, address)
		} else {
			conn, err = d.DialContext(ctx, network, address)
		}
		if err != nil {
			return nil, err
		}
		c.open.Add(1)
		return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { c.open.Add(-1) })}, nil
	}
}

type countedConn struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// redisPool is the pool of go-redis.
func redisPool(c redis.UniversalClient) func() (inUse, idle int) {
	return func() (inUse, idle int) {
		s := c.PoolStats()
		return max(0, int(s.TotalConns)-int(s.IdleConns)), int(s.IdleConns)
	}
}

// ErrNotPermitted means that the user has no right to a command.
var ErrNotPermitted = errors.New("the user may not do that")

// notPermitted makes an error of a client library match ErrNotPermitted where it is.
func notPermitted(err error, is bool) error {
	if err == nil || !is {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotPermitted, err)
}

// redisMemory asks each server that keeps states for its memory.
func redisMemory(client redis.UniversalClient) func(context.Context) (map[string]int64, error) {
	ask := func(ctx context.Context, c *redis.Client) (int64, error) {
		text, err := c.Info(ctx, "memory").Result()
		if err != nil {
			return 0, notPermitted(err, redis.IsPermissionError(err))
		}
		return usedMemory(text)
	}
	return func(ctx context.Context) (map[string]int64, error) {
		switch c := client.(type) {
		case *redis.ClusterClient:
			var mu sync.Mutex
			all := map[string]int64{}
			err := c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
				used, err := ask(ctx, node)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				all[node.Options().Addr] = used
				return nil
			})
			return all, err
		case *redis.Client:
			used, err := ask(ctx, c)
			return map[string]int64{"": used}, err
		}
		return nil, errors.New("storeurl: a client of no kind that is known")
	}
}

// valkeyMemory is redisMemory for valkey-go. The nodes of a cluster are all asked, and
// those that are replicas are left out.
func valkeyMemory(client valkey.Client, isCluster bool) func(context.Context) (map[string]int64, error) {
	ask := func(ctx context.Context, c valkey.Client, section string) (string, error) {
		text, err := c.Do(ctx, c.B().Info().Section(section).Build()).ToString()
		reply, refused := valkey.IsValkeyErr(err)
		return text, notPermitted(err, refused && strings.HasPrefix(reply.Error(), "NOPERM"))
	}
	return func(ctx context.Context) (map[string]int64, error) {
		nodes := map[string]valkey.Client{"": client}
		if isCluster {
			nodes = client.Nodes()
		}
		all := map[string]int64{}
		for node, c := range nodes {
			if isCluster {
				role, err := ask(ctx, c, "replication")
				if err != nil {
					return nil, err
				}
				if field(role, "role") != "master" {
					continue
				}
			}
			text, err := ask(ctx, c, "memory")
			if err != nil {
				return nil, err
			}
			used, err := usedMemory(text)
			if err != nil {
				return nil, err
			}
			all[node] = used
		}
		return all, nil
	}
}

// usedMemory reads used_memory of INFO memory.
func usedMemory(info string) (int64, error) {
	used, err := strconv.ParseInt(field(info, "used_memory"), 10, 64)
	if err != nil {
		return 0, errors.New("storeurl: INFO memory has no used_memory")
	}
	return used, nil
}

// field is a field of INFO; "" where it has none.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, is := strings.CutPrefix(line, name+":"); is {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
