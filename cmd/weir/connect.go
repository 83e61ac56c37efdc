package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/valkey-io/valkey-go"

	redisstore "github.com/weirgo/weir/store/redis"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// connection is a connection with a server, for any number of stores. The two
// client libraries look the same through it.
type connection struct {
	// open makes a store, which leaves the connection open when it is closed.
	open func(*redisstore.Options) (*redisstore.Store, error)
	// do sends one command past the stores. The reply is a string, int64, []any,
	// or nil where there is no such key.
	do    func(ctx context.Context, args ...string) (any, error)
	close func() // nothing is lost where that fails
}

// connect connects with a server. Where single is true, all stores are asked one
// thing at a time, so that one connection will do.
func (e *endpoint) connect(ctx context.Context, single bool) (*connection, error) {
	if e.valkey {
		return e.connectValkey(single)
	}
	return e.connectRedis(ctx)
}

func (e *endpoint) connectRedis(ctx context.Context) (*connection, error) {
	logging.Disable() // what fails is said by the command
	client := redis.NewClient(&redis.Options{
		Network:               e.network,
		Addr:                  e.address,
		Username:              e.user,
		Password:              e.password,
		DB:                    e.db,
		TLSConfig:             e.tls(),
		DialTimeout:           dialTimeout,
		DialerRetries:         1,
		MaxRetries:            -1,
		ContextTimeoutEnabled: true,
		// Both ask the server for what has no use here.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	c := &connection{close: func() { client.Close() }}
	within, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := client.Ping(within).Err() // connects
	if err != nil && !redis.IsPermissionError(err) {
		c.close()
		return nil, err
	}
	c.open = func(opts *redisstore.Options) (*redisstore.Store, error) { return redisstore.New(client, opts) }
	c.do = func(ctx context.Context, args ...string) (any, error) {
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

func (e *endpoint) connectValkey(single bool) (*connection, error) {
	options := valkey.ClientOption{
		InitAddress:       []string{e.address},
		Username:          e.user,
		Password:          e.password,
		SelectDB:          e.db,
		TLSConfig:         e.tls(),
		Dialer:            net.Dialer{Timeout: dialTimeout},
		ForceSingleClient: true, // otherwise it asks whether it is a cluster
		DisableCache:      true,
	}
	if single {
		options.PipelineMultiplex = -1
	}
	if e.network == "unix" {
		options.DialCtxFn = func(ctx context.Context, path string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		}
	}
	client, err := valkey.NewClient(options)
	if err != nil {
		return nil, err
	}
	return &connection{
		open: func(opts *redisstore.Options) (*redisstore.Store, error) { return valkeystore.New(client, opts) },
		do: func(ctx context.Context, args ...string) (any, error) {
			reply, err := client.Do(ctx, client.B().Arbitrary(args...).Build()).ToAny()
			if valkey.IsValkeyNil(err) {
				err = nil
			}
			return reply, err
		},
		close: client.Close,
	}, nil
}

// tls returns how to verify the certificate of the server, or nil without TLS.
func (e *endpoint) tls() *tls.Config {
	if e.tlsName == "" {
		return nil
	}
	return &tls.Config{ServerName: e.tlsName, MinVersion: tls.VersionTLS12}
}
