package conformance

import (
	"math"
	"slices"
	"time"

	"github.com/weirgo/weir/store"
)

// Config tells the suite about a store: what it cannot do, and how to look at
// what it keeps. nil, and the zero value, mean that it can do everything and
// shows nothing.
//
// What a store declares that it cannot do is a promise as well: a check sees to
// it that it is refused as it should be, and charged to nobody. Checks that need
// what is lacking are skipped, and say why.
type Config struct {
	// Waive names checks that the store is known not to pass, each with the
	// reason, which is shown as it is skipped. An unknown name fails the
	// test, so that no waiver outlives its check.
	Waive map[string]string

	// OwnClock: the store reads a clock of its own, such as that of a server,
	// and takes no notice of the one that it is given. Its answers are then
	// judged at the instants that it returns, with limits so slow that the
	// passing of time does not matter, or by the model; nothing that moves
	// the clock is tried. "able/own-clock" sees to it that the instants are
	// those of a clock.
	OwnClock bool

	// OneKey: all ops of a call must have the same key, as in a cluster whose
	// keys lie on different nodes. "able/one-key" sees to it that other calls
	// get ErrCrossNode.
	OneKey bool

	// OneOp: a call has one op. "able/one-op" sees to it that other calls get
	// an InputError about the number of ops.
	OneOp bool

	// BuiltInOnly: the store runs the algorithms of package algorithm and no
	// others. "able/built-in-only" sees to it that others get an InputError.
	BuiltInOnly bool

	// NeverForgets: the store drops no state by itself, however long its key
	// has been fresh. "able/never-forgets" sees to it, with a clock that
	// returns from far ahead.
	NeverForgets bool

	// Corrupt replaces what the store keeps for a slot with text, past the
	// store. Without it nothing is known of how damage is met. s is what
	// newStore returned, here and below.
	Corrupt func(t TB, s store.Store, slot store.Slot, text string)

	// Inspect returns what the store keeps for a slot, past the store, and
	// whether it keeps anything. Without it the suite sees answers only: not
	// what they leave behind, nor for how long.
	Inspect func(t TB, s store.Store, slot store.Slot) (Stored, bool)

	// Sweep makes the store drop, now, every state that it may drop. Without
	// it states go when the store sees fit.
	Sweep func(t TB, s store.Store)

	// Size returns how many bytes the store takes up. BenchmarkStore reports
	// bytes per key where it is set.
	Size func(t TB, s store.Store) int64
}

// Stored is what a store keeps for one slot.
type Stored struct {
	// Text is the state, as State.AppendText writes it.
	Text string
	// Life is how much longer the store keeps it: algorithm.Never where that
	// has no end, NotShown where Inspect cannot know.
	Life time.Duration
}

// NotShown is the Life of what is stored where Inspect cannot know it. What needs
// it is then skipped. It must be so for all slots or for none.
const NotShown time.Duration = math.MinInt64

// needs are what a check asks of a store beyond the ordinary.
type needs uint16

const (
	needsClock   needs = 1 << iota // that it takes the clock it is given
	needsOps                       // several ops in a call
	needsKeys                      // several keys in a call
	needsCustom                    // algorithms written elsewhere
	needsCorrupt                   // the hooks of Config
	needsInspect
	needsSweep
	needsOwnClock // that it lacks something
	needsOneKey
	needsOneOp
	needsBuiltInOnly
	needsNeverForgets
)

// Checks returns all checks for a store that cfg describes: those that are
// waived, and those that need what the store does not have, skip with a reason.
func (cfg *Config) Checks() []Check {
	// Those come first that only few mistakes break, so that the first failure
	// leads to the cause: testdata/first-failures.golden shows how well. What is
	// stored comes before all else: a state that is gone too early fails most others.
	checks := slices.Concat(
		storedChecks(),
		corruptChecks(),
		keyChecks(),
		quietChecks(),
		resetChecks(),
		expiryChecks(),
		takeChecks(),
		inputChecks(),
		lifeChecks(),
		clockChecks(),
		limitChecks(),
		crowdedChecks(),
		ableChecks(),
		boundaryChecks(),
		timelineChecks(),
		concurrentChecks(),
		linearChecks(),
		modelChecks(),
	)
	for i := range checks {
		c := checks[i]
		c.cfg = cfg
		checks[i].Run = func(t TB, open Opener) {
			t.Helper()
			if why := cfg.skips(c); why != "" {
				t.Skip(why)
			}
			c.body(c, t, open)
		}
	}
	return checks
}

// unknownWaivers are names in Waive that are no checks.
func (cfg *Config) unknownWaivers(checks []Check) (names []string) {
	for name := range cfg.Waive {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.Name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// skips returns why a check is not run, or nothing.
func (cfg *Config) skips(c Check) string {
	if cfg == nil {
		cfg = &Config{}
	}
	if reason, waived := cfg.Waive[c.Name]; waived {
		return "waived: " + reason
	}
	for _, lack := range []struct {
		need needs
		here bool
		why  string
	}{
		{needsClock, !cfg.OwnClock, "it moves the clock, and the store reads its own (Config.OwnClock)"},
		{needsOps, !cfg.OneOp, "it makes calls of several ops, and the store takes one (Config.OneOp)"},
		{needsKeys, !cfg.OneKey && !cfg.OneOp, "it makes calls of several keys, and the store takes one (Config.OneKey, Config.OneOp)"},
		{needsCustom, !cfg.BuiltInOnly, "it brings an algorithm of its own, and the store runs the built-in ones only (Config.BuiltInOnly)"},
		{needsCorrupt, cfg.Corrupt != nil, "needs Config.Corrupt, which is not set"},
		{needsInspect, cfg.Inspect != nil, "needs Config.Inspect, which is not set"},
		{needsSweep, cfg.Sweep != nil, "needs Config.Sweep, which is not set"},
		{needsOwnClock, cfg.OwnClock, "it is about stores with a clock of their own (Config.OwnClock), and this one takes the clock that it is given"},
		{needsOneKey, cfg.OneKey && !cfg.OneOp, "it is about stores that take one key a call (Config.OneKey), and this one takes several, or one op"},
		{needsOneOp, cfg.OneOp, "it is about stores that take one op a call (Config.OneOp), and this one takes several"},
		{needsBuiltInOnly, cfg.BuiltInOnly, "it is about stores that run built-in algorithms only (Config.BuiltInOnly), and this one runs any"},
		{needsNeverForgets, cfg.NeverForgets, "it is about stores that never forget (Config.NeverForgets), and this one may"},
	} {
		if c.needs&lack.need != 0 && !lack.here {
			return lack.why
		}
	}
	return ""
}
