package httplimit_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/httplimit"
	"pgregory.net/rapid"
)

// spec draws the text of a limit.
func spec(t *rapid.T) string {
	limit := rapid.Int64Range(1, 50).Draw(t, "limit")
	period := rapid.SampledFrom([]string{"100ms", "1s", "1.5s", "7s", "1m", "90s", "24h"}).Draw(t, "period")
	kind := rapid.SampledFrom([]string{"gcra", "token-bucket", "leaky-bucket", "fixed-window", "sliding-log", "sliding-counter"}).Draw(t, "kind")
	text := fmt.Sprintf("%s:%d/%s", kind, limit, period)
	if capacity := rapid.Int64Range(0, 60).Draw(t, "capacity"); capacity > 0 && kind == "leaky-bucket" {
		text += fmt.Sprintf(",capacity=%d", capacity)
	} else if capacity > 0 && (kind == "gcra" || kind == "token-bucket") {
		text += fmt.Sprintf(",burst=%d", capacity)
	}
	return text
}

// params reads the parameters of one item.
func params(t tb, item string) (name string, values map[string]int64) {
	t.Helper()
	parts := strings.Split(item, ";")
	values = map[string]int64{}
	for _, part := range parts[1:] {
		key, text, _ := strings.Cut(part, "=")
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		values[key] = value
	}
	return parts[0], values
}

// TestClientThatObeysIsAdmitted: whatever came before, a client that waits as long as
// Retry-After says is admitted, and the headers do not contradict each other.
func TestClientThatObeysIsAdmitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := spec(t)
		l, clock := newLimiter(t, text)
		cost := int64(1)
		m := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{
			Cost:    func(*http.Request) int64 { return cost },
			Headers: httplimit.Headers{Jitter: time.Duration(rapid.IntRange(0, 3).Draw(t, "jitter")) * time.Second},
		})
		since := time.Duration(0)
		decide := func() (v *httplimit.Verdict, h http.Header) {
			clock.at(since)
			r := get("203.0.113.7:1")
			v, _ = m.Decide(r)
			h = http.Header{}
			m.Headers().Write(h, v)
			return v, h
		}
		waits := strings.HasPrefix(text, "leaky") // in real time
		for range rapid.IntRange(1, 20).Draw(t, "requests") {
			since += time.Duration(rapid.Int64Range(0, 3_000_000).Draw(t, "pause")) * time.Microsecond
			cost = rapid.Int64Range(0, 70).Draw(t, "cost")
			if waits {
				cost = 0
			}
			v, h := decide()
			_, policy := params(t, h.Get("RateLimit-Policy"))
			_, quota := params(t, h.Get("RateLimit"))
			if quota["r"] > policy["q"] || quota["r"] < 0 {
				t.Fatalf("%s: %v", text, h)
			}
			if until, missing := quota["t"]; missing != (quota["r"] < policy["q"]) && (missing || v.Allowed) || missing && until < 1 {
				t.Fatalf("%s: %v", text, h)
			}
			if v.Allowed {
				if h.Get("Retry-After") != "" {
					t.Fatalf("%s: %v", text, h)
				}
				continue
			}
			if cost > policy["q"] {
				if h.Get("Retry-After") != "" {
					t.Fatalf("%s: never, but %v", text, h)
				}
				continue
			}
			wait, err := strconv.ParseInt(h.Get("Retry-After"), 10, 64)
			if err != nil || wait < 1 || wait < quota["t"] {
				t.Fatalf("%s: %v", text, h)
			}
			since += time.Duration(wait) * time.Second
			if v, h := decide(); !v.Allowed {
				t.Fatalf("%s: refused after %d s: %v", text, wait, h)
			}
		}
	})
}

// TestMoreUnitsAfterT: when t is over there is more, and for buckets not before.
func TestMoreUnitsAfterT(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := spec(t)
		l, clock := newLimiter(t, text)
		capacity, err := l.Peek(t.Context(), "everyone")
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 5).Draw(t, "takes") {
			clock.now = clock.now.Add(time.Duration(rapid.Int64Range(0, 200_000).Draw(t, "pause")) * time.Microsecond)
			if _, err := l.AllowN(t.Context(), "everyone", rapid.Int64Range(1, capacity.Limit).Draw(t, "cost")); err != nil {
				t.Fatal(err)
			}
		}
		m := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{Cost: func(*http.Request) int64 { return 0 }})
		look := func() (r, seconds int64) {
			h := http.Header{}
			v, _ := m.Decide(get("203.0.113.7:1"))
			m.Headers().Write(h, v)
			_, values := params(t, h.Get("RateLimit"))
			return values["r"], values["t"]
		}
		remaining, seconds := look()
		if seconds == 0 {
			if remaining != capacity.Limit {
				t.Fatalf("%s: r=%d without t", text, remaining)
			}
			return
		}
		start := clock.now
		clock.now = start.Add(time.Duration(seconds) * time.Second)
		if more, _ := look(); more <= remaining {
			t.Fatalf("%s: r=%d, and after %d s r=%d", text, remaining, seconds, more)
		}
		kind, _, _ := strings.Cut(text, ":")
		if kind == "gcra" || kind == "token-bucket" || kind == "leaky-bucket" || kind == "fixed-window" {
			clock.now = start.Add(time.Duration(seconds-1) * time.Second)
			if more, _ := look(); more > remaining {
				t.Fatalf("%s: r=%d;t=%d, and a second before that r=%d", text, remaining, seconds, more)
			}
		}
	})
}
