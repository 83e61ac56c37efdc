package main

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// memory measures each limiter in memory as a multiple of the floor: blocks of both are
// run in turns, and the median of the ratios of neighbours counts for a round, in which both are
// built anew. The floor admits also where the other denies.
func (r *run) memory(tb testing.TB) {
	for range r.scale.memory {
		for _, c := range contenders() {
			for _, denied := range []bool{false, true} {
				for _, many := range []bool{false, true} {
					r.isolated(tb, func(tb testing.TB) { r.beside(tb, &c, many, denied) })
				}
			}
		}
		if r.list {
			return
		}
	}
}

// beside is a round of one limiter.
func (r *run) beside(tb testing.TB, c *contender, many, denied bool) {
	modes := map[string]int{"serial": 1, "parallel": runtime.GOMAXPROCS(0)}
	name := func(mode string) string {
		return fmt.Sprintf("memory/%s/%s/%s/%s", choose(many, "many", "hot"), mode, verdictOf(denied), c.name)
	}
	for _, mode := range []string{"serial", "parallel"} {
		if !r.wants(name(mode)) {
			delete(modes, mode)
		}
	}
	if len(modes) == 0 {
		return
	}
	reference, measured := newFloor(tb, false), c.make(tb, denied)
	names := make([]string, choose(many, r.keys, 1))
	for i := range names {
		names[i] = userKey(i)
		reference(names[i])
		if !measured(names[i]) {
			tb.Fatalf("%s denies the first unit", c.name)
		}
	}
	for mode, goroutines := range modes {
		r.values.add(name(mode), alternate(reference, measured, names, r.blocks, r.asks, goroutines))
	}
	if measured(names[0]) == denied {
		tb.Fatalf("%s, %s: it is not at the end", c.name, verdictOf(denied))
	}
}

func verdictOf(denied bool) string { return choose(denied, "denied", "admitted") }

// alternate runs blocks of reference and measured in turns and returns the median of
// measured/reference.
func alternate(reference, measured take, names []string, blocks, asks, goroutines int) float64 {
	var ratios []float64
	offset := 0
	for range blocks {
		x := block(reference, names, offset, asks, goroutines)
		y := block(measured, names, offset+asks*goroutines, asks, goroutines)
		ratios = append(ratios, float64(y)/float64(max(x, 1)))
		offset += 2 * asks * goroutines
	}
	return median(ratios)
}

// block asks from each goroutine, over keys in an order that no cache foresees, and
// returns how long it took.
func block(t take, names []string, offset, asks, goroutines int) time.Duration {
	ask := func(offset int) {
		for i := range asks {
			t(names[(offset+i)*7919%len(names)])
		}
	}
	start := time.Now()
	if goroutines == 1 {
		ask(offset)
		return time.Since(start)
	}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() { ask(offset + g*asks) })
	}
	wg.Wait()
	return time.Since(start)
}

// heap counts what each limiter keeps for a key: bytes and objects of the live heap, and
// how long a collection of the garbage takes, in milliseconds.
func (r *run) heap(tb testing.TB) {
	for _, c := range contenders() {
		if name := "heap/" + c.name; r.wants(name) {
			r.isolated(tb, func(tb testing.TB) {
				before, _ := liveHeap()
				measured := c.make(tb, true)
				for i := range r.heapKeys {
					measured(userKey(i)) // a new string each time, as that of a request
				}
				after, took := liveHeap()
				r.values.add(name+"/bytes", (float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(r.heapKeys))
				r.values.add(name+"/objects", (float64(after.HeapObjects)-float64(before.HeapObjects))/float64(r.heapKeys))
				r.values.add(name+"/gc", took.Seconds()*1e3)
				measured(userKey(0)) // keeps it alive
			})
		}
	}
}

func liveHeap() (m runtime.MemStats, took time.Duration) {
	runtime.GC()
	var all []time.Duration
	for range 3 {
		start := time.Now()
		runtime.GC()
		all = append(all, time.Since(start))
	}
	runtime.ReadMemStats(&m)
	return m, median(all)
}
