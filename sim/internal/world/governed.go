package world

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/model"
	"github.com/weirgo/weir/sim/internal/rules"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

// governed is what a run with a policy has more than others: its limits and slots come as
// requests ask for them.
type governed struct {
	world     *world
	compiled  *policy.Compiled
	reference *rules.Reference
	onFailure policy.OnFailure

	limits map[ruleLimit]*check.Limit
	slots  map[ruleSlot]*check.Slot
	states map[ruleState]*check.State
	order  []*check.Slot // as they came
	keys   map[ofLimit]string
	owners map[ofLimit]string // the subjects of keys

	named  map[string]int // the limits of rules, as indices of result
	rules  []*policy.Rule // of result
	result result.Policy
}

// ruleLimit is a limit of a rule with its numbers: tiers, subjects and overrides give one
// limit others.
type ruleLimit struct {
	name string
	spec algorithm.Spec
}

type ruleSlot struct {
	ruleLimit
	key string
}

// ruleState names a state of the server.
type ruleState struct{ name, kind, key string }

// ofLimit is a subject, or a key, of a limit.
type ofLimit struct{ limit, name string }

// govern prepares a run with a policy.
func (w *world) govern() error {
	file, err := rules.Parse([]byte(w.scenario.Policy))
	if err != nil {
		return &scenario.Error{Path: "policy", Cause: err}
	}
	g := &governed{
		world: w, compiled: file.Compiled, reference: rules.NewReference(&file.Policy),
		onFailure: policy.OnFailure(scenario.Complete(w.scenario.Nodes).OnFailure),
		limits:    map[ruleLimit]*check.Limit{}, slots: map[ruleSlot]*check.Slot{}, states: map[ruleState]*check.State{},
		keys: map[ofLimit]string{}, owners: map[ofLimit]string{}, named: map[string]int{},
		result: result.Policy{Version: file.Compiled.Version()},
	}
	for _, l := range rules.Limits(&file.Policy) {
		mode := l.Rule.Mode
		if mode == "" {
			mode = policy.Enforce
		}
		g.named[l.Name] = len(g.rules)
		g.rules = append(g.rules, l.Rule)
		g.result.Rules = append(g.result.Rules, result.Rule{Limit: l.Name, Mode: string(mode)})
	}
	period := w.end
	for i, spec := range rules.Specs(&file.Policy) {
		a, err := algorithm.ParseSpec(spec)
		if err != nil {
			return &scenario.Error{Path: "policy", Cause: err}
		}
		m, err := model.New(a)
		if err != nil {
			return err
		}
		w.settles = max(w.settles, m.Full, m.Period)
		if i == 0 {
			period = m.Period
		}
	}
	w.governed, w.label, w.series = g, "policy", newSeries(w.end, period)
	return nil
}

// slotsOf returns the slots of ops.
func (g *governed) slotsOf(ops []store.Op) []*check.Slot {
	all := make([]*check.Slot, len(ops))
	for i := range ops {
		all[i] = g.slotOf(ops[i].Limit, ops[i].Key, ops[i].Algorithm)
	}
	return all
}

func (g *governed) slotOf(name, key string, a algorithm.Algorithm) *check.Slot {
	of := ruleLimit{name, a.Spec()}
	place := ruleSlot{of, key}
	if s := g.slots[place]; s != nil {
		return s
	}
	l := g.limits[of]
	if l == nil {
		var err error
		if l, err = check.NewLimit(len(g.world.Limits), scenario.Limit{Name: name, Spec: fmt.Sprint(a)}, g.world.end); err != nil {
			panic("sim: a limit that a policy has compiled cannot be read: " + err.Error())
		}
		if share := g.world.scenario.Nodes.LocalShare; share > 0 {
			if l.Local, err = check.NewLocalLimit(l, share); err != nil {
				panic("sim: a share of a limit of a policy: " + err.Error())
			}
		}
		g.limits[of] = l
		g.world.Limits = append(g.world.Limits, l)
	}
	in := ruleState{name, of.spec.Kind, key}
	if g.states[in] == nil {
		g.states[in] = new(check.State)
	}
	s := g.world.SlotIn(g.states[in], l, key)
	g.slots[place] = s
	g.order = append(g.order, s)
	return s
}

// nodeClock is the clock of a node, as an Enforcer reads it.
type nodeClock struct{ node *node }

func (c nodeClock) Now() time.Time {
	return time.UnixMicro(c.node.clock.read(c.node.world.Now)).UTC()
}

// bootGoverned starts a process that decides by the policy.
func (n *node) bootGoverned() error {
	states, err := n.decorate(n.settings)
	if err != nil {
		return err
	}
	multi, err := weir.NewMultiLimiter(states, nil)
	if err != nil {
		return fmt.Errorf("sim: node: %w", err)
	}
	localStates := store.Store(n.local)
	if n.world.scenario.Nodes.LocalShare > 0 {
		if localStates, err = n.world.opts.Decorators.share(n.local, n.world.share); err != nil {
			return fmt.Errorf("sim: local share: %w", err)
		}
		localStates = store.Wrap(localStates, store.Hooks{Apply: n.local.unscaled})
	}
	local, err := weir.NewMultiLimiter(localStates, nil)
	if err != nil {
		return fmt.Errorf("sim: node: %w", err)
	}
	g := n.world.governed
	n.multi = multi
	n.rules, err = policy.NewEnforcer(multi, g.compiled, &policy.EnforcerOptions{
		OnFailure: g.onFailure, Local: local, Clock: nodeClock{n}, Sequential: true,
	})
	if err != nil {
		return fmt.Errorf("sim: node: %w", err)
	}
	return nil
}

// decideGoverned runs an attempt through the Enforcer.
func (n *node) decideGoverned(a *attempt) {
	w := n.world
	request := a.load.Request.For(a.client.Key, a.cost)
	at := n.clock.read(w.Now)
	a.life, a.asked, a.locally = n.life, 0, -1
	decide := n.rules.Decide
	if w.opts.Decide != nil {
		decide = func(ctx context.Context, r policy.Request) (policy.Verdict, error) {
			return w.opts.Decide(ctx, n.rules, r)
		}
	}
	v, err := decide(context.Background(), request)
	if w.over {
		return
	}
	w.governed.check(a, request, at, &v, err)
	w.governed.count(&v)
	w.decidedByPolicy(a, &v, err)
}

// decidedByPolicy takes what the Enforcer returned.
func (w *world) decidedByPolicy(a *attempt, v *policy.Verdict, err error) {
	o, kind := classify(v.Allowed, v.Degraded, v.RetryAfter, err)
	o.delay = v.Delay
	for i := range v.Rules {
		r := &v.Rules[i]
		if v.Allowed && r.Enforced && r.Decided && r.Decision.Degraded {
			w.AdmittedWithout(a.try, w.governed.slotOf(r.Limit.Name, r.Key, r.Limit.Algorithm), r.Cost, a.locally)
		}
	}
	e := w.event(kind, a)
	e.Allowed, e.RetryMicros, e.DelayMicros = v.Allowed, micros(v.RetryAfter), micros(v.Delay)
	if v.Binding >= 0 {
		e.Remaining, e.ResetMicros = v.Rules[v.Binding].Decision.Remaining, micros(v.Rules[v.Binding].Decision.ResetAfter)
	}
	w.Journal.Add(e, a.client.hash)
	w.answered(a, o)
}

// count counts what each limit answered.
func (g *governed) count(v *policy.Verdict) {
	p, goals := &g.result, &g.world.Goals
	switch {
	case v.List == policy.Denied:
		p.DeniedByList++
		goals[check.EntryDenied]++
	case v.List == policy.Exempt:
		p.Exempt++
		goals[check.EntryExempt]++
	case len(v.Rules) == 0:
		p.Unmatched++
	}
	shadowed := false
	for i := range v.Rules {
		r := &v.Rules[i]
		hits := &p.Rules[g.named[r.Limit.Name]]
		hits.Requests++
		denies := !r.Allowed && (r.Decided || r.Action == policy.ActionBlock || r.Action == policy.ActionMissing)
		hits.Denied += check.One(denies && r.Enforced)
		hits.WouldDeny += check.One(denies && !r.Enforced)
		hits.Degraded += check.One(r.Decided && r.Decision.Degraded)
		hits.ShadowErrors += check.One(r.Err != nil)
		shadowed = shadowed || denies && !r.Enforced
	}
	goals[check.ShadowDenied] += check.One(shadowed && v.Allowed)
}

// sum adds what is known of the policy to a result, and puts its limits in the order of
// the rules.
func (g *governed) sum(r *result.Result) {
	for of := range g.keys {
		g.result.Rules[g.named[of.limit]].Subjects++
	}
	r.Policy = &g.result
	slices.SortStableFunc(r.Limits, func(a, b result.Limit) int { return g.named[a.Name] - g.named[b.Name] })
}
