package promobserver

import (
	"context"
	"maps"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/observed"
)

// kindMetrics are the metrics of one kind of algorithm, found once: to look one up by its
// labels costs as much as a decision.
type kindMetrics struct {
	kind    string // algorithm.Spec.Kind
	label   string
	results [len(observed.ResultNames)]prometheus.Counter
	latency prometheus.Observer
}

// Observe implements weir.Observer. Takes and waits are counted; looks and resets are
// counted where they fail.
func (c *Collector) Observe(ctx context.Context, o weir.Observation) {
	k := c.kind(o.Algorithm)
	if o.Err != nil && !observed.IsDenial(o.Err) {
		c.requests.WithLabelValues(k.label, "error", observed.ClassOf(o.Err)).Inc()
		return
	}
	if o.Took > 0 && o.Kind != weir.KindWait {
		k.latency.Observe(o.Took.Seconds())
	}
	if o.Kind != weir.KindTake && o.Kind != weir.KindWait {
		return
	}
	if o.Decision.Degraded {
		c.degraded.WithLabelValues(modeName(o.OnFailure)).Inc()
	}
	if o.Verb != algorithm.Take {
		if o.Allowed {
			c.adjusted.WithLabelValues(k.label, o.Verb.String()).Add(float64(o.Cost))
		}
		return
	}
	count := k.results[observed.ResultOf(o.Decision.Allowed, o.Shadow)]
	if c.options.Exemplar == nil || o.Decision.Allowed {
		count.Inc()
		return
	}
	c.withExemplar(ctx, count)
}

// withExemplar counts, with an exemplar where there is one that Prometheus takes: it panics
// for others.
func (c *Collector) withExemplar(ctx context.Context, count prometheus.Counter) {
	labels := c.options.Exemplar(ctx)
	runes := 0
	for name, value := range labels {
		if !exemplarName.MatchString(name) || strings.HasPrefix(name, "__") || !utf8.ValidString(value) {
			labels = nil
			break
		}
		runes += len(name) + utf8.RuneCountInString(value)
	}
	adder, can := count.(prometheus.ExemplarAdder)
	if !can || len(labels) == 0 || runes > prometheus.ExemplarMaxRunes {
		count.Inc()
		return
	}
	adder.AddWithExemplar(1, labels)
}

// exemplarName is a name of a label in every format of Prometheus; __ begins its own.
var exemplarName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func modeName(m weir.FailureMode) string {
	switch m {
	case weir.FailOpen:
		return "open"
	case weir.FailLocal:
		return "local"
	}
	return "closed"
}

// kind returns the metrics of an algorithm.
func (c *Collector) kind(a algorithm.Algorithm) *kindMetrics {
	kind := ""
	if a != nil {
		kind = a.Spec().Kind
	}
	// Most programs have limits of one kind: to compare with the last one spares them a map,
	// as BenchmarkObserver shows.
	if k := c.lastKind.Load(); k != nil && k.kind == kind {
		return k
	}
	k := (*c.kinds.Load())[kind]
	if k == nil {
		k = c.addKind(kind)
	}
	c.lastKind.Store(k)
	return k
}

func (c *Collector) addKind(kind string) *kindMetrics {
	c.mu.Lock()
	defer c.mu.Unlock()
	kinds := *c.kinds.Load()
	label, _, _ := strings.Cut(kind, "/")
	switch {
	case kinds[kind] != nil:
		return kinds[kind]
	case len(kinds) >= maxKinds && kind != other:
		kind, label = other, other
		if kinds[kind] != nil {
			return kinds[kind]
		}
	case kind == "":
		label = "none"
	case !utf8.ValidString(label):
		label = other
	}
	k := &kindMetrics{kind: kind, label: label, latency: c.latency.WithLabelValues(label)}
	for r, name := range observed.ResultNames {
		k.results[r] = c.requests.WithLabelValues(label, name, "")
	}
	kinds = maps.Clone(kinds)
	kinds[kind] = k
	c.kinds.Store(&kinds)
	return k
}
