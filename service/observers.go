package service

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service/config"
)

// observers are those who see the decision of each limit: own is that of Options.
func (s *Service) observers(own weir.Observer) weir.Observer {
	all := []weir.Observer{own, s.metrics}
	if s.tracing != nil {
		all = append(all, s.tracing)
	}
	return weir.Observers(all...)
}

// observerOf sees what is decided for a tenant. The log has a line for each decision at level
// debug, and for errors and degraded answers one a second, with a hash of the key where it is
// asked for.
func (s *Service) observerOf(t *tenant) weir.Observer {
	return weir.Observers(s.opts.Observer, t.log, t.recorder)
}

// logOf is the log of the decisions of a tenant.
func (s *Service) logOf(t *tenant, c *config.Config) weir.Observer {
	o := &weir.LogOptions{}
	if c.Log.KeyHash {
		o.HashKey = t.hashKey
	}
	return weir.NewLogObserver(s.log.With(slog.String("tenant", t.name)), o)
}

// verdicts sees the answers of the policy of a tenant.
func (s *Service) verdicts(t *tenant) policy.Observer {
	all := verdictObservers{s.metrics.Enforcer(t.name), t.recorder}
	if s.tracing != nil {
		all = append(all, s.tracing)
	}
	return all
}

// traced is a handler whose requests are traced, where there is tracing.
func (s *Service) traced(h http.Handler) http.Handler {
	if s.tracing == nil {
		return h
	}
	return s.tracing.http(h)
}

// routed is rest.Options.Routed.
func (s *Service) routed() func(ctx context.Context, method, path string) {
	if s.tracing == nil {
		return nil
	}
	return s.tracing.route
}
