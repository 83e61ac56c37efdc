package httplimit_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

var midnight = time.Unix(1_764_288_000, 0)

// movable is a clock that the test moves.
type movable struct{ now time.Time }

func (m *movable) Now() time.Time         { return m.now }
func (m *movable) at(since time.Duration) { m.now = midnight.Add(since) }

// tb is what *testing.T and *rapid.T share.
type tb interface {
	Helper()
	Fatal(args ...any)
	Cleanup(f func())
}

// newMemory returns a store; a nil clock is the wall clock.
func newMemory(t tb, clock store.Clock) store.Store {
	t.Helper()
	opts := &memorystore.Options{}
	if clock != nil {
		opts.Clock = clock
	}
	s, err := memorystore.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// newLimiter returns a Limiter with the name "api" and a clock at midnight.
func newLimiter(t tb, spec string) (*weir.Limiter, *movable) {
	t.Helper()
	clock := &movable{midnight}
	return limiterOn(t, newMemory(t, clock), spec, nil), clock
}

func limiterOn(t tb, s store.Store, spec string, opts *weir.Options) *weir.Limiter {
	t.Helper()
	l, err := weir.New(s, limitOf(t, "api", spec), opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func limitOf(t tb, name, spec string) weir.Limit {
	t.Helper()
	limit, err := weir.ParseLimit(name, spec)
	if err != nil {
		t.Fatal(err)
	}
	return limit
}

func newMiddleware(t tb, l *weir.Limiter, key httplimit.Key, opts *httplimit.Options) *httplimit.Middleware {
	t.Helper()
	m, err := httplimit.New(l, key, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// hello is a handler.
var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("hello")) })

// get makes a request with headers: name, value, name, value.
func get(remote string, headers ...string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = remote
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// admitted counts the requests that were served. Every other one must have status 429.
func admitted(t *testing.T, h http.Handler, requests ...*http.Request) (n int) {
	t.Helper()
	for _, r := range requests {
		switch w := serve(h, r); w.Code {
		case http.StatusOK:
			n++
		case http.StatusTooManyRequests:
		default:
			t.Errorf("status %d", w.Code)
		}
	}
	return n
}

func problemOf(t *testing.T, w *httptest.ResponseRecorder) (p struct {
	Type, Title, Detail string
	Status              int
	Violated            []string `json:"violated-policies"`
}) {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type %q", got)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Errorf("%v: %s", err, w.Body)
	}
	return p
}

// unixDialer dials a Unix socket, whatever the address.
type unixDialer struct{ path string }

func (u *unixDialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", u.path)
}
