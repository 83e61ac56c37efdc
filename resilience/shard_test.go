package resilience_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"pgregory.net/rapid"
)

// TestOneShardIsTheStore, but for what shards refuse.
func TestOneShardIsTheStore(t *testing.T) {
	seen := map[string]bool{}
	cfg := &conformance.Config{BuiltInOnly: true}
	for _, c := range cfg.Checks() {
		open := func(clk clock.Clock) store.Store {
			return weir.Must(resilience.NewShards(weir.Must(memorystore.New(&memorystore.Options{Clock: clk})), 1, nil))
		}
		// Checks that use a leaky bucket, a charge or a refund are refused: they are not about shards.
		if err := c.Verify(open); err != nil && !errors.Is(err, conformance.ErrSkipped) && !strings.Contains(err.Error(), "is not allowed: must be") {
			t.Errorf("%s: %v", c.Name, err)
		} else if err == nil {
			seen[c.Name] = true
		}
	}
	for _, name := range []string{"timeline/gcra", "timeline/fixed-window", "timeline/sliding-log", "timeline/sliding-counter", "timeline/token-bucket", "concurrent/exactly-the-capacity/gcra"} {
		if !seen[name] {
			t.Errorf("%s did not run", name)
		}
	}
}

// TestShardsAdmitAtMostTheLimit: the bound of each algorithm holds for all shards together.
func TestShardsAdmitAtMostTheLimit(t *testing.T) {
	for _, spec := range []string{"fixed-window:57/1s", "sliding-counter:57/1s", "sliding-log:57/1s", "gcra:57/1s,burst=23", "token-bucket:57/1s,burst=23"} {
		t.Run(spec, func(t *testing.T) {
			a := parse(t, spec)
			family, _ := algorithm.FamilyOf(a.Spec().Kind)
			rapid.Check(t, func(t *rapid.T) {
				clk := clock.NewMock()
				clk.Set(time.Unix(1_700_000_000, 0))
				draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
				s := weir.Must(resilience.NewShards(weir.Must(memorystore.New(&memorystore.Options{Clock: clk})),
					rapid.IntRange(1, 70).Draw(t, "shards"), &resilience.ShardOptions{Random: draw.IntN}))
				var uses []use
				for range rapid.IntRange(1, 10).Draw(t, "steps") {
					clk.Set(clk.Now().Add(time.Duration(rapid.IntRange(0, 500_000).Draw(t, "µs")) * time.Microsecond))
					for range rapid.IntRange(1, 60).Draw(t, "asks") {
						if committed, err := takeUnits(s, a, "k", 1); err != nil {
							t.Fatal(err)
						} else if committed {
							uses = append(uses, use{clk.Now().UnixMicro(), 1})
						}
					}
				}
				for first := range uses {
					for last := first; last < len(uses); last++ {
						took := time.Duration(uses[last].at-uses[first].at) * time.Microsecond
						if n := int64(last - first + 1); n > family.Bound(a.Spec(), took) {
							t.Fatalf("%d units in %v, and the bound is %d", n, took, family.Bound(a.Spec(), took))
						}
					}
				}
			})
		})
	}
}

// TestShardsDenyEarly by the numbers of the documentation: 0.4·√(L·(n − 1)) of L.
func TestShardsDenyEarly(t *testing.T) {
	for _, c := range []struct {
		spec  string
		limit int64
		n     int
	}{{"fixed-window:1000/1h", 1000, 10}, {"fixed-window:100/1h", 100, 10}, {"fixed-window:10000/1h", 10000, 16}} {
		draw := rand.New(rand.NewPCG(1, 2))
		s := weir.Must(resilience.NewShards(newMemory(t, newHand()), c.n, &resilience.ShardOptions{Random: draw.IntN}))
		a, denied, rounds := parse(t, c.spec), 0, 20
		for round := range rounds {
			for range c.limit {
				if committed, err := takeUnits(s, a, "k"+string(rune('a'+round)), 1); err != nil {
					t.Fatal(err)
				} else if !committed {
					denied++
				}
			}
		}
		got, want := float64(denied)/float64(rounds), 0.4*math.Sqrt(float64(c.limit)*float64(c.n-1))
		t.Logf("%s on %d shards: %.1f of %d are denied, estimated %.1f", c.spec, c.n, got, c.limit, want)
		if got < 0.8*want || got > 1.2*want {
			t.Errorf("%s on %d shards: %.1f of %d are denied, want about %.1f", c.spec, c.n, got, c.limit, want)
		}
	}
}

// TestShardsHaveTheWholeLimit: looks see all shards, and a Reset makes all fresh.
func TestShardsHaveTheWholeLimit(t *testing.T) {
	next := 0
	inner := newMemory(t, newHand())
	s := weir.Must(resilience.NewShards(inner, 8, &resilience.ShardOptions{Random: func(n int) int { next++; return next % n }}))
	for spec, shards := range map[string]int64{"fixed-window:100/1h": 8, "gcra:100/1h,burst=30": 8, "gcra:3/1h": 3, "gcra:100/1h,burst=2": 2} {
		a := parse(t, spec)
		capacity := left(t, s, a, "k")
		for range 2 {
			n := int64(0)
			for range 200 { // some turns are of shards that have nothing left
				if committed, _ := takeUnits(s, a, "k", 1); committed {
					n++
				}
			}
			if n != capacity || left(t, s, a, "k") != 0 {
				t.Errorf("%s: %d of %d were admitted in turns, and %d are left", spec, n, capacity, left(t, s, a, "k"))
			}
			if keys := inner.Stats().Keys; int64(keys) != shards {
				t.Errorf("%s: %d slots are held, want %d", spec, keys, shards)
			}
			if err := s.Reset(background, []store.Slot{{Key: "k", Limit: "l", Algorithm: a}}); err != nil || left(t, s, a, "k") != capacity {
				t.Errorf("%s: %d are left after a Reset, error %v; want %d", spec, left(t, s, a, "k"), err, capacity)
			}
		}
	}
}

func TestShardsRefuseWhatCannotBeDivided(t *testing.T) {
	s := weir.Must(resilience.NewShards(newMemory(t, newHand()), 8, nil))
	leaky, gcra := parse(t, "leaky-bucket:100/1s"), parse(t, "gcra:100/1s")
	for name, o := range map[string]store.Op{
		"Slot.Algorithm": op(leaky, algorithm.Request{Cost: 1})[0],
		"Request.Verb":   op(gcra, algorithm.Request{Verb: algorithm.Refund, Cost: 1})[0],
	} {
		var refused *store.InputError
		if _, _, err := s.Apply(background, []store.Op{o}); !errors.As(err, &refused) || refused.Field != name {
			t.Errorf("%s: error %v, want an InputError about it", name, err)
		}
	}
	for _, n := range []int{-1, 0, 257} {
		if _, err := resilience.NewShards(newMemory(t, newHand()), n, nil); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%d shards: error %v, want ErrInvalid", n, err)
		}
	}
	if _, err := resilience.NewShards(nil, 1, nil); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("without a store: error %v, want ErrInvalid", err)
	}
}
