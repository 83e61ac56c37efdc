package conformance

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weirgo/weir/conformance/internal/world"
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

	// OwnClock: the store reads its own clock, such as that of a server, and
	// takes no notice of the clock that it is given. Its answers are then
	// judged at the instants that it returns, with limits so slow that the
	// passing of time does not matter, or by the model; nothing that moves
	// the clock is tried. "capability/own-clock" sees to it that the instants
	// are those of a clock.
	OwnClock bool

	// OneKey: all ops of a call must have the same key, as in a cluster whose
	// keys lie on different nodes. "capability/one-key" sees to it that other
	// calls get ErrCrossNode.
	OneKey bool

	// OneOp: a call has one op. "capability/one-op" sees to it that other calls
	// get an InputError about the number of ops.
	OneOp bool

	// BuiltInOnly: the store runs the algorithms of package algorithm and no
	// others. "capability/built-in-only" sees to it that others get an InputError.
	BuiltInOnly bool

	// NeverForgets: the store drops no state by itself, however long its key
	// has been fresh. "capability/never-forgets" sees to it, with a clock that
	// returns from far ahead.
	NeverForgets bool

	// Histories is the number of random histories, and scales the rounds of
	// concurrent callers. Below 100 it is the quick profile: less of everything
	// that is a matter of how often. 0 means, under go test, the flag
	// -rapid.checks (100), and a fifth of it under -short; elsewhere 100.
	Histories int

	// Seed is the seed of the first random history, and repeats a failure. 0
	// means, under go test, the flag -rapid.seed; without it a random seed.
	Seed uint64

	// Corrupt replaces what the store keeps for a slot with text, past the
	// store. Without it nothing is known of how damage is met. s is what
	// newStore returned, here and below.
	Corrupt func(t TB, s store.Store, slot store.Slot, text string)

	// Inspect returns what the store keeps for a slot, past the store, and
	// whether it keeps anything. Without it the suite sees answers only: not
	// what is stored, nor for how long.
	Inspect func(t TB, s store.Store, slot store.Slot) (Stored, bool)

	// Sweep makes the store drop, now, every state that it may drop. Without
	// it states go when the store sees fit.
	Sweep func(t TB, s store.Store)

	// Seen is for a decorator of stores: it returns how many calls of Apply and
	// Peek its own code has seen, on whatever path they came. Without it nobody
	// knows whether a Bound or a time-out leads past that code.
	Seen func(t TB, s store.Store) int64

	// Size returns how many bytes the store takes up. BenchmarkStore reports
	// bytes per key where it is set.
	Size func(t TB, s store.Store) int64
}

// Stored is what a store keeps for one slot.
type Stored struct {
	// Text is the state, as State.AppendText writes it.
	Text string
	// TTL is how much longer the store keeps it: algorithm.Never where that has
	// no end, UnknownTTL where Inspect cannot know.
	TTL time.Duration
}

// UnknownTTL is the TTL of what is stored where Inspect cannot know it. What needs
// it is then skipped. It must be so for all slots or for none.
const UnknownTTL time.Duration = math.MinInt64

// internal is cfg for the packages below.
func (cfg *Config) internal() *world.Config {
	if cfg == nil {
		cfg = &Config{}
	}
	c := &world.Config{
		Waive: cfg.Waive, OwnClock: cfg.OwnClock, OneKey: cfg.OneKey, OneOp: cfg.OneOp,
		BuiltInOnly: cfg.BuiltInOnly, NeverForgets: cfg.NeverForgets,
		Histories: cfg.Histories, Seed: cfg.Seed, Shrink: shrinkTime,
	}
	if c.Histories == 0 {
		c.Histories = depth()
	}
	if c.Seed == 0 {
		c.Seed = seed()
	}
	if cfg.Corrupt != nil {
		c.Corrupt = func(t world.TB, s store.Store, slot store.Slot, text string) { cfg.Corrupt(t, s, slot, text) }
	}
	if cfg.Inspect != nil {
		c.Inspect = func(t world.TB, s store.Store, slot store.Slot) (world.Stored, bool) {
			stored, found := cfg.Inspect(t, s, slot)
			return world.Stored(stored), found
		}
	}
	if cfg.Sweep != nil {
		c.Sweep = func(t world.TB, s store.Store) { cfg.Sweep(t, s) }
	}
	if cfg.Seen != nil {
		c.Seen = func(t world.TB, s store.Store) int64 { return cfg.Seen(t, s) }
	}
	return c
}

// shrinkTime is how long a history that fails is made shorter, at most.
const shrinkTime = 10 * time.Second

// depth is the number of random histories that go test was asked for.
func depth() int {
	if testing.Testing() && testing.Short() {
		return max(1, lawDepth()/5)
	}
	return lawDepth()
}

// lawDepth is depth for laws, whose histories cost microseconds: -short asks for no
// fewer.
func lawDepth() int {
	if n, err := strconv.Atoi(rapidFlag("checks")); err == nil && testing.Testing() {
		return max(1, n)
	}
	return world.DefaultHistories
}

// seed is the seed that go test was asked for, or a random one.
func seed() uint64 {
	if testing.Testing() {
		if n, err := strconv.ParseUint(rapidFlag("seed"), 10, 64); err == nil && n > 0 {
			return n
		}
	}
	return 1 + rand.Uint64N(1_000_000_000)
}

// rapidFlag reads a flag of package rapid, which the laws follow as well.
func rapidFlag(name string) string {
	if f := flag.Lookup("rapid." + name); f != nil {
		return f.Value.String()
	}
	return ""
}

// unknownWaivers are names in Waive that are no checks.
func (cfg *Config) unknownWaivers(all []Check) (names []string) {
	if cfg == nil {
		return nil
	}
	for name := range cfg.Waive {
		if !slices.ContainsFunc(all, func(c Check) bool { return c.Name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
