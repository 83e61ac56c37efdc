package sim

import (
	"context"
	"slices"
	"time"

	"github.com/weirgo/weir/sim/traffic"
)

// Violates returns a function that runs a scenario and says whether it violates a rule.
// A scenario that cannot be run does not.
func Violates(ctx context.Context, rule string, opts *Options) func(*Scenario) bool {
	return func(s *Scenario) bool {
		s = s.clone()
		s.Checks = []string{rule} // another rule must not end the run first
		results, err := Run(ctx, s, opts)
		return err == nil && slices.ContainsFunc(results, func(r *Result) bool { return r.Failure != nil })
	}
}

// Shrink returns the smallest scenario that it finds by leaving things out of s and that
// still violates, as Violates says. It leaves out faults, then traffic, expectations,
// limits and nodes; then it makes the scenario shorter; then it makes numbers smaller. It
// begins anew until nothing can be left out. s must violate itself; it is not changed.
//
// It calls violates some hundred times. A scenario that violates a rule only by the
// chance of its draws may lose that with any of them: what is left is a scenario that
// violates too, and not always the least.
func Shrink(s *Scenario, violates func(*Scenario) bool) *Scenario {
	h := &shrinker{s.clone(), violates}
	for round := 0; round < 20; round++ {
		smaller := false
		for _, step := range []func() bool{h.faults, h.traffic, h.expectations, h.limits, h.settings, h.duration, h.numbers} {
			smaller = step() || smaller
		}
		if !smaller {
			break
		}
	}
	return h.best
}

type shrinker struct {
	best     *Scenario
	violates func(*Scenario) bool
}

// try keeps a change if the scenario is valid after it and still violates.
func (h *shrinker) try(change func(*Scenario)) bool {
	s := h.best.clone()
	change(s)
	if s.Validate() != nil || !h.violates(s) {
		return false
	}
	h.best = s
	return true
}

// without leaves out parts of a list: halves first, then smaller pieces, then single
// elements (ddmin of Zeller & Hildebrandt 2002).
func (h *shrinker) without(length func(*Scenario) int, remove func(s *Scenario, from, to int)) (smaller bool) {
	for size := length(h.best); size > 0; size /= 2 {
		for from := 0; from < length(h.best); {
			to := min(from+size, length(h.best))
			if h.try(func(s *Scenario) { remove(s, from, to) }) {
				smaller = true
			} else {
				from = to
			}
		}
	}
	return smaller
}

func (h *shrinker) faults() bool {
	return h.without(func(s *Scenario) int { return len(s.Faults) },
		func(s *Scenario, from, to int) { s.Faults = slices.Delete(s.Faults, from, to) })
}

func (h *shrinker) traffic() bool {
	return h.without(func(s *Scenario) int { return len(s.Traffic) },
		func(s *Scenario, from, to int) { s.Traffic = slices.Delete(s.Traffic, from, to) })
}

func (h *shrinker) expectations() bool {
	return h.without(func(s *Scenario) int { return len(s.Expect) },
		func(s *Scenario, from, to int) { s.Expect = slices.Delete(s.Expect, from, to) })
}

// limits leaves out limits, with the expectations that name them.
func (h *shrinker) limits() bool {
	return h.without(func(s *Scenario) int { return len(s.Limits) },
		func(s *Scenario, from, to int) {
			gone := slices.Clone(s.Limits[from:to])
			s.Limits = slices.Delete(s.Limits, from, to)
			s.Expect = slices.DeleteFunc(s.Expect, func(e Expect) bool {
				return slices.ContainsFunc(gone, func(l Limit) bool { return l.Name == e.Limit })
			})
		})
}

// settings puts back to their defaults what is not needed.
func (h *shrinker) settings() (smaller bool) {
	for _, change := range []func(*Scenario){
		func(s *Scenario) { s.Expect = nil },
		func(s *Scenario) { s.Together = false },
		func(s *Scenario) { s.Server.Clock = "" },
		func(s *Scenario) { s.Server.Service = traffic.Distribution{} },
		func(s *Scenario) { s.Server.Lag = 0 },
		func(s *Scenario) { s.Network = Network{} },
		func(s *Scenario) { s.Network.Reply = nil },
		func(s *Scenario) { s.Network.Repeats = false },
		func(s *Scenario) { s.Nodes = Nodes{} },
		func(s *Scenario) { s.Nodes.Count = 0 },
		func(s *Scenario) { s.Nodes.Count /= 2 },
		func(s *Scenario) { s.Nodes.Skew, s.Nodes.Drift = 0, 0 },
		func(s *Scenario) { s.Nodes.OnFailure = "" },
		func(s *Scenario) { s.Nodes.Share, s.Nodes.InFlight = 0, 0 },
		func(s *Scenario) { s.Nodes.Timeout, s.Nodes.CallTimeout = 0, 0 },
	} {
		smaller = h.changed(change) || smaller
	}
	for i := range h.best.Limits {
		smaller = h.changed(func(s *Scenario) { s.Limits[i].Groups = 0 }) || smaller
	}
	for i := range h.best.Traffic {
		for _, change := range []func(*Traffic){
			func(t *Traffic) { t.Throttle = nil },
			func(t *Traffic) { t.Retry = traffic.Retries{} },
			func(t *Traffic) { t.Keys = traffic.Keys{} },
			func(t *Traffic) { t.Costs = traffic.Costs{} },
		} {
			smaller = h.changed(func(s *Scenario) { change(&s.Traffic[i]) }) || smaller
		}
	}
	return smaller
}

// changed is try, of a change that may change nothing.
func (h *shrinker) changed(change func(*Scenario)) bool {
	before, err := h.best.YAML()
	if err != nil {
		return false
	}
	s := h.best.clone()
	change(s)
	after, err := s.YAML()
	return err == nil && string(before) != string(after) && h.try(change)
}

// duration makes the scenario shorter: by halves, then by eighths. Faults that would begin
// after the end are left out.
func (h *shrinker) duration() (smaller bool) {
	for _, part := range []time.Duration{2, 8} {
		for h.best.Duration > time.Millisecond && h.try(func(s *Scenario) {
			s.Duration = (s.Duration - s.Duration/part).Truncate(time.Microsecond)
			s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.At >= s.Duration })
		}) {
			smaller = true
		}
	}
	return smaller
}

// numbers makes costs and rates smaller, by halves.
func (h *shrinker) numbers() (smaller bool) {
	for i := range h.best.Traffic {
		for _, number := range []func(*Traffic) *int64{
			func(t *Traffic) *int64 { return &t.Count },
			func(t *Traffic) *int64 { return &t.Process.Rate.Units },
			func(t *Traffic) *int64 { return &t.Process.OnRate.Units },
			func(t *Traffic) *int64 { return &t.Process.Limit.Units },
			func(t *Traffic) *int64 { return (*int64)(&t.Process.Batch) },
			func(t *Traffic) *int64 { return &t.Process.Sources },
			func(t *Traffic) *int64 { return &t.Keys.N },
			func(t *Traffic) *int64 { return &t.Costs.Cost },
			func(t *Traffic) *int64 { return &t.Costs.Large },
			func(t *Traffic) *int64 { return &t.Costs.Median },
			func(t *Traffic) *int64 { return &t.Retry.Attempts },
			func(t *Traffic) *int64 {
				if t.Closed == nil {
					return new(int64)
				}
				return &t.Closed.Callers
			},
		} {
			for *number(&h.best.Traffic[i]) > 1 && h.try(func(s *Scenario) {
				n := number(&s.Traffic[i])
				*n = (*n + 1) / 2
			}) {
				smaller = true
			}
		}
	}
	return smaller
}

// clone returns a scenario that shares nothing with s that Shrink changes.
func (s *Scenario) clone() *Scenario {
	c := *s
	c.Limits = slices.Clone(s.Limits)
	c.Faults = slices.Clone(s.Faults)
	c.Checks = slices.Clone(s.Checks)
	c.Expect = slices.Clone(s.Expect)
	c.Traffic = slices.Clone(s.Traffic)
	for i := range c.Traffic {
		if loop := c.Traffic[i].Closed; loop != nil {
			own := *loop
			c.Traffic[i].Closed = &own
		}
	}
	return &c
}
