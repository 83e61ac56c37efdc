package conformance_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
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
	}, []string{"take/retry-after-is-tight", "boundary/gcra", "boundary/token-bucket", "boundary/leaky-bucket", "boundary/fixed-window", "timeline/gcra-fractions"}},
	{"a life time is rounded down", expiring(func(fresh algorithm.Instant) algorithm.Instant { return fresh - fresh%1000 }),
		[]string{"expiry/never-decides"}},
	{"a life time has no grace", expiring(func(fresh algorithm.Instant) algorithm.Instant { return fresh }),
		[]string{"expiry/clock-behind"}},
	{"a life time is too short", expiring(func(fresh algorithm.Instant) algorithm.Instant { return fresh - 1_000_000 }),
		[]string{"timeline/gcra", "timeline/reported"}},
	{"updates are lost", writing(lostUpdates), []string{
		"linear/one-slot/gcra", "linear/one-slot/token-bucket", "linear/one-slot/leaky-bucket", "linear/one-slot/fixed-window",
		"linear/one-slot/sliding-log", "linear/one-slot/sliding-counter", "linear/one-slot/written-elsewhere",
		"concurrent/ten-thousand",
		"concurrent/exactly-the-capacity/gcra", "concurrent/exactly-the-capacity/token-bucket",
		"concurrent/exactly-the-capacity/leaky-bucket", "concurrent/exactly-the-capacity/fixed-window",
		"concurrent/exactly-the-capacity/sliding-log", "concurrent/exactly-the-capacity/sliding-counter",
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

// mutant is a broken store, and the checks that are meant for it.
type mutant struct {
	name  string
	cfg   *conformance.Config
	open  conformance.Opener
	meant []string
}

func mutants() (all []mutant) {
	for _, b := range broken {
		all = append(all, mutant{b.name, nil, func(clk clock.Clock) store.Store {
			f := &faultyStore{plainStore: newPlainStore(clk)}
			b.fault(f)
			return f
		}, b.meant})
	}
	for _, b := range brokenTexts {
		all = append(all, mutant{b.name, b.limits.config(), func(clk clock.Clock) store.Store {
			s := newTextStore(clk, b.limits)
			b.fault(s)
			return s
		}, b.meant})
	}
	return append(all, mutant{"a bound limit charges twice", nil, func(clk clock.Clock) store.Store {
		return &boundStore{newPlainStore(clk), 2}
	}, []string{"boundary/bound-limit", "model/random-history"}})
}

func TestEachBrokenStoreIsCaughtByTheCheckMeantForIt(t *testing.T) {
	expectFailures(t)
	setRapid(t, "seed", "1")
	proven := map[string]bool{}
	var golden strings.Builder
	for _, m := range mutants() {
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
			checks := map[string]conformance.Check{}
			for _, c := range m.cfg.Checks() {
				checks[c.Name] = c
			}
			for i, name := range m.meant {
				proven[name] = true
				c, found := checks[name]
				if !found {
					t.Fatalf("there is no check %q", name)
				}
				err := c.Verify(m.open)
				for tries := 1; err == nil && tries < 5 && byChance(c); tries++ {
					err = c.Verify(m.open)
				}
				if err == nil || errors.Is(err, conformance.ErrSkipped) {
					t.Errorf("%s does not catch it: %v", name, err)
					continue
				}
				mustTellAStory(t, c, err.Error())
				if i == 0 {
					fmt.Fprintf(&golden, "%s\n\t%s: %s\n", m.name, c.Name, brokenBy(c, err.Error()))
				}
			}
		})
	}
	for _, c := range conformance.Checks() {
		if !proven[c.Name] {
			t.Errorf("no broken store proves that %s can fail", c.Name)
		}
	}
	if !t.Failed() {
		mustBeGolden(t, "testdata/mutants-stores.golden", golden.String())
	}
}

// mustTellAStory fails where a failure leaves out what leads to the cause.
func mustTellAStory(t *testing.T, c conformance.Check, text string) {
	t.Helper()
	if strings.Contains(text, "panic") {
		return
	}
	for _, part := range []string{c.Name, "(" + c.Property + ")", "rule:      " + c.Rule, "check:     conformance/", "got:  ", "want: ", "story, by the clock in µs:"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s fails without saying %q:\n%s", c.Name, part, text)
		}
	}
	if place := regexp.MustCompile(`check:     conformance/(\S+\.(go|txt)):\d+`).FindStringSubmatch(text); place == nil {
		t.Errorf("%s fails without saying where:\n%s", c.Name, text)
	} else if _, err := os.Stat(place[1]); err != nil {
		t.Errorf("%s: %v", c.Name, err)
	}
}

// byChance reports whether a check depends on what happens at the same time.
func byChance(c conformance.Check) bool {
	switch first, _, _ := strings.Cut(c.Name, "/"); first {
	case "concurrent", "linear":
		return true
	}
	return slices.Contains([]string{"context/ending", "close/while-in-use", "able/own-clock"}, c.Name)
}

// brokenBy is the line of a failure that says what has broken the rule. Where the
// order of concurrent calls decides what it says, it is left out.
func brokenBy(c conformance.Check, text string) string {
	if byChance(c) && !strings.HasPrefix(c.Name, "able/") {
		return "(what it says depends on who was first)"
	}
	return brokenLine(text)
}

func brokenLine(text string) string {
	_, rest, found := strings.Cut(text, "broken by: ")
	if !found {
		rest = text
	}
	line, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	return line
}

// mustBeGolden compares with a file, or writes it.
func mustBeGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what came (-want +got); if that is right, run\n\tgo test ./conformance -update\n%s", file, diff)
	}
}

var update = flag.Bool("update", false, "rewrite the golden files and the tables of the pages")

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
