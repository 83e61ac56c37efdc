package conformance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// BenchmarkStore measures the stores that newStore returns, under names that
// benchstat splits at each "key=value":
//
//	func BenchmarkStore(b *testing.B) {
//		conformance.BenchmarkStore(b, func(tb testing.TB, _ clock.Clock) store.Store { return mystore.New(nil) }, nil)
//	}
//
//	go test -run '^$' -bench Store -count 10 . > new.txt && benchstat -col /callers new.txt
//
// ns/op is the time of a call while all callers are busy, so that 1e9/ns/op is the
// throughput. p50-ns and p99-ns are how long a caller waits; of fast stores every
// sixteenth call is looked at. B/op and allocs/op are those of this process. The
// benchmarks named "fill" take once from a new key each time, and report B/key,
// what the store grows by with each, where Config.Size can tell.
//
// All that is asked is admitted, but for "call=denied". Of several limits each has
// a state of its own, with one key. clk is a real clock; a store that would use
// another in earnest should be measured with that. What cfg declares that the store
// cannot do is left out.
func BenchmarkStore(b *testing.B, newStore func(tb testing.TB, clk clock.Clock) store.Store, cfg *Config) {
	b.Helper()
	if cfg == nil {
		cfg = &Config{}
	}
	known := cfg.internal()
	for _, c := range benchCases() {
		if known.Skips("", c.needs) != "" {
			continue
		}
		b.Run(c.name(), func(b *testing.B) {
			s := newStore(b, clock.New())
			defer func() {
				if err := s.Close(); err != nil {
					b.Errorf("Close: %v", err)
				}
			}()
			if bind := store.FeaturesOf(s).Bind; c.call == "bound" && bind == nil {
				b.Skip("the store has no store.Features.Bind")
			}
			if c.call == "fill" {
				c.fill(b, s, cfg)
				return
			}
			c.run(b, s)
		})
	}
}

// benchCase is one way to use a store.
type benchCase struct {
	call    string // take, denied, peek, bound or fill
	kind    string
	limits  int // ops in a call
	keys    int
	callers int
	needs   world.Needs
}

func (c benchCase) name() string {
	return fmt.Sprintf("call=%s/limit=%s/limits=%d/keys=%d/callers=%d", c.call, c.kind, c.limits, c.keys, c.callers)
}

func benchCases() []benchCase {
	const many, concurrent = 100_000, 64
	var cases []benchCase
	for _, callers := range []int{1, concurrent} {
		cases = append(cases,
			benchCase{"take", "gcra", 1, 1, callers, 0},
			benchCase{"take", "gcra", 1, many, callers, 0},
			benchCase{"take", "gcra", 3, many, callers, world.NeedsOps},
			benchCase{"bound", "gcra", 1, many, callers, 0},
			benchCase{"denied", "gcra", 1, 1, callers, 0},
			benchCase{"peek", "gcra", 1, many, callers, 0},
		)
	}
	for _, k := range world.Kinds() {
		if k.Name != "gcra" {
			cases = append(cases, benchCase{"take", k.Name, 1, many, 1, k.Needs})
		}
	}
	for _, k := range world.Kinds() {
		cases = append(cases, benchCase{"fill", k.Name, 1, 0, 1, k.Needs})
	}
	return cases
}

// limit admits whatever is asked of it; or nothing more, where c is about that.
func (c benchCase) limit() algorithm.Algorithm {
	switch {
	case c.needs&world.NeedsCustom != 0:
		return world.NewCooldown(1_000_000, 1)
	case c.call == "denied":
		return world.Limit(c.kind + ":1/9600h")
	case c.call == "fill":
		return world.Limit(c.kind + ":100/24h")
	}
	return world.Limit(c.kind + ":1000000/10ms")
}

func (c benchCase) key(i int) string {
	if c.keys > 0 {
		i %= c.keys
	}
	return "user:" + strings.Repeat("0", 9-len(strconv.Itoa(i))) + strconv.Itoa(i) // 14 bytes
}

// caller returns what one caller does in its call number i.
func (c benchCase) caller(b *testing.B, s store.Store, keys []string) func(i int) error {
	b.Helper()
	limit := c.limit()
	ops := make([]store.Op, c.limits)
	for i := range ops {
		ops[i] = world.Take("", "limit"+strconv.Itoa(i), limit, 1)
	}
	ctx := context.Background()
	next := func(i int) {
		for j := range ops {
			ops[j].Key = keys[i%len(keys)]
		}
	}
	if c.call == "bound" {
		bound, err := store.FeaturesOf(s).Bind(ops[0].Limit, limit)
		if err != nil {
			b.Fatal(err)
		}
		return func(i int) error {
			_, _, err := bound.Apply(ctx, keys[i%len(keys)], ops[0].Request)
			return err
		}
	}
	if c.call == "peek" {
		return func(i int) error {
			next(i)
			_, err := s.Peek(ctx, ops)
			return err
		}
	}
	return func(i int) error {
		next(i)
		_, _, err := s.Apply(ctx, ops)
		return err
	}
}

func (c benchCase) run(b *testing.B, s store.Store) {
	b.Helper()
	keys := make([]string, c.keys)
	for i := range keys {
		keys[i] = c.key(i)
	}
	for i := range 2 { // it may have to find out about the limit; and use it up
		if err := c.caller(b, s, keys)(i); err != nil {
			b.Fatal(err)
		}
	}
	each := 1 // how often a call is timed
	if b.N > 16_000 {
		each = 16
	}
	waits := make([][]time.Duration, c.callers)
	var left atomic.Int64
	left.Store(int64(b.N))
	var callers sync.WaitGroup
	begin, failed := make(chan struct{}), make(chan error, c.callers)
	for n := range c.callers {
		call := c.caller(b, s, keys)
		waits[n] = make([]time.Duration, 0, b.N/each/c.callers+16)
		callers.Go(func() {
			<-begin
			at := n * (len(keys)/c.callers + 1) // callers begin apart
			for left.Add(-int64(each)) > -int64(each) {
				start := time.Now()
				err := call(at)
				waits[n] = append(waits[n], time.Since(start))
				for i := 1; i < each && err == nil; i++ {
					err = call(at + 7919*i) // a prime, so that keys are not met in a row
				}
				if at += 7919 * each; err != nil {
					failed <- err
					return
				}
			}
		})
	}
	b.ReportAllocs()
	b.ResetTimer()
	close(begin)
	callers.Wait()
	b.StopTimer()
	select {
	case err := <-failed:
		b.Fatal(err)
	default:
	}
	all := slices.Concat(waits...)
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2]), "p50-ns")
	b.ReportMetric(float64(all[len(all)*99/100]), "p99-ns")
}

// fill takes once from new keys.
func (c benchCase) fill(b *testing.B, s store.Store, cfg *Config) {
	b.Helper()
	keys := make([]string, b.N)
	for i := range keys {
		keys[i] = c.key(i)
	}
	call := c.caller(b, s, keys)
	var before int64
	if cfg.Size != nil {
		before = cfg.Size(b, s)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if err := call(i); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if cfg.Size != nil {
		b.ReportMetric(float64(cfg.Size(b, s)-before)/float64(b.N), "B/key")
	}
}
