package conformance

import (
	"slices"
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
	// rule, what was asked and answered so far, what came and what had to.
	// It must be called on the goroutine of t.
	Run func(t TB, open Opener)
}

// TB is what a Check needs of its surroundings. *testing.T, *testing.B and
// *rapid.T have it; outside go test, Verify brings its own.
type TB interface {
	rapid.TB
	Cleanup(f func())
}

// Opener returns a new, empty store that takes its time from clk: one with an
// injected clock. A Check closes the stores that it opens; what else there is
// to release is the Opener's.
//
// The suite moves clk by years, in both directions, and no timer that is made
// with it ever fires: a store may ask it for Now, and nothing else.
type Opener func(clk clock.Clock) store.Store

// Config tells TestStore about a store. nil means that nothing is special.
type Config struct {
	// Waive names checks that the store is known not to pass, each with the
	// reason, which is shown as it is skipped. An unknown name fails the
	// test, so that no waiver outlives its check.
	Waive map[string]string
}

// TestStore runs every Check against the stores that newStore returns, each in
// a subtest named as the check. It is all that a store's own test needs:
//
//	func TestStore(t *testing.T) {
//		conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store { return mystore.New(clk) }, nil)
//	}
//
// newStore is called many times and must return a new, empty store each time;
// see Opener. What it cannot get it reports through tb, which is also the place
// for its Cleanup.
//
// The flags of rapid apply to the check "model/random-history": -rapid.checks
// is the number of histories (100; a fifth of that under -short), -rapid.seed
// repeats a run. Run it under the race detector as well.
func TestStore(t *testing.T, newStore func(tb testing.TB, clk clock.Clock) store.Store, cfg *Config) {
	t.Helper()
	if cfg == nil {
		cfg = &Config{}
	}
	checks := Checks()
	for name := range cfg.Waive {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.Name == name }) {
			t.Errorf("Config.Waive names %q, and there is no such check", name)
		}
	}
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			if reason, waived := cfg.Waive[c.Name]; waived {
				t.Skipf("waived: %s", reason)
			}
			c.Run(t, func(clk clock.Clock) store.Store { return newStore(t, clk) })
		})
	}
}

// Checks returns all checks, the readable ones first.
func Checks() []Check {
	return slices.Concat(
		timelineChecks(),
		boundaryChecks(),
		takeChecks(),
		quietChecks(),
		keyChecks(),
		inputChecks(),
		timeChecks(),
		lifeChecks(),
		concurrentChecks(),
		modelChecks(),
	)
}

// checkOf makes a Check of what it does in a world of its own.
func checkOf(name, property, rule string, body func(w *checkWorld)) Check {
	c := Check{Name: name, Rule: rule, Property: property}
	c.Run = func(t TB, open Opener) {
		t.Helper()
		body(newCheckWorld(c, t, open))
	}
	return c
}
