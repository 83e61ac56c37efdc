package promobserver

import (
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/policy"
	memorystore "github.com/weirgo/weir/store/memory"
)

// TestDecisionsAllocateNothing: neither admitted nor denied ones.
func TestDecisionsAllocateNothing(t *testing.T) {
	race.SkipAllocations(t)
	c := weir.Must(New(nil))
	l := limiterOn(t, memory(), c, "gcra:100/1h", weir.Options{})
	if n := testing.AllocsPerRun(1000, func() { weir.Must(l.Allow(t.Context(), "k")) }); n != 0 {
		t.Errorf("%v allocations a decision, want 0", n)
	}
}

// BenchmarkObserver is what a Collector adds to a decision in memory: the fastest of many short
// rounds with it and without it, in turns, so that other work on the machine counts little.
func BenchmarkObserver(b *testing.B) {
	s := weir.Must(memorystore.New(nil))
	defer s.Close()
	limit := weir.Must(weir.ParseLimit("limit", "gcra:1000000000/1s"))
	limiters := [2]*weir.Limiter{
		weir.Must(weir.New(s, limit, nil)),
		weir.Must(weir.New(s, limit, &weir.Options{Observer: weir.Must(New(nil))})),
	}
	const round = 500
	fastest := [2]time.Duration{time.Hour, time.Hour}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		for i, l := range limiters {
			start := time.Now()
			for range round {
				if _, err := l.Allow(ctx, "user:1"); err != nil {
					b.Fatal(err)
				}
			}
			fastest[i] = min(fastest[i], time.Since(start))
		}
	}
	b.ReportMetric(float64(fastest[0].Nanoseconds())/round, "ns/bare")
	b.ReportMetric(float64((fastest[1]-fastest[0]).Nanoseconds())/round, "ns/observer")
}

// BenchmarkEnforcer is a decision of a policy of one rule, in memory.
func BenchmarkEnforcer(b *testing.B) {
	c := weir.Must(New(&Options{ActiveKeys: true}))
	e := enforcer(b, c, policy.Rule{ID: "user", Key: []string{"user"}, Limit: spec("gcra:1000000000/1s")})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Decide(b.Context(), asUser("ann")); err != nil {
			b.Fatal(err)
		}
	}
}
