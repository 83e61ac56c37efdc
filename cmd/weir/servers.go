package main

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/valkey-io/valkey-go"

	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// connect connects with a server and makes a store on it, and returns what closes
// the connection. The store is asked one thing at a time, so calls are not shared
// and there is one connection.
func (p *place) connect(ctx context.Context, prefix string, clock store.Clock) (s store.Store, disconnect func(), err error) {
	if p.valkey {
		return p.connectValkey(&valkeystore.Options{Prefix: prefix, Clock: clock, Share: 1, Timeout: callTimeout})
	}
	return p.connectRedis(ctx, &redisstore.Options{Prefix: prefix, Clock: clock, Share: 1, Timeout: callTimeout})
}

func (p *place) connectRedis(ctx context.Context, opts *redisstore.Options) (store.Store, func(), error) {
	logging.Disable() // what fails is said by the command
	client := redis.NewClient(&redis.Options{
		Network:               p.network,
		Addr:                  p.address,
		Username:              p.user,
		Password:              p.password,
		DB:                    p.db,
		TLSConfig:             p.tls(),
		DialTimeout:           dialTimeout,
		DialerRetries:         1,
		MaxRetries:            -1,
		ContextTimeoutEnabled: true,
		// Both ask the server for what has no use here.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	disconnect := func() { client.Close() } // nothing is lost where that fails
	within, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := client.Ping(within).Err() // connects
	if err != nil && !redis.IsPermissionError(err) {
		disconnect()
		return nil, nil, err
	}
	s, err := redisstore.New(client, opts)
	if err != nil {
		disconnect()
		return nil, nil, err
	}
	return s, disconnect, nil
}

func (p *place) connectValkey(opts *valkeystore.Options) (store.Store, func(), error) {
	options := valkey.ClientOption{
		InitAddress:       []string{p.address},
		Username:          p.user,
		Password:          p.password,
		SelectDB:          p.db,
		TLSConfig:         p.tls(),
		Dialer:            net.Dialer{Timeout: dialTimeout},
		ForceSingleClient: true, // otherwise it asks whether it is a cluster
		DisableCache:      true,
		PipelineMultiplex: -1, // one connection
	}
	if p.network == "unix" {
		options.DialCtxFn = func(ctx context.Context, path string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		}
	}
	client, err := valkey.NewClient(options)
	if err != nil {
		return nil, nil, err
	}
	s, err := valkeystore.New(client, opts)
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return s, client.Close, nil
}

// tls returns how to trust the server, or nil where it speaks plainly.
func (p *place) tls() *tls.Config {
	if p.tlsName == "" {
		return nil
	}
	return &tls.Config{ServerName: p.tlsName, MinVersion: tls.VersionTLS12}
}
