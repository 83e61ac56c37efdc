package attack

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/servertest"
	redisstore "github.com/weirgo/weir/store/redis"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// The client libraries.
const (
	goRedis  = "go-redis"
	valkeyGo = "valkey-go"
)

// How the servers stand together.
const (
	server   = "server"
	sentinel = "sentinel"
	cluster  = "cluster"
)

// clients is a client of a library and a store on it.
type clients struct {
	store *redisstore.Store
	close func()
	// block occupies a connection for a while, as an application does that shares
	// the client.
	block func(ctx context.Context) error
}

// open opens a client with the options that the documentation recommends.
func open(t *task) (*clients, error) {
	if t.Library == goRedis {
		return openGoRedis(t)
	}
	if t.Library == valkeyGo {
		return openValkeyGo(t)
	}
	return nil, fmt.Errorf("no client library %q", t.Library)
}

// blocked is a list that is always empty; popping from it takes 200 ms.
const blocked = "attack-application"

func openGoRedis(t *task) (*clients, error) {
	redis.SetLogger(silence{})
	o := &redis.UniversalOptions{Addrs: t.Addrs, ContextTimeoutEnabled: true, DialerRetries: 1}
	var client redis.UniversalClient
	switch t.Topology {
	case server:
		client = redis.NewClient(o.Simple())
	case sentinel:
		o.MasterName = servertest.PrimaryName
		client = redis.NewFailoverClient(o.Failover())
	case cluster:
		o.ReadTimeout = time.Second // a node that hangs is also asked for the slots
		client = redis.NewClusterClient(o.Cluster())
	}
	if t.Double {
		client.AddHook(doubleHook{})
	}
	s, err := redisstore.New(client, &redisstore.Options{Replicas: t.Replicas})
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return &clients{
		store: s,
		close: func() { _ = s.Close(); _ = client.Close() },
		block: func(ctx context.Context) error {
			if err := client.Do(ctx, "BLPOP", blocked, "0.2").Err(); err != redis.Nil {
				return fmt.Errorf("pop from an empty list: %w", err)
			}
			return nil
		},
	}, nil
}

func openValkeyGo(t *task) (*clients, error) {
	o := valkey.ClientOption{InitAddress: t.Addrs, DisableCache: true}
	switch t.Topology {
	case server:
		o.ForceSingleClient = true
	case sentinel:
		o.Sentinel.MasterSet = servertest.PrimaryName
	}
	client, err := valkey.NewClient(o)
	if err != nil {
		return nil, err
	}
	if t.Double {
		client = doubleClient{client}
	}
	s, err := valkeystore.New(client, &valkeystore.Options{Replicas: t.Replicas})
	if err != nil {
		client.Close()
		return nil, err
	}
	return &clients{
		store: s,
		close: func() { _ = s.Close(); client.Close() },
		block: func(ctx context.Context) error {
			pop := client.B().Blpop().Key(blocked).Timeout(0.2).Build()
			if err := client.Do(ctx, pop).Error(); !valkey.IsValkeyNil(err) {
				return fmt.Errorf("pop from an empty list: %w", err)
			}
			return nil
		},
	}, nil
}

// fill makes the client open n connections, as an application does.
func (c *clients) fill(ctx context.Context, n int) error {
	var all sync.WaitGroup
	failed := make(chan error, n)
	for range n {
		all.Go(func() { failed <- c.block(ctx) })
	}
	all.Wait()
	for range n {
		if err := <-failed; err != nil {
			return err
		}
	}
	return nil
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// doubleHook sends each command twice. It proves that the accounts can fail.
type doubleHook struct{}

func (doubleHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (doubleHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (doubleHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := next(ctx, cmd); err != nil {
			return err
		}
		return next(ctx, cmd)
	}
}

// doubleClient is doubleHook for valkey-go.
type doubleClient struct{ valkey.Client }

func (c doubleClient) Do(ctx context.Context, cmd valkey.Completed) valkey.ValkeyResult {
	cmd = cmd.Pin()
	if r := c.Client.Do(ctx, cmd); r.Error() != nil {
		return r
	}
	return c.Client.Do(ctx, cmd)
}
