package service

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weirgo/weir/internal/storeurl"
	promobserver "github.com/weirgo/weir/observe/prometheus"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/service/auth"
	memorystore "github.com/weirgo/weir/store/memory"
	"github.com/weirgo/weir/store/script"
)

// metrics are what /metrics shows.
type metrics struct {
	*promobserver.Collector
	registry *prometheus.Registry
	memory   atomic.Pointer[map[string]int64] // of the servers of the store; nil where it is not known
}

func newMetrics() (*metrics, error) {
	c, err := promobserver.New(&promobserver.Options{ActiveKeys: true, Exemplar: exemplar})
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

// watchConnection reads what the connection of all stores has open; measured are their calls.
func (m *metrics) watchConnection(s *stores) {
	if s.conn == nil {
		return
	}
	s.measure = m.Wrap
	m.AddPool("store", func() promobserver.Pool {
		var p promobserver.Pool
		p.InUse, p.Idle = s.conn.Pool()
		if memory := m.memory.Load(); memory != nil {
			p.Memory = *memory
		}
		return p
	})
}

const (
	memoryEvery   = 15 * time.Second
	memoryTimeout = time.Second
)

// followMemory asks the servers for their memory at each tick, until ctx ends. A scrape does
// not: it would hang where the server does. Where the user may not ask, it asks no more.
func (m *metrics) followMemory(ctx context.Context, ask func(context.Context) (map[string]int64, error)) {
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	for {
		within, cancel := context.WithTimeout(ctx, memoryTimeout)
		memory, err := ask(within)
		cancel()
		switch {
		case errors.Is(err, storeurl.ErrNotPermitted):
			return
		case err != nil:
			m.memory.Store(nil) // an old number would look like a new one
		default:
			m.memory.Store(&memory)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
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
	watchStack(m, t.name, t.stack)
}

// stackWatcher reads the counts of stores: metrics, and the recorder of a page.
type stackWatcher interface {
	AddMemory(name string, s *memorystore.Store)
	AddServer(name string, s interface{ Stats() script.Stats })
	AddBreaker(name string, b *resilience.Breaker)
	AddDenyCache(name string, d *resilience.DenyCache)
	AddLease(name string, l *resilience.Lease)
}

// watchStack reads the counts of a store and of what stands around it.
func watchStack(m stackWatcher, name string, s *stack) {
	if memory, is := s.bare.(*memorystore.Store); is {
		m.AddMemory(name, memory)
	}
	if s.server != nil {
		m.AddServer(name, s.server)
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
