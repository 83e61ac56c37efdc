// Package world is what every check stands in: a store under test, a clock that the
// check moves, and a model that says what the store must answer.
package world

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// TB is what a check needs of its surroundings.
type TB interface {
	rapid.TB
	Cleanup(f func())
}

// Opener opens a new, empty store that takes its time from clk.
type Opener func(clk clock.Clock) store.Store

// Check is something that must hold for every store.
type Check struct {
	Name, Property, Rule string
	Needs                Needs
	Body                 func(w *World)
}

// Config is what is known of a store. The fields mean what those of
// conformance.Config mean.
type Config struct {
	Waive                                              map[string]string
	OwnClock, OneKey, OneOp, BuiltInOnly, NeverForgets bool

	Histories int           // random histories; every number of rounds follows it
	Seed      uint64        // of the first random history
	Shrink    time.Duration // how long a history that fails is made shorter, at most

	Corrupt func(t TB, s store.Store, slot store.Slot, text string)
	Inspect func(t TB, s store.Store, slot store.Slot) (Stored, bool)
	Sweep   func(t TB, s store.Store)
	Seen    func(t TB, s store.Store) int64

	hung atomic.Bool // a Close, of any of the stores
}

// Stored is what a store keeps for one slot.
type Stored struct {
	Text string
	TTL  time.Duration
}

// Needs are what a check asks of a store beyond the ordinary.
type Needs uint16

// The needs.
const (
	NeedsClock   Needs = 1 << iota // the store takes the clock that it is given
	NeedsOps                       // several ops in a call
	NeedsKeys                      // several keys in a call
	NeedsCustom                    // algorithms written elsewhere
	NeedsCorrupt                   // the hooks of Config
	NeedsInspect
	NeedsSweep
	NeedsSeen
	NeedsOwnClock // the store lacks something
	NeedsOneKey
	NeedsOneOp
	NeedsBuiltInOnly
	NeedsNeverForgets
)

// Skips returns why a check is not run, or nothing.
func (cfg *Config) Skips(name string, needs Needs) string {
	if reason, waived := cfg.Waive[name]; waived {
		return "waived: " + reason
	}
	for _, n := range []struct {
		need Needs
		met  bool
		why  string
	}{
		{NeedsClock, !cfg.OwnClock, "it moves the clock, and the store reads its own (Config.OwnClock)"},
		{NeedsOps, !cfg.OneOp, "it makes calls of several ops, and the store takes one (Config.OneOp)"},
		{NeedsKeys, !cfg.OneKey && !cfg.OneOp, "it makes calls of several keys, and the store takes one (Config.OneKey, Config.OneOp)"},
		{NeedsCustom, !cfg.BuiltInOnly, "it brings an algorithm of its own, and the store runs the built-in ones only (Config.BuiltInOnly)"},
		{NeedsCorrupt, cfg.Corrupt != nil, "needs Config.Corrupt, which is not set"},
		{NeedsInspect, cfg.Inspect != nil, "needs Config.Inspect, which is not set"},
		{NeedsSweep, cfg.Sweep != nil, "needs Config.Sweep, which is not set"},
		{NeedsSeen, cfg.Seen != nil, "needs Config.Seen, which is not set"},
		{NeedsOwnClock, cfg.OwnClock, "it is about stores with a clock of their own (Config.OwnClock), and this one takes the clock that it is given"},
		{NeedsOneKey, cfg.OneKey && !cfg.OneOp, "it is about stores that take one key a call (Config.OneKey), and this one takes several, or one op"},
		{NeedsOneOp, cfg.OneOp, "it is about stores that take one op a call (Config.OneOp), and this one takes several"},
		{NeedsBuiltInOnly, cfg.BuiltInOnly, "it is about stores that run built-in algorithms only (Config.BuiltInOnly), and this one runs any"},
		{NeedsNeverForgets, cfg.NeverForgets, "it is about stores that never forget (Config.NeverForgets), and this one may"},
	} {
		if needs&n.need != 0 && !n.met {
			return n.why
		}
	}
	return ""
}

// DefaultHistories is how many random histories are tried where nothing is said.
const DefaultHistories = 100

// Scaled is a number of rounds or callers at the default depth, brought to the
// depth that was asked for, and at least 1.
func (cfg *Config) Scaled(n int) int { return max(1, n*cfg.Histories/DefaultHistories) }

// Quick reports whether the quick profile was asked for: less of everything that
// is a matter of how often.
func (cfg *Config) Quick() bool { return cfg.Histories < DefaultHistories }

// Often is a number of times, or the one for the quick profile.
func (cfg *Config) Often(n, quickly int) int {
	if cfg.Quick() {
		return quickly
	}
	return n
}

// Limit returns the algorithm of a spec, such as "gcra:5/1s".
//
// A period stands for a window of the calendar, where the family counts in windows of a
// calendar: for the shortest one that can be as long.
func Limit(spec string) algorithm.Algorithm {
	a, err := algorithm.ParseSpec(spec)
	if name, rate, _ := strings.Cut(spec, ":"); err != nil && familyOf(name).Calendar {
		aligned := algorithm.Must(algorithm.ParseSpec("fixed-window:" + rate)).Spec()
		return algorithm.Must(familyOf(name).Build(algorithm.Rate{Units: aligned.Params[0], Per: time.Duration(aligned.Params[1]) * time.Microsecond}, 0))
	}
	return algorithm.Must(a, err)
}

// familyOf is the family of a name; without a name where there is none.
func familyOf(name string) (f algorithm.Family) {
	all := algorithm.Families()
	if i := slices.IndexFunc(all, func(f algorithm.Family) bool { return f.Name == name }); i >= 0 {
		f = all[i]
	}
	return f
}

// Limits are the algorithms of specs.
func Limits(specs ...string) []algorithm.Algorithm {
	limits := make([]algorithm.Algorithm, len(specs))
	for i, spec := range specs {
		limits[i] = Limit(spec)
	}
	return limits
}

// Capacity is the largest cost that a fresh key admits.
func Capacity(a algorithm.Algorithm) int64 {
	_, look := a.Step(algorithm.State{}, Start, algorithm.Request{})
	return look.Limit
}

// Capacities are the capacities of slots.
func Capacities(slots []store.Slot) []int64 {
	all := make([]int64, len(slots))
	for i, s := range slots {
		all[i] = Capacity(s.Algorithm)
	}
	return all
}

// Micros is a duration in whole microseconds, which can be added to an instant.
func Micros(d time.Duration) algorithm.Instant { return algorithm.Instant(d / time.Microsecond) }

// Second is a second in microseconds.
const Second = algorithm.Instant(time.Second / time.Microsecond)

// SlotOf is a slot of a key, a limit name and an algorithm.
func SlotOf(key, limit string, a algorithm.Algorithm) store.Slot {
	return store.Slot{Key: key, Limit: limit, Algorithm: a}
}

// Op asks for a cost of a slot.
func Op(s store.Slot, cost int64) store.Op {
	return store.Op{Slot: s, Request: algorithm.Request{Cost: cost}}
}

// Take asks for a cost of a key under a limit.
func Take(key, limit string, a algorithm.Algorithm, cost int64) store.Op {
	return Op(SlotOf(key, limit, a), cost)
}

// Ops asks for one cost of each slot.
func Ops(slots []store.Slot, cost int64) []store.Op {
	ops := make([]store.Op, len(slots))
	for i, s := range slots {
		ops[i] = Op(s, cost)
	}
	return ops
}
