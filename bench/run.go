package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

// scale is how much is measured.
type scale struct {
	rounds   int           // of all but what is in memory
	memory   int           // rounds in memory, in each of which limiters are built anew
	blocks   int           // in a round, of a limiter in memory, each beside one of the floor
	asks     int           // in a block in memory
	keys     int           // of a situation with many
	heapKeys int           // of which the heap is measured
	block    time.Duration // through a server
	calls    int           // in a block inside a server
	copies   int           // of a key whose bytes in a server are measured
	growth   bool
	sizes    sizes
}

// sizes are the points of the plots of growth.
type sizes struct{ memoryKeys, serverKeys, ops, entries, callers []int }

var (
	whole = scale{
		rounds: 9, memory: 5, blocks: 25, asks: 4096, keys: 100_000, heapKeys: 1_000_000,
		block: 150 * time.Millisecond, calls: 1000, copies: 12_500, growth: true,
		sizes: sizes{
			memoryKeys: []int{1_000, 10_000, 100_000, 1_000_000, 10_000_000},
			serverKeys: []int{1_000, 10_000, 100_000, 1_000_000},
			ops:        []int{1, 2, 4, 8, 16},
			entries:    []int{10, 100, 1_000, 10_000, 100_000},
			callers:    []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024},
		},
	}
	brief = scale{
		rounds: 5, memory: 2, blocks: 15, asks: 4096, keys: 100_000, heapKeys: 200_000,
		block: 30 * time.Millisecond, calls: 300, copies: 12_500,
	}
	// instant is for tests: everything once, and nothing that is worth reading.
	instant = scale{
		rounds: 1, memory: 1, blocks: 1, asks: 64, keys: 100, heapKeys: 1000,
		block: time.Millisecond, calls: 3, copies: 100, growth: true,
		sizes: sizes{[]int{10, 20}, []int{10, 20}, []int{1, 2}, []int{10, 20}, []int{1, 2}},
	}
)

// run is one run of the command.
type run struct {
	scale
	only   *regexp.Regexp
	list   bool
	log    io.Writer
	values book
}

// wants reports whether something is to be measured, and says its name.
func (r *run) wants(name string) bool {
	switch {
	case !r.only.MatchString(name):
		return false
	case r.list:
		fmt.Fprintln(r.log, name)
		return false
	}
	return true
}

// isolated runs f with a clean-up of its own, so that nothing is left of it.
func (r *run) isolated(tb testing.TB, f func(tb testing.TB)) {
	if err := servertest.AsTest(f); err != nil {
		tb.Fatal(err)
	}
}

// interleave measures each of n limiters in each of some rounds, behind a block of the
// reference: what slows the machine down for a while slows both. The order turns, so
// that nobody always follows the same.
func interleave[T any](rounds, n int, reference func() T, measured func(i int) T, pair func(i int, reference, measured T)) {
	for round := range rounds {
		for i := range n {
			i = (i + round) % n
			pair(i, reference(), measured(i))
		}
	}
}

// book has all values that were measured, by name, one for each round.
type book map[string][]float64

func (b book) add(name string, value float64) { b[name] = append(b[name], value) }

// median returns the median of a name, and whether there is one.
func (b book) median(name string) (value float64, found bool) {
	if values := b[name]; len(values) > 0 {
		return median(slices.Clone(values)), true
	}
	return 0, false
}

// spread returns how far from its median the farther quartile of a name is, as a share,
// in the median of all names; 0 without any.
func (b book) spread() float64 {
	var all []float64
	for _, values := range b {
		sorted := slices.Sorted(slices.Values(values))
		if len(sorted) < 3 || sorted[len(sorted)/2] == 0 {
			continue
		}
		middle := sorted[len(sorted)/2]
		all = append(all, max(middle-sorted[len(sorted)/4], sorted[len(sorted)*3/4]-middle)/middle)
	}
	if len(all) == 0 {
		return 0
	}
	return median(all)
}

// median returns the middle of values, which it sorts.
func median[T int | float64 | time.Duration](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}
