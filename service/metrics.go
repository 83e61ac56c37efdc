package service

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	promobserver "github.com/weirgo/weir/observe/prometheus"
	"github.com/weirgo/weir/service/auth"
	memorystore "github.com/weirgo/weir/store/memory"
)

// metrics are what /metrics shows.
type metrics struct {
	*promobserver.Collector
	registry *prometheus.Registry
}

func newMetrics() (*metrics, error) {
	c, err := promobserver.New(&promobserver.Options{ActiveKeys: true})
	if err != nil {
		return nil, err
	}
	m := &metrics{Collector: c, registry: prometheus.NewRegistry()}
	for _, each := range []prometheus.Collector{c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := m.registry.Register(each); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// watchGuard counts what the self-limits deny.
func (m *metrics) watchGuard(g *auth.Guard) error {
	for _, each := range []struct {
		api    string
		action auth.Action
	}{{"check", auth.Check}, {"read", auth.Read}, {"write", auth.Write}} {
		err := m.registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: "rate_limiter", Name: "self_limited_total", Help: "Calls that the limits of the service itself denied.",
			ConstLabels: prometheus.Labels{"api": each.api},
		}, func() float64 { return float64(g.Limited(each.action)) }))
		if err != nil {
			return err
		}
	}
	return nil
}

// watchTenant reads the counts of what a tenant has. Only tenants of the configuration have
// a name here.
func (m *metrics) watchTenant(t *tenant) {
	m.AddEnforcer(t.name, t.engine.Enforcer())
	m.watchStack(t.name, t.stack)
}

// watchStack reads the counts of a store and of what stands around it.
func (m *metrics) watchStack(name string, s *stack) {
	if memory, is := s.bare.(*memorystore.Store); is {
		m.AddMemory(name, memory)
	}
	if s.docs != nil {
		m.AddServer(name, s.docs)
	}
	if s.broke != nil {
		m.AddBreaker(name, s.broke)
	}
	if s.deny != nil {
		m.AddDenyCache(name, s.deny)
	}
	if s.lease != nil {
		m.AddLease(name, s.lease)
	}
}

// handler is the page that Prometheus reads.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}
