package conformance_test

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
)

// broken are stores with one fault each, and the checks that are meant for it.
var broken = []struct {
	name  string
	fault func(f *faultyStore)
	meant []string
}{
	{"a peek writes", func(f *faultyStore) {
		f.peek = func(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
			at, _, err := f.plainStore.Apply(ctx, ops)
			return at, err
		}
	}, []string{"peek/changes-nothing", "timeline/peek-and-reset"}},
	{"a look is charged", stepping(func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
		r.Cost = max(r.Cost, 1)
		return a.Step(s, now, r)
	}), []string{"look/changes-nothing", "timeline/cost"}},
	{"a batch is charged by half", oneByOne, []string{"take/refused-changes-nothing", "timeline/take"}},
	{"a denial takes what is left", keepingDenied(stepDenialTakesTheRest), []string{"denial/changes-nothing"}},
	{"a denial starts the wait anew", keepingDenied(stepDenialRestarts),
		[]string{"denial/changes-nothing", "expiry/denied-and-looked-at", "timeline/reported"}},
	{"a refused step does not answer as a look", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			single := make([]store.Op, len(ops))
			for i := range ops {
				single[i] = ops[i]
				if _, err := f.plainStore.Peek(ctx, single[i:i+1]); err != nil {
					return 0, false, err
				}
			}
			at, committed, err := f.plainStore.Apply(ctx, ops)
			copy(ops, single)
			return at, committed, err
		}
	}, []string{"take/refused-changes-nothing"}},
	{"ops after a denied one are not decided", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			at, committed, err := f.plainStore.Apply(ctx, ops)
			denied := false
			for i := range ops {
				if denied {
					ops[i].Outcome = algorithm.Outcome{}
				}
				denied = denied || !ops[i].Outcome.Allowed
			}
			return at, committed, err
		}
	}, []string{"take/order-does-not-matter", "take/decides-as-single-calls"}},
	{"a wait is told in milliseconds", func(f *faultyStore) {
		f.answer = func(op *store.Op) {
			if r := &op.Outcome.RetryAfter; *r != algorithm.Never {
				*r = (*r + time.Millisecond - 1).Truncate(time.Millisecond)
			}
		}
	}, []string{"take/retry-after-is-tight", "boundary/gcra", "boundary/token-bucket", "boundary/leaky-bucket", "timeline/gcra-fractions"}},
	{"a life time is rounded down", expiring(func(fresh algorithm.Instant) algorithm.Instant { return fresh - fresh%1000 }),
		[]string{"expiry/never-decides", "boundary/fixed-window"}},
	{"a life time has no grace", expiring(func(fresh algorithm.Instant) algorithm.Instant { return fresh }),
		[]string{"expiry/clock-behind"}},
	{"a life time is too short", expiring(func(fresh algorithm.Instant) algorithm.Instant { return fresh - 1_000_000 }),
		[]string{"timeline/gcra", "timeline/reported"}},
	{"updates are lost", writing(lostUpdates), []string{
		"concurrent/exactly-the-capacity/gcra", "concurrent/exactly-the-capacity/token-bucket",
		"concurrent/exactly-the-capacity/leaky-bucket", "concurrent/exactly-the-capacity/fixed-window",
		"concurrent/exactly-the-capacity/sliding-log", "concurrent/exactly-the-capacity/sliding-counter",
		"concurrent/exactly-the-capacity/written-elsewhere",
	}},
	{"slots are written one after the other", inPieces, []string{"concurrent/takes-are-whole"}},
	{"locks are taken in the callers' order", lockingInCallersOrder, []string{"concurrent/takes-in-opposite-orders"}},
	{"key and limit are joined", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Key, op.Limit = op.Key+op.Limit, "" }
	}, []string{"key/and-limit-name", "reset/forgets-one-slot"}},
	{"a long key is cut off", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Key = op.Key[:min(200, len(op.Key))] }
	}, []string{"key/long"}},
	{"keys are made valid text", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Key = strings.ToValidUTF8(op.Key, "?") }
	}, []string{"key/any-bytes"}},
	{"keys are strings of C", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Key, _, _ = strings.Cut(op.Key+"\x00", "\x00"); op.Key += "." }
	}, []string{"key/any-bytes"}},
	{"the kind is not part of the place", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Algorithm = kindless{op.Algorithm} }
	}, []string{"key/and-kind", "take/same-slot-twice"}},
	{"the parameters are part of the place", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Limit += "\x00" + specText(op.Algorithm) }
	}, []string{"timeline/parameters", "reset/forgets-one-slot"}},
	{"the same slot twice is taken twice", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
			at, committed, err = f.plainStore.Apply(ctx, ops)
			if errors.Is(err, store.ErrDuplicateSlot) {
				return at, true, nil
			}
			return at, committed, err
		}
	}, []string{"take/same-slot-twice"}},
	{"a negative cost is a refund", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Request.Cost = max(op.Request.Cost, 0) }
	}, []string{"input/refused"}},
	{"half as many ops are enough", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			if len(ops) > store.MaxOps/2 {
				return 0, false, store.ErrInvalid
			}
			return f.plainStore.Apply(ctx, ops)
		}
	}, []string{"take/most-ops"}},
	{"ops are kept and written later", func(f *faultyStore) {
		var kept []store.Op
		f.before = func(ops []store.Op) {
			for i := range kept {
				kept[i].Outcome.Limit = 0
			}
			kept = ops
		}
	}, []string{"input/ops-stay-the-callers"}},
	{"each op is decided at its own time", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
			if _, err := f.plainStore.Peek(ctx, ops); err != nil {
				return 0, false, err
			}
			for i := range ops {
				if at, committed, err = f.plainStore.Apply(ctx, ops[i:i+1]); err != nil {
					return 0, false, err
				}
			}
			return at, committed, err
		}
	}, []string{"take/one-instant"}},
	{"the clock is rounded", withClock(func(t time.Time) time.Time { return t.Round(time.Microsecond) }),
		[]string{"boundary/sliding-counter", "boundary/sliding-log", "timeline/sliding-counter"}},
	{"the clock is moved into its bounds", withClock(clamped), []string{"clock/out-of-bounds"}},
	{"the clock never goes back", func(f *faultyStore) {
		var latest time.Time
		withClock(func(t time.Time) time.Time {
			if t.Before(latest) {
				return latest
			}
			latest = t
			return t
		})(f)
	}, []string{"timeline/clock-back", "model/random-history"}},
	{"a state of zeros is fresh", reading(nullIsFresh), []string{"clock/epoch"}},
	{"numbers have 14 digits", reading(fourteenDigits), []string{"timeline/gcra-fractions", "timeline/bounds", "timeline/fixed-window"}},
	{"entries of one instant are one", reading(distinctStamps), []string{"timeline/sliding-log", "boundary/sliding-log"}},
	{"a third word is lost", reading(withoutWord(2)), []string{"timeline/sliding-counter", "timeline/token-bucket", "timeline/gcra-fractions"}},
	{"a fourth word is lost", reading(withoutWord(3)), []string{"boundary/written-elsewhere", "boundary/token-bucket"}},
	{"a bound on the delay is not heeded", stepping(func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
		r.MaxDelay = 0
		return a.Step(s, now, r)
	}), []string{"timeline/leaky-bucket"}},
	{"a context that has ended is not heeded", func(f *faultyStore) {
		f.apply = func(_ context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			return f.plainStore.Apply(context.Background(), ops)
		}
	}, []string{"context/ended"}},
	{"a second Close is an error", func(f *faultyStore) {
		closed := false
		f.close = func() error {
			if closed {
				return store.ErrClosed
			}
			closed = true
			return f.plainStore.Close()
		}
	}, []string{"close/then-closed"}},
	{"a closed store has another error", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			at, committed, err := f.plainStore.Apply(ctx, ops)
			if errors.Is(err, store.ErrClosed) {
				err = errors.New("use of a closed connection")
			}
			return at, committed, err
		}
	}, []string{"close/then-closed", "close/while-in-use"}},
	{"a reset forgets the whole key", func(f *faultyStore) {
		f.reset = func(ctx context.Context, slots []store.Slot) error {
			if err := f.plainStore.Reset(ctx, slots); err != nil {
				return err
			}
			for p := range f.states {
				if len(slots) > 0 && p.key == slots[0].Key {
					delete(f.states, p)
				}
			}
			return nil
		}
	}, []string{"reset/forgets-one-slot"}},
	{"a reset of nothing is an error", func(f *faultyStore) {
		f.reset = func(ctx context.Context, slots []store.Slot) error {
			for _, s := range slots {
				if s.Algorithm != nil && s.Key != "" {
					if _, found := f.states[placeOf(s)]; !found {
						return errors.New("no such key")
					}
				}
			}
			return f.plainStore.Reset(ctx, slots)
		}
	}, []string{"reset/idempotent"}},
}

// kindless hides the kind of an algorithm.
type kindless struct{ algorithm.Algorithm }

func (k kindless) Spec() algorithm.Spec {
	spec := k.Algorithm.Spec()
	spec.Kind = "any"
	return spec
}

func specText(a algorithm.Algorithm) string {
	var b strings.Builder
	for _, p := range a.Spec().Params {
		b.WriteString(time.Duration(p).String() + " ")
	}
	return b.String()
}

func TestEachBrokenStoreIsCaughtByTheCheckMeantForIt(t *testing.T) {
	expectFailures(t)
	checks := map[string]conformance.Check{}
	for _, c := range conformance.Checks() {
		checks[c.Name] = c
	}
	used := map[string]bool{}
	for _, b := range broken {
		t.Run(strings.ReplaceAll(b.name, " ", "-"), func(t *testing.T) {
			for _, name := range b.meant {
				used[name] = true
				c, found := checks[name]
				if !found {
					t.Fatalf("there is no check %q", name)
				}
				err := c.Verify(func(clk clock.Clock) store.Store {
					f := &faultyStore{plainStore: newPlainStore(clk)}
					b.fault(f)
					return f
				})
				if err == nil {
					t.Errorf("%s passes", name)
					continue
				}
				for _, part := range []string{c.Name, c.Property, c.Rule} {
					if !strings.Contains(err.Error(), part) && !strings.Contains(err.Error(), "panic") {
						t.Errorf("%s fails without saying %q:\n%v", name, part, err)
					}
				}
			}
		})
	}
	for name := range checks {
		if !used[name] && name != "boundary/bound-limit" { // of stores with Bind; see below
			t.Errorf("no broken store proves that %s can fail", name)
		}
	}
}

// expectFailures keeps rapid from writing files about what is meant to fail, and
// from making it as short as possible for long.
func expectFailures(t *testing.T) {
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "300ms"} {
		before := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = flag.Set(name, before) })
	}
}
