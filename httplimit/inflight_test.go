package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/resilience/inflight"
	"github.com/weirgo/weir/store"
)

// newInFlight returns an InFlight of a limit "reports", and what is in use of the key
// "everyone".
func newInFlight(t testing.TB, units int64, opts *httplimit.InFlightOptions, limits *inflight.Options) (m *httplimit.InFlight, inUse func() int64) {
	t.Helper()
	holders, err := inflight.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := inflight.New(holders, inflight.Limit{Name: "reports", Units: units}, limits)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = httplimit.NewInFlight(limiter, httplimit.Everyone, opts); err != nil {
		t.Fatal(err)
	}
	return m, func() int64 {
		s, err := limiter.Peek(context.Background(), "everyone")
		if err != nil {
			t.Fatal(err)
		}
		return s.InUse
	}
}

// serveOnce serves one request of a test, and returns its answer. It recovers.
func serveOnce(h http.Handler, r *http.Request) (w *httptest.ResponseRecorder, panicked any) {
	w = httptest.NewRecorder()
	defer func() { panicked = recover() }()
	h.ServeHTTP(w, r)
	return w, nil
}

func costing(cost string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Cost", cost)
	return r
}

func TestInFlightRefusesWhatIsOneTooMany(t *testing.T) {
	for _, c := range []struct {
		opts    *httplimit.InFlightOptions
		status  int
		retry   string
		problem string
	}{
		{nil, 429, "1", "quota-exceeded"},
		{&httplimit.InFlightOptions{Status: 503, RetryAfter: 1500 * time.Millisecond}, 503, "2", "temporary-reduced-capacity"},
	} {
		m, inUse := newInFlight(t, 2, c.opts, nil)
		var h http.Handler
		h = m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				nested := httptest.NewRequest(http.MethodGet, "/second", nil)
				h.ServeHTTP(w, nested) // while the first is served
				return
			}
			if inUse() != 2 {
				t.Errorf("%d in use", inUse())
			}
			third, _ := serveOnce(h, httptest.NewRequest(http.MethodGet, "/third", nil))
			header := third.Header()
			if third.Code != c.status || header.Get("Retry-After") != c.retry || header.Get("Cache-Control") != "no-store" ||
				header.Get("Ratelimit-Policy") != `"reports";q=2;qu="concurrent-requests"` || !strings.Contains(third.Body.String(), c.problem) {
				t.Errorf("%d %v %s", third.Code, header, third.Body)
			}
		}))
		if w, _ := serveOnce(h, httptest.NewRequest(http.MethodGet, "/", nil)); w.Code != 200 || inUse() != 0 {
			t.Errorf("%d, and %d in use", w.Code, inUse())
		}
	}
}

func TestInFlightReleasesWhateverComesOfARequest(t *testing.T) {
	for _, adaptive := range []*inflight.Adaptive{nil, {Min: 1}} {
		m, inUse := newInFlight(t, 1, nil, &inflight.Options{Adaptive: adaptive})
		for name, handler := range map[string]http.HandlerFunc{
			"returned": func(http.ResponseWriter, *http.Request) {},
			"failed":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
			"panicked": func(http.ResponseWriter, *http.Request) { panic("no") },
			"aborted":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		} {
			_, panicked := serveOnce(m.Handler(handler), costing(""))
			if (panicked != nil) != (name == "panicked" || name == "aborted") {
				t.Errorf("%s: the panic %v", name, panicked)
			}
			if inUse() != 0 {
				t.Fatalf("%s: still in use", name)
			}
		}
	}
}

// On a real server: a connection that is taken over, and a client that goes away.
func TestInFlightOnAServer(t *testing.T) {
	m, inUse := newInFlight(t, 1, nil, nil)
	entered, gone := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if inUse() != 1 {
			t.Errorf("%d in use", inUse())
		}
		if r.URL.Path == "/hijack" {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
			_ = conn.Close()
			return
		}
		entered <- struct{}{}
		<-r.Context().Done()
		close(gone)
	})))
	defer server.Close()
	answer, err := server.Client().Get(server.URL + "/hijack")
	if err != nil || answer.StatusCode != 204 {
		t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
	await(t, "a taken over connection gives its unit back", func() bool { return inUse() == 0 })

	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-entered; cancel() }()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Client().Do(r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-gone
	await(t, "a request whose client is gone gives its unit back", func() bool { return inUse() == 0 })
}

func await(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !yes(); {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute: " + what)
		}
	}
}

func TestInFlightWaitsForAUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, inUse := newInFlight(t, 1, &httplimit.InFlightOptions{MaxWait: time.Second}, nil)
		h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(800 * time.Millisecond) }))
		begin := time.Now()
		type answer struct {
			status int
			after  time.Duration
		}
		answers := make(chan answer, 3)
		for range 3 {
			go func() {
				w, _ := serveOnce(h, costing(""))
				answers <- answer{w.Code, time.Since(begin)}
			}()
			synctest.Wait()
		}
		for _, want := range []answer{{200, 800 * time.Millisecond}, {429, time.Second}, {200, 1600 * time.Millisecond}} {
			if got := <-answers; got != want {
				t.Errorf("%v, want %v", got, want)
			}
		}
		if inUse() != 0 {
			t.Error("still in use")
		}
	})
}

func TestInFlightCostSkipAndKey(t *testing.T) {
	m, inUse := newInFlight(t, 3, &httplimit.InFlightOptions{
		Skip: func(r *http.Request) bool { return r.Header.Get("Cost") == "skip" },
		Cost: func(r *http.Request) int64 {
			return map[string]int64{"0": 0, "3": 3, "4": 4, "-1": -1}[r.Header.Get("Cost")]
		},
	}, nil)
	h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want := map[string]int64{"3": 3}[r.Header.Get("Cost")]; inUse() != want {
			t.Errorf("cost %s: %d in use", r.Header.Get("Cost"), inUse())
		}
	}))
	for cost, want := range map[string]int{"0": 200, "3": 200, "skip": 200, "4": 429, "-1": 500} {
		if w, _ := serveOnce(h, costing(cost)); w.Code != want || cost == "4" && w.Header().Get("Retry-After") != "" {
			t.Errorf("cost %s: %d %v", cost, w.Code, w.Header())
		}
	}
	holders, err := inflight.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := inflight.New(holders, inflight.Limit{Name: "l", Units: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for absent, want := range map[httplimit.Absent]int{0: 403, httplimit.AbsentDeny: 403, httplimit.AbsentSkip: 200, httplimit.AbsentShared: 200} {
		m, err := httplimit.NewInFlight(limiter, httplimit.Header("X"), &httplimit.InFlightOptions{Absent: absent})
		if err != nil {
			t.Fatal(err)
		}
		if w, _ := serveOnce(m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), costing("")); w.Code != want {
			t.Errorf("absent %d: %d", absent, w.Code)
		}
	}
}

// gone is a store that cannot be reached, from a moment on.
type gone struct {
	inflight.Store
	acquire, release error
}

func (g *gone) Acquire(ctx context.Context, h inflight.Holder, limit int64) (inflight.Standing, error) {
	if g.acquire != nil {
		return inflight.Standing{}, g.acquire
	}
	return g.Store.Acquire(ctx, h, limit)
}

func (g *gone) Release(ctx context.Context, h inflight.Holder) (inflight.Standing, error) {
	if g.release != nil {
		return inflight.Standing{}, g.release
	}
	return g.Store.Release(ctx, h)
}

func TestInFlightWithoutItsStore(t *testing.T) {
	holders, err := inflight.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &gone{Store: holders, release: store.ErrUnavailable}
	limiter, err := inflight.New(g, inflight.Limit{Name: "l", Units: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var failed []error
	m, err := httplimit.NewInFlight(limiter, httplimit.Everyone, &httplimit.InFlightOptions{ReleaseFailed: func(_ *http.Request, err error) { failed = append(failed, err) }})
	if err != nil {
		t.Fatal(err)
	}
	h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if w, _ := serveOnce(h, costing("")); w.Code != 200 || len(failed) != 1 || !errors.Is(failed[0], store.ErrUnavailable) {
		t.Errorf("%d %v", w.Code, failed)
	}
	g.acquire = store.ErrUnavailable
	if w, _ := serveOnce(h, costing("")); w.Code != 503 || w.Header().Get("Retry-After") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestNewInFlightRefuses(t *testing.T) {
	holders, err := inflight.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := inflight.New(holders, inflight.Limit{Name: "l", Units: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limiter *inflight.Limiter
		key     httplimit.Key
		opts    *httplimit.InFlightOptions
	}{
		{nil, httplimit.Everyone, nil}, {limiter, nil, nil}, {limiter, httplimit.Everyone, &httplimit.InFlightOptions{MaxWait: -1}},
		{limiter, httplimit.Everyone, &httplimit.InFlightOptions{Status: 500}}, {limiter, httplimit.Everyone, &httplimit.InFlightOptions{RetryAfter: -1}},
		{limiter, httplimit.Everyone, &httplimit.InFlightOptions{Absent: 9}}, {limiter, httplimit.Everyone, &httplimit.InFlightOptions{Headers: httplimit.Headers{Jitter: -1}}},
	} {
		if _, err := httplimit.NewInFlight(c.limiter, c.key, c.opts); err == nil {
			t.Errorf("%+v", c)
		}
	}
}

// A request that fails early does not say how long one takes.
func TestInFlightIgnoresLatenciesOfFailures(t *testing.T) {
	m, _ := newInFlight(t, 100, nil, &inflight.Options{Adaptive: &inflight.Adaptive{}})
	serve := func(status int) {
		for range 10 {
			serveOnce(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })), costing(""))
		}
	}
	serve(503)
	for range 10 { // connections that were taken over
		if v, end := m.Decide(costing("")); v.Allowed {
			end(&httplimit.Outcome{Status: http.StatusSwitchingProtocols})
		}
	}
	// The probe, with a limit of 1, is not over.
	var nesting http.Handler
	nesting = m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cost") == "" {
			nesting.ServeHTTP(w, costing("nested"))
		}
	}))
	if w, _ := serveOnce(nesting, costing("")); w.Code != 429 {
		t.Errorf("status %d: 10 failures have ended the probe", w.Code)
	}
	serve(200)
	if w, _ := serveOnce(nesting, costing("")); w.Code != 200 {
		t.Errorf("status %d: 10 answers have not ended the probe", w.Code)
	}
}
