package promobserver

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirgo/weir/internal/observed"
	"github.com/weirgo/weir/policy"
)

// ruleMetrics are the metrics by rule. Rules are met while requests are decided; so many of
// them as Options.Rules have labels of their own, over all Enforcers.
type ruleMetrics struct {
	most      int
	countKeys bool
	now       func() time.Time

	decisions   *prometheus.CounterVec
	lists       *prometheus.CounterVec
	hidden      prometheus.Counter
	utilization *prometheus.Desc
	activeKeys  *prometheus.Desc

	main       *ruleObserver // of the Enforcer without a name
	mu         sync.Mutex
	byEnforcer map[string]*ruleObserver
	all        []*rule
}

// ruleObserver counts the rules of one Enforcer.
type ruleObserver struct {
	collector *Collector
	enforcer  string
	byID      sync.Map // of string to *rule
}

// rule are the metrics of one rule, found once.
type rule struct {
	enforcer, label string

	results map[string]prometheus.Counter // by the name of the result

	mu     sync.Mutex
	use    peak
	active *activeKeys // nil: they are not counted
}

func newRuleMetrics(c *Collector) *ruleMetrics {
	o := c.options
	name := func(s string) string { return prometheus.BuildFQName(namespace, "", s) }
	m := &ruleMetrics{
		most: o.Rules, countKeys: o.ActiveKeys, now: time.Now, byEnforcer: map[string]*ruleObserver{},
		decisions: prometheus.NewCounterVec(counter("rule_decisions_total",
			"Answers of rules: of one with several limits, denied where one of them denies."), []string{"enforcer", "rule", "result"}),
		lists: prometheus.NewCounterVec(counter("list_decisions_total",
			"Requests that an entry of a list denied or exempted."), []string{"list"}),
		hidden: prometheus.NewCounter(counter("hidden_errors_total",
			"Errors of limits, counted in requests_total, that no caller got: on_failure of the policy answered, or the rule is in shadow.")),
		utilization: prometheus.NewDesc(name("utilization_ratio"),
			"The largest used part of any limit of a rule, for any key, in the last 1 to 2 minutes, as scrapes turn them over: 1 is used up.", []string{"enforcer", "rule"}, nil),
		activeKeys: prometheus.NewDesc(name("active_keys"),
			"Distinct keys that a rule was asked for in the last 5 to 10 minutes, to about 1 %.", []string{"enforcer", "rule"}, nil),
	}
	m.main = m.observer(c, "")
	return m
}

// observer returns what counts the rules of an Enforcer.
func (m *ruleMetrics) observer(c *Collector, enforcer string) *ruleObserver {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.byEnforcer[enforcer]
	if o == nil {
		o = &ruleObserver{collector: c, enforcer: enforcer}
		m.byEnforcer[enforcer] = o
	}
	return o
}

// Enforcer returns an Observer for one Enforcer (policy.EnforcerOptions). Its metrics by rule have
// name as the label enforcer, as those of AddEnforcer have, so that rules with one ID in several
// Enforcers are counted apart. The same name returns the same Observer; bytes that are no UTF-8
// become "?". Where the Collector itself is the Observer, the label is "". Each name takes memory
// for as long as the Collector lives: names must come from the program, and not from requests.
// Enforcer is safe for concurrent use.
func (c *Collector) Enforcer(name string) policy.Observer {
	return c.rules.observer(c, strings.ToValidUTF8(name, "?"))
}

// ObserveVerdict implements policy.Observer.
func (c *Collector) ObserveVerdict(ctx context.Context, v *policy.Verdict, err error) {
	c.rules.main.ObserveVerdict(ctx, v, err)
}

// ObserveVerdict implements policy.Observer.
func (o *ruleObserver) ObserveVerdict(_ context.Context, v *policy.Verdict, err error) {
	m := o.collector.rules
	for i := range v.Rules {
		if r := &v.Rules[i]; r.FailedOver || r.Err != nil && !observed.IsDenial(r.Err) {
			m.hidden.Inc()
		}
	}
	switch v.List {
	case policy.Denied:
		m.lists.WithLabelValues("deny").Inc()
	case policy.Exempt:
		m.lists.WithLabelValues("allow").Inc()
	}
	if v.Degraded {
		o.collector.degraded.WithLabelValues("rule").Inc()
	}
	for first := 0; first < len(v.Rules); {
		id, after := v.Rules[first].Rule, first+1
		for after < len(v.Rules) && v.Rules[after].Rule == id {
			after++
		}
		o.rule(id).observe(v.Rules[first:after], err)
		first = after
	}
}

// observe counts what the limits of a rule have answered. err is the error of those that
// are enforced.
func (r *rule) observe(limits []policy.RuleVerdict, err error) {
	for i := range limits {
		if limits[i].Decided {
			r.note(&limits[i])
		}
	}
	if result := observed.RuleResult(limits, err); result != "" {
		r.results[result].Inc()
	}
}

// note remembers how full a limit was.
func (r *rule) note(l *policy.RuleVerdict) {
	d := &l.Decision
	if d.Limit <= 0 || d.Degraded {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.use.current = max(r.use.current, float64(d.Limit-d.Remaining+d.Debt)/float64(d.Limit))
	if r.active != nil {
		r.active.note(l.Key)
	}
}

// rule returns the metrics of the rule with an ID.
func (o *ruleObserver) rule(id string) *rule {
	if found, is := o.byID.Load(id); is {
		return found.(*rule)
	}
	m := o.collector.rules
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, is := o.byID.Load(id); is {
		return found.(*rule)
	}
	label := id
	if len(m.all) >= m.most || !utf8.ValidString(id) || id == other {
		label = other
		if found, is := o.byID.Load(other); is {
			return found.(*rule) // and not remembered: hostile IDs would take memory for ever
		}
		id = other
	}
	r := &rule{enforcer: o.enforcer, label: label, use: peak{since: m.now()}, results: map[string]prometheus.Counter{}}
	for _, name := range append(observed.ResultNames[:], observed.Failed) {
		r.results[name] = m.decisions.WithLabelValues(o.enforcer, label, name)
	}
	if m.countKeys {
		r.active = newActiveKeys(m.now())
	}
	o.byID.Store(id, r)
	m.all = append(m.all, r)
	return r
}

// Describe implements prometheus.Collector.
func (m *ruleMetrics) Describe(to chan<- *prometheus.Desc) {
	m.decisions.Describe(to)
	m.lists.Describe(to)
	m.hidden.Describe(to)
	to <- m.utilization
	to <- m.activeKeys
}

// Collect implements prometheus.Collector.
func (m *ruleMetrics) Collect(to chan<- prometheus.Metric) {
	m.decisions.Collect(to)
	m.lists.Collect(to)
	m.hidden.Collect(to)
	m.mu.Lock()
	all := m.all
	m.mu.Unlock()
	now := m.now()
	for _, r := range all {
		r.mu.Lock()
		use, keys := r.use.largest(), uint64(0)
		r.use.turn(now)
		if r.active != nil {
			keys = r.active.count()
			r.active.turn(now)
		}
		r.mu.Unlock()
		to <- prometheus.MustNewConstMetric(m.utilization, prometheus.GaugeValue, use, r.enforcer, r.label)
		if m.countKeys {
			to <- prometheus.MustNewConstMetric(m.activeKeys, prometheus.GaugeValue, float64(keys), r.enforcer, r.label)
		}
	}
}

// peak is the largest value of this minute and of the one before. Scrapes turn the minutes
// over, so that a decision reads no clock and a rule that nobody asks falls to 0.
type peak struct {
	current, last float64
	since         time.Time
}

const peakPeriod = time.Minute

// turn begins a new minute where the one before is over.
func (p *peak) turn(now time.Time) {
	switch age := now.Sub(p.since); {
	case age >= 2*peakPeriod:
		p.last, p.current, p.since = 0, 0, now
	case age >= peakPeriod:
		p.last, p.current, p.since = p.current, 0, now
	}
}

func (p *peak) largest() float64 { return max(p.current, p.last) }
