// Package promobserver makes Prometheus metrics of what weir decides.
//
//	metrics := weir.Must(promobserver.New(nil))
//	prometheus.MustRegister(metrics)
//	limiter := weir.Must(weir.New(store, limit, &weir.Options{Observer: metrics}))
//
// A Collector is the Observer of Limiters and MultiLimiters (metrics by algorithm) and of
// Enforcers (metrics by rule), and reads the counts of stores and decorators that are added
// to it, each time it is scraped. All names begin with rate_limiter_. No label is ever the key
// of a limit, the text of a limit or an address; every label has a bounded number of values.
//
// The metrics are listed in docs/reference/metrics.md.
package promobserver

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/observed"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
)

// Options are the optional settings of a Collector. nil means all defaults.
type Options struct {
	// Exemplar returns what links a denial to its trace, such as
	// prometheus.Labels{"trace_id": …} from the span in ctx, and nil for none. It is called
	// for denials only, concurrently. Names are ASCII letters, digits and _, and do not begin
	// with a digit or __; an exemplar with another name, with a value that is not UTF-8, or of
	// more than 128 characters in all is left out. nil: there are no exemplars. They are shown
	// in the format OpenMetrics alone (promhttp.HandlerOpts.EnableOpenMetrics).
	Exemplar func(ctx context.Context) prometheus.Labels
	// NativeHistograms adds native buckets, each 10 % wide, to every histogram: about 60 ns
	// more for each call that is measured.
	NativeHistograms bool
	// ActiveKeys counts for each rule, to about 1 %, the distinct keys of the last 5 to 10
	// minutes. A rule with many keys takes 32 KiB; a decision about 100 ns more.
	ActiveKeys bool
	// Rules is how many rules have labels of their own, over all Enforcers, in the order in which
	// they are met. Further rules count as "other" of their Enforcer. 0 is 1,000.
	Rules int
}

const (
	namespace = "rate_limiter"
	other     = observed.Other

	defaultRules = 1000
	maxKinds     = 100 // of algorithms; the six and a user's own
	nativeFactor = 1.1
)

// Collector is a prometheus.Collector, a weir.Observer and a policy.Observer. It is safe
// for concurrent use. A decision costs it two atomic additions and no allocation.
type Collector struct {
	options Options

	requests   *prometheus.CounterVec
	latency    *prometheus.HistogramVec
	degraded   *prometheus.CounterVec
	adjusted   *prometheus.CounterVec
	storeCalls *prometheus.HistogramVec
	rules      *ruleMetrics
	program    programMetrics
	now        func() time.Time

	mu      sync.Mutex                              // for new kinds and sources
	kinds   atomic.Pointer[map[string]*kindMetrics] // replaced as a whole
	sources map[string]source

	lastKind atomic.Pointer[kindMetrics]
}

var (
	_ prometheus.Collector = (*Collector)(nil)
	_ weir.Observer        = (*Collector)(nil)
	_ policy.Observer      = (*Collector)(nil)
)

// New returns a Collector, to be registered once. An option outside its bounds gives an error
// that matches store.ErrInvalid.
func New(opts *Options) (*Collector, error) {
	c := &Collector{sources: map[string]source{}, now: time.Now}
	if opts != nil {
		c.options = *opts
	}
	if c.options.Rules < 0 {
		return nil, refuse("Options.Rules", fmt.Sprint(c.options.Rules), "0 (1,000) or more")
	}
	if c.options.Rules == 0 {
		c.options.Rules = defaultRules
	}
	c.requests = prometheus.NewCounterVec(counter("requests_total",
		"Answers of limits: a request that asks three limits has three. error says why there is no answer."),
		[]string{"algorithm", "result", "error"})
	c.latency = prometheus.NewHistogramVec(c.histogram("latency_seconds",
		"How long a decision took. Of decisions in memory one in 16 is measured."), []string{"algorithm"})
	c.degraded = prometheus.NewCounterVec(counter("degraded_total",
		"Answers that a failure mode gave in place of the store."), []string{"mode"})
	c.adjusted = prometheus.NewCounterVec(counter("adjusted_units_total",
		"Units that were charged after the fact, or given back."), []string{"algorithm", "verb"})
	c.storeCalls = prometheus.NewHistogramVec(c.histogram("store_call_seconds",
		"How long a call of a store took that Collector.Wrap measures."), []string{"store", "op"})
	c.rules = newRuleMetrics(c)
	c.program = newProgramMetrics(c)
	c.kinds.Store(&map[string]*kindMetrics{})
	return c, nil
}

func counter(name, help string) prometheus.CounterOpts {
	return prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}
}

func (c *Collector) histogram(name, help string) prometheus.HistogramOpts {
	o := prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: observed.Buckets()}
	if c.options.NativeHistograms {
		o.NativeHistogramBucketFactor = nativeFactor
		o.NativeHistogramMaxBucketNumber = 160
	}
	return o
}

func (c *Collector) parts() []prometheus.Collector {
	return append(c.program.parts(), c.requests, c.latency, c.degraded, c.adjusted, c.storeCalls, c.rules)
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, part := range c.parts() {
		part.Describe(to)
	}
	for _, m := range sourceMetrics {
		to <- m.desc
	}
}

// Collect implements prometheus.Collector. It asks each source for its counts.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, part := range c.parts() {
		part.Collect(to)
	}
	for _, s := range c.allSources() {
		s.collect(&sink{to: to, source: s.name})
	}
}

func refuse(field, value, allowed string) error {
	return &store.InputError{Op: -1, Field: field, Value: value, Allowed: allowed}
}
