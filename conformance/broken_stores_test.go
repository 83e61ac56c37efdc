package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// brokenStore is a store with one fault, and the checks that are meant for it.
type brokenStore struct {
	name  string
	fault func(f *faultyStore)
	meant []string
}

var broken = []brokenStore{
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
	}, []string{"take/retry-after-is-tight", "boundary/gcra", "boundary/token-bucket", "boundary/leaky-bucket", "boundary/fixed-window", "timeline/gcra-fractions"}},
	{"a TTL is rounded down", expiring(func(fresh algorithm.Instant) algorithm.Instant { return fresh - fresh%1000 }),
		[]string{"expiry/never-decides"}},
	{"a TTL has no grace", expiring(func(fresh algorithm.Instant) algorithm.Instant { return fresh }),
		[]string{"expiry/clock-behind"}},
	{"a TTL is too short", expiring(func(fresh algorithm.Instant) algorithm.Instant { return fresh - 1_000_000 }),
		[]string{"expiry/never-decides", "timeline/gcra", "timeline/reported"}},
	{"updates are lost", writing(lostUpdates), []string{
		"linear/one-slot/gcra", "linear/one-slot/token-bucket", "linear/one-slot/leaky-bucket", "linear/one-slot/fixed-window",
		"linear/one-slot/sliding-log", "linear/one-slot/sliding-counter", "linear/one-slot/written-elsewhere",
		"concurrent/ten-thousand",
		"concurrent/exactly-the-capacity/gcra", "concurrent/exactly-the-capacity/token-bucket",
		"concurrent/exactly-the-capacity/leaky-bucket", "concurrent/exactly-the-capacity/fixed-window",
		"concurrent/exactly-the-capacity/sliding-log", "concurrent/exactly-the-capacity/sliding-counter",
		"concurrent/settled-costs-add-up/gcra", "concurrent/settled-costs-add-up/sliding-log",
		"concurrent/exactly-the-capacity/written-elsewhere",
	}},
	{"slots are written one after the other", inPieces, []string{"linear/several-slots", "concurrent/takes-are-whole"}},
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
	{"a state is a floating-point number of seconds", reading(floatSeconds),
		[]string{"timeline/gcra-fractions", "boundary/token-bucket"}},
	{"a clock that goes back takes the last instant along", keepingDenied(stepLastGoesBack),
		[]string{"clock/no-order-grants", "timeline/clock-back"}},
	{"checks and then acts", checksThenActs, []string{"concurrent/ten-thousand", "linear/one-slot/gcra"}},
	{"looks come from a copy that lags", func(f *faultyStore) { // by one write
		var lagging, current map[place]algorithm.State
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			return f.decide(ctx, ops, func(after map[place]algorithm.State) {
				lagging, current = current, maps.Clone(f.states)
				maps.Copy(f.states, after)
			})
		}
		f.peek = func(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
			f.mu.Lock()
			copied := &plainStore{clock: f.clock, states: lagging}
			if f.states != nil && lagging == nil {
				copied.states = map[place]algorithm.State{}
			}
			f.mu.Unlock()
			return copied.Peek(ctx, ops)
		}
	}, []string{"linear/one-slot/gcra", "peek/changes-nothing"}},
	{"a key that was dropped starts with less", func(f *faultyStore) {
		dropped := map[place]bool{}
		stepped := func(op *store.Op) {
			p := placeOf(op.Slot)
			op.Algorithm = faultyAlgorithm{op.Algorithm, func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
				if s.Fresh() && dropped[p] {
					s, _ = a.Step(s, now, algorithm.Request{Cost: 1})
				}
				return a.Step(s, now, r)
			}}
		}
		f.rewrite = stepped
		f.reset = func(ctx context.Context, slots []store.Slot) error {
			for _, s := range slots {
				if s.Algorithm != nil {
					dropped[placeOf(s)] = true
				}
			}
			return f.plainStore.Reset(ctx, slots)
		}
	}, []string{"expiry/forgotten", "reset/idempotent"}},
	{"a limit that is made anew is a new one", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Limit += fmt.Sprintf("\x00%p", op.Algorithm) }
	}, []string{"limits/same-again"}},
	{"a changed limit starts afresh", func(f *faultyStore) { remembersSpecs(f, true) },
		[]string{"limits/raised", "limits/alternating", "limits/changed-and-back", "timeline/parameters"}},
	{"a limit stays as it was first seen", func(f *faultyStore) { remembersSpecs(f, false) },
		[]string{"limits/lowered", "limits/raised", "timeline/parameters"}},
	{"there is room for a hundred keys", func(f *faultyStore) {
		var order []place
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			return f.decide(ctx, ops, func(after map[place]algorithm.State) {
				for p, s := range after {
					f.states[p] = s
					order = append(order, p)
				}
				for len(order) > 100 {
					delete(f.states, order[0])
					order = order[1:]
				}
			})
		}
	}, []string{"key/among-many"}},
	{"every 500 writes what is fresh is dropped, without the grace", func(f *faultyStore) {
		writes, fresh := 0, map[place]algorithm.Instant{}
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			at, committed, err := f.plainStore.Apply(ctx, ops)
			f.mu.Lock()
			defer f.mu.Unlock()
			for i := range ops {
				if op := &ops[i]; committed && store.Changes(op) {
					writes++
					fresh[placeOf(op.Slot)] = at + algorithm.Instant(op.Outcome.ResetAfter/time.Microsecond)
				}
			}
			if writes >= 500 {
				writes = 0
				maps.DeleteFunc(f.states, func(p place, _ algorithm.State) bool { return fresh[p] <= at })
			}
			return at, committed, err
		}
	}, []string{"expiry/among-many"}},
	{"a context that ends stops between two slots", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
			at, committed, err = f.decide(ctx, ops, func(after map[place]algorithm.State) {
				for p, s := range after {
					if ctx.Err() != nil {
						return
					}
					f.states[p] = s
					runtime.Gosched()
				}
			})
			if err == nil && ctx.Err() != nil {
				return 0, false, fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, ctx.Err())
			}
			return at, committed, err
		}
	}, []string{"context/ending"}},
	{"the error of an ended context hides a charge", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
			at, committed, err = f.plainStore.Apply(ctx, ops)
			if err == nil && ctx.Err() != nil {
				return 0, false, ctx.Err()
			}
			return at, committed, err
		}
	}, []string{"context/ending"}},
	{"an error is turned into an allow", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			at, committed, err := f.plainStore.Apply(ctx, ops)
			if err != nil && !errors.Is(err, store.ErrInvalid) {
				for i := range ops {
					ops[i].Outcome.Allowed = true
				}
				return at, true, nil
			}
			return at, committed, err
		}
	}, []string{"context/ended", "close/then-closed", "clock/out-of-bounds"}},
	{"an error is only text", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			at, committed, err := f.plainStore.Apply(ctx, ops)
			if errors.Is(err, store.ErrInvalid) {
				err = fmt.Errorf("%w: bad request", store.ErrInvalid)
			}
			return at, committed, err
		}
	}, []string{"input/error-says-what"}},
	{"a cost has 32 bits", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Request.Cost = int64(int32(op.Request.Cost)) }
	}, []string{"input/cost-at-the-edges"}},
	{"all limits of a key are one", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Limit = "" }
	}, []string{"key/and-limit-name", "take/same-slot-twice"}},
	{"a reset forgets the first of two", func(f *faultyStore) {
		f.reset = func(ctx context.Context, slots []store.Slot) error {
			if err := store.ValidateSlots(slots); err != nil {
				return err
			}
			return f.plainStore.Reset(ctx, slots[:min(1, len(slots))])
		}
	}, []string{"reset/forgets-one-slot", "reset/idempotent"}},
	{"an op is changed on the way", func(f *faultyStore) {
		f.before = func(ops []store.Op) {
			for i := range ops {
				ops[i].Request.Cost = min(ops[i].Request.Cost, 1000)
			}
		}
	}, []string{"input/cost-at-the-edges", "timeline/bounds"}},
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
