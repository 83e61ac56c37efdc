package httplimit_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/httplimit"
	"go.uber.org/goleak"
)

// TestAbortedRequestsChargeOnceAndLeaveNothing: clients that go away while they are
// served, or while they wait for their turn.
func TestAbortedRequestsChargeOnceAndLeaveNothing(t *testing.T) {
	abortMany(t, 2_000, 1, nil)
}

// TestAbortedRequestsAreSettledOnce: each takes 5 units, and costs 2 in the end.
func TestAbortedRequestsAreSettledOnce(t *testing.T) {
	var settled atomic.Int64
	served := abortMany(t, 10_000, 2, &httplimit.Options{
		Cost:         func(*http.Request) int64 { return 5 },
		Settle:       func(*http.Request, *httplimit.Outcome) int64 { settled.Add(1); return 2 },
		SettleFailed: func(_ *http.Request, err error) { t.Error(err) },
	})
	if settled.Load() != served {
		t.Errorf("%d settled, %d served", settled.Load(), served)
	}
}

// abortMany aborts many requests, of which each that is served must have cost a number of
// units in the end, and returns how many were served.
func abortMany(t *testing.T, requests int, cost int64, opts *httplimit.Options) (served int64) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	if testing.Short() {
		requests = 1_000
	}
	const capacity = 1_000_000
	s := newMemory(t, &movable{midnight})
	l := limiterOn(t, s, fmt.Sprintf("gcra:%d/400h", capacity), nil)
	var asked, handled atomic.Int64
	counted := func(r *http.Request) (string, bool) { asked.Add(1); return "everyone", true }
	m := newMiddleware(t, l, counted, opts)
	server := httptest.NewServer(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handled.Add(1)
		if r.URL.Path == "/wait" {
			<-r.Context().Done()
		}
	})))
	var clients sync.WaitGroup
	next := make(chan int)
	for range 16 {
		clients.Go(func() {
			for i := range next {
				abort(t, server, i)
			}
		})
	}
	for i := range requests {
		next <- i
	}
	close(next)
	clients.Wait()
	server.Close() // waits for the handlers
	d, err := l.Peek(t.Context(), "everyone")
	if err != nil {
		t.Fatal(err)
	}
	// Who is gone before the limit is asked is not charged.
	served = handled.Load()
	if charged := capacity - d.Remaining; charged != cost*served || served > asked.Load() || served < int64(requests)/10 {
		t.Errorf("%d charged, %d asked, %d served", charged, asked.Load(), served)
	}
	t.Logf("%d requests, %d asked, %d served, %d charged", requests, asked.Load(), served, capacity-d.Remaining)
	return served
}

// abort makes a request and leaves it: before it is written in full, right after, when it
// has waited for a moment, or, each tenth, when the answer begins: those are served on every
// machine.
func abort(t *testing.T, server *httptest.Server, i int) {
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	text := "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"
	const served = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	if i%10 == 0 {
		_, _ = conn.Write([]byte(served))
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		return
	}
	switch i % 3 {
	case 0:
		text = text[:len(text)-2]
	case 1:
		text = served
	}
	_, _ = conn.Write([]byte(text))
	if i%3 == 2 {
		_ = conn.(*net.TCPConn).SetLinger(0) // reset
	}
}

// TestConcurrentRequests: the pooled parts of one request are never seen by another.
func TestConcurrentRequests(t *testing.T) {
	multi, err := weir.NewMultiLimiter(newMemory(t, &movable{midnight}), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := httplimit.NewMulti(multi, nil,
		httplimit.Rule{Limit: limitOf(t, "user", "gcra:10/1h"), Key: httplimit.Header("X-User"), Absent: httplimit.AbsentSkip},
		httplimit.Rule{Limit: limitOf(t, "address", "gcra:1000000/1h"), Key: httplimit.RemoteAddress},
	)
	if err != nil {
		t.Fatal(err)
	}
	h := m.Handler(hello)
	var all sync.WaitGroup
	for user := range 8 {
		all.Go(func() {
			remote := fmt.Sprintf("203.0.113.%d:1", user)
			for i := range 30 {
				w := serve(h, get(remote, "X-User", fmt.Sprint(user)))
				want := fmt.Sprintf(`"user";r=%d;t=360, "address";r=%d;t=1`, max(9-i, 0), 999_999-min(i, 9)-i/10)
				if i < 10 && w.Header().Get("RateLimit") != want || (w.Code == 200) != (i < 10) {
					t.Errorf("user %d, request %d: %d %s, want %s", user, i, w.Code, w.Header().Get("RateLimit"), want)
				}
			}
			if w := serve(h, get(remote)); w.Header().Get("RateLimit") != `"address";r=999989;t=1` {
				t.Errorf("user %d without a name: %s", user, w.Header().Get("RateLimit"))
			}
		})
	}
	all.Wait()
}

func TestContextThatHasEnded(t *testing.T) {
	l := limiterOn(t, newMemory(t, &movable{midnight}), "gcra:2/1h", nil)
	h := newMiddleware(t, l, httplimit.Everyone, nil).Handler(hello)
	ctx, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	if w := serve(h, get("203.0.113.7:1").WithContext(ctx)); w.Code != 503 {
		t.Errorf("status %d", w.Code)
	}
	if n := admitted(t, h, get("203.0.113.7:1"), get("203.0.113.7:1")); n != 2 {
		t.Error("a request whose client had gone was charged")
	}
}
