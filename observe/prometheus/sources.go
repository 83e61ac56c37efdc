package promobserver

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirgo/weir/resilience"
	memorystore "github.com/weirgo/weir/store/memory"
)

// source is something with counts of its own, read at each scrape.
type source struct {
	name, kind string
	collect    func(*sink)
}

// sink takes the metrics of one source.
type sink struct {
	to     chan<- prometheus.Metric
	source string
}

// put sends a value with the labels of its metric: the source first.
func (s *sink) put(name string, value float64, labels ...string) {
	m := sourceMetrics[name]
	s.to <- prometheus.MustNewConstMetric(m.desc, m.kind, value, append([]string{s.source}, labels...)...)
}

// summary is the kind of a metric that has a count and a sum.
const summary prometheus.ValueType = 0

// summarize sends a count and a sum.
func (s *sink) summarize(name string, count uint64, sum float64) {
	s.to <- prometheus.MustNewConstSummary(sourceMetrics[name].desc, count, sum, nil, s.source)
}

// sourceMetric is a metric that sources have.
type sourceMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// sourceMetrics by their names.
var sourceMetrics = map[string]sourceMetric{}

// declare notes a metric; its first label is the name of the source.
func declare(kind prometheus.ValueType, name, help string, labels ...string) string {
	sourceMetrics[name] = sourceMetric{prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil), kind}
	return name
}

var (
	keys      = declare(prometheus.GaugeValue, "keys", "States that a store in memory keeps.", "store")
	ids       = declare(prometheus.GaugeValue, "ids", "Steps with an ID that a store in memory remembers.", "store")
	evictions = declare(prometheus.CounterValue, "evictions_total", "States that a store in memory gave up for others.", "store")

	breakerState   = declare(prometheus.GaugeValue, "breaker_state", "0 closed, 1 half open, 2 open.", "store", "node")
	breakerOpened  = declare(prometheus.CounterValue, "breaker_opened_total", "How often a breaker has opened.", "store", "node")
	breakerRefused = declare(prometheus.CounterValue, "breaker_refused_total", "Calls that an open breaker refused.", "store", "node")

	denyCacheHits    = declare(prometheus.CounterValue, "denycache_hits_total", "Denials that were answered without the store.", "store")
	denyCacheMisses  = declare(prometheus.CounterValue, "denycache_misses_total", "Decisions that the deny cache left to the store.", "store")
	denyCacheEntries = declare(prometheus.GaugeValue, "denycache_entries", "Denials that are remembered.", "store")

	leasedUnits    = declare(prometheus.GaugeValue, "leased_units", "Units that leases hold.", "store")
	leaseDecisions = declare(prometheus.CounterValue, "lease_decisions_total", "Decisions that leases made without the store.", "store")
	leaseUnits     = declare(prometheus.CounterValue, "lease_units_total", "Units of leases by what became of them.", "store", "state")

	unsettledSlots = declare(prometheus.GaugeValue, "share_unsettled_slots", "Slots whose admissions of an outage are still to be charged to the store.", "store")
	settledUnits   = declare(prometheus.CounterValue, "share_units_total", "Units that were admitted in outages, by what became of them.", "store", "state")
)

// add puts a source in place of the one of the same kind and name, if any: a program that
// builds its store anew adds it again.
func (c *Collector) add(kind, name string, collect func(*sink)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sources[kind+" "+name] = source{name: strings.ToValidUTF8(name, "?"), kind: kind, collect: collect}
}

func (c *Collector) allSources() []source {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]source, 0, len(c.sources))
	for _, s := range c.sources {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b source) int { return strings.Compare(a.kind+" "+a.name, b.kind+" "+b.name) })
	return all
}

// AddMemory reads the counts of a store in memory at each scrape. name is the label store, and
// of an Enforcer the label enforcer. Another of the same kind and name takes its place.
func (c *Collector) AddMemory(name string, s *memorystore.Store) {
	c.add("memory", name, func(to *sink) {
		stats := s.Stats()
		to.put(keys, float64(stats.Keys))
		to.put(ids, float64(stats.IDs))
		to.put(evictions, float64(stats.Evicted))
	})
}

// AddBreaker reads the counts of a breaker. The label node is the name of a server, as the
// store tells it; "" where there is one.
func (c *Collector) AddBreaker(name string, b *resilience.Breaker) {
	c.add("breaker", name, func(to *sink) {
		for _, s := range b.Stats() {
			node := strings.ToValidUTF8(s.Node, "?")
			to.put(breakerState, stateNumber(s.State), node)
			to.put(breakerOpened, float64(s.Opened), node)
			to.put(breakerRefused, float64(s.Refused), node)
		}
	})
}

// stateNumber orders the states by how bad they are.
func stateNumber(s resilience.BreakerState) float64 {
	switch s {
	case resilience.BreakerHalfOpen:
		return 1
	case resilience.BreakerOpen:
		return 2
	}
	return 0
}

// AddDenyCache reads the counts of a deny cache.
func (c *Collector) AddDenyCache(name string, d *resilience.DenyCache) {
	c.add("deny cache", name, func(to *sink) {
		s := d.Stats()
		to.put(denyCacheHits, float64(s.Denied))
		to.put(denyCacheMisses, float64(s.Asked))
		to.put(denyCacheEntries, float64(s.Entries))
	})
}

// AddLease reads the counts of leases.
func (c *Collector) AddLease(name string, l *resilience.Lease) {
	c.add("lease", name, func(to *sink) {
		s := l.Stats()
		to.put(leasedUnits, float64(s.Held))
		to.put(leaseDecisions, float64(s.Local))
		to.put(leaseUnits, float64(s.Used), "used")
		to.put(leaseUnits, float64(s.Returned), "returned")
		to.put(leaseUnits, float64(s.Lost), "lost")
	})
}

// AddShare reads the counts of a share.
func (c *Collector) AddShare(name string, s *resilience.Share) {
	c.add("share", name, func(to *sink) {
		stats := s.Stats()
		to.put(unsettledSlots, float64(stats.Owed))
		to.put(settledUnits, float64(stats.Settled), "settled")
		to.put(settledUnits, float64(stats.Unknown), "unknown")
		to.put(settledUnits, float64(stats.Unsettled), "unsettled")
	})
}
