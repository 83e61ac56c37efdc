package weir_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// failing is a store that answers with an error, or not at all, while it is
// told to.
type failing struct {
	store.Store
	err   error
	hang  bool
	calls int
}

func (f *failing) fail(ctx context.Context) error {
	f.calls++
	if f.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.err
}

func (f *failing) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	if err := f.fail(ctx); err != nil {
		return 0, false, err
	}
	return f.Store.Apply(ctx, ops)
}

func (f *failing) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	if err := f.fail(ctx); err != nil {
		return 0, err
	}
	return f.Store.Peek(ctx, ops)
}

func memory(tb testing.TB) *memorystore.Store {
	tb.Helper()
	s, err := memorystore.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

var fiveLimit = weir.Must(weir.ParseLimit("five", "gcra:5/1m"))

// observerFunc is an Observer that is a function.
type observerFunc func(weir.Observation)

func (f observerFunc) Observe(_ context.Context, o weir.Observation) { f(o) }

// observing calls an Observer without a context.
func observing(o weir.Observer) func(weir.Observation) {
	return func(seen weir.Observation) { o.Observe(context.Background(), seen) }
}

// apache/shenyu #6645: an outage was an invisible bypass.
func TestStoreThatIsDownIsAnsweredAsTheModeSays(t *testing.T) {
	for mode, admitted := range map[weir.FailureMode]int{weir.FailClosed: 0, weir.FailOpen: 20, weir.FailLocal: 5} {
		t.Run(mode.String(), func(t *testing.T) {
			down := &failing{Store: memory(t), err: fmt.Errorf("dial: %w", store.ErrUnavailable)}
			var seen, degraded atomic.Int64
			opts := &weir.Options{OnFailure: mode, Observer: observerFunc(func(o weir.Observation) {
				seen.Add(1)
				if o.Err != nil || o.Decision.Degraded && errors.Is(o.Decision.Cause, store.ErrUnavailable) {
					degraded.Add(1)
				}
			})}
			if mode == weir.FailLocal {
				opts.Local = memory(t)
			}
			l, err := weir.New(down, fiveLimit, opts)
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			got := 0
			for range 20 {
				d, err := l.Allow(ctx, "k")
				if mode == weir.FailClosed && !errors.Is(err, store.ErrUnavailable) || mode != weir.FailClosed && err != nil {
					t.Fatalf("error %v", err)
				}
				if mode != weir.FailClosed && (!d.Degraded || d.Cause == nil || d.Limit != 5) {
					t.Fatalf("not marked: %+v", d)
				}
				if d.Allowed {
					got++
				}
			}
			if got != admitted || seen.Load() != 20 || degraded.Load() != 20 {
				t.Errorf("%d admitted, %d seen, %d of them degraded", got, seen.Load(), degraded.Load())
			}
			down.err = nil
			if d, err := l.Allow(ctx, "k"); err != nil || !d.Allowed || d.Degraded || d.Cause != nil {
				t.Errorf("after recovery: %+v, %v", d, err)
			}
		})
	}
}

func TestOnlyFailuresOfTheStoreTriggerAFailureMode(t *testing.T) {
	tests := map[error]bool{
		store.ErrUnavailable: true, store.ErrOutcomeUnknown: true, store.ErrContention: true, store.ErrFull: true,
		store.ErrInvalid: false, store.ErrDuplicateSlot: false, store.ErrCrossNode: false, store.ErrCorrupt: false,
		store.ErrClosed: false, errors.New("something else"): false,
		errors.Join(store.ErrUnavailable, store.ErrClosed): false,
	}
	for err, triggers := range tests {
		down := &failing{Store: memory(t), err: err}
		l, newErr := weir.New(down, fiveLimit, &weir.Options{OnFailure: weir.FailOpen})
		if newErr != nil {
			t.Fatal(newErr)
		}
		d, got := l.Allow(context.Background(), "k")
		if triggers != (got == nil && d.Allowed && d.Degraded) || !triggers && (!errors.Is(got, err) || d.Allowed) {
			t.Errorf("%v: %+v, %v", err, d, got)
		}
	}
}

func TestFailureModeNeverCoversTheCallersContext(t *testing.T) {
	down := &failing{Store: memory(t), err: store.ErrUnavailable}
	l, err := weir.New(down, fiveLimit, &weir.Options{OnFailure: weir.FailOpen})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if d, err := l.Allow(ctx, "k"); err == nil || d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestStoreThatDoesNotAnswerIsGivenUpAfterTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, err := memorystore.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer memory.Close()
		down := &failing{Store: memory, hang: true}
		for timeout, want := range map[time.Duration]time.Duration{0: 100 * time.Millisecond, time.Second: time.Second} {
			closed, err := weir.New(down, fiveLimit, &weir.Options{Timeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if _, err := closed.Allow(context.Background(), "k"); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("Closed: %v", err)
			}
			if took := time.Since(start); took != want {
				t.Errorf("took %v, want %v", took, want)
			}
			open, err := weir.New(down, fiveLimit, &weir.Options{Timeout: timeout, OnFailure: weir.FailOpen})
			if err != nil {
				t.Fatal(err)
			}
			if d, err := open.Allow(context.Background(), "k"); err != nil || !d.Degraded || !errors.Is(d.Cause, store.ErrUnavailable) {
				t.Errorf("Open: %+v, %v", d, err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			if d, err := open.Allow(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrUnavailable) || d.Allowed {
				t.Errorf("the caller's deadline: %+v, %v", d, err)
			}
			cancel()
		}
	})
}

// watching is a store that watches the time of its calls.
type watching struct {
	store.Store
	within []time.Duration
}

func (w *watching) Features() store.Features { return store.Features{Owner: w, Within: w.forTime} }

func (w *watching) forTime(timeout time.Duration) store.Store {
	w.within = append(w.within, timeout)
	return &failing{Store: w.Store, err: store.ErrUnavailable}
}

// TestStoreThatWatchesTheTimeIsToldIt: and is asked with the caller's own context, which
// then costs nothing.
func TestStoreThatWatchesTheTimeIsToldIt(t *testing.T) {
	main, local := &watching{Store: memory(t)}, &watching{Store: memory(t)}
	for _, timeout := range []time.Duration{0, time.Second} {
		l, err := weir.New(main, fiveLimit, &weir.Options{Timeout: timeout, OnFailure: weir.FailLocal, Local: local})
		if err != nil {
			t.Fatal(err)
		}
		// Both fail only in what Within returned.
		if _, err := l.Allow(context.Background(), "k"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%v: %v", timeout, err)
		}
	}
	want := []time.Duration{100 * time.Millisecond, time.Second}
	if !slices.Equal(main.within, want) || !slices.Equal(local.within, want) {
		t.Errorf("within %v and %v, want %v", main.within, local.within, want)
	}
}

func TestOpenStillDeniesWhatNoStateCouldAdmit(t *testing.T) {
	down := &failing{Store: memory(t), err: store.ErrUnavailable}
	l, err := weir.New(down, fiveLimit, &weir.Options{OnFailure: weir.FailOpen})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := l.AllowN(context.Background(), "k", 6); err != nil || d.Allowed || d.RetryAfter != weir.Never || !d.Degraded {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestLocalThatFailsToReportsBothErrors(t *testing.T) {
	local := memory(t)
	local.Close()
	l, err := weir.New(&failing{Store: memory(t), err: store.ErrUnavailable}, fiveLimit,
		&weir.Options{OnFailure: weir.FailLocal, Local: local})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := l.Allow(context.Background(), "k"); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, store.ErrClosed) || d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestRefundGivesNothingBackToTheLocalStore: what was taken from the store before it failed
// does not let more pass from the local one.
func TestRefundGivesNothingBackToTheLocalStore(t *testing.T) {
	main := &failing{Store: memory(t)}
	slow := weir.Must(weir.ParseLimit("slow", "gcra:5/24h"))
	l, err := weir.New(main, slow, &weir.Options{OnFailure: weir.FailLocal, Local: memory(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	taken, err := l.AllowN(ctx, "k", 5)
	if err != nil || !taken.Allowed || taken.Degraded {
		t.Fatalf("%+v, %v", taken, err)
	}
	main.err = store.ErrUnavailable
	if d, err := l.AllowN(ctx, "k", 5); err != nil || !d.Allowed || !d.Degraded {
		t.Fatalf("%+v, %v", d, err)
	}
	if d, err := l.Refund(ctx, "k", 5, taken.At); err != nil || !d.Allowed || !d.Degraded || d.Remaining != 0 {
		t.Errorf("the refund: %+v, %v", d, err)
	}
	if d, err := l.Allow(ctx, "k"); err != nil || d.Allowed {
		t.Errorf("after the refund: %+v, %v", d, err)
	}
}

func TestMultiLimiterAnswersAsTheModeSays(t *testing.T) {
	down := &failing{Store: memory(t), err: store.ErrUnavailable}
	asks := []weir.Ask{fiveLimit.ForN("a", 5), fiveLimit.For("b")}
	var seen []weir.Observation
	multi, err := weir.NewMultiLimiter(down, &weir.Options{
		OnFailure: weir.FailLocal, Local: memory(t),
		Observer: observerFunc(func(o weir.Observation) { seen = append(seen, o) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		r, err := multi.Take(context.Background(), asks...)
		if err != nil || r.Allowed != want || !r.Decisions[0].Degraded || !r.Decisions[1].Degraded {
			t.Errorf("take %d: %+v, %v", i+1, r, err)
		}
	}
	if len(seen) != 4 || seen[2].Key != "a" || seen[2].Kind != weir.KindTake || seen[2].Decision.Allowed || !seen[3].Decision.Allowed {
		t.Errorf("seen %+v", seen)
	}
}

func TestOptionsThatDoNotFitAreRefused(t *testing.T) {
	for name, o := range map[string]weir.Options{
		"mode":                {OnFailure: 3},
		"local missing":       {OnFailure: weir.FailLocal},
		"local not asked for": {Local: memory(t)},
		"local nil pointer":   {OnFailure: weir.FailLocal, Local: (*memorystore.Store)(nil)},
		"timeout":             {Timeout: -1},
	} {
		if _, err := weir.New(memory(t), fiveLimit, &o); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "must be") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := weir.NewMultiLimiter(memory(t), &o); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: multi: %v", name, err)
		}
	}
}

func TestLogObserverLimitsItsLinesAndCountsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		observe := observing(weir.NewLogObserver(slog.New(slog.NewTextHandler(&log, nil)), nil))
		outage := weir.Observation{Key: "secret-key", Decision: weir.Decision{Allowed: true, Degraded: true, Cause: store.ErrUnavailable}}
		for range 100 {
			observe(outage)
			observe(weir.Observation{Decision: weir.Decision{Allowed: true}})
		}
		if lines := strings.Count(log.String(), "\n"); lines != 5 {
			t.Errorf("%d lines for 100 failures at one instant, want 5", lines)
		}
		time.Sleep(time.Second)
		log.Reset()
		observe(outage)
		if !strings.Contains(log.String(), "left_out=95") || !strings.Contains(log.String(), "level=WARN") {
			t.Errorf("the line after: %s", log.String())
		}
		log.Reset()
		observe(weir.Observation{Key: "secret-key", Err: store.ErrCorrupt})
		if !strings.Contains(log.String(), "level=ERROR") {
			t.Errorf("an error: %s", log.String())
		}
		log.Reset()
		observe(weir.Observation{Err: context.Canceled})
		if log.Len() != 0 {
			t.Errorf("a caller who went away was logged: %s", log.String())
		}
		if strings.Contains(log.String(), "secret-key") {
			t.Error("a key was logged")
		}
	})
}

func TestOpenDoesNotAdmitWhatNoStoreTakes(t *testing.T) {
	l, err := weir.New(&failing{Store: memory(t), err: store.ErrUnavailable}, fiveLimit, &weir.Options{OnFailure: weir.FailOpen})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := l.AllowN(context.Background(), "k", -1); !errors.Is(err, store.ErrInvalid) || d.Allowed {
		t.Errorf("a negative cost: %+v, %v", d, err)
	}
	if d, err := l.Allow(context.Background(), ""); !errors.Is(err, store.ErrInvalid) || d.Allowed {
		t.Errorf("an empty key: %+v, %v", d, err)
	}
	multi, err := weir.NewMultiLimiter(&failing{Store: memory(t), err: store.ErrUnavailable}, &weir.Options{OnFailure: weir.FailOpen})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := multi.Take(context.Background()); !errors.Is(err, store.ErrInvalid) || r.Allowed {
		t.Errorf("no ops: %+v, %v", r, err)
	}
}
