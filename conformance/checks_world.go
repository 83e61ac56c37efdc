package conformance

import (
	"context"
	"flag"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// checkWorld is a store under test, the clock that it was given, and a model
// that says what it has to answer. Every call goes to both, and fails the check
// where they differ: a check is a story, and what it asserts beyond that.
type checkWorld struct {
	TB
	check  Check
	open   Opener
	clock  *checkClock
	store  store.Store
	model  checkModel
	latest algorithm.Instant // of all instants that the clock has shown
	story  []checkEvent
	untold int    // how many events were dropped from it
	where  string // the check's place, where it is not Go code

	// keeps says that the store drops nothing while the check runs.
	keeps bool

	// answered is the instant of the last answer of a store with a clock of
	// its own.
	answered algorithm.Instant

	// throughBound sends calls with one op through store.Features.Bind.
	throughBound bool
	bounds       map[checkLimit]store.Bound
}

// checkLimit is what a Bound was made for.
type checkLimit struct {
	name string
	spec algorithm.Spec
}

// checkStart is where the clock stands first: the start of a day, so that
// windows of up to a day start with it.
const checkStart algorithm.Instant = 1_764_288_000_000_000

func newCheckWorld(c Check, t TB, open Opener) *checkWorld {
	t.Helper()
	return newCheckWorldAt(checkStart, c, t, open)
}

// newCheckWorldAt is newCheckWorld at another instant.
func newCheckWorldAt(start algorithm.Instant, c Check, t TB, open Opener) *checkWorld {
	t.Helper()
	w := &checkWorld{TB: t, check: c, open: open}
	w.startAt(start)
	return w
}

// startAt begins anew at an instant, with a store that holds nothing.
func (w *checkWorld) startAt(at algorithm.Instant) {
	w.Helper()
	if w.store == nil {
		w.Cleanup(w.close)
	} else {
		w.close()
	}
	w.clock = &checkClock{Mock: clock.NewMock()}
	w.model, w.latest, w.story, w.untold, w.answered = checkModel{}, 0, nil, 0, 0
	w.bounds = map[checkLimit]store.Bound{}
	w.setClock(at)
	if w.store = w.open(w.clock); w.store == nil {
		w.Fatalf("%s: no store was opened", w.check.Name)
	}
}

// config is what is known of the store.
func (w *checkWorld) config() *Config {
	if w.check.cfg == nil {
		return &Config{}
	}
	return w.check.cfg
}

// can reports whether the store has all that is asked.
func (w *checkWorld) can(n needs) bool {
	return w.config().skips(Check{needs: n}) == ""
}

// scaled is a number of rounds or callers as -rapid.checks asks for: n at its
// default of 100, a fifth of that under -short, and at least one.
func scaled(n int) int {
	checks := 100
	if f := flag.Lookup("rapid.checks"); f != nil {
		if set, err := strconv.Atoi(f.Value.String()); err == nil {
			checks = set
		}
	}
	if testing.Short() {
		checks /= 5
	}
	return max(1, n*checks/100)
}

// quick reports whether the quick profile was asked for: less of everything that
// is a matter of how often.
func quick() bool { return scaled(100) < 100 }

// often is a number of times, or the one for the quick profile.
func often(n, quickly int) int {
	if quick() {
		return quickly
	}
	return n
}

func (w *checkWorld) close() {
	if w.store == nil {
		return // opening it has failed
	}
	if err := w.store.Close(); err != nil {
		w.Errorf("%s: Close: %v", w.check.Name, err)
	}
}

// checkClock is a clock.Mock whose reading is its own: each move of a Mock
// sleeps 1 ms, and moving one by years would fire every tick of every ticker.
type checkClock struct {
	*clock.Mock
	nanos atomic.Int64 // since the epoch
	tick  atomic.Int64 // added by each reading

	// reading is called by each reading.
	reading atomic.Pointer[context.CancelFunc]
}

// Now implements clock.Clock.
func (c *checkClock) Now() time.Time {
	if f := c.reading.Load(); f != nil {
		(*f)()
	}
	return time.Unix(0, c.nanos.Add(c.tick.Load()))
}

// Since implements clock.Clock.
func (c *checkClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until implements clock.Clock.
func (c *checkClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// set makes the clock show an instant and nearly 1 µs more, which a store has
// to cut off.
func (c *checkClock) set(at algorithm.Instant) { c.nanos.Store(int64(at)*1000 + 999) }

func (c *checkClock) instant() algorithm.Instant { return algorithm.Instant(c.nanos.Load() / 1000) }

// now is the instant at which the model decides: what the clock shows, or for a
// store with a clock of its own, what it last said.
func (w *checkWorld) now() algorithm.Instant {
	if w.config().OwnClock {
		return w.answered
	}
	return w.clock.instant()
}

func (w *checkWorld) setClock(at algorithm.Instant) {
	w.clock.set(at)
	if !w.config().OwnClock {
		w.latest = max(w.latest, at)
	}
}

// advance moves the clock by d whole microseconds, forward or back.
func (w *checkWorld) advance(d time.Duration) {
	w.setClock(w.now() + algorithm.Instant(d/time.Microsecond))
}

// limit is the limit of a spec, such as "gcra:5/1s". Where the store has a clock
// of its own, it is one so slow that nothing comes back while a check runs.
func (w *checkWorld) limit(spec string) algorithm.Algorithm {
	if head, rest, found := strings.Cut(spec, "/"); found && w.config().OwnClock {
		_, options, _ := strings.Cut(rest, ",")
		spec = strings.TrimSuffix(head+"/8760h,"+options, ",")
	}
	return algorithm.Must(algorithm.ParseSpec(spec))
}

// doubtful reports whether two stores may answer for a slot in different ways,
// and both be right; see checkModel.doubtful.
func (w *checkWorld) doubtful(s store.Slot) bool {
	switch cfg := w.config(); {
	case w.keeps || cfg.NeverForgets:
		return false
	case cfg.OwnClock:
		// By the time that it is asked it may have dropped more.
		const ahead = algorithm.Instant(time.Minute / time.Microsecond)
		held := w.model[checkPlaceOf(s)]
		return held.spec != s.Algorithm.Spec() && w.latest+ahead >= held.kept && held.kept > 0
	}
	return w.model.doubtful(s, w.now(), w.latest)
}
