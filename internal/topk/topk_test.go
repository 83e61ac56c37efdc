package topk

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirgo/weir/internal/race"
)

type pair struct{ limit, key string }

// TestBoundsHoldTheTrueCount: of every key that is shown, over both periods; and a key that
// is not shown occurred at most as often as the smallest counts of its set.
func TestBoundsHoldTheTrueCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New()
		var periods [2]map[pair]int64 // this one, and the one before
		periods[0], periods[1] = map[pair]int64{}, map[pair]int64{}
		keys := rapid.IntRange(1, 4000).Draw(t, "keys")
		for range rapid.IntRange(1, 4).Draw(t, "periods") {
			s.Turn()
			periods[0], periods[1] = map[pair]int64{}, periods[0]
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) // cheaper than a draw each
			for range rapid.IntRange(0, 3000).Draw(t, "calls") {
				k := random.IntN(keys) * random.IntN(2) // a key occurs often
				p := pair{fmt.Sprint("limit", k%3), fmt.Sprint("key", k)}
				s.Add(p.limit, p.key)
				periods[0][p]++
			}
		}
		shown := map[pair]bool{}
		for _, c := range s.Top(1<<20, nil) {
			p := pair{c.Limit, c.Key}
			if n := periods[0][p] + periods[1][p]; n < c.Least || n > c.Most || c.Least < 1 {
				t.Fatalf("%v occurred %d times, shown as %d to %d", p, n, c.Least, c.Most)
			}
			if shown[p] {
				t.Fatalf("%v is shown twice", p)
			}
			shown[p] = true
		}
		for _, period := range periods {
			total := int64(0)
			for _, n := range period {
				total += n
			}
			for p, n := range period {
				if n > total/Ways && !shown[p] {
					t.Fatalf("%v is not shown: it occurred %d of %d times", p, n, total)
				}
			}
		}
	})
}

// TestHotKeysStandOutOfAFlood: of keys that occur once.
func TestHotKeysStandOutOfAFlood(t *testing.T) {
	s := New()
	for i := range 100_000 {
		s.Add("limit", fmt.Sprint("cold", i))
		s.Add("limit", fmt.Sprint("hot", i%10))
	}
	for _, c := range s.Top(10, nil) {
		if !strings.HasPrefix(c.Key, "hot") || c.Least < 9_000 || c.Most < 10_000 {
			t.Errorf("%+v", c)
		}
	}
}

// TestTopIsInOrder: the largest first, at most as many as were asked for, of the limits that
// were asked for.
func TestTopIsInOrder(t *testing.T) {
	s := New()
	for i := range 20 {
		for range i + 1 {
			s.Add("a", fmt.Sprint(i))
			s.Add("b", fmt.Sprint(i))
		}
	}
	top := s.Top(3, func(limit string) bool { return limit == "b" })
	if want := []Count{{"b", "19", 20, 20}, {"b", "18", 19, 19}, {"b", "17", 18, 18}}; !slices.Equal(top, want) {
		t.Errorf("%v, want %v", top, want)
	}
}

// TestKeysAreCut: what is kept of a long key is bounded.
func TestKeysAreCut(t *testing.T) {
	s := New()
	s.Add("l", strings.Repeat("k", 1<<20))
	if top := s.Top(1, nil); len(top[0].Key) != MaxKey {
		t.Errorf("%d bytes, want %d", len(top[0].Key), MaxKey)
	}
}

// TestForgottenKeysAreNotKept: neither their bytes nor the names of their limits.
func TestForgottenKeysAreNotKept(t *testing.T) {
	s := New()
	s.Add("limit-4711", "key-4711")
	s.Turn()
	s.Turn()
	for i := range s.sets {
		for _, p := range s.sets[i].periods {
			for _, e := range p.entries {
				if e.limit != "" || bytes.Contains(e.key[:cap(e.key)], []byte("4711")) {
					t.Errorf("kept: %q of %q", e.key[:cap(e.key)], e.limit)
				}
			}
		}
	}
}

// TestConcurrentCallsAreAllCounted: each once.
func TestConcurrentCallsAreAllCounted(t *testing.T) {
	s := New()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				s.Add("l", fmt.Sprint(i%8))
			}
		})
	}
	wg.Wait()
	for _, c := range s.Top(100, nil) {
		if c.Least != 1000 || c.Most != 1000 {
			t.Errorf("%+v, want 1000", c)
		}
	}
}

// TestAddAllocatesNothing: of keys that are known, and of new ones once the sketch is full.
func TestAddAllocatesNothing(t *testing.T) {
	race.SkipAllocations(t)
	s := New()
	keys := make([]string, 20_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%06d", i)
		s.Add("limit", keys[i])
	}
	s.Turn()
	for _, k := range keys {
		s.Add("limit", k)
	}
	i := 0
	if n := testing.AllocsPerRun(10_000, func() { s.Add("limit", keys[i]); i++ }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{1, 100, 100_000} {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprint("user:", i)
		}
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			s := New()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.Add("api", keys[i])
				if i++; i == n {
					i = 0
				}
			}
		})
	}
}
