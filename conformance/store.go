package conformance

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/conformance/internal/checks"
	"github.com/weirgo/weir/conformance/internal/recorder"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// TestStore runs every Check against the stores that newStore returns, each in
// a subtest named as the check. It is all that a store's own test needs:
//
//	func TestStore(t *testing.T) {
//		conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store { return mystore.New(clk) }, nil)
//	}
//
// newStore is called many times and must return a new, empty store each time;
// see Opener. What it cannot get it reports through tb, which is also the place
// for its Cleanup. cfg says what the store cannot do, and how to look into it.
//
// Run TestStore under the race detector as well.
func TestStore(t *testing.T, newStore func(tb testing.TB, clk clock.Clock) store.Store, cfg *Config) {
	t.Helper()
	all := cfg.Checks()
	for _, name := range cfg.unknownWaivers(all) {
		t.Errorf("Config.Waive names %q, and there is no such check", name)
	}
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			c.Run(t, func(clk clock.Clock) store.Store { return newStore(t, clk) })
		})
	}
}

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
	// rule, where the check is written, what came and what was wanted, and a
	// transcript of what was asked and answered. Run must be called on the
	// goroutine of t.
	Run func(t TB, open Opener)
}

// TB is what a Check needs of its surroundings. *testing.T, *testing.B and
// *rapid.T have it; outside go test, Verify brings its own.
type TB interface {
	rapid.TB
	Cleanup(f func())
}

// Opener returns a new, empty store that takes its time from clk: from an injected
// clock, unless Config says otherwise. A Check closes the stores that it opens; what
// else there is to release is the Opener's.
//
// The suite moves clk by years, in both directions, and no timer that is made
// with it ever fires: a store may ask it for Now, and nothing else.
type Opener func(clk clock.Clock) store.Store

// Checks returns all checks, the narrow ones first, for a store about which
// nothing is known. Config.Checks returns them for one about which something is.
func Checks() []Check { return (*Config)(nil).Checks() }

// timelines are the histories whose numbers were worked out by hand.
//
//go:embed timelines/*.txt
var timelines embed.FS

// Checks returns all checks for a store that cfg describes: those that are
// waived, and those that need what the store does not have, skip with a reason.
// cfg may be nil.
func (cfg *Config) Checks() []Check { return exported(checks.All(timelines), cfg.internal()) }

// exported makes Checks of the checks of an internal package.
func exported(all []world.Check, cfg *world.Config) []Check {
	list := make([]Check, len(all))
	for i, c := range all {
		list[i] = Check{Name: c.Name, Rule: c.Rule, Property: c.Property, Run: func(t TB, open Opener) {
			t.Helper()
			world.Run(c, cfg, t, world.Opener(open))
		}}
	}
	return list
}

// Verify is Run outside go test: it returns what Run would have failed with, or
// nil. ErrSkipped matches where the check does not apply to the store, or was
// waived, and its text says why. Verify sets no flag and reads none.
func (c Check) Verify(open Opener) error {
	r := recorder.Run(c.Name, func(t *recorder.T) { c.Run(t, open) })
	switch {
	case r.Skipped:
		return fmt.Errorf("%w: %s", ErrSkipped, r.Text)
	case r.Failed && strings.HasPrefix(r.Text, c.Name):
		return errors.New(r.Text)
	case r.Failed:
		return fmt.Errorf("%s: %s", c.Name, r.Text)
	}
	return nil
}

// ErrSkipped is what Verify returns for a check that was not run.
var ErrSkipped = errors.New("skipped")
