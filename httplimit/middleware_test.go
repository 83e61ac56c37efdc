package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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

func TestMiddlewareAdmitsAndDenies(t *testing.T) {
	l, clock := newLimiter(t, "gcra:60/1m,burst=2")
	h := newMiddleware(t, l, httplimit.RemoteAddress, nil).Handler(hello)
	for i, want := range []string{`"api";r=1;t=1`, `"api";r=0;t=1`} {
		w := serve(h, get("203.0.113.7:1"))
		if w.Code != 200 || w.Body.String() != "hello" {
			t.Fatalf("request %d: %d %s", i, w.Code, w.Body)
		}
		if got := w.Header().Get("RateLimit"); got != want {
			t.Errorf("request %d: RateLimit %s, want %s", i, got, want)
		}
		if got := w.Header().Get("RateLimit-Policy"); got != `"api";q=2;w=2` {
			t.Errorf("request %d: RateLimit-Policy %s", i, got)
		}
		if got := w.Header().Get("Retry-After"); got != "" {
			t.Errorf("request %d: Retry-After %s", i, got)
		}
	}
	clock.at(100 * time.Millisecond)
	w := serve(h, get("203.0.113.7:2"))
	p := problemOf(t, w)
	if w.Code != 429 || p.Status != 429 || !strings.HasSuffix(p.Type, "#quota-exceeded") || fmt.Sprint(p.Violated) != "[api]" {
		t.Errorf("denied: %d %+v", w.Code, p)
	}
	for name, want := range map[string]string{"Retry-After": "1", "RateLimit": `"api";r=0;t=1`, "Cache-Control": "no-store"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("denied: %s: %q, want %q", name, got, want)
		}
	}
	if w := serve(h, get("203.0.113.8:1")); w.Code != 200 {
		t.Errorf("another client: %d", w.Code)
	}
}

func TestMultiChargesAllOrNothing(t *testing.T) {
	clock := &movable{midnight}
	multi, err := weir.NewMultiLimiter(newMemory(t, clock), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := httplimit.NewMulti(multi, nil,
		httplimit.Rule{Limit: limitOf(t, "address", "gcra:3/1h"), Key: httplimit.RemoteAddress},
		httplimit.Rule{Limit: limitOf(t, "key", "fixed-window:1/1m"), Key: httplimit.Header("X-Api-Key"), Absent: httplimit.AbsentSkip},
	)
	if err != nil {
		t.Fatal(err)
	}
	h := m.Handler(hello)
	first := serve(h, get("203.0.113.7:1", "X-Api-Key", "a"))
	if got := first.Header().Get("RateLimit-Policy"); got != `"address";q=3;w=3600, "key";q=1;w=60` {
		t.Errorf("RateLimit-Policy %s", got)
	}
	if got := first.Header().Get("RateLimit"); got != `"address";r=2;t=1200, "key";r=0;t=60` {
		t.Errorf("RateLimit %s", got)
	}
	for range 3 { // refused by key, so not charged to the address
		w := serve(h, get("203.0.113.7:1", "X-Api-Key", "a"))
		if p := problemOf(t, w); w.Code != 429 || fmt.Sprint(p.Violated) != "[key]" || w.Header().Get("Retry-After") != "60" {
			t.Errorf("%d %+v %v", w.Code, p, w.Header())
		}
	}
	if w := serve(h, get("203.0.113.7:1")); w.Code != 200 || w.Header().Get("RateLimit") != `"address";r=1;t=1200` || w.Header().Get("RateLimit-Policy") != `"address";q=3;w=3600` {
		t.Errorf("without a key: %d %v", w.Code, w.Header())
	}
}

func TestAbsentKeyIsDecided(t *testing.T) {
	for absent, want := range map[httplimit.Absent]string{
		0: "403 403 403", httplimit.AbsentDeny: "403 403 403", httplimit.AbsentSkip: "200 200 200", httplimit.AbsentShared: "200 200 429",
	} {
		l, _ := newLimiter(t, "gcra:2/1h")
		h := newMiddleware(t, l, httplimit.Header("X-Api-Key"), &httplimit.Options{Absent: absent}).Handler(hello)
		var got []string
		for i := range 3 {
			w := serve(h, get(fmt.Sprintf("203.0.113.%d:1", i), "X-Api-Key", "  "))
			got = append(got, fmt.Sprint(w.Code))
			if w.Code == 403 && (problemOf(t, w).Detail == "" || w.Header().Get("Retry-After") != "") {
				t.Errorf("refused: %v %s", w.Header(), w.Body)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Absent %d: %s, want %s", absent, got, want)
		}
		if w := serve(h, get("203.0.113.9:1", "X-Api-Key", "shared")); w.Code != 200 {
			t.Errorf("Absent %d: the key of a client is the shared one", absent)
		}
	}
}

// TestNoClientHasTheSharedKey: a path value and a user name may be any bytes.
func TestNoClientHasTheSharedKey(t *testing.T) {
	l, _ := newLimiter(t, "gcra:1/1h")
	h := newMiddleware(t, l, httplimit.BasicUser, &httplimit.Options{Absent: httplimit.AbsentShared}).Handler(hello)
	users := []string{"", "\x00shared", "\x00\x00shared"} // each has a limit of its own
	for _, user := range users {
		r := get("203.0.113.1:1")
		if user != "" {
			r.SetBasicAuth(user, "")
		}
		if w := serve(h, r); w.Code != 200 {
			t.Errorf("user %q: status %d", user, w.Code)
		}
	}
}

func TestCostAndSkip(t *testing.T) {
	l, _ := newLimiter(t, "gcra:10/1h")
	cost := int64(0)
	h := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{
		Cost: func(*http.Request) int64 { return cost },
		Skip: func(r *http.Request) bool { return r.Header.Get("Skip") != "" },
	}).Handler(hello)
	for _, test := range []struct {
		cost              int64
		status            int
		limit, retryAfter string
	}{
		{4, 200, `"api";r=6;t=360`, ""},
		{0, 200, `"api";r=6;t=360`, ""},
		{7, 429, `"api";r=6;t=360`, "360"},
		{11, 429, `"api";r=6;t=360`, ""}, // never
		{1 << 62, 429, `"api";r=6;t=360`, ""},
		{-1, 500, "", ""},
		{6, 200, `"api";r=0;t=360`, ""},
		{0, 200, `"api";r=0;t=360`, ""},
	} {
		cost = test.cost
		w := serve(h, get("203.0.113.7:1"))
		if w.Code != test.status || w.Header().Get("RateLimit") != test.limit || w.Header().Get("Retry-After") != test.retryAfter {
			t.Errorf("cost %d: %d %v", test.cost, w.Code, w.Header())
		}
		if never := strings.Contains(w.Body.String(), "do not repeat"); never != (test.cost > 10) {
			t.Errorf("cost %d: %s", test.cost, w.Body)
		}
	}
	cost = 1
	if w := serve(h, get("203.0.113.7:1", "Skip", "1")); w.Code != 200 || w.Header().Get("RateLimit") != "" {
		t.Errorf("skipped: %d %v", w.Code, w.Header())
	}
}

// failing is a store that fails.
type failing struct{ store.Store }

func (failing) Apply(context.Context, []store.Op) (at algorithm.Instant, committed bool, err error) {
	return 0, false, fmt.Errorf("no route: %w", store.ErrUnavailable)
}

func TestFailureModes(t *testing.T) {
	broken := failing{newMemory(t, nil)}
	var denied []error
	for _, test := range []struct {
		opts   *weir.Options
		want   string
		policy string
	}{
		{nil, "503 503 503", ""},
		{&weir.Options{OnFailure: weir.FailOpen}, "200 200 200", `"api";q=2;w=7200`},
		{&weir.Options{OnFailure: weir.FailLocal, Local: newMemory(t, &movable{midnight})}, "200 200 429", `"api";q=2;w=7200`},
	} {
		h := newMiddleware(t, limiterOn(t, broken, "gcra:2/2h", test.opts), httplimit.Everyone, &httplimit.Options{
			Headers: httplimit.Headers{Legacy: httplimit.LegacyDelta},
			Denied: func(w http.ResponseWriter, r *http.Request, v *httplimit.Verdict) {
				denied = append(denied, v.Err)
				httplimit.WriteProblem(w, r, v)
			},
		}).Handler(hello)
		var got []string
		for range 3 {
			w := serve(h, get("203.0.113.7:1"))
			got = append(got, fmt.Sprint(w.Code))
			if w.Header().Get("RateLimit-Policy") != test.policy {
				t.Errorf("%+v: RateLimit-Policy %s", test.opts, w.Header())
			}
			counted := test.opts != nil && test.opts.OnFailure == weir.FailLocal
			if (w.Header().Get("RateLimit") != "") != counted || (w.Header().Get("X-RateLimit-Remaining") != "") != counted {
				t.Errorf("%+v: %v", test.opts, w.Header())
			}
			if w.Code == 503 && (!strings.HasSuffix(problemOf(t, w).Type, "#temporary-reduced-capacity") || w.Header().Get("Retry-After") != "") {
				t.Errorf("503: %v %s", w.Header(), w.Body)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%+v: %s, want %s", test.opts, got, test.want)
		}
	}
	if len(denied) != 4 || !errors.Is(denied[0], store.ErrUnavailable) || denied[3] != nil {
		t.Errorf("Denied saw %v", denied)
	}
}

func TestDeniedWritesOneAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		denied func(http.ResponseWriter)
		status int
		body   string
	}{
		"nothing":          {func(w http.ResponseWriter) {}, 429, ""},
		"a body":           {func(w http.ResponseWriter) { fmt.Fprint(w, "slow ", "down") }, 429, "slow down"},
		"its own status":   {func(w http.ResponseWriter) { w.WriteHeader(418); w.WriteHeader(200); fmt.Fprint(w, "tea") }, 418, "tea"},
		"an early hint":    {func(w http.ResponseWriter) { w.WriteHeader(103) }, 429, ""},
		"the usual answer": {func(w http.ResponseWriter) { http.Error(w, "busy", http.StatusServiceUnavailable) }, 503, "busy\n"},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newLimiter(t, "gcra:1/1h")
			m := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{
				Denied: func(w http.ResponseWriter, r *http.Request, v *httplimit.Verdict) { test.denied(w) },
			})
			called := 0
			server := httptest.NewServer(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { called++ })))
			defer server.Close()
			for i := range 2 {
				response, body := fetch(t, server, nil)
				if i == 1 && (response.StatusCode != test.status || body != test.body || response.Header.Get("Retry-After") != "3600") {
					t.Errorf("%d %q %v", response.StatusCode, body, response.Header)
				}
			}
			if called != 1 {
				t.Errorf("the handler was called %d times", called)
			}
		})
	}
}

func TestHeadersOfOuterMiddlewareStay(t *testing.T) {
	l, _ := newLimiter(t, "gcra:1/1h")
	inner := newMiddleware(t, l, httplimit.Everyone, nil).Handler(hello)
	outer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Content-Length", "5")
		w.Header().Set("RateLimit", `"outer";r=9`)
		inner.ServeHTTP(w, r)
	})
	for i, want := range []string{`"outer";r=9 "api";r=0;t=3600`, `"outer";r=9 "api";r=0;t=3600`} {
		w := serve(outer, get("203.0.113.7:1"))
		if w.Header().Get("Access-Control-Allow-Origin") != "*" || strings.Join(w.Header().Values("RateLimit"), " ") != want {
			t.Errorf("request %d: %v", i, w.Header())
		}
		if i == 1 && w.Header().Get("Content-Length") != "" {
			t.Error("the length of another body stays")
		}
	}
}

// TestStreamingIsUntouched: the handler has the ResponseWriter of the server.
func TestStreamingIsUntouched(t *testing.T) {
	l, _ := newLimiter(t, "gcra:9/1h")
	m := newMiddleware(t, l, httplimit.Everyone, nil)
	var seen http.ResponseWriter
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.Handler(http.HandlerFunc(func(inside http.ResponseWriter, r *http.Request) {
			if inside != w {
				t.Error("the ResponseWriter is wrapped")
			}
			seen = inside
			control := http.NewResponseController(inside)
			if r.URL.Path == "/hijack" {
				conn, buffered, err := control.Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = buffered.WriteString("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
				_ = buffered.Flush()
				return
			}
			if err := errors.Join(control.SetWriteDeadline(time.Now().Add(time.Minute)), control.Flush()); err != nil {
				t.Error(err)
			}
		})).ServeHTTP(w, r)
	}))
	defer server.Close()
	for path, status := range map[string]int{"/": 200, "/hijack": 204} {
		response, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != status || seen == nil {
			t.Errorf("%s: %d", path, response.StatusCode)
		}
	}
}

func TestLeakyBucketHoldsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiterOn(t, newMemory(t, wall{}), "leaky-bucket:1/1s,capacity=3", nil)
		h := newMiddleware(t, l, httplimit.Everyone, nil).Handler(hello)
		start := time.Now()
		for i := range 3 {
			if w := serve(h, get("203.0.113.7:1")); w.Code != 200 || time.Since(start) != time.Duration(i)*time.Second {
				t.Errorf("request %d: %d after %v", i, w.Code, time.Since(start))
			}
		}
		start = time.Now()
		free := &httplimit.Options{Cost: func(*http.Request) int64 { return 0 }}
		if w := serve(newMiddleware(t, l, httplimit.Everyone, free).Handler(hello), get("203.0.113.7:1")); w.Code != 200 || time.Since(start) != 0 {
			t.Errorf("a request that costs nothing: %d after %v", w.Code, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		start = time.Now()
		if w := serve(h, get("203.0.113.7:1").WithContext(ctx)); w.Code != http.StatusServiceUnavailable || time.Since(start) != 10*time.Millisecond {
			t.Errorf("the context ended: %d after %v", w.Code, time.Since(start))
		}
	})
}

// TestMaxDelayDeniesLongWaits: of one limit, of several and of a policy alike. A client
// that obeys Retry-After is then admitted, and waits no longer than the bound.
func TestMaxDelayDeniesLongWaits(t *testing.T) {
	const spec = "leaky-bucket:1/1s,capacity=30"
	opts := &httplimit.Options{MaxDelay: 2500 * time.Millisecond}
	for name, build := range map[string]func(s store.Store) (*httplimit.Middleware, error){
		"one": func(s store.Store) (*httplimit.Middleware, error) {
			return httplimit.New(limiterOn(t, s, spec, nil), httplimit.Everyone, opts)
		},
		"several": func(s store.Store) (*httplimit.Middleware, error) {
			return httplimit.NewMulti(weir.Must(weir.NewMultiLimiter(s, nil)), opts, httplimit.Rule{Limit: limitOf(t, "api", spec), Key: httplimit.Everyone})
		},
		"a policy": func(s store.Store) (*httplimit.Middleware, error) {
			file := weir.Must(policy.Parse([]byte("version: 1\nrules: [{id: api, key: [ip], limit: \""+spec+"\"}]"), nil))
			e := weir.Must(policy.NewEnforcer(weir.Must(weir.NewMultiLimiter(s, nil)), file.Compiled, nil))
			return httplimit.NewPolicy(e, nil, nil, opts)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, err := build(newMemory(t, wall{}))
			if err != nil {
				t.Fatal(err)
			}
			h := m.Handler(hello)
			start := time.Now()
			var all sync.WaitGroup
			var mu sync.Mutex
			var waits []time.Duration
			denied := 0
			for range 10 {
				all.Go(func() {
					w := serve(h, get("203.0.113.7:1"))
					mu.Lock()
					defer mu.Unlock()
					if w.Code == 429 && time.Since(start) == 0 && w.Header().Get("Retry-After") == "1" {
						denied++
					} else if w.Code == 200 {
						waits = append(waits, time.Since(start))
					}
				})
			}
			all.Wait()
			if slices.Sort(waits); denied != 7 || fmt.Sprint(waits) != "[0s 1s 2s]" {
				t.Errorf("%s: %d denied, %v", name, denied, waits)
			}
			start = time.Now()
			if w := serve(h, get("203.0.113.7:1")); w.Code != 200 || time.Since(start) > opts.MaxDelay {
				t.Errorf("%s: %d after %v", name, w.Code, time.Since(start))
			}
		})
	}
}

// wall is the clock of a bubble.
type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func TestConstructorsRefuse(t *testing.T) {
	l, _ := newLimiter(t, "gcra:1/1s")
	multi, err := weir.NewMultiLimiter(newMemory(t, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	limit := limitOf(t, "a", "gcra:1/1s")
	fine := httplimit.Rule{Limit: limit, Key: httplimit.Everyone}
	for want, build := range map[string]func() (*httplimit.Middleware, error){
		"limiter is nil": func() (*httplimit.Middleware, error) { return httplimit.New(nil, httplimit.Everyone, nil) },
		"Key is nil":     func() (*httplimit.Middleware, error) { return httplimit.New(l, nil, nil) },
		"Options.Absent is 4": func() (*httplimit.Middleware, error) {
			return httplimit.New(l, httplimit.Everyone, &httplimit.Options{Absent: 4})
		},
		"Headers.Style is 2": func() (*httplimit.Middleware, error) {
			return httplimit.New(l, httplimit.Everyone, &httplimit.Options{Headers: httplimit.Headers{Style: 2}})
		},
		"Headers.Legacy is -1": func() (*httplimit.Middleware, error) {
			return httplimit.New(l, httplimit.Everyone, &httplimit.Options{Headers: httplimit.Headers{Legacy: -1}})
		},
		"Options.MaxDelay is -1ns": func() (*httplimit.Middleware, error) {
			return httplimit.New(l, httplimit.Everyone, &httplimit.Options{MaxDelay: -1})
		},
		"Headers.Jitter is -1s": func() (*httplimit.Middleware, error) {
			return httplimit.New(l, httplimit.Everyone, &httplimit.Options{Headers: httplimit.Headers{Jitter: -time.Second}})
		},
		"decider is nil": func() (*httplimit.Middleware, error) { return httplimit.NewMulti(nil, nil, fine) },
		"rules is empty": func() (*httplimit.Middleware, error) { return httplimit.NewMulti(multi, nil) },
		`rules[1].Limit.Name is "a"; allowed: a name that no other rule has`: func() (*httplimit.Middleware, error) { return httplimit.NewMulti(multi, nil, fine, fine) },
		"rules[0].Limit.Name is 0 bytes": func() (*httplimit.Middleware, error) {
			return httplimit.NewMulti(multi, nil, httplimit.Rule{Key: httplimit.Everyone})
		},
		"rules[0].Limit.Algorithm is nil": func() (*httplimit.Middleware, error) {
			return httplimit.NewMulti(multi, nil, httplimit.Rule{Limit: weir.Limit{Name: "b"}, Key: httplimit.Everyone})
		},
		"rules[0].Key is nil": func() (*httplimit.Middleware, error) {
			return httplimit.NewMulti(multi, nil, httplimit.Rule{Limit: limit})
		},
		"rules[0].Absent is -1": func() (*httplimit.Middleware, error) {
			return httplimit.NewMulti(multi, nil, httplimit.Rule{Limit: limit, Key: httplimit.Everyone, Absent: -1})
		},
	} {
		if m, err := build(); m != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
