package httplimit_test

import (
	"net/http"
	"testing"

	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/internal/race"
)

// sink is a ResponseWriter that is reused.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}

func TestMiddlewareAllocatesTwice(t *testing.T) {
	race.SkipAllocations(t)
	for _, test := range []struct {
		name   string
		remote string
		opts   *httplimit.Options
		want   float64
	}{
		{"headers off", "203.0.113.7:1", &httplimit.Options{Headers: httplimit.Headers{Style: httplimit.NoStyle}}, 0},
		{"headers on", "203.0.113.7:1", nil, 2},
		{"headers on, IPv6", "[2001:db8::1]:1", nil, 3},
	} {
		l := limiterOn(t, newMemory(t, nil), "gcra:1000000/1s", nil)
		h := newMiddleware(t, l, httplimit.RemoteAddress, test.opts).Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		w, r := &sink{http.Header{}}, get(test.remote)
		n := testing.AllocsPerRun(1000, func() {
			clear(w.header)
			h.ServeHTTP(w, r)
		})
		if n > test.want {
			t.Errorf("%s: %v allocations, want at most %v", test.name, n, test.want)
		}
	}
}
