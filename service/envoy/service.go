package envoy

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/document/words"
	"github.com/weirgo/weir/store"
)

// Charge says what a request with several descriptors is charged.
type Charge int8

const (
	// ChargeUpstream charges every descriptor, also where it or another one is over its
	// limit, as the service does that this package replaces: the count goes on, and a caller
	// that never stops is never admitted within a window. It is the zero Charge.
	ChargeUpstream Charge = iota
	// ChargeExact charges all descriptors or none, at one instant: a denied request takes
	// nothing from any limit. What is over in shadow mode or in quota mode is charged
	// nothing, and denies the others nothing. A request of more than store.MaxOps different
	// states is an error.
	ChargeExact
)

// Options are the optional settings of a Service. nil means all defaults.
type Options struct {
	Charge Charge
	// Shadow answers OK to every request, as SHADOW_MODE does. The statuses of the
	// descriptors stay what they are.
	Shadow bool
	// Quota treats every descriptor as one with quota_mode, as QUOTA_MODE does.
	Quota bool
	// Headers are the names of response headers that Envoy is asked to add. nil adds none.
	Headers *Headers
	// DynamicMetadata adds to the answer the domain, the descriptors and the metadata of
	// the limits that were not over, as RESPONSE_DYNAMIC_METADATA does.
	DynamicMetadata bool
	// Parse are the options for the files of Load.
	Parse ParseOptions
	// Observer, where it is not nil, sees the answer of each limit that is asked: Allowed where
	// it is not over. In ChargeUpstream it was charged all the same.
	Observer weir.Observer
	// Healthy says what /healthcheck answers. It is called concurrently. nil is always
	// healthy.
	Healthy func() bool
}

// Headers are names of headers. DefaultHeaders has the usual ones.
type Headers struct{ Limit, Remaining, Reset string }

// DefaultHeaders are the names that the service has that this package replaces.
var DefaultHeaders = Headers{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}

// Stats count what happened to a Service since it was made.
type Stats struct {
	ConfigLoads      uint64 // configurations that were taken
	ConfigLoadErrors uint64 // configurations that were refused
	StoreErrors      uint64 // requests that the store did not decide
	RequestErrors    uint64 // requests that were refused
	GlobalShadow     uint64 // requests that were answered OK for Options.Shadow
}

// Service answers ShouldRateLimit. It is safe for concurrent use.
//
// A request costs one call to the store, whatever the number of its descriptors. It costs
// more calls where two of its descriptors have one state, one more where it gives hits
// back (is_negative_hits), and in ChargeExact one more for each descriptor that is over
// its limit in shadow or quota mode. On a cluster, whose nodes share no call, ChargeUpstream makes one call
// for each descriptor, and ChargeExact fails where the keys lie on different nodes.
//
// Time is the store's clock.
type Service struct {
	pb.UnimplementedRateLimitServiceServer
	store  store.Store
	opts   Options
	config atomic.Pointer[Config]

	loads, loadErrors, storeErrors, requestErrors, shadowed atomic.Uint64
}

var _ pb.RateLimitServiceServer = (*Service)(nil)

// New returns a Service on a store, which stays the caller's. Without a Config every
// request is an error until one is loaded. opts may be nil.
func New(s store.Store, c *Config, opts *Options) (*Service, error) {
	if s == nil {
		return nil, errors.New("envoy: the store is nil")
	}
	service := &Service{store: s}
	if opts != nil {
		service.opts = *opts
	}
	if service.opts.Charge != ChargeUpstream && service.opts.Charge != ChargeExact {
		return nil, errors.New("envoy: Options.Charge must be ChargeUpstream or ChargeExact")
	}
	if h := service.opts.Headers; h != nil {
		for _, name := range []string{h.Limit, h.Remaining, h.Reset} {
			if !words.IsToken(name) {
				return nil, fmt.Errorf("envoy: Options.Headers %q is not allowed: must be three names of headers, such as DefaultHeaders", name)
			}
		}
	}
	service.config.Store(c)
	return service, nil
}

// Register registers s as envoy.service.ratelimit.v3.RateLimitService.
func (s *Service) Register(r grpc.ServiceRegistrar) { pb.RegisterRateLimitServiceServer(r, s) }

// Config returns what decides now; nil where nothing was loaded.
func (s *Service) Config() *Config { return s.config.Load() }

// Load reads files and decides by them from now on. A mistake is a *ConfigError, is counted,
// and leaves what decided before.
func (s *Service) Load(files []File) error {
	c, err := Parse(files, &s.opts.Parse)
	if err != nil {
		s.loadErrors.Add(1)
		return err
	}
	s.loads.Add(1)
	s.config.Store(c)
	return nil
}

// Stats returns the counts so far.
func (s *Service) Stats() Stats {
	return Stats{s.loads.Load(), s.loadErrors.Load(), s.storeErrors.Load(), s.requestErrors.Load(), s.shadowed.Load()}
}

// ShouldRateLimit implements envoy.service.ratelimit.v3.RateLimitService. A request over
// a limit is an answer; an error means that there is none, has the code Unknown, and
// leaves it to Envoy whether to let the request pass (failure_mode_deny).
func (s *Service) ShouldRateLimit(ctx context.Context, req *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	asks, err := s.asksOf(req)
	if err != nil {
		s.requestErrors.Add(1)
		return nil, status.Error(codes.Unknown, err.Error())
	}
	counted := make([]*ask, 0, len(asks))
	for i := range asks {
		if asks[i].counts() {
			counted = append(counted, &asks[i])
		}
	}
	start := time.Now()
	if s.opts.Charge == ChargeExact {
		err = s.chargeExact(ctx, asks, counted)
	} else {
		err = s.chargeEach(ctx, counted)
	}
	s.observe(ctx, counted, err, time.Since(start))
	if err != nil {
		s.storeErrors.Add(1)
		return nil, status.Error(codes.Unknown, err.Error())
	}
	return s.answer(req, asks), nil
}

// asksOf finds the limit of each descriptor.
func (s *Service) asksOf(req *pb.RateLimitRequest) ([]ask, error) {
	switch {
	case req.GetDomain() == "":
		return nil, errors.New("rate limit domain must not be empty")
	case len(req.GetDescriptors()) == 0:
		return nil, errors.New("rate limit descriptor list must not be empty")
	}
	config := s.config.Load()
	if config == nil {
		return nil, errors.New("no rate limit configuration loaded")
	}
	asks := make([]ask, len(req.GetDescriptors()))
	domain := config.domains[req.GetDomain()]
	if domain == nil {
		return asks, nil
	}
	var replaced map[string]bool // most requests have none
	for i, d := range req.GetDescriptors() {
		a := &asks[i]
		var key string
		if d.GetLimit() != nil {
			limit, err := override(d.GetLimit())
			if err != nil {
				return nil, err
			}
			a.rule, key = limit, keyOf(d.GetEntries(), nil)
		} else {
			a.rule, key = domain.find(d.GetEntries())
		}
		if a.rule == nil {
			continue
		}
		a.slot = store.Slot{Key: key, Limit: limitPrefix + req.GetDomain(), Algorithm: a.rule.algorithm}
		a.cost, a.negative = costOf(req, d), d.GetIsNegativeHits()
		if a.negative && a.rule.isLog {
			return nil, errors.New("is_negative_hits is not allowed for a limit of sliding-log: it gives back only what it knows the instant of")
		}
		for _, name := range a.rule.replaces {
			if replaced == nil {
				replaced = map[string]bool{}
			}
			replaced[name] = true
		}
	}
	for i := range asks {
		if a := &asks[i]; a.rule != nil && !a.rule.unlimited && replaced[a.rule.limit.GetName()] {
			a.rule = nil
		}
	}
	return asks, nil
}
