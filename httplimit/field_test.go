package httplimit_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/httplimit"
)

// The tests of this file are mistakes of known limiters.

// fetch makes a request on a connection of its own.
func fetch(t *testing.T, server *httptest.Server, headers http.Header) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = headers
	r.Close = true
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func TestRetryAfterIsRoundedUp(t *testing.T) {
	l, clock := newLimiter(t, "gcra:1/10s")
	h := newMiddleware(t, l, httplimit.Everyone, nil).Handler(hello)
	serve(h, get("203.0.113.7:1"))
	clock.at(100 * time.Millisecond)
	w := serve(h, get("203.0.113.7:1"))
	if got := w.Header().Get("Retry-After"); w.Code != 429 || got != "10" {
		t.Errorf("%d, Retry-After %q", w.Code, got)
	}
	clock.at(100*time.Millisecond + 10*time.Second)
	if w := serve(h, get("203.0.113.7:1")); w.Code != 200 {
		t.Errorf("a client that waited is refused: %d", w.Code)
	}

	l, _ = newLimiter(t, "gcra:1/500ms")
	h = newMiddleware(t, l, httplimit.Everyone, nil).Handler(hello)
	serve(h, get("203.0.113.7:1"))
	if got := serve(h, get("203.0.113.7:1")).Header().Get("Retry-After"); got != "1" {
		t.Errorf("half a second: Retry-After %q", got)
	}
}

func TestHeadersAtTheEdgeOfAWindow(t *testing.T) {
	l, clock := newLimiter(t, "fixed-window:2/1s")
	h := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{Headers: httplimit.Headers{Legacy: httplimit.LegacyEpoch}}).Handler(hello)
	denied := 0
	for i := range 200 {
		clock.at(900*time.Millisecond + time.Duration(i)*time.Millisecond)
		w := serve(h, get("203.0.113.7:1"))
		if w.Code == 429 {
			denied++
			if got := w.Header().Get("Retry-After"); got != "1" {
				t.Errorf("at %v: Retry-After %q", clock.now, got)
			}
		}
		reset, err := strconv.ParseInt(w.Header().Get("X-RateLimit-Reset"), 10, 64)
		if now := clock.now; err != nil || reset < now.Unix() || reset > now.Unix()+1 {
			t.Errorf("at %v: reset %d, %v", now, reset, err)
		}
	}
	if denied != 196 {
		t.Errorf("%d denied", denied)
	}
	clock.at(time.Hour)
	m := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{
		Cost:    func(*http.Request) int64 { return 0 },
		Headers: httplimit.Headers{Legacy: httplimit.LegacyDelta},
	})
	unknown := serve(m.Handler(hello), get("203.0.113.7:1")).Header()
	if unknown.Get("RateLimit") != `"api";r=2` || unknown.Get("X-RateLimit-Remaining") != "2" || unknown.Get("X-RateLimit-Reset") != "0" {
		t.Errorf("nobody has asked before: %v", unknown)
	}
}

func TestResetHasOneUnit(t *testing.T) {
	for _, spec := range []string{"fixed-window:2/1m", "sliding-log:2/1m", "sliding-counter:2/1m", "gcra:2/1m", "token-bucket:2/1m"} {
		for legacy, add := range map[httplimit.Legacy]int64{httplimit.LegacyDelta: 0, httplimit.LegacyEpoch: midnight.Unix() + 18} {
			l, clock := newLimiter(t, spec)
			clock.at(18 * time.Second) // a window ends 42 s from now
			h := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{Headers: httplimit.Headers{Style: httplimit.NoStyle, Legacy: legacy}}).Handler(hello)
			for i := range 3 {
				w := serve(h, get("203.0.113.7:1"))
				reset, err := strconv.ParseInt(w.Header().Get("X-RateLimit-Reset"), 10, 64)
				if err != nil || reset-add < 30 || reset-add > 102 || strings.HasPrefix(spec, "fixed") && reset-add != 42 {
					t.Errorf("%s, request %d: reset %d, %v", spec, i, reset, err)
				}
				if w.Header().Get("X-RateLimit-Limit") != "2" || w.Header().Get("X-RateLimit-Remaining") != strconv.Itoa(max(1-i, 0)) || w.Header().Get("RateLimit") != "" {
					t.Errorf("%s, request %d: %v", spec, i, w.Header())
				}
			}
		}
	}
}

func TestResetOfADenialIsNotZero(t *testing.T) {
	l, clock := newLimiter(t, "fixed-window:2/1m")
	h := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{Headers: httplimit.Headers{Legacy: httplimit.LegacyDelta}}).Handler(hello)
	for i, want := range []struct{ remaining, reset, limit, retry string }{
		{"1", "60", `"api";r=1;t=60`, ""}, {"0", "55", `"api";r=0;t=55`, ""}, {"0", "50", `"api";r=0;t=50`, "50"},
	} {
		clock.at(time.Duration(i) * 5 * time.Second)
		got := serve(h, get("203.0.113.7:1")).Header()
		if got.Get("X-RateLimit-Remaining") != want.remaining || got.Get("X-RateLimit-Reset") != want.reset ||
			got.Get("RateLimit") != want.limit || got.Get("Retry-After") != want.retry {
			t.Errorf("request %d: %v", i, got)
		}
	}
}

func TestPreflightSpendsNothing(t *testing.T) {
	l, _ := newLimiter(t, "gcra:4/1m")
	limited := newMiddleware(t, l, httplimit.RemoteAddress, &httplimit.Options{Skip: httplimit.IsPreflight}).Handler(hello)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", httplimit.ExposedHeaders)
		limited.ServeHTTP(w, r)
	})
	options := get("203.0.113.7:1", "Origin", "https://example.org", "Access-Control-Request-Method", "GET")
	options.Method = "OPTIONS"
	for range 4 {
		if n := admitted(t, h, options, get("203.0.113.7:1", "Origin", "https://example.org")); n != 2 {
			t.Errorf("%d of 2 admitted", n)
		}
	}
	w := serve(h, get("203.0.113.7:1"))
	if w.Code != 429 || w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the fifth: %d %v", w.Code, w.Header())
	}
	for name := range w.Header() {
		if strings.HasPrefix(name, "Ratelimit") && !strings.Contains(strings.ToLower(httplimit.ExposedHeaders), strings.ToLower(name)) {
			t.Errorf("%s is not in ExposedHeaders", name)
		}
	}
	plain := get("203.0.113.7:1")
	plain.Method = "OPTIONS"
	if w := serve(h, plain); w.Code != 429 {
		t.Errorf("OPTIONS without an origin: %d", w.Code)
	}
}

func TestIPv6ClientHasOneBudgetForItsNetwork(t *testing.T) {
	l, _ := newLimiter(t, "gcra:5/1m")
	h := newMiddleware(t, l, httplimit.RemoteAddress, nil).Handler(hello)
	var many []*http.Request
	for i := range 100 {
		many = append(many, get(fmt.Sprintf("[2001:db8:1:2::%x]:80", i+1)))
	}
	v4 := get("203.0.113.7:1")
	for want, requests := range map[int][]*http.Request{5: many, 1: {get("[2001:db8:1:3::1]:80")}} {
		if n := admitted(t, h, requests...); n != want {
			t.Errorf("%d admitted, want %d", n, want)
		}
	}
	if n := admitted(t, h, v4, v4, v4, v4, v4, v4); n != 5 {
		t.Errorf("IPv4: %d of 6", n)
	}
	if n := admitted(t, h, get("203.0.113.8:1")); n != 1 {
		t.Error("another IPv4 client is refused")
	}
}

func TestClientDoesNotChooseItsAddress(t *testing.T) {
	behind, err := httplimit.NewClientAddress(&httplimit.AddressOptions{Trusted: []string{"10.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		key     httplimit.Key
		request func(i int) *http.Request
	}{
		"nobody is trusted": {httplimit.RemoteAddress, func(i int) *http.Request {
			return get("198.51.100.1:1", "X-Forwarded-For", fmt.Sprintf("10.0.0.%d", i))
		}},
		"one line": {behind.Key, func(i int) *http.Request {
			return get("10.0.0.1:1", "X-Forwarded-For", fmt.Sprintf("6.6.6.%d, 203.0.113.9", i))
		}},
		"two lines": {behind.Key, func(i int) *http.Request {
			return get("10.0.0.1:1", "X-Forwarded-For", fmt.Sprintf("6.6.6.%d", i), "X-Forwarded-For", "203.0.113.9")
		}},
		"the address of a victim": {behind.Key, func(i int) *http.Request {
			return get("10.0.0.1:1", "X-Forwarded-For", "203.0.113.50, 203.0.113.9")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newLimiter(t, "gcra:5/1m")
			h := newMiddleware(t, l, test.key, nil).Handler(hello)
			var requests []*http.Request
			for i := range 20 {
				requests = append(requests, test.request(i))
			}
			if n := admitted(t, h, requests...); n != 5 {
				t.Errorf("%d admitted", n)
			}
			if n := admitted(t, h, get("10.0.0.1:1", "X-Forwarded-For", "203.0.113.50")); n != 1 {
				t.Error("the victim is refused")
			}
		})
	}
}

func TestPortIsNoPartOfTheKey(t *testing.T) {
	for _, network := range []string{"tcp4 127.0.0.1:0", "tcp6 [::1]:0", "unix"} {
		l, _ := newLimiter(t, "gcra:2/1m")
		m := newMiddleware(t, l, httplimit.RemoteAddress, &httplimit.Options{Absent: httplimit.AbsentShared})
		kind, address, _ := strings.Cut(network, " ")
		if kind == "unix" {
			address = filepath.Join(t.TempDir(), "s")
		}
		listener, err := net.Listen(kind, address)
		if err != nil {
			t.Logf("%s cannot be tried here: %v", network, err)
			continue
		}
		server := httptest.NewUnstartedServer(m.Handler(hello))
		server.Listener.Close()
		server.Listener = listener
		server.Start()
		if kind == "unix" {
			server.URL = "http://unix"
			server.Client().Transport = &http.Transport{DialContext: (&unixDialer{address}).dial}
		}
		ok := 0
		for range 10 {
			if response, _ := fetch(t, server, nil); response.StatusCode == 200 {
				ok++
			}
		}
		if ok != 2 {
			t.Errorf("%s: %d admitted", network, ok)
		}
		server.Close()
	}
}

func TestMissingKeyFallsBackToTheAddress(t *testing.T) {
	l, _ := newLimiter(t, "gcra:3/1m")
	h := newMiddleware(t, l, httplimit.First(httplimit.Header("X-Api-Key"), httplimit.RemoteAddress), nil).Handler(hello)
	for _, address := range []string{"203.0.113.7:1", "203.0.113.8:1"} {
		r := get(address)
		if n := admitted(t, h, r, r, r, r, r); n != 3 {
			t.Errorf("%s: %d admitted", address, n)
		}
	}
	// Spaces are no part of a key, and case is. A key that looks like an address is no
	// address.
	if n := admitted(t, h, get("203.0.113.7:1", "X-Api-Key", " abc"), get("203.0.113.7:1", "X-Api-Key", "abc "), get("1.1.1.1:1", "X-Api-Key", "abc"), get("1.1.1.1:1", "X-Api-Key", "abc")); n != 3 {
		t.Errorf("abc: %d admitted", n)
	}
	for _, key := range []string{"ABC", "203.0.113.7"} {
		if n := admitted(t, h, get("203.0.113.7:1", "X-Api-Key", key)); n != 1 {
			t.Errorf("%s: %d admitted", key, n)
		}
	}
}

func TestSpellingOfAPathIsNoNewKey(t *testing.T) {
	l, _ := newLimiter(t, "gcra:2/1m")
	m := newMiddleware(t, l, httplimit.Pattern, nil)
	mux := http.NewServeMux()
	mux.Handle("/api/users/{action...}", m.Handler(hello))
	n := 0
	for _, path := range []string{"/api/users/validate", "/api/users/valid%61te", "/api/users/validate?x", "/api/users/validate/"} {
		r := httptest.NewRequest("GET", path, nil)
		n += admitted(t, mux, r)
	}
	if n != 2 {
		t.Errorf("%d admitted", n)
	}
}

// TestHerd: clients that were denied together and obey Retry-After come back together,
// and with Jitter they do not.
func TestHerd(t *testing.T) {
	for jitter, most := range map[time.Duration][2]int{0: {900, 900}, 10 * time.Second: {50, 200}, 30 * time.Second: {20, 100}} {
		l, clock := newLimiter(t, "fixed-window:100/1m")
		h := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{Headers: httplimit.Headers{Jitter: jitter}}).Handler(hello)
		arrivals := map[int64]int{1: 1000} // clients, by second
		peak, served, last := 0, 0, int64(0)
		for second := int64(1); served < 1000; second++ {
			if second > 3600 {
				t.Fatal("not all are served")
			}
			clock.at(time.Duration(second) * time.Second)
			if n := arrivals[second]; second > 1 {
				peak = max(peak, n)
			}
			for range arrivals[second] {
				w := serve(h, get("203.0.113.7:1"))
				if w.Code == 200 {
					served, last = served+1, second
					continue
				}
				wait, err := strconv.ParseInt(w.Header().Get("Retry-After"), 10, 64)
				if err != nil || wait < 1 {
					t.Fatal(w.Header())
				}
				if least := 60 - second%60; wait < least || wait > least+int64(jitter/time.Second) {
					t.Fatalf("at %d s: Retry-After %d", second, wait)
				}
				arrivals[second+wait]++
			}
		}
		if peak < most[0] || peak > most[1] {
			t.Errorf("jitter %v: peak %d, want %v", jitter, peak, most)
		}
		if jitter == 0 && last != 540 {
			t.Errorf("all served at %d s", last)
		}
	}
}

// TestEveryFamilySaysItsWindow: a family that is new must be told apart, too.
func TestEveryFamilySaysItsWindow(t *testing.T) {
	for _, f := range algorithm.Families() {
		specs := map[string]string{f.Name + ":3/3s": `"api";q=3;w=3`, f.Name + ":3/100ms": `"api";q=3`}
		if f.Option != "" {
			specs[f.Name+":3/3s,"+f.Option+"=5"] = `"api";q=5;w=5`
		}
		if f.Calendar { // whose windows have no one length
			specs = map[string]string{f.Name + ":3/day": `"api";q=3`, f.Name + ":3/month,zone=Europe/Berlin": `"api";q=3`}
		}
		for spec, want := range specs {
			l, _ := newLimiter(t, spec)
			if got := serve(newMiddleware(t, l, httplimit.Everyone, nil).Handler(hello), get("203.0.113.7:1")).Header().Get("RateLimit-Policy"); got != want {
				t.Errorf("%s: %s, want %s", spec, got, want)
			}
		}
	}
}
