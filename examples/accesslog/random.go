package main

import (
	"hash/fnv"
	"math/rand/v2"
	"sort"
	"time"
)

// stream is one named source of random whole numbers. Each concern has its own, so that one more draw in one of them leaves
// the others as they were. Whole numbers drawn from a PCG are the same on every platform; there are no floats anywhere.
type stream struct{ *rand.Rand }

func newStream(seed uint64, name string) stream {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return stream{rand.New(rand.NewPCG(seed, hash.Sum64()))}
}

// between returns a number in [low, high].
func (s stream) between(low, high int) int {
	return low + s.IntN(high-low+1)
}

// duration returns whole milliseconds in [low, high]. Neither bound may exceed a day, so that the count fits into 32 bits.
func (s stream) duration(low, high time.Duration) time.Duration {
	return time.Duration(s.between(int(low/time.Millisecond), int(high/time.Millisecond))) * time.Millisecond
}

// chance is true in the given percentage of draws.
func (s stream) chance(percent int) bool {
	return s.IntN(100) < percent
}

// index returns i with a probability proportional to weight i of the table.
func (s stream) index(t table) int {
	return sort.SearchInts(t, s.IntN(t[len(t)-1])+1)
}

func pick[T any](s stream, from []T) T {
	return from[s.IntN(len(from))]
}

// table holds running sums of weights: entry i is the sum of the weights 0 to i.
type table []int

func newTable(weights []int) table {
	sums := make(table, len(weights))
	total := 0
	for i, weight := range weights {
		total += weight
		sums[i] = total
	}
	return sums
}
