package service

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weirgo/weir/internal/storeurl"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/service/config"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"github.com/weirgo/weir/store/script"
)

// connectTimeout bounds how long the server of the store may take at the start.
const connectTimeout = 5 * time.Second

// stores makes the stores of all tenants: each with a prefix of its own, over one
// connection.
type stores struct {
	config *config.Config
	log    *slog.Logger
	conn   *storeurl.Connection // nil for memory
	// measure measures the calls of a store on a server; nil for not at all.
	measure func(name string, s store.Store) store.Store
	trace   func(script.TracedCall) func(error) // nil for not at all
	closes  []func() error                      // the last is closed first
}

// stack is the store of a tenant, with what stands around it.
type stack struct {
	store  store.Store
	bare   store.Store           // without what stands around it
	local  store.Store           // what answers where the failure mode is local
	server *script.Store         // nil for a store in memory
	broke  *resilience.Breaker   // nil for none
	lease  *resilience.Lease     // nil for none
	deny   *resilience.DenyCache // nil for none
}

func openStores(ctx context.Context, c *config.Config, log *slog.Logger) (*stores, error) {
	s := &stores{config: c, log: log}
	if c.URL().InMemory() {
		return s, nil
	}
	secrets := c.Secrets()
	o := &storeurl.Options{SentinelUser: c.Store.SentinelUser, SentinelPassword: secrets.SentinelPassword}
	if secrets.CA != nil {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(secrets.CA) // config has checked that there is one
		o.TLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	within, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := c.URL().Connect(within, o)
	if err != nil {
		return nil, fmt.Errorf("service: store %s: %w", c.URL(), err)
	}
	s.conn = conn
	s.closes = append(s.closes, func() error { conn.Close(); return nil })
	return s, nil
}

// open makes the store of a prefix below that of the configuration. name is for metrics.
func (s *stores) open(name, prefix string) (*stack, error) {
	made, err := s.base(prefix)
	if err != nil {
		return nil, err
	}
	if made.local, err = s.openLocal(); err != nil {
		return nil, err
	}
	made.store = made.bare
	if made.server != nil && s.measure != nil {
		made.store = s.measure(name, made.bare)
	}
	c := s.config
	if b := c.Breaker; b != nil {
		made.broke, err = resilience.NewBreaker(made.store, &resilience.BreakerOptions{
			Window: b.Window, MinCalls: int64(b.MinCalls), FailurePercent: int64(b.FailurePercent), SlowCall: b.SlowCall,
			OpenFor: b.OpenFor, Probes: int64(b.Probes), OnTransition: s.transition,
		})
		if err != nil {
			return nil, fmt.Errorf("service: breaker: %w", err)
		}
		made.store = made.broke
	}
	if d := c.DenyCache; d != nil {
		made.deny, err = resilience.NewDenyCache(made.store, &resilience.DenyCacheOptions{MaxEntries: d.MaxEntries, AnyCost: d.AnyCost})
		if err != nil {
			return nil, fmt.Errorf("service: denycache: %w", err)
		}
		made.store = made.deny
	}
	if l := c.Lease; l != nil {
		made.lease, err = resilience.NewLease(made.store, &resilience.LeaseOptions{
			Units: int64(l.Units), MaxShare: float64(l.MaxSharePercent) / 100, Life: l.Life, Timeout: c.Store.Timeout, MaxKeys: l.MaxKeys,
		})
		if err != nil {
			return nil, fmt.Errorf("service: lease: %w", err)
		}
		made.store = made.lease
	}
	s.closes = append(s.closes, made.store.Close)
	return made, nil
}

// base makes the store without what stands around it.
func (s *stores) base(prefix string) (*stack, error) {
	if s.conn == nil {
		memory, err := memorystore.New(&memorystore.Options{MaxKeys: s.config.Store.MaxKeys})
		if err != nil {
			return nil, fmt.Errorf("service: store: %w", err)
		}
		return &stack{bare: memory}, nil
	}
	on, err := s.conn.Open(&script.Options{Prefix: s.config.Store.Prefix + prefix, Trace: s.trace})
	if err != nil {
		return nil, fmt.Errorf("service: store: %w", err)
	}
	return &stack{bare: on, server: on}, nil
}

func (s *stores) openLocal() (store.Store, error) {
	memory, err := memorystore.New(&memorystore.Options{MaxKeys: s.config.Local.MaxKeys, EvictLeastDebt: true})
	if err != nil {
		return nil, fmt.Errorf("service: local: %w", err)
	}
	share, err := resilience.NewShare(memory, func() int64 { return int64(s.config.Local.Share) }, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("service: local: %w", err), memory.Close())
	}
	s.closes = append(s.closes, share.Close)
	return share, nil
}

func (s *stores) transition(t resilience.BreakerTransition) {
	s.log.Warn("breaker of the store", "node", t.Node, "from", t.From.String(), "to", t.To.String())
}

func (s *stores) close() error {
	var errs []error
	for i := len(s.closes) - 1; i >= 0; i-- {
		errs = append(errs, s.closes[i]())
	}
	s.closes = nil
	return errors.Join(errs...)
}
