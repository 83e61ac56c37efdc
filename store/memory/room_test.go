package memorystore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// bounded is a store with MaxKeys, its clock, and what its tests ask of it.
type bounded struct {
	*testing.T
	*Store
	clock *clockOf
}

func newBounded(t *testing.T, maxKeys int, evict bool) *bounded {
	t.Helper()
	c := &clockOf{time.Unix(1_764_288_000, 0)}
	return &bounded{t, opened(t, &Options{Clock: c, MaxKeys: maxKeys, EvictLeastDebt: evict}), c}
}

func (b *bounded) op(key string, a algorithm.Algorithm, cost int64) store.Op {
	return store.Op{Slot: store.Slot{Key: key, Limit: "l", Algorithm: a}, Request: algorithm.Request{Cost: cost}}
}

// take applies ops; err must be what is wanted.
func (b *bounded) take(want error, ops ...store.Op) (committed bool) {
	b.Helper()
	_, committed, err := b.Apply(context.Background(), ops)
	if !errors.Is(err, want) {
		b.Fatalf("%d ops, the first with key %q: error %v, want %v", len(ops), ops[0].Key, err, want)
	}
	return committed
}

func (b *bounded) remaining(key string, a algorithm.Algorithm) int64 {
	b.Helper()
	ops := []store.Op{b.op(key, a, 0)}
	if _, err := b.Peek(context.Background(), ops); err != nil {
		b.Fatal(err)
	}
	return ops[0].Outcome.Remaining
}

// mustHold checks the counts, and that the queue knows every slot.
func (b *bounded) mustHold(keys int, evicted int64) {
	b.Helper()
	if got := b.Stats(); got != (Stats{Keys: keys, Evicted: evicted}) {
		b.Fatalf("got %+v, want %d keys, %d evicted", got, keys, evicted)
	}
	if held := b.held.Load(); held != int64(keys) {
		b.Fatalf("%d slots are counted, and %d are held", held, keys)
	}
	for i := range b.shards {
		sh := &b.shards[i]
		for number := range sh.table.used {
			r := sh.table.record(number)
			known := slices.ContainsFunc(sh.queue, func(e expiryOf) bool { return e.number == number && e.expiry <= r.expiry })
			if r.held() && !known {
				b.Fatalf("the queue does not know that %q expires at %v", sh.table.key(number), r.expiry)
			}
		}
	}
}

var (
	hourly = algorithm.Must(algorithm.NewGCRA(algorithm.PerHour(10), 10))
	quick  = algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(10), 10))
)

func TestFullStoreRefusesNewKeysExactlyAtTheBound(t *testing.T) {
	const most = 100
	b := newBounded(t, most, false)
	for i := range most {
		b.take(nil, b.op(fmt.Sprint(i), hourly, 1))
		b.mustHold(i+1, 0)
	}
	b.take(store.ErrFull, b.op("new", hourly, 1))
	b.take(store.ErrFull, b.op("0", hourly, 1), b.op("new", hourly, 1))
	if left := b.remaining("0", hourly); left != 9 {
		t.Errorf("a take that found no room has charged a key: %d left", left)
	}
	// What changes no new slot needs no room.
	b.take(nil, b.op("0", hourly, 1))
	b.take(nil, b.op("1", hourly, 1), b.op("2", hourly, 1))
	b.take(nil, b.op("new", hourly, 0))
	b.take(nil, b.op("1", hourly, 1), b.op("new", hourly, 0))
	b.take(nil, b.op("new", hourly, 11))
	b.take(nil, b.op("new", hourly, 1), b.op("0", hourly, 11)) // refused, so nothing is new
	if left := b.remaining("new", hourly); left != 10 {
		t.Errorf("a key that is not held has %d left", left)
	}
	b.mustHold(most, 0)

	// Reset makes room for one.
	if err := b.Reset(context.Background(), []store.Slot{b.op("5", hourly, 0).Slot}); err != nil {
		t.Fatal(err)
	}
	b.take(store.ErrFull, b.op("new", hourly, 1), b.op("newer", hourly, 1))
	b.take(nil, b.op("new", hourly, 1))
	b.take(store.ErrFull, b.op("newer", hourly, 1))
	b.mustHold(most, 0)
}

func TestKeysThatHaveBecomeFreshMakeRoom(t *testing.T) {
	const most = 200
	b := newBounded(t, most, false)
	for i := range most {
		a := hourly
		if i%2 == 0 {
			a = quick
		}
		b.take(nil, b.op(fmt.Sprint(i), a, 1))
	}
	b.clock.now = b.clock.now.Add(100*time.Millisecond + store.Grace - time.Microsecond)
	b.take(store.ErrFull, b.op("new", hourly, 1))
	b.clock.now = b.clock.now.Add(time.Microsecond)
	b.take(nil, b.op("new", hourly, 1))
	b.mustHold(most/2+1, 0)
	for i := 1; i < most; i += 2 {
		if left := b.remaining(fmt.Sprint(i), hourly); left != 9 {
			t.Fatalf("key %d was dropped before it was fresh", i)
		}
	}
	// A clock that goes back does not bring them back.
	b.clock.now = b.clock.now.Add(-time.Minute)
	for i := range most/2 - 1 {
		b.take(nil, b.op(fmt.Sprint("more", i), hourly, 1))
	}
	b.take(store.ErrFull, b.op("one too many", hourly, 1))
	b.mustHold(most, 0)
}

// The default clock decides what is fresh there, not the instants of requests.
func TestFullStoreWithTheDefaultClockDropsWhatIsFresh(t *testing.T) {
	s := opened(t, &Options{MaxKeys: 2, SweepEvery: asleep})
	s.allow(t, "a", quick, 1)
	s.allow(t, "b", hourly, 1)
	full := []store.Op{{Slot: store.Slot{Key: "c", Algorithm: hourly}, Request: algorithm.Request{Cost: 1}}}
	if _, _, err := s.Apply(context.Background(), full); !errors.Is(err, store.ErrFull) {
		t.Errorf("got %v", err)
	}
	s.pass(100*time.Millisecond + store.Grace)
	s.allow(t, "c", hourly, 1)
	if got := s.Stats(); got != (Stats{Keys: 2}) {
		t.Errorf("got %+v", got)
	}
}

// A flood of new keys must not free one that is limited.
func TestKeySprayNeverFreesADeniedKey(t *testing.T) {
	for _, evict := range []bool{false, true} {
		b := newBounded(t, 64, evict)
		b.take(nil, b.op("victim", hourly, 10))
		full := 0
		for i := range 2000 {
			ops := []store.Op{b.op(fmt.Sprint("spray", i), hourly, 1)}
			if i%3 == 0 {
				ops = append(ops, b.op(fmt.Sprint("spray", i, "b"), hourly, 1))
			}
			_, _, err := b.Apply(context.Background(), ops)
			if errors.Is(err, store.ErrFull) {
				full++
			} else if err != nil {
				t.Fatal(err)
			}
			if b.take(nil, b.op("victim", hourly, 1)) {
				t.Fatalf("evict %t: after %d sprayed keys the denied one is admitted", evict, i+1)
			}
		}
		if evict != (full == 0) {
			t.Errorf("evict %t: %d of 2000 takes found the store full", evict, full)
		}
		if got := b.Stats(); got.Keys != 64 || evict != (got.Evicted > 0) {
			t.Errorf("evict %t: %+v", evict, got)
		}
	}
}

func TestLeastDebtIsEvictedAndCounted(t *testing.T) {
	const most = 50
	b := newBounded(t, most, true)
	for i := range most { // key i has i%10 + 1 units taken, and key 7 is the least in debt
		cost := int64(i%8 + 2)
		if i == 7 {
			cost = 1
		}
		b.take(nil, b.op(fmt.Sprint(i), hourly, cost))
	}
	b.take(nil, b.op("new", hourly, 10))
	b.mustHold(most, 1)
	if left := b.remaining("7", hourly); left != 10 {
		t.Errorf("the key with the least debt was kept: %d left", left)
	}
	for i := range most {
		if i != 7 && b.remaining(fmt.Sprint(i), hourly) == 10 {
			t.Errorf("key %d was evicted", i)
		}
	}
	// Fresh ones go first, and are not counted.
	b.take(nil, b.op("passing", quick, 1))
	b.mustHold(most, 2)
	b.clock.now = b.clock.now.Add(2 * time.Second)
	b.take(nil, b.op("newer", hourly, 10))
	b.mustHold(most, 2)
	// Several at once make room for several.
	b.take(nil, b.op("x", hourly, 10), b.op("y", hourly, 10), b.op("z", hourly, 10))
	b.mustHold(most, 5)
}

// sameShard returns keys that share a lock, and so a queue.
func (b *bounded) sameShard(n int) (keys []string) {
	for i := 0; len(keys) < n; i++ {
		if key := fmt.Sprint(i); maphash.String(b.seed, key)%shards == 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// The queue learns of a later expiry when the entry comes to its top, and must
// not take the slot for the next one because of where it stood.
func TestSlotThatWasUsedAgainIsNotTheNextToGo(t *testing.T) {
	for _, evict := range []bool{true, false} {
		b := newBounded(t, 3, evict)
		keys := b.sameShard(4)
		b.take(nil, b.op(keys[0], hourly, 1)) // would be the first to expire
		b.take(nil, b.op(keys[1], hourly, 2))
		b.take(nil, b.op(keys[2], hourly, 3))
		b.take(nil, b.op(keys[0], hourly, 9)) // and is now the last
		if !evict {
			b.clock.now = b.clock.now.Add(13 * time.Minute) // keys[1] has expired
		}
		b.take(nil, b.op(keys[3], hourly, 10))
		for i, kept := range []bool{true, false, true, true} {
			if held := b.remaining(keys[i], hourly) < 10; held != kept {
				t.Errorf("evict %t: key %d is held: %t, and must be: %t", evict, i, held, kept)
			}
		}
	}
}

// A take that can never fit drops nothing for it.
func TestTakeLargerThanTheStoreEvictsNothing(t *testing.T) {
	b := newBounded(t, 3, true)
	b.take(nil, b.op("a", hourly, 1))
	b.take(nil, b.op("b", hourly, 2))
	b.take(store.ErrFull, b.op("w", hourly, 1), b.op("x", hourly, 1), b.op("y", hourly, 1), b.op("z", hourly, 1))
	// Here the new ones alone would fit, and not beside the one that is held.
	b.take(store.ErrFull, b.op("a", hourly, 1), b.op("x", hourly, 1), b.op("y", hourly, 1), b.op("z", hourly, 1))
	b.mustHold(2, 0)
	if left := b.remaining("a", hourly); left != 9 {
		t.Errorf("%d left", left)
	}
	b.take(nil, b.op("x", hourly, 1), b.op("y", hourly, 1), b.op("z", hourly, 1), b.op("a", hourly, 0))
	b.mustHold(3, 2)
}

// A change of parameters may let a slot expire earlier, which is the only way
// in which the queue can have it too late.
func TestEarlierExpiryAfterAChangeOfParametersMakesRoom(t *testing.T) {
	long := algorithm.Must(algorithm.NewTokenBucket(algorithm.PerHour(1), 10))
	short := algorithm.Must(algorithm.NewTokenBucket(algorithm.PerMinute(2), 10))
	for _, batch := range []bool{false, true} {
		b := newBounded(t, 2, false)
		b.take(nil, b.op("a", long, 1))
		b.take(nil, b.op("b", long, 1))
		if ops := []store.Op{b.op("a", short, 1), b.op("c", short, 0)}; batch {
			b.take(nil, ops...)
		} else {
			b.take(nil, ops[0])
		}
		b.mustHold(2, 0)
		b.clock.now = b.clock.now.Add(time.Minute + store.Grace - time.Microsecond)
		b.take(store.ErrFull, b.op("new", long, 1))
		b.clock.now = b.clock.now.Add(time.Microsecond)
		b.take(nil, b.op("new", long, 1))
		b.take(store.ErrFull, b.op("newer", long, 1))
		b.mustHold(2, 0)
	}
}

func TestResetChurnDoesNotGrowTheQueue(t *testing.T) {
	b := newBounded(t, 1000, false)
	for i := range 100_000 {
		op := b.op(fmt.Sprint(i%7), hourly, 1)
		b.take(nil, op)
		if err := b.Reset(context.Background(), []store.Slot{op.Slot}); err != nil {
			t.Fatal(err)
		}
	}
	b.take(nil, b.op("0", hourly, 1))
	b.mustHold(1, 0)
	for i := range b.shards {
		if n := len(b.shards[i].queue); n > slack+3 {
			t.Errorf("a queue of %d for %d slots", n, b.shards[i].table.count)
		}
	}
}

func TestSweepKeepsTheQueueInStep(t *testing.T) {
	b := newBounded(t, 100_000, true)
	for i := range 20_000 { // so many that a shard has several pages to compact
		b.take(nil, b.op(fmt.Sprint(i), quick, 1))
	}
	for i := range 50 {
		b.take(nil, b.op(fmt.Sprint("kept", i), hourly, 1))
	}
	b.clock.now = b.clock.now.Add(2 * time.Second)
	now, _ := algorithm.InstantOf(b.clock.now)
	if dropped := b.Sweep(now); dropped != 20_000 {
		t.Errorf("%d dropped", dropped)
	}
	b.mustHold(50, 0)
	for i := range b.shards {
		if sh := &b.shards[i]; len(sh.queue) > sh.table.count {
			t.Errorf("a queue of %d for %d slots", len(sh.queue), sh.table.count)
		}
	}
}

// Where one slot fits, it is not refused because somebody else asks for two at
// the same time.
func TestRoomIsNotRefusedForWhatOthersDoNotGet(t *testing.T) {
	const most, tries = 20, 3000
	b := newBounded(t, most, false)
	for i := range most - 1 {
		b.take(nil, b.op(fmt.Sprint(i), hourly, 1))
	}
	var greedy sync.WaitGroup
	stop := make(chan struct{})
	for i := range 2 {
		greedy.Go(func() {
			two := []store.Op{b.op(fmt.Sprint("two", i, "a"), hourly, 1), b.op(fmt.Sprint("two", i, "b"), hourly, 1)}
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, _, err := b.Apply(context.Background(), two); !errors.Is(err, store.ErrFull) {
					t.Errorf("two new slots where one fits: error %v", err)
					return
				}
			}
		})
	}
	refused := 0
	one := []store.Op{b.op("one", hourly, 1)}
	for range tries {
		if _, _, err := b.Apply(context.Background(), one); err != nil {
			refused++
		}
		if err := b.Reset(context.Background(), []store.Slot{one[0].Slot}); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	greedy.Wait()
	if refused > 0 {
		t.Errorf("one slot for which there was room was refused %d times of %d", refused, tries)
	}
	b.mustHold(most-1, 0)
}

func TestConcurrentCallersFillTheStoreExactly(t *testing.T) {
	const most, callers = 500, 32
	b := newBounded(t, most, false)
	var all sync.WaitGroup
	taken := make([]int, callers)
	for i := range callers {
		all.Go(func() {
			for n := range 40 {
				_, _, err := b.Apply(context.Background(), []store.Op{b.op(fmt.Sprint(i, n), hourly, 1)})
				if err == nil {
					taken[i]++
				} else if !errors.Is(err, store.ErrFull) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	sum := 0
	for _, n := range taken {
		sum += n
	}
	if sum != most {
		t.Errorf("%d new keys were taken, and %d fit", sum, most)
	}
	b.mustHold(most, 0)
}
