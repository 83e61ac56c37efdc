package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
)

// left returns what a limiter has left for everyone.
func left(t *testing.T, l *weir.Limiter) int64 {
	t.Helper()
	d, err := l.Peek(t.Context(), "everyone")
	if err != nil {
		t.Fatal(err)
	}
	return d.Remaining - d.Debt
}

// settled serves a request that takes 10 of 100 units by a handler, and returns what is
// left, and the outcome.
func settled(t *testing.T, r *http.Request, settle func(*http.Request, *httplimit.Outcome) int64, handler http.HandlerFunc) (int64, *httplimit.Outcome) {
	t.Helper()
	l, _ := newLimiter(t, "gcra:100/24h")
	var seen *httplimit.Outcome
	m := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{
		Cost: func(*http.Request) int64 { return 10 },
		Settle: func(r *http.Request, o *httplimit.Outcome) int64 {
			if seen != nil {
				t.Error("settled twice")
			}
			seen = o
			return settle(r, o)
		},
		SettleFailed: func(_ *http.Request, err error) { t.Error(err) },
	})
	func() {
		defer func() { _ = recover() }()
		serve(m.Handler(handler), r)
	}()
	if seen == nil {
		t.Fatal("not settled")
	}
	return left(t, l), seen
}

func TestOutcomeSaysWhatTheHandlerDid(t *testing.T) {
	var gone context.Context
	leave := func() {}
	status := func(n int) http.HandlerFunc { return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) } }
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		status  int
		bytes   int64
		err     error
	}{
		"nothing":  {func(http.ResponseWriter, *http.Request) {}, 200, 0, nil},
		"a body":   {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }, 200, 5, nil},
		"a string": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }, 200, 5, nil},
		"a copy":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("hello")) }, 200, 5, nil},
		"an empty copy": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, strings.NewReader(""))
			w.WriteHeader(404)
		}, 404, 0, nil},
		"a failure":        {status(401), 401, 0, nil},
		"two statuses":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); w.WriteHeader(200) }, 404, 0, nil},
		"early hints":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(500) }, 500, 0, nil},
		"a flush":          {func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); w.WriteHeader(500) }, 200, 0, nil},
		"no status":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(1000) }, 500, 0, httplimit.ErrPanicked},
		"a panic":          {func(http.ResponseWriter, *http.Request) { panic("x") }, 500, 0, httplimit.ErrPanicked},
		"a late panic":     {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "he"); panic("x") }, 200, 2, httplimit.ErrPanicked},
		"a client is gone": {func(http.ResponseWriter, *http.Request) { leave() }, 499, 0, context.Canceled},
		"gone, but served": {func(w http.ResponseWriter, _ *http.Request) { leave(); w.WriteHeader(204) }, 204, 0, nil},
	} {
		gone, leave = context.WithCancel(t.Context())
		n, o := settled(t, get("203.0.113.7:1").WithContext(gone), func(_ *http.Request, o *httplimit.Outcome) int64 { return 3 }, test.handler)
		leave()
		if o.Status != test.status || o.Bytes != test.bytes || !errors.Is(o.Err, test.err) || (o.Err == nil) != (test.err == nil) {
			t.Errorf("%s: %+v", name, o)
		}
		if o.Limit != "api" || o.Taken != 10 || n != 97 {
			t.Errorf("%s: %d left, %+v", name, n, o)
		}
	}
}

func TestOnlyFailuresCount(t *testing.T) {
	for status, want := range map[int]int64{200: 100, 304: 100, 400: 90, 401: 90, 503: 90} {
		if n, _ := settled(t, get("203.0.113.7:1"), httplimit.OnlyFailures, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }); n != want {
			t.Errorf("status %d: %d left, want %d", status, n, want)
		}
	}
}

func TestBodyBytesCount(t *testing.T) {
	for size, want := range map[int]int64{0: 100, 4: 96, 10: 90, 150: -50} {
		if n, _ := settled(t, get("203.0.113.7:1"), httplimit.BodyBytes, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat("x", size))
		}); n != want {
			t.Errorf("%d bytes: %d left, want %d", size, n, want)
		}
	}
}

// TestHandlerSaysTheCost: as a count of tokens in a header.
func TestHandlerSaysTheCost(t *testing.T) {
	n, _ := settled(t, get("203.0.113.7:1"), func(_ *http.Request, o *httplimit.Outcome) (n int64) {
		_, _ = fmt.Sscan(o.Header.Get("X-Tokens"), &n)
		return n
	}, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Tokens", "42") })
	if n != 58 {
		t.Errorf("%d left", n)
	}
}

// TestConcurrentFailuresDoNotPass: requests that run at the same time hold their units,
// so no more than the limit fail.
func TestConcurrentFailuresDoNotPass(t *testing.T) {
	l, _ := newLimiter(t, "gcra:3/24h")
	m := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{Settle: httplimit.OnlyFailures})
	synctest.Test(t, func(t *testing.T) {
		right := make(chan bool)
		h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !<-right {
				w.WriteHeader(http.StatusUnauthorized)
			}
		}))
		var all sync.WaitGroup
		codes := make(chan int, 10)
		for range 10 {
			all.Go(func() { codes <- serve(h, get("203.0.113.7:1")).Code })
		}
		synctest.Wait()
		for i := range 3 {
			right <- i == 0
		}
		all.Wait()
		count := map[int]int{}
		for range 10 {
			count[<-codes]++
		}
		if count[200] != 1 || count[401] != 2 || count[429] != 7 {
			t.Errorf("%v", count)
		}
	})
	if n := left(t, l); n != 1 {
		t.Errorf("%d left, want the unit of the right one", n)
	}
}

func TestMultiSettlesEachLimit(t *testing.T) {
	clock := &movable{midnight}
	multi := weir.Must(weir.NewMultiLimiter(newMemory(t, clock), nil))
	requests, bytes := limitOf(t, "requests", "gcra:10/24h"), limitOf(t, "bytes", "token-bucket:100/24h")
	skipped := limitOf(t, "skipped", "gcra:10/24h")
	m, err := httplimit.NewMulti(multi, &httplimit.Options{Settle: func(_ *http.Request, o *httplimit.Outcome) int64 {
		if o.Limit == "bytes" {
			return o.Bytes
		}
		return o.Taken
	}},
		httplimit.Rule{Limit: skipped, Key: httplimit.Header("X-None"), Absent: httplimit.AbsentSkip},
		httplimit.Rule{Limit: requests, Key: httplimit.Everyone},
		httplimit.Rule{Limit: bytes, Key: httplimit.Everyone, Cost: func(*http.Request) int64 { return 20 }})
	if err != nil {
		t.Fatal(err)
	}
	serve(m.Handler(hello), get("203.0.113.7:1"))
	r, err := multi.Peek(t.Context(), requests.ForN("everyone", 0), bytes.ForN("everyone", 0))
	if err != nil || r.Decisions[0].Remaining != 9 || r.Decisions[1].Remaining != 95 {
		t.Errorf("%v %+v", err, r.Decisions)
	}
}

func TestPolicySettlesByTheNameOfTheLimit(t *testing.T) {
	clock := &movable{midnight}
	file := weir.Must(policy.Parse([]byte(threeTiers), nil))
	multi := weir.Must(weir.NewMultiLimiter(newMemory(t, clock), nil))
	e := weir.Must(policy.NewEnforcer(multi, file.Compiled, &policy.EnforcerOptions{Clock: clock}))
	var seen []string
	m := weir.Must(httplimit.NewPolicy(e, nil, map[string]httplimit.Key{"user": httplimit.Header("X-User")}, &httplimit.Options{
		Settle: func(r *http.Request, o *httplimit.Outcome) int64 {
			seen = append(seen, fmt.Sprintf("%s %d %d", o.Limit, o.Taken, o.Status))
			return 0
		},
	}))
	h := m.Handler(hello)
	for range 6 { // of 5
		r := get("203.0.113.7:1", "X-User", "a")
		r.URL.Path = "/api/items"
		if w := serve(h, r); w.Code != 200 {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	}
	if fmt.Sprint(seen[:2]) != "[api 1 200 trial 1 200]" || len(seen) != 12 {
		t.Errorf("%q", seen) // the rule in shadow is settled, too
	}
}

func TestDeniedAndUncountedRequestsAreNotSettled(t *testing.T) {
	settle := func(*http.Request, *httplimit.Outcome) int64 { t.Error("settled"); return 0 }
	l, _ := newLimiter(t, "gcra:1/24h")
	if _, err := l.Allow(t.Context(), "everyone"); err != nil {
		t.Fatal(err)
	}
	serve(newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{Settle: settle}).Handler(hello), get("203.0.113.7:1"))
	open := limiterOn(t, down{newMemory(t, &movable{midnight})}, "gcra:1/24h", &weir.Options{OnFailure: weir.FailOpen})
	serve(newMiddleware(t, open, httplimit.Everyone, &httplimit.Options{Settle: settle}).Handler(hello), get("203.0.113.7:1"))
}

// TestRequestThatLeavesItsPlaceInTheQueueGetsItBack: it has not started.
func TestRequestThatLeavesItsPlaceInTheQueueGetsItBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiterOn(t, newMemory(t, nil), "leaky-bucket:1/1h,capacity=3", nil)
		m := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{Settle: func(_ *http.Request, o *httplimit.Outcome) int64 { return o.Taken }})
		h := m.Handler(hello)
		serve(h, get("203.0.113.7:1"))
		ctx, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		if w := serve(h, get("203.0.113.7:1").WithContext(ctx)); w.Code != 503 {
			t.Errorf("status %d", w.Code)
		}
		if n := left(t, l); n != 2 {
			t.Errorf("%d left, want all but what was served", n)
		}
	})
}

// answersOnce is a store of which only the first call is answered.
type answersOnce struct {
	store.Store
	calls int
}

func (f *answersOnce) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	if f.calls++; f.calls > 1 {
		return 0, false, store.ErrUnavailable
	}
	return f.Store.Apply(ctx, ops)
}

func TestSettleFailedGetsTheError(t *testing.T) {
	var failed error
	opts := &httplimit.Options{
		Settle:       func(*http.Request, *httplimit.Outcome) int64 { return 0 },
		SettleFailed: func(_ *http.Request, err error) { failed = err },
	}
	l := limiterOn(t, &answersOnce{Store: newMemory(t, &movable{midnight})}, "gcra:1/24h", nil)
	if w := serve(newMiddleware(t, l, httplimit.Everyone, opts).Handler(hello), get("203.0.113.7:1")); w.Code != 200 || !errors.Is(failed, store.ErrUnavailable) {
		t.Errorf("%d %v", w.Code, failed)
	}
	for name, mode := range map[string]weir.FailureMode{"open": weir.FailOpen, "local": weir.FailLocal} { // which answers for the store
		failed = nil
		modes := &weir.Options{OnFailure: mode}
		if mode == weir.FailLocal {
			modes.Local = newMemory(t, &movable{midnight})
		}
		l := limiterOn(t, &answersOnce{Store: newMemory(t, &movable{midnight})}, "gcra:1/24h", modes)
		serve(newMiddleware(t, l, httplimit.Everyone, opts).Handler(hello), get("203.0.113.7:1"))
		if !errors.Is(failed, store.ErrUnavailable) {
			t.Errorf("one, %s: %v", name, failed)
		}
		failed = nil
		multi := weir.Must(weir.NewMultiLimiter(&answersOnce{Store: newMemory(t, &movable{midnight})}, modes))
		m := weir.Must(httplimit.NewMulti(multi, opts, httplimit.Rule{Limit: limitOf(t, "api", "gcra:1/24h"), Key: httplimit.Everyone}))
		serve(m.Handler(hello), get("203.0.113.7:1"))
		if !errors.Is(failed, store.ErrUnavailable) {
			t.Errorf("several, %s: %v", name, failed)
		}
	}
	for name, cost := range map[string]int64{"below 0": -1, "lowest": -1 << 63, "above the largest debt": 1<<63 - 1} {
		failed = nil
		opts.Settle = func(*http.Request, *httplimit.Outcome) int64 { return cost }
		l, _ := newLimiter(t, "gcra:9/24h")
		serve(newMiddleware(t, l, httplimit.Everyone, opts).Handler(hello), get("203.0.113.7:1"))
		var debt *weir.DebtError
		if n := left(t, l); n != 8 || !errors.Is(failed, store.ErrInvalid) && !errors.As(failed, &debt) {
			t.Errorf("%s: %d left, %v", name, n, failed)
		}
	}
}

// simple is an algorithm that knows takes only.
type simple struct{ algorithm.Algorithm }

func TestSettleIsRefused(t *testing.T) {
	limit := weir.Limit{Name: "x", Algorithm: simple{algorithm.Must(algorithm.ParseSpec("gcra:1/1s"))}}
	s := newMemory(t, nil)
	l := weir.Must(weir.New(s, limit, nil))
	settle := &httplimit.Options{Settle: httplimit.OnlyFailures}
	if _, err := httplimit.New(l, httplimit.Everyone, settle); err == nil || !strings.Contains(err.Error(), "Charger") {
		t.Error(err)
	}
	multi := weir.Must(weir.NewMultiLimiter(s, nil))
	if _, err := httplimit.NewMulti(multi, settle, httplimit.Rule{Limit: limit, Key: httplimit.Everyone}); err == nil || !strings.Contains(err.Error(), "Charger") {
		t.Error(err)
	}
	failed := &httplimit.Options{SettleFailed: func(*http.Request, error) {}}
	if _, err := httplimit.New(l, httplimit.Everyone, failed); err == nil || !strings.Contains(err.Error(), "SettleFailed") {
		t.Error(err)
	}
	e := weir.Must(policy.NewEnforcer(multi, weir.Must(policy.Parse([]byte(threeTiers), nil)).Compiled, nil))
	if _, err := httplimit.NewPolicy(e, nil, nil, failed); err == nil || !strings.Contains(err.Error(), "SettleFailed") {
		t.Error(err)
	}
}
