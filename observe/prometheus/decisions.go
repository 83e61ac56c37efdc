package promobserver

import (
	"context"
	"errors"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// kindMetrics are the metrics of one kind of algorithm, found once: to look one up by its
// labels costs as much as a decision.
type kindMetrics struct {
	kind    string // algorithm.Spec.Kind
	label   string
	results [4]prometheus.Counter // by result
	latency prometheus.Observer
}

type result int

const (
	allowed result = iota
	denied
	shadowAllowed
	shadowDenied
)

var resultNames = [...]string{allowed: "allowed", denied: "denied", shadowAllowed: "shadow_allowed", shadowDenied: "shadow_denied"}

func resultOf(isAllowed, shadow bool) result {
	r := denied
	if isAllowed {
		r = allowed
	}
	if shadow {
		r += shadowAllowed
	}
	return r
}

// Observe implements weir.Observer. Takes and waits are counted; looks and resets are
// counted where they fail.
func (c *Collector) Observe(ctx context.Context, o weir.Observation) {
	k := c.kind(o.Algorithm)
	if o.Err != nil && !isDenial(o.Err) {
		c.requests.WithLabelValues(k.label, "error", classOf(o.Err)).Inc()
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
	count := k.results[resultOf(o.Decision.Allowed, o.Shadow)]
	if c.options.Exemplar == nil || o.Decision.Allowed {
		count.Inc()
		return
	}
	c.withExemplar(ctx, count)
}

// isDenial reports whether an error is the form that a denial has: of a charge that would
// leave too large a debt, and of a wait that would never end.
func isDenial(err error) bool {
	var refused *weir.DebtError
	return errors.As(err, &refused) || errors.Is(err, weir.ErrNeverAdmitted)
}

// withExemplar counts, with an exemplar where there is one that Prometheus takes.
func (c *Collector) withExemplar(ctx context.Context, count prometheus.Counter) {
	labels := c.options.Exemplar(ctx)
	runes := 0
	for name, value := range labels {
		if !utf8.ValidString(value) {
			labels = nil
			break
		}
		runes += utf8.RuneCountInString(name) + utf8.RuneCountInString(value)
	}
	adder, can := count.(prometheus.ExemplarAdder)
	if !can || len(labels) == 0 || runes > prometheus.ExemplarMaxRunes {
		count.Inc()
		return
	}
	adder.AddWithExemplar(1, labels)
}

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
	// Most programs have limits of one kind: to compare with the last one saves 15 of 50 ns.
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
	for r, name := range resultNames {
		k.results[r] = c.requests.WithLabelValues(label, name, "")
	}
	kinds = maps.Clone(kinds)
	kinds[kind] = k
	c.kinds.Store(&kinds)
	return k
}

// classes are the values of the label error, in the order in which they are tried.
var classes = []struct {
	name string
	is   []error
}{
	{"invalid", []error{store.ErrInvalid, store.ErrDuplicateSlot, store.ErrIDReused, store.ErrUnsupported, weir.ErrSettled}},
	{"cross_node", []error{store.ErrCrossNode}},
	{"unknown", []error{store.ErrOutcomeUnknown}},
	{"unavailable", []error{store.ErrUnavailable}},
	{"contention", []error{store.ErrContention}},
	{"full", []error{store.ErrFull}},
	{"corrupt", []error{store.ErrCorrupt}},
	{"closed", []error{store.ErrClosed}},
	{"context", []error{context.Canceled, context.DeadlineExceeded}},
}

// classOf is the label of an error: never its text, which may hold anything.
func classOf(err error) string {
	for _, class := range classes {
		for _, each := range class.is {
			if errors.Is(err, each) {
				return class.name
			}
		}
	}
	return other
}
