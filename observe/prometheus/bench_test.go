package promobserver

import (
	"fmt"
	"testing"

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

// BenchmarkObserver is a decision in memory without and with a Collector.
func BenchmarkObserver(b *testing.B) {
	s := weir.Must(memorystore.New(nil))
	defer s.Close()
	limit := weir.Must(weir.ParseLimit("limit", "gcra:1000000000/1s"))
	for _, observed := range []bool{false, true} {
		opts := &weir.Options{}
		if observed {
			opts.Observer = weir.Must(New(nil))
		}
		l := weir.Must(weir.New(s, limit, opts))
		b.Run(fmt.Sprintf("observed=%t", observed), func(b *testing.B) {
			b.ReportAllocs()
			ctx := b.Context()
			for b.Loop() {
				if _, err := l.Allow(ctx, "user:1"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
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
