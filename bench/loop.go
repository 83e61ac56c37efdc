package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

// ask asks a server for one unit for a key.
type ask func(ctx context.Context, key string) (allowed bool, err error)

// traffic is the keys that callers ask for, in an order that no cache foresees.
type traffic struct {
	names []string
	order []int32 // indices of names; callers start at different places
}

// oneKey is traffic for one key.
func oneKey(name string) *traffic { return &traffic{[]string{name}, []int32{0}} }

// manyKeys is traffic for many keys: all alike, or by Zipf's law, under which the most
// frequent of 100,000 keys gets one request in eight.
func manyKeys(keys int, zipf bool) *traffic {
	const draws = 1 << 17
	t := &traffic{make([]string, keys), make([]int32, draws)}
	for i := range t.names {
		t.names[i] = userKey(i)
	}
	random := rand.New(rand.NewPCG(1, 2))
	law := rand.NewZipf(random, 1.1, 1, uint64(keys-1))
	for i := range t.order {
		if zipf {
			t.order[i] = int32(law.Uint64())
		} else {
			t.order[i] = random.Int32N(int32(keys))
		}
	}
	return t
}

// userKey is a key of 20 bytes.
func userKey(i int) string { return fmt.Sprintf("user:%015d", i) }

// loop is a number of callers each of which asks again as soon as it has its
// answer. It can run many times.
type loop struct {
	traffic *traffic
	want    bool // the right answer
	callers []caller
}

type caller struct {
	laps   []time.Duration
	errors int
	err    error // the last one
	wrong  int   // answers
}

// lap is what one run of a loop has seen.
type lap struct {
	decisions int
	rate      float64 // decisions a second
	p50, p99  time.Duration
	allocs    float64 // a decision, those of the client library included
	client    float64 // seconds of the processor a decision, of this process
	server    float64 // the same of the server
	together  float64 // decisions in a call of a script
	errors    int
	err       error // one of them
	wrong     int
}

func newLoop(t *traffic, callers int, want bool) *loop {
	return &loop{t, want, make([]caller, callers)}
}

// run lets the callers ask a, which asks the server, for d.
func (l *loop) run(tb testing.TB, d time.Duration, a ask, server *servertest.Server) lap {
	var ready, done sync.WaitGroup
	gate := make(chan time.Time)
	for i := range l.callers {
		c := &l.callers[i]
		*c = caller{laps: c.laps[:0]}
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			start := <-gate
			l.call(c, a, i, start, d)
		})
	}
	ready.Wait()
	var before, after runtime.MemStats
	used := spent(tb, server)
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range l.callers {
		gate <- start
	}
	done.Wait()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	used = spent(tb, server).since(used)

	var b lap
	var laps []time.Duration
	for i := range l.callers {
		c := &l.callers[i]
		laps = append(laps, c.laps...)
		b.errors += c.errors
		b.wrong += c.wrong
		if c.err != nil {
			b.err = c.err
		}
	}
	slices.Sort(laps)
	b.decisions = len(laps)
	b.rate = float64(b.decisions) / took.Seconds()
	b.p50, b.p99 = laps[b.decisions/2], laps[b.decisions*99/100]
	b.allocs = float64(after.Mallocs-before.Mallocs) / float64(b.decisions)
	b.client, b.server = used.client/float64(b.decisions), used.server/float64(b.decisions)
	b.together = float64(b.decisions) / used.calls
	return b
}

// call is one caller. It asks once at least.
func (l *loop) call(c *caller, a ask, number int, start time.Time, d time.Duration) {
	ctx, names, order := context.Background(), l.traffic.names, l.traffic.order
	at := number * len(order) / len(l.callers)
	for last := time.Duration(0); last < d || len(c.laps) == 0; at++ {
		allowed, err := a(ctx, names[order[at%len(order)]])
		switch {
		case err != nil:
			c.errors++
			c.err = err
		case allowed != l.want:
			c.wrong++
		}
		now := time.Since(start)
		c.laps = append(c.laps, now-last)
		last = now
	}
}

// seed asks once for every key, so that none is fresh, or again where a busy machine has
// stood still for longer than a time-out.
func (l *loop) seed(tb testing.TB, a ask) {
	const together = 256
	ctx := context.Background()
	errs := make([]error, together)
	var wg sync.WaitGroup
	for g := range together {
		wg.Go(func() {
			for i := g; i < len(l.traffic.names); i += together {
				for range 50 {
					if _, errs[g] = a(ctx, l.traffic.names[i]); errs[g] == nil {
						break
					}
				}
				if errs[g] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			tb.Fatal(err)
		}
	}
}
