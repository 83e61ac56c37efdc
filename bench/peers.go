package main

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/go-chi/httprate"
	sethvargo "github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	ululememory "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

// newXTimeRate is a token bucket for each key, which answers with a bool.
func newXTimeRate(_ testing.TB, denied bool) take {
	limit, burst := rate.Limit(1e12), int(1e12)
	if denied {
		limit, burst = 1e-9, 1
	}
	of := eachKey(func() *rate.Limiter { return rate.NewLimiter(limit, burst) })
	return func(key string) bool { return of(key).Allow() }
}

// newFailsafe is a bursty limiter for each key, which answers with a bool.
func newFailsafe(_ testing.TB, denied bool) take {
	units, period := uint(1<<40), time.Second
	if denied {
		units, period = 1, 9600*time.Hour
	}
	of := eachKey(func() ratelimiter.RateLimiter[any] { return ratelimiter.NewBursty[any](units, period) })
	return func(key string) bool { return of(key).TryAcquirePermit() }
}

// eachKey finds the limiter of a key, for libraries that know none.
func eachKey[L any](make func() L) func(key string) L {
	var limiters sync.Map
	return func(key string) L {
		l, found := limiters.Load(key)
		if !found {
			l, _ = limiters.LoadOrStore(key, make())
		}
		return l.(L)
	}
}

// newSethvargo is a fixed window, which answers with the limit, what remains and when
// the window ends.
func newSethvargo(tb testing.TB, denied bool) take {
	// The second window of so many tokens would have none: interval / tokens is its rate.
	config := &sethvargo.Config{Tokens: 1 << 40, Interval: time.Hour}
	if denied {
		config = &sethvargo.Config{Tokens: 1, Interval: 9600 * time.Hour}
	}
	s, err := sethvargo.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	tb.Cleanup(func() { s.Close(ctx) })
	return func(key string) bool {
		_, _, _, allowed, err := s.Take(ctx, key)
		if err != nil {
			tb.Error(err)
		}
		return allowed
	}
}

// newThrottled is a GCRA, which answers with limit, remaining, reset and retry.
func newThrottled(tb testing.TB, denied bool) take {
	s, err := memstore.NewCtx(0)
	if err != nil {
		tb.Fatal(err)
	}
	quota := throttled.RateQuota{MaxRate: throttled.PerSec(1_000_000), MaxBurst: 1 << 40}
	if denied {
		quota = throttled.RateQuota{MaxRate: throttled.PerDuration(1, 9600*time.Hour)}
	}
	l, err := throttled.NewGCRARateLimiterCtx(s, quota)
	if err != nil {
		tb.Fatal(err)
	}
	l.SetMaxCASAttemptsLimit(1 << 30) // ten, by default, fail on one key
	ctx := context.Background()
	return func(key string) bool {
		limited, _, err := l.RateLimitCtx(ctx, key, 1)
		if err != nil {
			tb.Error(err)
		}
		return !limited
	}
}

// newUlule is a fixed window, which answers with limit, remaining and reset.
func newUlule(tb testing.TB, denied bool) take {
	quota := ulule.Rate{Limit: 1 << 40, Period: time.Second}
	if denied {
		quota = ulule.Rate{Limit: 1, Period: 9600 * time.Hour}
	}
	l, ctx := ulule.New(ululememory.NewStore(), quota), context.Background()
	return func(key string) bool {
		c, err := l.Get(ctx, key)
		if err != nil {
			tb.Error(err)
		}
		return !c.Reached
	}
}

// newHTTPRate is a sliding counter, which writes headers if it is told to: here it is not.
func newHTTPRate(_ testing.TB, denied bool) take {
	limit, period := 1<<40, time.Hour
	if denied {
		limit, period = 1, 9600*time.Hour
	}
	l := httprate.NewRateLimiter(limit, period, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
	w, request := &reused{http.Header{}}, &http.Request{}
	return func(key string) bool { return !l.OnLimit(w, request, key) }
}

// reused is a ResponseWriter that costs nothing.
type reused struct{ header http.Header }

func (w *reused) Header() http.Header         { return w.header }
func (w *reused) Write(b []byte) (int, error) { return len(b), nil }
func (w *reused) WriteHeader(int)             {}
