package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// Limits are how much may be asked of one process of the service, as specs such as
// "gcra:100000/1s". "unlimited" is no limit, and "" the default.
type Limits struct {
	// Checks are for what decides and looks, of each tenant: of one tenant alone, so that
	// no tenant can use up what others need. "" is gcra:100000/1s.
	Checks string
	// Reads are for what operators read, of each caller. "" is fixed-window:1000/1m.
	Reads string
	// Writes are for changes, of each caller. "" is fixed-window:100/1m.
	Writes string
}

const unlimited = "unlimited"

// or returns l with the defaults of another where it has none.
func (l Limits) or(other Limits) Limits {
	pick := func(a, b string) string {
		if a == "" {
			return b
		}
		return a
	}
	return Limits{pick(l.Checks, other.Checks), pick(l.Reads, other.Reads), pick(l.Writes, other.Writes)}
}

var defaultLimits = Limits{Checks: "gcra:100000/1s", Reads: "fixed-window:1000/1m", Writes: "fixed-window:100/1m"}

// selfLimits are the limits of the service itself.
type selfLimits struct {
	store    *memorystore.Store
	shared   limiters
	byTenant map[string]limiters
	refusals *weir.Limiter // that are reported
}

// reported is how many refusals are reported.
const reported = "gcra:10/1s,burst=100"

// limiters are Limits that were read; nil is unlimited.
type limiters struct{ checks, reads, writes *weir.Limiter }

// maxSelfLimited bounds the states: one for each tenant and two for each caller.
const maxSelfLimited = 3*maxCallers + 100_000

func newSelfLimits(shared Limits, byTenant map[string]Limits, clock store.Clock) (*selfLimits, error) {
	states, err := memorystore.New(&memorystore.Options{Clock: clock, MaxKeys: maxSelfLimited})
	if err != nil {
		return nil, err
	}
	s := &selfLimits{store: states, byTenant: map[string]limiters{}}
	limit, err := weir.ParseLimit("self-refusals", reported)
	if err != nil {
		return nil, err
	}
	if s.refusals, err = weir.New(states, limit, nil); err != nil {
		return nil, err
	}
	shared = shared.or(defaultLimits)
	if s.shared, err = s.limiters("self", shared); err != nil {
		return nil, err
	}
	for tenant, limits := range byTenant {
		if s.byTenant[tenant], err = s.limiters("self-"+tenant, limits.or(shared)); err != nil {
			return nil, fmt.Errorf("tenant %s: %w", tenant, err)
		}
	}
	return s, nil
}

func (s *selfLimits) limiters(name string, l Limits) (all limiters, err error) {
	for _, each := range []struct {
		to         **weir.Limiter
		name, spec string
	}{{&all.checks, "checks", l.Checks}, {&all.reads, "reads", l.Reads}, {&all.writes, "writes", l.Writes}} {
		if each.spec == unlimited {
			continue
		}
		limit, err := weir.ParseLimit(name+"-"+each.name, each.spec)
		if err != nil {
			return limiters{}, fmt.Errorf("self-limit %s: %w", each.name, err)
		}
		if *each.to, err = weir.New(s.store, limit, nil); err != nil {
			return limiters{}, fmt.Errorf("self-limit %s: %w", each.name, err)
		}
	}
	return all, nil
}

// take takes a unit for a caller; wait is 0 where there is one. A limiter that fails denies.
func (s *selfLimits) take(ctx context.Context, c Caller, a Action) (wait time.Duration, err error) {
	of, has := s.byTenant[c.Tenant]
	if !has {
		of = s.shared
	}
	limiter, key := of.checks, c.Tenant
	switch a {
	case Read:
		limiter, key = of.reads, c.Tenant+"/"+c.Name
	case Write:
		limiter, key = of.writes, c.Tenant+"/"+c.Name
	}
	if limiter == nil {
		return 0, nil
	}
	d, err := limiter.Allow(ctx, key)
	if err != nil || d.Allowed {
		return 0, err
	}
	return max(d.RetryAfter, time.Microsecond), nil
}
