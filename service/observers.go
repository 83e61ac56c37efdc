package service

import (
	"context"
	"net/http"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
)

// observers are those who see the decision of each limit: own is that of Options. The log has a
// line for each at level debug, and for errors and degraded answers one a second.
func (s *Service) observers(own weir.Observer) weir.Observer {
	all := []weir.Observer{own, s.metrics, weir.NewLogObserver(s.log)}
	if s.tracing != nil {
		all = append(all, s.tracing)
	}
	return weir.Observers(all...)
}

// verdicts sees the answers of the policy of a tenant.
func (s *Service) verdicts(t *tenant) policy.Observer {
	all := verdictObservers{s.metrics, t.recorder}
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
