package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"

	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/config"
	"github.com/weirgo/weir/service/envoy"
	"github.com/weirgo/weir/service/gubernator"
	gubernatorpb "github.com/weirgo/weir/service/gubernator/pb"
	"github.com/weirgo/weir/service/rest"
	"github.com/weirgo/weir/store"
)

// front is a protocol that stands beside weir.v1.RateLimiter.
type front struct {
	// register adds services to the gRPC server; nil for none. methods says what its
	// methods do.
	register func(grpc.ServiceRegistrar)
	methods  auth.Methods
	// routes are what is served on the listener http, and admin on that of operators. They
	// bring their guard along.
	routes, admin map[string]http.Handler
	// run follows its files until ctx ends; nil for none.
	run func(ctx context.Context)
}

// openFronts makes the fronts that the configuration asks for.
func (s *Service) openFronts(ctx context.Context, c *config.Config) error {
	own, err := s.restFront()
	if err != nil {
		return err
	}
	s.fronts = append(s.fronts, own)
	if c.RLS != nil {
		f, err := s.envoyFront(ctx, c)
		if err != nil {
			return err
		}
		s.fronts = append(s.fronts, f)
	}
	if c.Gubernator != nil && c.Gubernator.Enabled {
		f, err := s.gubernatorFront(c)
		if err != nil {
			return err
		}
		s.fronts = append(s.fronts, f)
	}
	return nil
}

// restPrefix is where REST is served.
const restPrefix = "/api/v1/"

// restFront is the service over HTTP, with the page for operators.
func (s *Service) restFront() (front, error) {
	h, err := rest.New(s.guard, s.restTenant, &rest.Options{Audit: s.audit, Skew: s.metrics.ObserveClockSkew, Routed: s.routed(), Logger: s.log})
	if err != nil {
		return front{}, err
	}
	if err := s.openPages(s.config.Load(), h); err != nil {
		return front{}, err
	}
	return front{
		routes: map[string]http.Handler{restPrefix: h.Public()},
		admin:  map[string]http.Handler{restPrefix: h.Admin(), pagePrefix: s.pageHandler()},
	}, nil
}

// restTenant is what the routes of a tenant work on.
func (s *Service) restTenant(name string) (*rest.Tenant, error) {
	e, err := s.Engine(name)
	if err != nil {
		return nil, err
	}
	t := s.tenants[name]
	r := &rest.Tenant{Engine: e, Rules: t.rules, Users: t.users, Compile: t.compile}
	if t.file != "" {
		r.File, r.ManagedBy = t.watcher.File, "the file "+t.file
	}
	return r, nil
}

// Names of the stores of fronts in metrics.
const (
	rlsStore        = "rls"
	gubernatorStore = "gubernator"
)

// envoyFront is the service that Envoy asks. Its states lie apart.
func (s *Service) envoyFront(ctx context.Context, c *config.Config) (front, error) {
	made, err := s.stores.open(rlsStore, config.RLSPrefix)
	if err != nil {
		return front{}, err
	}
	s.watchFront(rlsStore, made)
	o := &envoy.Options{
		Shadow: c.RLS.Shadow, Quota: c.RLS.Quota, DynamicMetadata: c.RLS.DynamicMetadata, Parse: parseOptions(c.RLS),
		Observer: s.observerOf(s.tenants[config.DefaultTenant]), Healthy: func() bool { return s.ready.why() == "" },
	}
	if c.RLS.Charge == "exact" {
		o.Charge = envoy.ChargeExact
	}
	if h := c.RLS.Headers; h != nil {
		o.Headers = &envoy.Headers{Limit: h.Limit, Remaining: h.Remaining, Reset: h.Reset}
	}
	service, err := envoy.New(s.timed(made.store), nil, o)
	if err != nil {
		return front{}, fmt.Errorf("service: rls: %w", err)
	}
	files, err := envoy.ReadFiles(ctx, c.RLS.Files...)
	if err == nil {
		err = service.Load(files)
	}
	if err != nil {
		return front{}, fmt.Errorf("service: rls: %w", err)
	}
	return front{
		register: service.Register,
		methods:  auth.Methods{pb.RateLimitService_ShouldRateLimit_FullMethodName: auth.Check},
		routes: map[string]http.Handler{
			"/json":        s.guard.HTTP(auth.Check, "/json", service.JSONHandler()),
			"/healthcheck": service.HealthHandler(),
		},
		admin: map[string]http.Handler{"GET /rlconfig": s.guard.HTTP(auth.Read, "GET /rlconfig", service.ConfigHandler())},
		run: func(ctx context.Context) {
			service.Watch(ctx, c.RLS.Files, &envoy.WatchOptions{Report: s.reportRLS}) // returns with ctx
		},
	}, nil
}

// parseOptions are those for the files of rls.
func parseOptions(r *config.RLS) envoy.ParseOptions {
	return envoy.ParseOptions{Strict: r.Strict, MergeDomains: r.MergeDomains}
}

// gubernatorFront is the service that clients of gubernator ask. Its states lie apart.
func (s *Service) gubernatorFront(c *config.Config) (front, error) {
	made, err := s.stores.open(gubernatorStore, config.GubernatorPrefix)
	if err != nil {
		return front{}, err
	}
	s.watchFront(gubernatorStore, made)
	healthy := func() error {
		if why := s.ready.why(); why != "" {
			return errors.New(why)
		}
		return nil
	}
	service, err := gubernator.New(s.timed(made.store), &gubernator.Options{
		Zone: c.Gubernator.Zone, Healthy: healthy, Observer: s.observerOf(s.tenants[config.DefaultTenant]),
	})
	if err != nil {
		return front{}, fmt.Errorf("service: gubernator: %w", err)
	}
	handler := service.Handler()
	return front{
		register: service.Register,
		methods: auth.Methods{
			gubernatorpb.V1_GetRateLimits_FullMethodName: auth.Check,
			gubernatorpb.V1_HealthCheck_FullMethodName:   auth.Open,
			gubernatorpb.V1_LiveCheck_FullMethodName:     auth.Open,
		},
		routes: map[string]http.Handler{
			"POST /v1/GetRateLimits": s.guard.HTTP(auth.Check, "POST /v1/GetRateLimits", handler),
			"GET /v1/HealthCheck":    handler,
			"GET /v1/LiveCheck":      handler,
		},
	}, nil
}

// timed is a store with the time-out of the configuration, where it waits for anything.
func (s *Service) timed(inner store.Store) store.Store {
	f := store.FeaturesOf(inner)
	if f.Within == nil {
		return inner
	}
	return f.Within(timeoutOf(s.config.Load()))
}

// reportRLS logs and audits what happens to the files of Envoy's service.
func (s *Service) reportRLS(err error) {
	s.metrics.ObserveReload(err)
	if err != nil {
		s.log.Error("the files of rls were not taken", "error", err)
	} else {
		s.log.Info("the files of rls were taken")
	}
	s.auditReload("rls.reload", "", "", err)
}
