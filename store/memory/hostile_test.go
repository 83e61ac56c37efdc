package memorystore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/store"
)

// mustBeWhole looks into each shard, and holds all their locks: the sweeper may run.
func (s *Store) mustBeWhole(t *testing.T) (keys int) {
	t.Helper()
	for i := range s.shards {
		s.shards[i].mu.Lock()
		defer s.shards[i].mu.Unlock()
	}
	for i := range s.shards {
		sh := &s.shards[i]
		tab := &sh.table
		count, long, uses := 0, 0, map[uint32]uint32{}
		for number := range tab.used {
			r := tab.record(number)
			if !r.held() {
				continue
			}
			count++
			if r.size() == longKey {
				long++
				if _, is := tab.long[number]; !is {
					t.Fatalf("long key of %d is lost", number)
				}
			}
			uses[r.name()]++
			if r.size() <= headSize {
				for _, b := range r.head[r.size():] {
					if b != 0 {
						t.Fatal("rest in a head")
					}
				}
			}
		}
		if count != tab.count || long != len(tab.long) || len(uses) != len(tab.names.numbers) {
			t.Fatalf("shard %d: %d held, count %d; %d long, %d; %d names, %d", i, count, tab.count, long, len(tab.long), len(uses), len(tab.names.numbers))
		}
		for n, u := range uses {
			if tab.names.all[n].records != u || tab.names.numbers[tab.names.all[n].name] != n {
				t.Fatalf("name %d: %d uses, %+v", n, u, tab.names.all[n])
			}
		}
		free := 0
		for f := tab.free; f != 0; f = uint32(tab.record(f - 1).expiry) {
			if tab.record(f - 1).held() {
				t.Fatal("held record in the free list")
			}
			free++
		}
		if free+count != int(tab.used) {
			t.Fatalf("%d free, %d held, %d used", free, count, tab.used)
		}
		freeNames := 0
		for f := tab.names.free; f != 0; f = tab.names.all[f-1].records {
			freeNames++
		}
		if freeNames+len(uses) != len(tab.names.all) {
			t.Fatalf("names: %d free, %d used, %d in all", freeNames, len(uses), len(tab.names.all))
		}
		// tails of records without one are empty
		for p, of := range tab.tails {
			for j := range of {
				n := uint32(p*pageSize + j)
				if n < tab.used {
					if r := tab.record(n); r.held() && r.size() > headSize && r.size() != longKey {
						continue
					}
				}
				if of[j] != (tail{}) {
					t.Fatal("a rest of a key in a tail")
				}
			}
		}
		keys += count
	}
	s.copies(t)
	return keys
}

type hostileState struct {
	state  algorithm.State
	expiry algorithm.Instant
}

func TestHostileStoreIsAMap(t *testing.T) {
	seeds := uint64(3)
	if race.Enabled || testing.Short() {
		seeds = 1 // a run takes a second with the race detector
	}
	for seed := range seeds {
		for _, most := range []int{0, 1 << 20, 300} {
			for _, evict := range []bool{false, true} {
				if evict && most == 0 {
					continue
				}
				synctest.Test(t, func(t *testing.T) { hostile(t, seed, most, evict) })
			}
		}
	}
}

func hostile(t *testing.T, seed uint64, most int, evict bool) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	s, err := New(&Options{MaxKeys: most, EvictLeastDebt: evict, SweepEvery: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	exact := !evict && most != 300
	specs := []string{"gcra:3/1s", "gcra:7/3s", "token-bucket:3/1s", "token-bucket:5/2s", "leaky-bucket:7/3s", "fixed-window:3/2s", "sliding-counter:3/2s", "sliding-log:3/2s"}
	sizes := []int{1, 2, 19, 20, 21, 22, 51, 52, 53, 60, 254, 255, 256, 300}
	var keys []string
	for i := range 120 {
		size := sizes[rnd.IntN(len(sizes))]
		k := fmt.Sprint(i)
		switch rnd.IntN(3) {
		case 0:
			k = strings.Repeat("k", max(0, size-len(k))) + k
		case 1:
			k += strings.Repeat("\x00", max(0, size-len(k)))
		case 2:
			k = strings.Repeat("a", size) // equal heads, of all lengths
		}
		keys = append(keys, k)
	}
	type lim struct {
		name string
		a    algorithm.Algorithm
		b    store.Bound
	}
	var limits []lim
	for i := range 60 {
		name := fmt.Sprint("l", i%7)
		if i%2 == 0 {
			name = keys[rnd.IntN(len(keys))] // slots of key = name share one whole hash
		}
		if len(name) > 60 {
			name = name[:60]
		}
		a := parseLimit(t, specs[rnd.IntN(len(specs))])
		b, err := s.bind(name, a)
		if err != nil {
			continue
		}
		limits = append(limits, lim{name, a, b})
	}
	model := map[string]*hostileState{}
	id := func(l lim, key string) string {
		sp := l.a.Spec()
		return fmt.Sprintf("%q %q %q %q", l.name, sp.Kind, sp.Identity, key)
	}
	ctx := context.Background()
	step := func(l lim, key string, at algorithm.Instant, r algorithm.Request, o algorithm.Outcome) {
		if !exact {
			return
		}
		m := model[id(l, key)]
		if m == nil {
			m = &hostileState{}
			model[id(l, key)] = m
		}
		if m.expiry <= at {
			m.state = algorithm.State{}
		}
		next, want := l.a.Step(m.state, at, r)
		if want != o {
			t.Fatalf("seed %d: %s of %q (%v), %+v at %d: got %+v, want %+v", seed, l.name, key, l.a, r, at, o, want)
		}
		if want.Allowed && r.Cost > 0 {
			m.state, m.expiry = next, expiry(at, &want)
		}
	}
	hot := keys[:5]
	for i := range 6000 {
		l, key := limits[rnd.IntN(len(limits))], keys[rnd.IntN(len(keys))]
		if rnd.IntN(2) == 0 {
			l, key = limits[rnd.IntN(3)], hot[rnd.IntN(len(hot))]
		}
		if rnd.IntN(3) == 0 {
			key = l.name
		}
		r := algorithm.Request{Cost: int64(rnd.IntN(3))}
		switch rnd.IntN(20) {
		case 0:
			time.Sleep(time.Duration(rnd.IntN(2000)) * time.Millisecond)
		case 1:
			if err := s.Reset(ctx, []store.Slot{{Key: key, Limit: l.name, Algorithm: l.a}}); err != nil {
				t.Fatal(err)
			}
			delete(model, id(l, key))
		case 2:
			s.Sweep(s.monotonic.now())
		case 3:
			for j := range s.shards {
				s.shards[j].mu.Lock()
				s.shards[j].compact()
				s.shards[j].mu.Unlock()
			}
		case 4:
			ops := []store.Op{{Slot: store.Slot{Key: key, Limit: l.name, Algorithm: l.a}, Request: r}}
			at, _, err := s.Apply(ctx, ops)
			if err == nil {
				step(l, key, at, r, ops[0].Outcome)
			} else if exact || !errors.Is(err, store.ErrFull) {
				t.Fatal(err)
			}
		case 5:
			m, other := limits[rnd.IntN(len(limits))], keys[rnd.IntN(len(keys))]
			if id(m, other) == id(l, key) {
				continue
			}
			ops := []store.Op{{Slot: store.Slot{Key: key, Limit: l.name, Algorithm: l.a}, Request: r}, {Slot: store.Slot{Key: other, Limit: m.name, Algorithm: m.a}, Request: r}}
			at, committed, err := s.Apply(ctx, ops)
			if err == nil && committed {
				step(l, key, at, r, ops[0].Outcome)
				step(m, other, at, r, ops[1].Outcome)
			} else if err != nil && (exact || !errors.Is(err, store.ErrFull)) {
				t.Fatal(err)
			}
		default:
			for range 1 + rnd.IntN(30)*rnd.IntN(2) {
				o, at, err := l.b.Apply(ctx, key, r)
				if err == nil {
					step(l, key, at, r, o)
				} else if exact || !errors.Is(err, store.ErrFull) {
					t.Fatal(err)
				}
			}
		}
		if i%200 == 0 {
			held := s.mustBeWhole(t)
			if most > 0 && int64(held) != s.held.Load() {
				t.Fatalf("%d held, counted %d", held, s.held.Load())
			}
		}
	}
	time.Sleep(time.Hour)
	s.Sweep(s.monotonic.now())
	if held := s.mustBeWhole(t); held != 0 || s.held.Load() != 0 {
		t.Fatalf("%d held, counted %d, in the end", held, s.held.Load())
	}
}
