package memorystore_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// movable is a clock without a sleep in it.
type movable struct{ now time.Time }

func (m *movable) Now() time.Time { return m.now }

func newMovable() *movable { return &movable{time.Unix(1_764_288_000, 0)} }

// heap returns the bytes and objects that live.
func heap() (bytes, objects uint64) {
	runtime.GC()
	runtime.GC() // what a finalizer or a pool held on to
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.HeapObjects
}

func skipMeasuring(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("fills a million keys")
	}
	if race.Enabled {
		t.Skip("the race detector changes what is measured")
	}
}

func TestBytesPerKey(t *testing.T) {
	skipMeasuring(t)
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // heap collects as it measures
	keys, longer := make([]string, 1_000_000), make([]string, 1_000_000)
	for i := range keys {
		keys[i] = "user:00000000" + strconv.Itoa(1_000_000+i) // 20 bytes
		longer[i] = "0123456789abcdef" + keys[i]              // 36 bytes
	}
	for _, c := range []struct {
		spec    string
		maxKeys int
		keys    []string
		rounds  int // the second gives the counter the count of the window before
		most    float64
	}{
		{"gcra:10/1h", 0, keys, 1, 90}, {"gcra:7/3h", 0, keys, 1, 90}, {"leaky-bucket:7/3h", 0, keys, 1, 90},
		{"fixed-window:10/1h", 0, keys, 1, 90}, {"sliding-counter:10/1h", 0, keys, 2, 90}, {"token-bucket:7/3h", 0, keys, 1, 90},
		{"gcra:10/1h", 2_000_000, keys, 1, 110}, {"gcra:10/1h", 0, longer, 1, 125},
	} {
		clk := newMovable()
		s := newStore(t, &memorystore.Options{Clock: clk, MaxKeys: c.maxKeys})
		bound, err := store.FeaturesOf(s).Bind("", parse(t, c.spec))
		if err != nil {
			t.Fatal(err)
		}
		bytes, objects := heap()
		for range c.rounds {
			for _, key := range c.keys {
				if _, _, err := bound.Apply(context.Background(), key, algorithm.Request{Cost: 1}); err != nil {
					t.Fatal(err)
				}
			}
			clk.now = clk.now.Add(time.Hour + 1234*time.Microsecond)
		}
		after, more := heap()
		n := float64(len(keys))
		perKey, objectsPerKey := float64(after-bytes)/n, float64(more-objects)/n
		t.Logf("%-24s MaxKeys %-8d of %d bytes: %5.1f B/key, %.3f objects/key", c.spec, c.maxKeys, len(c.keys[0]), perKey, objectsPerKey)
		if held := s.Stats().Keys; held != len(keys) {
			t.Fatalf("%d keys are held", held)
		}
		if perKey > c.most || objectsPerKey > 0.02 {
			t.Errorf("%s, MaxKeys %d: %.1f B and %.3f objects a key, and at most %.0f B and no object are allowed",
				c.spec, c.maxKeys, perKey, objectsPerKey, c.most)
		}
		_ = s.Close()
	}
}

// A log entry of cost 1 takes at most 16 bytes, as the log fills and when it
// moves on for ever.
func TestBytesPerLogEntry(t *testing.T) {
	skipMeasuring(t)
	const entries, window = 1_000_000, time.Second
	clk := newMovable()
	s := newStore(t, &memorystore.Options{Clock: clk})
	log := algorithm.Must(algorithm.NewSlidingLog(algorithm.Rate{Units: 2 * entries, Per: window}))
	bound, err := store.FeaturesOf(s).Bind("", log)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := heap()
	for i := range 3 * entries {
		clk.now = clk.now.Add(time.Microsecond) // a window holds a million
		o, _, err := bound.Apply(context.Background(), "a", algorithm.Request{Cost: 1})
		if err != nil || !o.Allowed {
			t.Fatalf("entry %d: %+v, error %v", i, o, err)
		}
		if i%entries != entries-1 {
			continue
		}
		after, _ := heap()
		perEntry := float64(after-before) / entries
		t.Logf("%d of %d entries in the window: %.2f B/entry", min(i+1, entries), i+1, perEntry)
		if perEntry > 16 {
			t.Errorf("%.2f B an entry, and at most 16 are allowed", perEntry)
		}
	}
}

// A key may be a part of a long text: only its own bytes are kept.
func TestStoreKeepsNoMoreOfAKeyThanItself(t *testing.T) {
	skipMeasuring(t)
	s := newStore(t, &memorystore.Options{Clock: newMovable()})
	a := parse(t, "gcra:10/1h")
	before, _ := heap()
	const lines = 100
	for i := range lines {
		line := make([]byte, 1<<20)
		copy(line, strconv.Itoa(i))
		text := string(line)
		if _, _, err := s.Apply(context.Background(), []store.Op{{Slot: store.Slot{Key: text[:8], Algorithm: a}, Request: algorithm.Request{Cost: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	if after, _ := heap(); after > before+lines<<20/10 {
		t.Errorf("%d keys of 8 bytes take %d bytes", lines, after-before)
	}
	runtime.KeepAlive(s)
}
