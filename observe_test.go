package weir_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// observed runs a test with virtual time on a Limiter of a spec and a MultiLimiter on one
// store, and keeps what their Observer sees.
func observed(t *testing.T, spec string, f func(t *testing.T, l *weir.Limiter, m *weir.MultiLimiter, last func() weir.Observation)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := memorystore.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var seen []weir.Observation
		opts := &weir.Options{Observer: observerFunc(func(o weir.Observation) { seen = append(seen, o) })}
		l := weir.Must(weir.New(s, limit(t, spec), opts))
		m := weir.Must(weir.NewMultiLimiter(s, opts))
		count := 0
		f(t, l, m, func() weir.Observation {
			t.Helper()
			if len(seen) != count+1 {
				t.Fatalf("%d observations of one call: %+v", len(seen)-count, seen[count:])
			}
			count++
			return seen[count-1]
		})
	})
}

// TestObserverSeesEachCallOnce: also a Wait that asks several times, and every error of
// it.
func TestObserverSeesEachCallOnce(t *testing.T) {
	observed(t, "gcra:1/1s", func(t *testing.T, l *weir.Limiter, m *weir.MultiLimiter, last func() weir.Observation) {
		one := limit(t, "gcra:1/1s").For("k")
		ended, cancel := context.WithCancel(background)
		cancel()
		for _, c := range []struct {
			name    string
			call    func() error
			kind    weir.Kind
			allowed bool
			want    error
			took    time.Duration
		}{
			{"Allow", func() error { _, err := l.Allow(background, "k"); return err }, weir.KindTake, true, nil, 0},
			{"Allow, denied", func() error { _, err := l.Allow(background, "k"); return err }, weir.KindTake, false, nil, 0},
			{"Peek", func() error { _, err := l.Peek(background, "k"); return err }, weir.KindPeek, true, nil, 0},
			{"Wait", func() error { _, err := l.Wait(background, "k"); return err }, weir.KindWait, true, nil, time.Second},
			{"MultiLimiter.Wait", func() error { _, err := m.Wait(background, one); return err }, weir.KindWait, true, nil, time.Second},
			{"Wait without a key", func() error { _, err := l.Wait(background, ""); return err }, weir.KindWait, false, store.ErrInvalid, 0},
			{"Wait for −1", func() error { _, err := l.WaitN(background, "k", -1); return err }, weir.KindWait, false, store.ErrInvalid, 0},
			{"Wait for too much", func() error { _, err := l.WaitN(background, "k", 2); return err }, weir.KindWait, false, weir.ErrNeverAdmitted, 0},
			{"Wait with an ended context", func() error { _, err := l.Wait(ended, "k"); return err }, weir.KindWait, false, context.Canceled, 0},
			{"Wait past the deadline", func() error { _, err := l.Wait(within(t, time.Millisecond), "k"); return err }, weir.KindWait, false, context.DeadlineExceeded, 0},
			{"MultiLimiter.Wait past the deadline", func() error { _, err := m.Wait(within(t, time.Millisecond), one); return err }, weir.KindWait, false, context.DeadlineExceeded, 0},
			{"Take of an Ask without a cost", func() error { _, err := m.Take(background, weir.Ask{Limit: one.Limit, Key: "k"}); return err }, weir.KindTake, false, store.ErrInvalid, 0},
			{"Reset", func() error { return l.Reset(background, "k") }, weir.KindReset, false, nil, 0},
			{"MultiLimiter.Reset", func() error { return m.Reset(background, one) }, weir.KindReset, false, nil, 0},
		} {
			if err := c.call(); !errors.Is(err, c.want) {
				t.Errorf("%s: error %v, want %v", c.name, err, c.want)
			}
			o := last()
			if o.Kind != c.kind || o.Allowed != c.allowed || !errors.Is(o.Err, c.want) || (o.Err == nil) != (c.want == nil) || o.Took != c.took {
				t.Errorf("%s: seen %+v", c.name, o)
			}
		}
		_ = l.Close()
		if _, err := l.Wait(background, "k"); !errors.Is(err, store.ErrClosed) || !errors.Is(last().Err, store.ErrClosed) {
			t.Errorf("Wait after Close: %v", err)
		}
	})
}

// TestObserverTellsARefusedTakeFromAnAdmission: the limit that alone would have admitted
// says so in its Decision, and nothing was charged.
func TestObserverTellsARefusedTakeFromAnAdmission(t *testing.T) {
	var seen []weir.Observation
	m := weir.Must(weir.NewMultiLimiter(newMemory(t, nil), &weir.Options{Observer: observerFunc(func(o weir.Observation) { seen = append(seen, o) })}))
	wide, narrow := ask(t, "k", "gcra:100/1h", 1), ask(t, "k", "gcra:1/1h", 1)
	for range 2 {
		if _, err := m.Take(background, wide, narrow); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []bool{true, true, false, false} {
		if seen[i].Allowed != want {
			t.Errorf("observation %d: %+v", i, seen[i])
		}
	}
	if !seen[2].Decision.Allowed || seen[3].Decision.Allowed {
		t.Errorf("the decisions of the refused Take are %+v and %+v", seen[2].Decision, seen[3].Decision)
	}
}

// TestWaitThatEndsDuringItsDelaySaysThatUnitsAreTaken: Allowed is false with the error,
// and the Decision of the *WaitError tells.
func TestWaitThatEndsDuringItsDelaySaysThatUnitsAreTaken(t *testing.T) {
	observed(t, "leaky-bucket:1/1s,capacity=5", func(t *testing.T, l *weir.Limiter, m *weir.MultiLimiter, last func() weir.Observation) {
		turn := limit(t, "leaky-bucket:1/1s,capacity=5").For("k")
		if _, err := l.Wait(background, "k"); err != nil {
			t.Fatal(err)
		}
		last()
		for name, wait := range map[string]func(ctx context.Context) (bool, error){
			"Limiter":      func(ctx context.Context) (bool, error) { d, err := l.Wait(ctx, "k"); return d.Allowed, err },
			"MultiLimiter": func(ctx context.Context) (bool, error) { r, err := m.Wait(ctx, turn); return r.Allowed, err },
		} {
			ctx, cancel := context.WithCancel(background)
			time.AfterFunc(time.Millisecond, cancel)
			allowed, err := wait(ctx)
			var why *weir.WaitError
			if allowed || !errors.As(err, &why) || !errors.Is(err, context.Canceled) || !why.Decision.Allowed {
				t.Errorf("%s: allowed %t, error %v with %+v", name, allowed, err, why)
			}
			if o := last(); o.Allowed || !errors.Is(o.Err, context.Canceled) {
				t.Errorf("%s: seen %+v", name, o)
			}
		}
	})
}

func TestLogObserverWritesDecisionsAtDebug(t *testing.T) {
	var log bytes.Buffer
	level := &slog.LevelVar{}
	observer := weir.NewLogObserver(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})), nil)
	l := weir.Must(weir.New(newMemory(t, nil), limit(t, "gcra:1/1h"), &weir.Options{Observer: observer}))
	call := func() {
		t.Helper()
		if _, err := l.AllowN(background, "secret-key", 2); err != nil {
			t.Fatal(err)
		}
	}
	call()
	if log.Len() > 0 {
		t.Errorf("a decision is logged at level Info: %s", log.String())
	}
	level.Set(slog.LevelDebug)
	call()
	for _, want := range []string{"level=DEBUG", "kind=take", "limit=gcra:1/1h", "cost=2", "allowed=false", "retry_after=never"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "secret-key") {
		t.Error("a key was logged")
	}
}

// TestLogHasHashesOfKeysWhereAsked: the same for each line about a key, and never the key.
func TestLogHasHashesOfKeysWhereAsked(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	observer := weir.NewLogObserver(logger, &weir.LogOptions{HashKey: []byte("secret")})
	s := newMemory(t, nil)
	l := weir.Must(weir.New(s, limit(t, "gcra:1/1h"), &weir.Options{Observer: observer}))
	lines := func(calls func()) []string {
		log.Reset()
		calls()
		return regexp.MustCompile(`key_hash=[0-9a-f]{16}\b`).FindAllString(log.String(), -1)
	}
	ann := lines(func() { weir.Must(l.Allow(background, "ann-4711")); weir.Must(l.Allow(background, "ann-4711")) })
	bob := lines(func() { weir.Must(l.Allow(background, "bob-4711")) })
	if len(ann) != 2 || ann[0] != ann[1] || len(bob) != 1 || bob[0] == ann[0] {
		t.Errorf("ann has %v, bob has %v", ann, bob)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if failed := lines(func() { _, _ = l.Allow(background, "ann-4711") }); len(failed) != 1 || failed[0] != ann[0] || !strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the line of an error has %v, want %s", failed, ann[0])
	}
	if got := lines(func() { _, _ = l.Allow(background, "") }); got != nil || strings.Contains(log.String(), "4711") {
		t.Errorf("no key has the hash %v, in %s", got, log.String())
	}
}

func TestRefusedChargeIsNoErrorInTheLog(t *testing.T) {
	var log bytes.Buffer
	observer := weir.NewLogObserver(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), nil)
	l := weir.Must(weir.New(newMemory(t, nil), limit(t, "fixed-window:1/1h"), &weir.Options{Observer: observer}))
	var refused *weir.DebtError
	if _, err := l.Charge(background, "k", algorithm.MaxUnits+2); !errors.As(err, &refused) {
		t.Fatalf("a charge above the largest debt: %v", err)
	}
	if !strings.Contains(log.String(), "level=DEBUG") || strings.Contains(log.String(), "level=ERROR") {
		t.Error(log.String())
	}
}

// TestRefusedWaitIsNoErrorInTheLog: where the cost exceeds the limit, the queue is full, or
// the turn would come too late.
func TestRefusedWaitIsNoErrorInTheLog(t *testing.T) {
	var log bytes.Buffer
	observer := weir.NewLogObserver(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), nil)
	opts := &weir.Options{Observer: observer}
	l := weir.Must(weir.New(newMemory(t, nil), limit(t, "leaky-bucket:1/1h,capacity=2"), opts))
	m := weir.Must(weir.NewMultiLimiter(newMemory(t, nil), opts))
	turn := limit(t, "leaky-bucket:1/1h,capacity=2").For("k")
	weir.Must(l.AllowN(background, "k", 2))
	weir.Must(m.Take(background, turn))
	turn.MaxDelay = time.Minute
	for _, c := range []struct {
		wait func() error
		want error
	}{
		{func() error { _, err := l.WaitN(background, "k", 3); return err }, weir.ErrNeverAdmitted},
		{func() error { _, err := l.Wait(background, "k"); return err }, weir.ErrQueueFull},
		{func() error { _, err := m.Wait(background, turn); return err }, weir.ErrMaxDelay},
	} {
		if err := c.wait(); !errors.Is(err, c.want) {
			t.Errorf("error %v, want %v", err, c.want)
		}
	}
	if n := strings.Count(log.String(), "kind=wait"); n != 3 || strings.Contains(log.String(), "level=ERROR") {
		t.Error(log.String())
	}
}

// nilAlgorithm can be asked for nothing where it is a nil pointer.
type nilAlgorithm struct{ algorithm.Algorithm }

// TestObserverSeesNoAlgorithmThatIsANilPointer: to ask it for its name would panic.
func TestObserverSeesNoAlgorithmThatIsANilPointer(t *testing.T) {
	calls := 0
	m := weir.Must(weir.NewMultiLimiter(newMemory(t, nil), &weir.Options{Observer: observerFunc(func(o weir.Observation) {
		calls++
		if o.Algorithm != nil || !errors.Is(o.Err, store.ErrInvalid) {
			t.Errorf("seen %T, %v", o.Algorithm, o.Err)
		}
	})}))
	if _, err := m.Take(background, weir.Limit{Name: "x", Algorithm: (*nilAlgorithm)(nil)}.For("k")); !errors.Is(err, store.ErrInvalid) || calls != 1 {
		t.Errorf("%v after %d observations", err, calls)
	}
}

func TestObserversCombine(t *testing.T) {
	var a, b int
	first, second := observerFunc(func(weir.Observation) { a++ }), observerFunc(func(weir.Observation) { b++ })
	if weir.Observers() != nil || weir.Observers(nil, nil) != nil {
		t.Error("no observers are one")
	}
	weir.Observers(nil, first).Observe(background, weir.Observation{})
	weir.Observers(first, nil, second).Observe(background, weir.Observation{})
	if a != 2 || b != 1 {
		t.Errorf("called %d and %d times, want 2 and 1", a, b)
	}
}

// TestObserverSeesTheLimitKeyAndCostOfEachAsk: and the decision about it.
func TestObserverSeesTheLimitKeyAndCostOfEachAsk(t *testing.T) {
	type seen struct {
		Kind      string
		Limit     string
		Key       string
		Cost      int64
		Allowed   bool
		Remaining int64
		Invalid   bool
	}
	var all []seen
	opts := &weir.Options{Observer: observerFunc(func(o weir.Observation) {
		all = append(all, seen{o.Kind.String(), o.Limit, o.Key, o.Cost, o.Decision.Allowed, o.Decision.Remaining, errors.Is(o.Err, store.ErrInvalid)})
	})}
	s := newMemory(t, nil)
	limit := weir.Must(weir.ParseLimit("l", "gcra:5/1h"))
	other := weir.Must(weir.ParseLimit("m", "fixed-window:9/24h"))
	l, m := weir.Must(weir.New(s, limit, opts)), weir.Must(weir.NewMultiLimiter(s, opts))
	a, b := limit.ForN("k", 2), other.For("j")
	for _, c := range []struct {
		verb string
		call func() error
		want []seen
	}{
		{"AllowN", func() error { _, err := l.AllowN(background, "k", 2); return err }, []seen{{"take", "l", "k", 2, true, 3, false}}},
		{"PeekN", func() error { _, err := l.PeekN(background, "k", 4); return err }, []seen{{"peek", "l", "k", 4, false, 3, false}}},
		{"WaitN", func() error { _, err := l.WaitN(background, "k", 1); return err }, []seen{{"wait", "l", "k", 1, true, 2, false}}},
		{"WaitN below 0", func() error { _, err := l.WaitN(background, "k", -1); return err }, []seen{{"wait", "l", "k", -1, false, 0, true}}},
		{"Wait without a key", func() error { _, err := l.Wait(background, ""); return err }, []seen{{"wait", "l", "", 1, false, 0, true}}},
		{"Reset", func() error { return l.Reset(background, "k") }, []seen{{"reset", "l", "k", 0, false, 0, false}}},
		{"Take", func() error { _, err := m.Take(background, a, b); return err },
			[]seen{{"take", "l", "k", 2, true, 3, false}, {"take", "m", "j", 1, true, 8, false}}},
		{"MultiLimiter.Peek", func() error { _, err := m.Peek(background, b, a); return err },
			[]seen{{"peek", "m", "j", 1, true, 7, false}, {"peek", "l", "k", 2, true, 1, false}}},
		{"MultiLimiter.Wait", func() error { _, err := m.Wait(background, b); return err }, []seen{{"wait", "m", "j", 1, true, 7, false}}},
		{"MultiLimiter.Wait below 0", func() error { _, err := m.Wait(background, b, limit.ForN("k", -1)); return err },
			[]seen{{"wait", "m", "j", 1, false, 0, true}, {"wait", "l", "k", -1, false, 0, true}}},
		{"MultiLimiter.Reset", func() error { return m.Reset(background, a, b) },
			[]seen{{"reset", "l", "k", 0, false, 0, false}, {"reset", "m", "j", 0, false, 0, false}}},
	} {
		all = nil
		err := c.call()
		if invalid := c.want[0].Invalid; errors.Is(err, store.ErrInvalid) != invalid || (err != nil) != invalid {
			t.Errorf("%s: %v", c.verb, err)
		}
		if diff := cmp.Diff(c.want, all); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.verb, diff)
		}
	}
}

func TestObserversLeavesOutNilInAnyForm(t *testing.T) {
	var none observerFunc
	if got := weir.Observers(nil, none); got != nil {
		t.Errorf("of none: %v", got)
	}
	calls := 0
	count := observerFunc(func(weir.Observation) { calls++ })
	for n, o := range []weir.Observer{weir.Observers(none, count, nil), weir.Observers(count, none, count)} {
		calls = 0
		o.Observe(background, weir.Observation{})
		if calls != n+1 {
			t.Errorf("%d observers were called %d times", n+1, calls)
		}
	}
}

// TestObserverMeasuresSomeCallsInMemoryAndAllOthers: to read the clock twice costs as much
// as a decision in memory. 10,000 calls at one in 16 are 625, give or take 24.
func TestObserverMeasuresSomeCallsInMemoryAndAllOthers(t *testing.T) {
	const calls = 10_000
	for _, c := range []struct {
		name        string
		store       store.Store
		least, most int
	}{
		{"in memory", newMemory(t, nil), 400, 900},
		{"behind a network", store.Wrap(newMemory(t, nil), store.Hooks{IO: true}), calls, calls},
	} {
		measured := 0
		count := observerFunc(func(o weir.Observation) {
			if o.Took > 0 {
				measured++
			}
		})
		l := weir.Must(weir.New(c.store, weir.Must(weir.ParseLimit("many", "gcra:1000000/1s")), &weir.Options{Observer: count}))
		for range calls {
			if _, err := l.Allow(background, "k"); err != nil {
				t.Fatal(err)
			}
		}
		if measured < c.least || measured > c.most {
			t.Errorf("%s: %d of %d calls were measured, want %d to %d", c.name, measured, calls, c.least, c.most)
		}
	}
}

// TestObserverSeesTheLimitAndWhatAnswersForIt: what a metric needs to tell kinds, rules
// that are tried out and failure modes apart.
func TestObserverSeesTheLimitAndWhatAnswersForIt(t *testing.T) {
	var seen []weir.Observation
	m := weir.Must(weir.NewMultiLimiter(newMemory(t, nil), &weir.Options{
		OnFailure: weir.FailOpen, Observer: observerFunc(func(o weir.Observation) { seen = append(seen, o) }),
	}))
	tried := ask(t, "k", "fixed-window:2/1h", 1)
	tried.Shadow = true
	if _, err := m.Take(background, ask(t, "k", "gcra:1/1h", 1), tried); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"gcra/1", "fixed-window/1"} {
		o := seen[i]
		if o.Algorithm.Spec().Kind != want || o.Shadow != (i == 1) || o.OnFailure != weir.FailOpen {
			t.Errorf("observation %d: %+v, want kind %s", i, o, want)
		}
	}
}
