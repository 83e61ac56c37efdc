package bench

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkRatio reports each contender as a multiple of the floor, x-floor:
// blocks of both are run in turns, and the median of the ratios of neighbours
// counts. The floor admits also where the contender denies.
func BenchmarkRatio(b *testing.B) {
	for _, keys := range []int{1, 100_000} {
		for _, goroutines := range []int{1, runtime.GOMAXPROCS(0)} {
			for _, denied := range []bool{false, true} {
				for _, c := range contenders() {
					name := fmt.Sprintf("keys=%d/goroutines=%d/%s/%s", keys, goroutines, choose(denied, "denied", "admitted"), c.name)
					b.Run(name, func(b *testing.B) {
						ratio(b, newFloor(), c.make(b, denied), "x-floor", keys, goroutines)
					})
				}
			}
		}
	}
}

// BenchmarkDenied reports a denial as a multiple of an admission by the same
// limiter, x-admitted.
func BenchmarkDenied(b *testing.B) {
	for _, c := range contenders() {
		b.Run(c.name, func(b *testing.B) {
			ratio(b, c.make(b, false), c.make(b, true), "x-admitted", 1, 1)
		})
	}
}

// ratio runs blocks of reference and measured in turns and reports the median
// of measured/reference.
func ratio(b *testing.B, reference, measured take, unit string, keys, goroutines int) {
	names := make([]string, keys)
	for i := range names {
		names[i] = fmt.Sprintf("user:%015d", i)
		reference(names[i])
		measured(names[i])
	}
	const block = 4096
	var ratios []float64
	offset := 0
	b.ResetTimer()
	for done := 0; done < b.N || len(ratios) < 15; done += block {
		r := run(reference, names, offset, block, goroutines)
		m := run(measured, names, offset+block*goroutines, block, goroutines)
		ratios = append(ratios, float64(m)/float64(r))
		offset += 2 * block * goroutines
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], unit)
	b.ReportMetric(0, "ns/op")
}

// run asks block times from each goroutine, over keys in an order that no cache
// foresees, and returns how long it took.
func run(t take, names []string, offset, block, goroutines int) time.Duration {
	ask := func(offset int) {
		for i := range block {
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
		wg.Go(func() { ask(offset + g*block) })
	}
	wg.Wait()
	return time.Since(start)
}
