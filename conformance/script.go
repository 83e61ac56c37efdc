package conformance

import (
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/scripts"
	"github.com/weirgo/weir/store"
)

// TestScript checks that a store that runs the script of an algorithm decides as
// its Step does: every field of every Outcome, and the state to the last digit.
// It is all that the author of a script needs:
//
//	func TestQuotaScript(t *testing.T) {
//		conformance.TestScript(t, newServerStore, nil, quota{limit: 5, length: time.Minute}, quota{limit: 2, length: time.Hour})
//	}
//
// newStore returns a store that knows the script and takes its time from clk, as
// for TestStore; see Opener. Where clk is nil, the store takes the time of the server,
// as in production. It may hold other things: the keys are new ones, and are Reset
// afterwards. It must not drop states while the test runs. Stores of package
// store/script keep them for an hour at least.
//
// cfg may be nil. With Config.Inspect the suite sees how long a state is kept, which no
// answer shows, and with Config.Corrupt how damage is met. Other fields that say what
// a store cannot do have no effect.
//
// a decides, and parts of the histories are decided by the earlier ones, as when
// the parameters of a limit change while its keys live on. They must be of one
// kind. Without them a change of parameters is not tested.
//
// The checks are subtests: that the script is run at all (script/runs), requests
// one by one (script/alone), several limits all or nothing, also where another one
// refuses (script/together), concurrent callers who share a call (script/shared), how
// long a state is kept (script/time-to-live), and damage (script/damage). A failure
// names the check and its rule, what came and what was wanted, and shows a transcript.
//
// The flag -rapid.checks is the number of histories for each check (100; a fifth of
// that under -short), and -rapid.seed repeats a run. TestScript takes Step for right;
// TestAlgorithm is for that.
func TestScript(t *testing.T, newStore func(tb testing.TB, clk clock.Clock) store.Store, cfg *Config, a algorithm.Algorithm, earlier ...algorithm.Algorithm) {
	t.Helper()
	for _, c := range exported(scripts.Checks(a, earlier...), cfg.internal()) {
		t.Run(c.Name, func(t *testing.T) {
			c.Run(t, func(clk clock.Clock) store.Store { return newStore(t, clk) })
		})
	}
}
