package ui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/resilience"
	memorystore "github.com/weirgo/weir/store/memory"
	"github.com/weirgo/weir/store/script"
)

// source is something with counts of its own, read whenever a page is shown.
type source struct {
	name, kind string
	read       func() []sourceRow
}

// sourceRow is a line about a source, as it is shown.
type sourceRow struct {
	Name, Kind string
	State      string // "" where there is none
	Bad        bool
	Facts      []sourceFact
}

type sourceFact struct {
	Name  string
	Value int64
}

func (r *Recorder) add(kind, name string, read func() []sourceRow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sources[kind+" "+name] = source{name, kind, read}
}

// allSources reads all sources, by their names.
func (r *Recorder) allSources() []sourceRow {
	r.mu.Lock()
	var all []source
	for _, s := range r.sources {
		all = append(all, s)
	}
	r.mu.Unlock()
	slices.SortFunc(all, func(a, b source) int { return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.kind, b.kind)) })
	var rows []sourceRow
	for _, s := range all {
		for _, row := range s.read() {
			row.Kind, row.Name = s.kind, s.name+row.Name
			rows = append(rows, row)
		}
	}
	return rows
}

// AddMemory shows the counts of a store in memory. Another of the same kind and name takes its
// place, here and below.
func (r *Recorder) AddMemory(name string, s *memorystore.Store) {
	r.add("store in memory", name, func() []sourceRow {
		c := s.Stats()
		return []sourceRow{{Facts: []sourceFact{{"keys", int64(c.Keys)}, {"evicted", c.Evicted}}}}
	})
}

// AddServer shows the counts of a store on Redis or Valkey: redisstore.Store and
// valkeystore.Store have one.
func (r *Recorder) AddServer(name string, s interface{ Stats() script.Stats }) {
	r.add("store on a server", name, func() []sourceRow {
		c := s.Stats()
		e := c.Errors
		return []sourceRow{{Facts: []sourceFact{
			{"calls", c.Calls}, {"decisions", c.Groups}, {"in flight", int64(c.InFlight)}, {"waiting", int64(c.Waiting)},
			{"unavailable", e.Unavailable}, {"outcome unknown", e.OutcomeUnknown}, {"other errors", e.Invalid + e.CrossNode + e.Closed + e.Contention + e.Corrupt + e.Context + e.Other},
		}}}
	})
}

// AddBreaker shows the state of a breaker, for each server that it has met.
func (r *Recorder) AddBreaker(name string, b *resilience.Breaker) {
	r.add("breaker", name, func() (rows []sourceRow) {
		for _, s := range b.Stats() {
			row := sourceRow{State: s.State.String(), Bad: s.State != resilience.BreakerClosed, Facts: []sourceFact{
				{"calls in the window", s.Calls}, {"failures", s.Failures}, {"refused", s.Refused}, {"opened", s.Opened},
			}}
			if s.Node != "" {
				row.Name = " " + s.Node
			}
			rows = append(rows, row)
		}
		if rows == nil {
			rows = []sourceRow{{State: resilience.BreakerClosed.String()}}
		}
		return rows
	})
}

// AddDenyCache shows the counts of a deny cache.
func (r *Recorder) AddDenyCache(name string, d *resilience.DenyCache) {
	r.add("deny cache", name, func() []sourceRow {
		s := d.Stats()
		return []sourceRow{{Facts: []sourceFact{{"denied", s.Denied}, {"asked", s.Asked}, {"entries", int64(s.Entries)}}}}
	})
}

// AddLease shows the counts of leases.
func (r *Recorder) AddLease(name string, l *resilience.Lease) {
	r.add("leases", name, func() []sourceRow {
		s := l.Stats()
		return []sourceRow{{Facts: []sourceFact{{"decided here", s.Local}, {"units held", s.Held}, {"units lost", s.Lost}, {"keys", int64(s.Keys)}}}}
	})
}

// AddEnforcer shows the counts of an Enforcer that are not by rule.
func (r *Recorder) AddEnforcer(name string, e *policy.Enforcer) {
	r.add("policy", name, func() []sourceRow {
		s := e.Stats()
		return []sourceRow{{Facts: []sourceFact{{"requests without a rule", s.Unmatched}, {"look-ups of subjects", s.Lookups}, {"failed look-ups", s.LookupErrors}, {"near a limit", s.Standings}}}}
	})
}
