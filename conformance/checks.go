package conformance

import (
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// Check is something that must hold for every store: that it adds nothing to
// what the algorithms decide, and loses nothing. It is checked by trying to
// break it, against stores that are opened for it alone.
type Check struct {
	// Name is stable, so that a store can waive a check by it: lower case,
	// parts joined by slashes, such as "take/refused-changes-nothing".
	Name string
	// Rule is what must hold, in one sentence.
	Rule string
	// Property names what the check stands for in short, such as "X1".
	Property string
	// Run tries to break the rule and fails t if it can. A failure shows the
	// rule, where the check is written, what was asked and answered so far,
	// what came and what had to. It must be called on the goroutine of t.
	Run func(t TB, open Opener)

	body  func(c Check, t TB, open Opener) // what Run runs
	cfg   *Config                          // nil where nothing is known
	needs needs
}

// TB is what a Check needs of its surroundings. *testing.T, *testing.B and
// *rapid.T have it; outside go test, Verify brings its own.
type TB interface {
	rapid.TB
	Cleanup(f func())
}

// Opener returns a new, empty store that takes its time from clk: one with an
// injected clock, unless Config says otherwise. A Check closes the stores that
// it opens; what else there is to release is the Opener's.
//
// The suite moves clk by years, in both directions, and no timer that is made
// with it ever fires: a store may ask it for Now, and nothing else.
type Opener func(clk clock.Clock) store.Store

// TestStore runs every Check against the stores that newStore returns, each in
// a subtest named as the check. It is all that a store's own test needs:
//
//	func TestStore(t *testing.T) {
//		conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store { return mystore.New(clk) }, nil)
//	}
//
// newStore is called many times and must return a new, empty store each time;
// see Opener. What it cannot get it reports through tb, which is also the place
// for its Cleanup. What the store cannot do, and how to look into it, is for cfg
// to say.
//
// The flag -rapid.checks (100; a fifth of that under -short, which is the quick
// profile) is the number of histories of "model/random-history", and scales those
// of the "linear" and "concurrent" checks; -rapid.seed repeats the former. Run
// TestStore under the race detector as well.
func TestStore(t *testing.T, newStore func(tb testing.TB, clk clock.Clock) store.Store, cfg *Config) {
	t.Helper()
	if cfg == nil {
		cfg = &Config{}
	}
	checks := cfg.Checks()
	for _, name := range cfg.unknownWaivers(checks) {
		t.Errorf("Config.Waive names %q, and there is no such check", name)
	}
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			c.Run(t, func(clk clock.Clock) store.Store { return newStore(t, clk) })
		})
	}
}

// Checks returns all checks, the narrow ones first, for a store about which
// nothing is known. Config.Checks returns them for one about which something is.
func Checks() []Check { return (*Config)(nil).Checks() }

// checkOf makes a Check of what it does in a world of its own.
func checkOf(name, property, rule string, body func(w *checkWorld)) Check {
	return Check{Name: name, Rule: rule, Property: property, body: func(c Check, t TB, open Opener) {
		t.Helper()
		body(newCheckWorld(c, t, open))
	}}
}

// needing says what a check asks of a store beyond the ordinary.
func (c Check) needing(n needs) Check {
	c.needs |= n
	return c
}
