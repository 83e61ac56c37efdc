package acceptance_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// modes opens a limiter for each failure mode, with their default time-out. What
// stands in for the server in mode Local has a limit of localLimit.
func modes(t *testing.T, s store.Store, a algorithm.Algorithm) map[weir.FailureMode]*weir.Limiter {
	t.Helper()
	memory, err := memorystore.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = memory.Close() })
	all := map[weir.FailureMode]*weir.Limiter{}
	for _, mode := range []weir.FailureMode{weir.FailClosed, weir.FailOpen, weir.FailLocal} {
		opts := &weir.Options{OnFailure: mode}
		if mode == weir.FailLocal {
			opts.Local = memory
		}
		l, err := weir.New(s, weir.Limit{Name: mode.String(), Algorithm: a}, opts)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		all[mode] = l
	}
	return all
}

// outageLimit is the limit of a test of outages, in the server and beside it.
const outageLimit = 20

// mustStandIn checks what limiters answer while the server does not: 30 times each.
func mustStandIn(t *testing.T, limiters map[weir.FailureMode]*weir.Limiter, key string) {
	t.Helper()
	var all sync.WaitGroup
	for mode, l := range limiters {
		var admitted, degraded, failed atomic.Int64
		var callers sync.WaitGroup
		for range 30 {
			callers.Go(func() {
				begin := time.Now()
				d, err := l.Allow(context.Background(), key)
				if took := time.Since(begin); took > patience/3 { // much less than the client's own time-out
					t.Errorf("%v: a decision took %v", mode, took)
				}
				if d.Allowed {
					admitted.Add(1)
				}
				if d.Degraded && err == nil && (kind(d.Cause) == "unavailable" || kind(d.Cause) == "unknown") {
					degraded.Add(1)
				}
				if got := kind(err); got == "unavailable" || got == "unknown" {
					failed.Add(1)
				}
			})
		}
		all.Go(func() {
			callers.Wait()
			want := map[weir.FailureMode][3]int64{ // admitted, degraded, failed
				weir.FailClosed: {0, 0, 30}, weir.FailOpen: {30, 30, 0}, weir.FailLocal: {outageLimit, 30, 0},
			}[mode]
			if got := [3]int64{admitted.Load(), degraded.Load(), failed.Load()}; got != want {
				t.Errorf("%v: admitted, degraded, failed are %v, want %v", mode, got, want)
			}
		})
	}
	all.Wait()
}

// mustRecover checks that all limiters come back to normal decisions by themselves,
// within a few seconds.
func mustRecover(t *testing.T, limiters map[weir.FailureMode]*weir.Limiter, key string) {
	t.Helper()
	const bound = patience / 2
	begin := time.Now()
	for mode, l := range limiters {
		servertest.Await(t, mode.String()+" decides normally", func() bool {
			d, err := l.Allow(context.Background(), key)
			return err == nil && !d.Degraded && d.Allowed
		})
	}
	if took := time.Since(begin); took > bound {
		t.Errorf("back after %v", took)
	} else {
		t.Logf("back after %v", took)
	}
}

// TestLimitersOutliveTheServer: the server is killed in the middle of traffic, and
// started again on the same address.
func TestLimitersOutliveTheServer(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		s := e.dial(t, dial{addr: e.server.Addr()}, nil)
		a := longest("gcra", outageLimit)
		limiters := modes(t, s, a)
		mustRecover(t, limiters, "before")

		stop, errs := make(chan struct{}), make(chan error, 100)
		var decided atomic.Int64
		var traffic sync.WaitGroup
		for range 8 {
			traffic.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					_, err := limiters[weir.FailClosed].Allow(context.Background(), "traffic")
					switch kind(err) {
					case "none":
						decided.Add(1)
					case "unavailable", "unknown":
					default:
						select {
						case errs <- err:
						default:
						}
					}
				}
			})
		}
		servertest.Await(t, "traffic", func() bool { return decided.Load() > 100 })
		e.server.Kill()
		mustStandIn(t, limiters, "down")
		e.server.Start()
		mustRecover(t, limiters, "again")
		decided.Store(0)
		servertest.Await(t, "traffic again", func() bool { return decided.Load() > 100 })
		close(stop)
		traffic.Wait()
		select {
		case err := <-errs:
			t.Errorf("an error that must not be: %v", err)
		default:
		}
	})
}

// TestLimitersOutliveAFrozenServer: the server takes what it is sent and does not
// answer. Callers leave at their own deadline.
func TestLimitersOutliveAFrozenServer(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		s := e.dial(t, dial{addr: e.server.Addr()}, nil)
		a := longest("token-bucket", outageLimit)
		limiters := modes(t, s, a)
		// Of a store that gives a call much longer than its caller.
		direct := limiter(t, e.dial(t, dial{addr: e.server.Addr()}, &storeOptions{Timeout: patience}), a, "")
		mustRecover(t, map[weir.FailureMode]*weir.Limiter{weir.FailClosed: direct}, "direct")
		mustRecover(t, limiters, "before")
		e.server.Freeze()
		mustStandIn(t, limiters, "frozen")

		const deadline = 30 * time.Millisecond
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				begin := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), deadline)
				defer cancel()
				_, err := direct.Allow(ctx, "frozen")
				// A busy machine is given time, but not that of the store.
				if took := time.Since(begin); took < deadline || took > patience/3 {
					t.Errorf("a caller with %v left after %v", deadline, took)
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v does not match its deadline", err)
				}
			})
		}
		callers.Wait()
		for _, cancelled := range []bool{true, false} { // a Wait, too
			ctx, cancel := context.WithTimeout(context.Background(), deadline)
			if cancelled {
				cancel()
			}
			if _, err := direct.WaitN(ctx, "frozen", 1); err == nil || ctx.Err() == nil {
				t.Errorf("a Wait has ended with %v", err)
			}
			cancel()
		}
		e.server.Thaw()
		mustRecover(t, limiters, "again")
	})
}

// TestCloseEndsWhatIsUnderWay: a store that is closed while its server is frozen
// answers everybody, and those who ask later.
func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		const answer = 300 * time.Millisecond
		p := servertest.NewProxy(t, e.server.Addr())
		s, closeBoth, err := connect(e.library, dial{addr: p.Addr(), answer: patience}, &storeOptions{InFlight: 1, Timeout: answer})
		if err != nil {
			t.Fatal(err)
		}
		defer closeBoth()
		succeed(t, s, []store.Op{op("user", "", longest("gcra", 1000), 1)})
		e.server.Freeze()
		defer e.server.Thaw()
		ended := make(chan string, 100)
		for i := range cap(ended) {
			a := longest(kindNames[i%len(kindNames)], 1000)
			ops := []store.Op{op("user", "", a, 1)}
			if i%10 == 0 {
				ops = []store.Op{op("user", "", session(10, time.Hour), 1)}
			}
			go func() {
				_, _, err := s.Apply(context.Background(), ops)
				ended <- kind(err)
			}()
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		deadline := time.After(patience)
		count := map[string]int{}
		for range cap(ended) {
			select {
			case one := <-ended:
				count[one]++
			case <-deadline:
				t.Fatalf("after Close %v have ended, of %d", count, cap(ended))
			}
		}
		if count["unavailable"]+count["unknown"]+count["closed"] != cap(ended) {
			t.Errorf("%v", count)
		}
		for name, ops := range subjects() {
			_, _, err := s.Apply(context.Background(), ops)
			wantKind(t, name+" after Close", err, "closed")
			_, err = s.Peek(context.Background(), ops)
			wantKind(t, name+" after Close", err, "closed")
		}
		wantKind(t, "Reset after Close", s.Reset(context.Background(), nil), "closed")
		if err := s.Close(); err != nil {
			t.Errorf("a second Close: %v", err)
		}
	})
}
