package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-chi/httprate"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/httplimit"
	memorystore "github.com/weirgo/weir/store/memory"
)

const generous = 1_000_000_000

// middlewares are the same limit by address in front of a handler that does nothing.
var middlewares = []struct {
	name string
	wrap func(tb testing.TB, h http.Handler) http.Handler
}{
	{"handler", func(_ testing.TB, h http.Handler) http.Handler { return h }},
	{"limiter", func(tb testing.TB, h http.Handler) http.Handler {
		l := httpLimiter(tb)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key, _ := httplimit.RemoteAddress(r)
			if d, err := l.Allow(r.Context(), key); err == nil && d.Allowed {
				h.ServeHTTP(w, r)
			}
		})
	}},
	{"httplimit", func(tb testing.TB, h http.Handler) http.Handler {
		return weir.Must(httplimit.New(httpLimiter(tb), httplimit.RemoteAddress, nil)).Handler(h)
	}},
	{"httplimit without headers", func(tb testing.TB, h http.Handler) http.Handler {
		opts := &httplimit.Options{Headers: httplimit.Headers{Style: httplimit.NoStyle}}
		return weir.Must(httplimit.New(httpLimiter(tb), httplimit.RemoteAddress, opts)).Handler(h)
	}},
	{"httplimit with Settle", func(tb testing.TB, h http.Handler) http.Handler {
		opts := &httplimit.Options{Settle: httplimit.OnlyFailures}
		return weir.Must(httplimit.New(httpLimiter(tb), httplimit.RemoteAddress, opts)).Handler(h)
	}},
	{"httprate", func(_ testing.TB, h http.Handler) http.Handler {
		return httprate.LimitBy(generous, time.Hour, keyOfHTTPRate)(h)
	}},
	{"httprate without headers", func(_ testing.TB, h http.Handler) http.Handler {
		return httprate.LimitBy(generous, time.Hour, keyOfHTTPRate, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))(h)
	}},
	{"ulule", func(_ testing.TB, h http.Handler) http.Handler {
		return stdlib.NewMiddleware(limiter.New(memory.NewStore(), limiter.Rate{Limit: generous, Period: time.Hour})).Handler(h)
	}},
}

func httpLimiter(tb testing.TB) *weir.Limiter {
	states := weir.Must(memorystore.New(nil))
	tb.Cleanup(func() { _ = states.Close() })
	return weir.Must(weir.New(states, weir.Must(weir.ParseLimit("api", "gcra:1000000000/1h")), nil))
}

func keyOfHTTPRate(r *http.Request) (string, error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return httprate.CanonicalizeIP(host), err
}

// BenchmarkHTTP is one request of one client.
func BenchmarkHTTP(b *testing.B) {
	for _, m := range middlewares {
		b.Run(m.name, func(b *testing.B) {
			served := 0
			h := m.wrap(b, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
			w, r := &reused{http.Header{}}, httptest.NewRequest("GET", "/", nil)
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				h.ServeHTTP(w, r)
			}
			if served != b.N {
				b.Errorf("%d of %d served", served, b.N)
			}
		})
	}
}
