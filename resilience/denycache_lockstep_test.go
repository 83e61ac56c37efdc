package resilience_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
)

// TestDenyCacheIsInLockstepWithItsStore: N1. Random histories with everything that may
// happen to a slot, against a store without a cache on the same clock.
func TestDenyCacheIsInLockstepWithItsStore(t *testing.T) {
	for _, anyCost := range []bool{false, true} {
		for _, f := range algorithm.Families() {
			t.Run(fmt.Sprintf("%s/any cost %t", f.Name, anyCost), func(t *testing.T) {
				hits := int64(0)
				for seed := range uint64(10) {
					hits += lockstep(t, f, anyCost, seed)
				}
				if hits < 300 {
					t.Errorf("%d denials without the store: the histories show little", hits)
				}
			})
		}
	}
}

func lockstep(t *testing.T, f algorithm.Family, anyCost bool, seed uint64) (hits int64) {
	t.Helper()
	draw := rand.New(rand.NewPCG(seed, 1))
	h := newHand()
	plain, behind := newMemory(t, h), newMemory(t, h)
	entries := 1 + draw.IntN(8)
	cache := newDenyCache(t, behind, resilience.DenyCacheOptions{Clock: h, AnyCost: anyCost, MaxEntries: entries})
	rates := []string{":5/1s", ":7/1s", ":5/3s"}
	if f.Calendar {
		rates = []string{":5/day", ":7/day", ":5/week"}
	}
	var specs []algorithm.Algorithm
	for _, rate := range rates {
		specs = append(specs, parse(t, f.Name+rate))
	}
	changes := draw.IntN(20) // limits whose parameters change in few histories
	var at [8]algorithm.Instant
	for range 800 {
		switch n := draw.IntN(100); {
		case n < 40:
			h.move(time.Duration(draw.IntN(150_000)) * time.Microsecond)
		case n < 41:
			h.move(-time.Duration(draw.IntN(2_000_000)) * time.Microsecond)
		}
		ops := make([]store.Op, 1+draw.IntN(8)/7)
		for i := range ops {
			a := specs[0]
			if draw.IntN(20) < changes-16 {
				a = specs[draw.IntN(len(specs))]
			}
			key := draw.IntN(4)*2 + i
			ops[i].Slot = store.Slot{Key: fmt.Sprint(key), Limit: "l", Algorithm: a}
			ops[i].Request = algorithm.Request{Cost: max(1, int64(draw.IntN(9)-4))}
			switch n := draw.IntN(60); n {
			case 0:
				ops[i].Request = algorithm.Request{Cost: int64(draw.IntN(3)), Verb: algorithm.Refund, At: at[key]}
			case 1:
				ops[i].Request.Verb = algorithm.Charge
			case 2:
				ops[i].Request.MaxDelay = time.Duration(1 + draw.IntN(1_000_000_000))
			case 3:
				ops[i].Request.Cost = 0
			}
		}
		if draw.IntN(200) == 0 {
			slots := []store.Slot{ops[0].Slot}
			if err := errors.Join(plain.Reset(background, slots), cache.Reset(background, slots)); err != nil {
				t.Fatal(err)
			}
		}
		want := append([]store.Op(nil), ops...)
		wantAt, wantCommitted, err := plain.Apply(background, want)
		if err != nil {
			t.Fatal(err)
		}
		before := cache.Stats().Denied
		gotAt, committed, err := cache.Apply(background, ops)
		if err != nil {
			t.Fatal(err)
		}
		hit := cache.Stats().Denied > before
		hits = cache.Stats().Denied
		if gotAt != wantAt || committed != wantCommitted {
			t.Fatalf("seed %d: %v, committed %t; the store alone: %v, %t: %+v", seed, gotAt, committed, wantAt, wantCommitted, ops)
		}
		for i := range ops {
			got, exact := ops[i].Outcome, want[i].Outcome
			if committed && ops[i].Request.Verb == algorithm.Take {
				at[ops[i].Key[0]-'0'] = gotAt
			}
			if anyCost && hit { // a lower bound of what remains, and of the wait
				if got.Remaining > exact.Remaining || got.RetryAfter > exact.RetryAfter || got.RetryAfter <= 0 {
					t.Fatalf("seed %d: %+v, and the store alone %+v", seed, got, exact)
				}
				got.Remaining, got.RetryAfter, got.Debt = exact.Remaining, exact.RetryAfter, exact.Debt
			}
			if got != exact {
				t.Fatalf("seed %d, in the cache %t: %+v for %+v, and the store alone %+v", seed, hit, got, ops[i].Request, exact)
			}
		}
	}
	return hits
}
