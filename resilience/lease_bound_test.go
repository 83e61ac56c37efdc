package resilience_test

import (
	"context"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"pgregory.net/rapid"
)

// centre is a store that counts what it charges and what it is given back, past the
// leases, and whose network may lose a request or a reply.
type centre struct {
	store.Store
	charged, returned int64
	lose              string // of the next call
}

func newCentre(clk store.Clock) *centre {
	c := &centre{}
	c.Store = store.Wrap(weir.Must(memorystore.New(&memorystore.Options{Clock: clk})), store.Hooks{Apply: c.apply})
	return c
}

func (c *centre) apply(ctx context.Context, ops []store.Op, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	lose := c.lose
	c.lose = ""
	switch lose {
	case "request":
		return 0, false, store.ErrUnavailable
	case "request, unnoticed":
		return 0, false, store.ErrOutcomeUnknown
	}
	at, committed, err = next(ctx, ops)
	for i := range ops {
		switch r := &ops[i].Request; {
		case err != nil || !committed:
		case r.Verb == algorithm.Refund:
			c.returned += r.Cost
		default:
			c.charged += r.Cost
		}
	}
	if lose == "reply" {
		return 0, false, store.ErrOutcomeUnknown
	}
	return at, committed, err
}

// use is an admission that a caller has seen.
type use struct{ at, cost int64 }

// TestLeaseNeverAdmitsMoreThanTheStoreGranted is G1 to G4, G7 and G8: several processes share a store,
// some die, requests and replies are lost, and the bound of the algorithm holds for
// what callers were admitted.
func TestLeaseNeverAdmitsMoreThanTheStoreGranted(t *testing.T) {
	for _, spec := range []string{"fixed-window:60/1s", "sliding-counter:60/1s", "gcra:60/1s,burst=60", "token-bucket:60/1h"} {
		t.Run(spec, func(t *testing.T) {
			a := algorithm.Must(algorithm.ParseSpec(spec))
			rapid.Check(t, func(t *rapid.T) { leaseHistory(t, a) })
		})
	}
}

func leaseHistory(t *rapid.T, a algorithm.Algorithm) {
	clk := clock.NewMock()
	clk.Set(time.Unix(1_700_000_000, 0))
	c := newCentre(clk)
	opts := &resilience.LeaseOptions{
		Clock: clk, Units: rapid.SampledFrom([]int64{0, 20}).Draw(t, "units"),
		MaxShare: rapid.SampledFrom([]float64{0.1, 0.5}).Draw(t, "share"),
		Life:     rapid.SampledFrom([]time.Duration{200 * time.Millisecond, 3 * time.Second}).Draw(t, "life"), Timeout: time.Millisecond,
	}
	nodes := make([]*resilience.Lease, rapid.IntRange(1, 4).Draw(t, "nodes"))
	for i := range nodes {
		nodes[i] = weir.Must(resilience.NewLease(c, opts))
	}
	var uses []use
	used := int64(0)
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		n := rapid.IntRange(0, len(nodes)-1).Draw(t, "node")
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		case 0:
			clk.Set(clk.Now().Add(time.Duration(rapid.IntRange(1, 400_000).Draw(t, "µs")) * time.Microsecond))
		case 1:
			clk.Set(clk.Now().Truncate(time.Second).Add(time.Second)) // an edge
		case 2:
			nodes[n].Sweep(ctx)
		case 3:
			c.lose = rapid.SampledFrom([]string{"request", "request, unnoticed", "reply"}).Draw(t, "lose")
		case 4:
			if rapid.IntRange(0, 3).Draw(t, "dies") == 0 {
				nodes[n] = weir.Must(resilience.NewLease(c, opts)) // what it held is lost
			}
		default:
			cost := rapid.SampledFrom([]int64{1, 1, 1, 3}).Draw(t, "cost")
			for range rapid.SampledFrom([]int{1, 10, 20, 80}).Draw(t, "asks") {
				committed, err := takeUnits(nodes[n], a, "k", cost)
				if committed {
					uses = append(uses, use{clk.Now().UnixMicro(), cost})
					used += cost
				} else if err == nil {
					break
				}
			}
		}
		held := int64(0)
		for _, l := range nodes {
			h := l.Stats().Held
			if h < 0 {
				t.Fatalf("%+v: more was given back than was taken", l.Stats())
			}
			held += h
		}
		if used+held > c.charged-c.returned {
			t.Fatalf("%d units were admitted and %d are held, and the store has charged %d and was given back %d", used, held, c.charged, c.returned)
		}
	}
	checkUses(t, a, uses, opts.Life.Microseconds())
}

// checkUses compares admissions with the bound of the type Lease, from its words.
func checkUses(t *rapid.T, a algorithm.Algorithm, uses []use, life int64) {
	spec := a.Spec()
	limit, period, burst := spec.Params[0], spec.Params[1], spec.Params[2]
	windows := map[int64]int64{}
	for i, u := range uses {
		window, pos := u.at/period, u.at%period
		windows[window] += u.cost
		switch spec.Kind {
		case algorithm.KindFixedWindow:
			if windows[window] > limit {
				t.Fatalf("%d units were admitted in a window of %d", windows[window], limit)
			}
		case algorithm.KindSlidingCounter:
			estimate := (windows[window-1]*(period-pos) + period - 1) / period
			if estimate+windows[window] > limit {
				t.Fatalf("the weighted count of what was admitted is %d, of %d", estimate+windows[window], limit)
			}
		default:
			sum := int64(0)
			for j := i; j >= 0; j-- {
				sum += uses[j].cost
				if bound := burst + (u.at-uses[j].at+life)*limit/period; sum > bound {
					t.Fatalf("%d units were admitted in %d µs, and the bound is %d", sum, u.at-uses[j].at, bound)
				}
			}
		}
	}
}

// TestLeaseOfOneProcessDeniesWhatTheStoreWould: where calls come one after the other, a process alone
// answers each as an exact store does.
func TestLeaseOfOneProcessDeniesWhatTheStoreWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clk := clock.NewMock()
		clk.Set(time.Unix(1_700_000_000, 0))
		exact := weir.Must(memorystore.New(&memorystore.Options{Clock: clk}))
		l := weir.Must(resilience.NewLease(newCentre(clk), &resilience.LeaseOptions{Clock: clk, MaxShare: 0.5}))
		a := algorithm.Must(algorithm.ParseSpec(rapid.SampledFrom([]string{"fixed-window:300/1s", "sliding-counter:300/1s"}).Draw(t, "limit")))
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			clk.Set(clk.Now().Add(time.Duration(rapid.IntRange(0, 300_000).Draw(t, "µs")) * time.Microsecond))
			cost := int64(rapid.IntRange(1, 5).Draw(t, "cost"))
			for range rapid.IntRange(1, 50).Draw(t, "asks") {
				want, err := takeUnits(exact, a, "k", cost)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := takeUnits(l, a, "k", cost); got != want || err != nil {
					t.Fatalf("a cost of %d: %t, error %v; the store alone says %t", cost, got, err, want)
				}
			}
		}
	})
}
