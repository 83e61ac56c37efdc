package storeurl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/valkey-io/valkey-go"
	redisstore "github.com/weirgo/weir/store/redis"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// dialTimeout is how long a server may take to accept a connection.
const dialTimeout = 3 * time.Second

// Options are the optional settings of a connection; nil means all defaults.
type Options struct {
	// TLS is how the certificates of servers and Sentinels are verified, where the URL
	// asks for TLS. nil trusts what the system trusts, from TLS 1.2 on.
	TLS *tls.Config

	// SentinelUser and SentinelPassword log in at Sentinels; "" is no log-in. The user of
	// the URL is for the servers.
	SentinelUser, SentinelPassword string

	// Sequential says that all stores are asked one thing at a time, so that one
	// connection to a server will do.
	Sequential bool
}

// Connection is a connection with servers, for any number of stores. The two client
// libraries look the same through it. It is safe for concurrent use.
type Connection struct {
	// Open makes a store, which leaves the connection open when it is closed.
	Open func(*redisstore.Options) (*redisstore.Store, error)
	// Do sends one command past the stores; its second word is its key, where it has
	// one. The reply is a string, int64, []any, or nil where there is no such key.
	Do func(ctx context.Context, args ...string) (any, error)
	// Pool returns how many connections are open: those that carry commands, and idle ones.
	// valkey-go has none of the latter. It asks no server.
	Pool func() (inUse, idle int)
	// Memory asks each server that keeps states how many bytes its data takes, by the name
	// of the node of a cluster; "" where it is none. ErrNotPermitted: the user may not ask.
	Memory func(ctx context.Context) (map[string]int64, error)
	// Close closes all connections; nothing is lost where that fails.
	Close func()
}

// Connect connects with the servers of a URL that is not Memory. A server that cannot be
// reached is an error, and so is one that does not answer before ctx ends. With go-redis
// the logging of that library, which is global, is switched off: what fails is an error
// of a call.
func (u *URL) Connect(ctx context.Context, opts *Options) (*Connection, error) {
	if u.memory {
		return nil, fmt.Errorf("storeurl: %s has no server: must be the URL of a server", u.shown)
	}
	if opts == nil {
		opts = &Options{}
	}
	if u.valkey {
		return u.connectValkey(ctx, opts)
	}
	return u.connectRedis(ctx, opts)
}

func (u *URL) connectRedis(ctx context.Context, opts *Options) (*Connection, error) {
	logging.Disable()
	client := u.redisClient(opts)
	c := &Connection{Close: func() { client.Close() }, Pool: redisPool(client), Memory: redisMemory(client)}
	err := client.Ping(ctx).Err() // connects
	if err != nil && !redis.IsPermissionError(err) {
		c.Close()
		return nil, err
	}
	c.Open = func(opts *redisstore.Options) (*redisstore.Store, error) { return redisstore.New(client, opts) }
	c.Do = func(ctx context.Context, args ...string) (any, error) {
		words := make([]any, len(args))
		for i, arg := range args {
			words[i] = arg
		}
		reply, err := client.Do(ctx, words...).Result()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return reply, err
	}
	return c, nil
}

func (u *URL) redisClient(opts *Options) redis.UniversalClient {
	// Both ask the server for what has no use here.
	noNotifications := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	const noIdentity = true
	switch u.topology {
	case sentinel:
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: u.primary, SentinelAddrs: u.addresses,
			SentinelUsername: opts.SentinelUser, SentinelPassword: opts.SentinelPassword,
			Username: u.user, Password: u.password, DB: u.db, TLSConfig: u.tlsConfig(opts),
			DialTimeout: dialTimeout, DialerRetries: 1, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: noIdentity,
		})
	case cluster:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: u.addresses, Username: u.user, Password: u.password, TLSConfig: u.tlsConfig(opts),
			// MaxRetries of 0 is none here.
			DialTimeout: dialTimeout, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: noIdentity,
			MaintNotificationsConfig: noNotifications,
		})
	}
	network := "tcp"
	if u.topology == unix {
		network = "unix"
	}
	return redis.NewClient(&redis.Options{
		Network: network, Addr: u.addresses[0], Username: u.user, Password: u.password, DB: u.db, TLSConfig: u.tlsConfig(opts),
		DialTimeout: dialTimeout, DialerRetries: 1, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: noIdentity,
		MaintNotificationsConfig: noNotifications,
	})
}

// sentinelRefresh is how often valkey-go asks the Sentinels who the primary is: it would
// stay with the old one where it missed the message of a fail-over.
const sentinelRefresh = 5 * time.Second

func (u *URL) connectValkey(ctx context.Context, opts *Options) (*Connection, error) {
	options := valkey.ClientOption{
		InitAddress:       u.addresses,
		Username:          u.user,
		Password:          u.password,
		SelectDB:          u.db,
		TLSConfig:         u.tlsConfig(opts),
		Dialer:            net.Dialer{Timeout: dialTimeout},
		ForceSingleClient: u.topology == single || u.topology == unix, // otherwise it asks whether it is a cluster
		DisableCache:      true,
	}
	if opts.Sequential {
		options.PipelineMultiplex = -1
	}
	open := &counted{}
	options.DialCtxFn = open.dialer("tcp")
	switch u.topology {
	case unix:
		options.DialCtxFn = open.dialer("unix")
	case sentinel:
		options.Sentinel = valkey.SentinelOption{
			MasterSet: u.primary, Username: opts.SentinelUser, Password: opts.SentinelPassword,
			Dialer: options.Dialer, TLSConfig: options.TLSConfig, TopologyRefreshInterval: sentinelRefresh,
		}
	}
	client, err := valkey.NewClient(options)
	if err != nil {
		return nil, err
	}
	if u.topology == cluster && client.Mode() != valkey.ClientModeCluster {
		client.Close()
		return nil, errors.New("it is no cluster, or the user may not ask for its slots: must be a node of a cluster, and a user with +cluster|slots +cluster|shards")
	}
	if err := ctx.Err(); err != nil {
		client.Close()
		return nil, err
	}
	return &Connection{
		Open: func(opts *redisstore.Options) (*redisstore.Store, error) { return valkeystore.New(client, opts) },
		Do: func(ctx context.Context, args ...string) (any, error) {
			command := client.B().Arbitrary(args[0])
			if u.topology == cluster && len(args) > 1 {
				command = command.Keys(args[1]).Args(args[2:]...)
			} else {
				command = command.Args(args[1:]...)
			}
			reply, err := client.Do(ctx, command.Build()).ToAny()
			if valkey.IsValkeyNil(err) {
				err = nil
			}
			return reply, err
		},
		Pool:   func() (inUse, idle int) { return int(open.open.Load()), 0 },
		Memory: valkeyMemory(client, u.topology == cluster),
		Close:  client.Close,
	}, nil
}

// tlsConfig returns how to verify certificates, or nil without TLS. The client libraries
// take the name of each of several servers from its address.
func (u *URL) tlsConfig(opts *Options) *tls.Config {
	switch {
	case !u.tls:
		return nil
	case opts.TLS == nil:
		return &tls.Config{ServerName: u.tlsName, MinVersion: tls.VersionTLS12}
	}
	config := opts.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName = u.tlsName
	}
	return config
}
