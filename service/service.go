// Package service is the rate limiter as a server: gRPC, HTTP, health, tenants, and what
// starts and stops it. The command weir serve runs it; a program may embed it.
//
//	c, err := config.Load(config.Source{File: "weir.yaml"})
//	if err != nil {
//		return err
//	}
//	s, err := service.New(ctx, c, nil)
//	if err != nil {
//		return err
//	}
//	return s.Run(ctx) // until ctx ends; then it drains
package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/service/audit"
	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/config"
	"github.com/weirgo/weir/service/engine"
)

// Options are the optional settings of a Service. nil means all defaults.
type Options struct {
	// Logger is for what happens to the service: it never gets a key. nil is
	// slog.Default.
	Logger *slog.Logger
	// Policy is the text of the policy of tenants for which the configuration names no file,
	// where there is no document yet. nil is one without rules, which allows everything.
	Policy []byte
	// Observer sees the decision of each limit: see weir.Options.Observer. nil is none.
	Observer weir.Observer

	drain func(time.Duration) // in place of time.Sleep, for tests
}

// Service is the rate limiter as a server. It is safe for concurrent use.
type Service struct {
	config atomic.Pointer[config.Config]
	log    *slog.Logger
	opts   Options

	stores  *stores
	tenants map[string]*tenant
	guard   *auth.Guard
	audit   *audit.Log // nil for none

	listeners   listeners
	grpc        *grpc.Server
	grpcHealth  *health.Server
	watches     *watches
	http, admin *http.Server
	tls         atomic.Pointer[tls.Config] // of connections to come; nil without TLS
	ready       readiness
	fronts      []front
	metrics     *metrics
	tracing     *tracing // nil for none
	reloading   sync.Mutex
	background  sync.WaitGroup
	ran         atomic.Bool
}

// New connects with the store, reads the policies and listens; it serves nothing before
// Run. A service that does not Run has to be closed.
func New(ctx context.Context, c *config.Config, opts *Options) (s *Service, err error) {
	if c == nil {
		return nil, errors.New("service: config is nil: must be what config.Load returns")
	}
	s = &Service{tenants: map[string]*tenant{}, watches: newWatches()}
	s.config.Store(c)
	if opts != nil {
		s.opts = *opts
	}
	if s.log = s.opts.Logger; s.log == nil {
		s.log = slog.Default()
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
			s = nil
		}
	}()
	if s.metrics, err = newMetrics(); err != nil {
		return s, err
	}
	if s.tracing, err = newTracing(ctx, c.Tracing, s.log); err != nil {
		return s, err
	}
	s.opts.Observer = s.observers(s.opts.Observer)
	if s.audit, err = openAudit(c.Audit); err != nil {
		return s, err
	}
	if s.stores, err = openStores(ctx, c, s.log); err != nil {
		return s, err
	}
	s.metrics.watchConnection(s.stores)
	if s.tracing != nil {
		s.stores.trace = s.tracing.StoreCall
	}
	if err := s.openTenants(ctx, c); err != nil {
		return s, err
	}
	if s.guard, err = s.newGuard(c); err != nil {
		return s, err
	}
	if err := s.metrics.watchGuard(s.guard); err != nil {
		return s, err
	}
	if err := s.openFronts(ctx, c); err != nil {
		return s, err
	}
	if err := s.newServers(c); err != nil {
		return s, err
	}
	return s, s.listeners.open(c.Listen)
}

// Addresses returns the addresses that the service listens on.
func (s *Service) Addresses() (grpc, http, admin net.Addr) {
	return s.listeners.grpc.Addr(), s.listeners.http.Addr(), s.listeners.admin.Addr()
}

// Engine returns what a tenant has. An error has the code engine.PermissionDenied.
func (s *Service) Engine(tenant string) (*engine.Engine, error) {
	t, found := s.tenants[tenant]
	if !found {
		return nil, &engine.Error{Code: engine.PermissionDenied, Message: "unknown tenant"}
	}
	return t.engine, nil
}

// find is rpc.Find: the tenant and the name of the caller that the guard has found.
func (s *Service) find(ctx context.Context) (*engine.Engine, string, error) {
	c, found := auth.CallerOf(ctx)
	if !found {
		return nil, "", &engine.Error{Code: engine.Unauthenticated, Message: "the caller is not known"}
	}
	e, err := s.Engine(c.Tenant)
	return e, c.Name, err
}

func (s *Service) newGuard(c *config.Config) (*auth.Guard, error) {
	o := &auth.Options{Limits: limitsOf(c.SelfLimits), TenantLimits: map[string]auth.Limits{}, Refused: s.refused}
	for _, name := range tenantNames(c) {
		o.Tenants = append(o.Tenants, name)
		if own, listed := c.Tenants[name]; listed {
			o.TenantLimits[name] = limitsOf(own.SelfLimits)
		}
	}
	table, err := loadTable(c)
	if err != nil {
		return nil, err
	}
	g, err := auth.New(table, o)
	if err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	return g, nil
}

func loadTable(c *config.Config) (*auth.Table, error) {
	if c.Auth == nil {
		return nil, nil
	}
	table, err := auth.LoadTable(c.Auth.File)
	if err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	return table, nil
}

func limitsOf(s config.SelfLimits) auth.Limits {
	return auth.Limits{Checks: s.Checks, Reads: s.Reads, Writes: s.Writes}
}

// tenantNames are all tenants; config.DefaultTenant is always one.
func tenantNames(c *config.Config) []string {
	names := []string{config.DefaultTenant}
	for name := range c.Tenants {
		if name != config.DefaultTenant {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Close frees what New has opened. Run does it at its end.
func (s *Service) Close() error {
	var errs []error
	s.listeners.close()
	for _, t := range s.tenants {
		errs = append(errs, t.engine.Close(), t.recorder.Close())
	}
	if s.guard != nil {
		errs = append(errs, s.guard.Close())
	}
	if s.stores != nil {
		errs = append(errs, s.stores.close())
	}
	if s.audit != nil {
		errs = append(errs, s.audit.Close())
	}
	if s.tracing != nil {
		s.tracing.close()
	}
	return errors.Join(errs...)
}
