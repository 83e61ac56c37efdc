package random

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// Max is the largest result of a draw that has no upper bound of its own:
// 2^53 − 1, which as microseconds is 285 years.
const Max int64 = 1<<53 - 1

// Million is one, in millionths.
const Million int64 = 1_000_000

// Streams hands out the streams of one seed. It is a value without state: copy
// it freely. The zero Streams is the one of seed 0.
type Streams struct {
	seed   uint64
	prefix string
}

// New returns the streams of a seed. Every seed is good, 0 too.
func New(seed uint64) Streams { return Streams{seed: seed} }

// Under returns the streams whose names start with name and a slash:
// s.Under("traffic").Stream("gaps") is s.Stream("traffic/gaps").
func (s Streams) Under(name string) Streams {
	return Streams{seed: s.seed, prefix: s.prefix + name + "/"}
}

// Stream returns the stream of that name, at its beginning. Two calls with one
// name return two streams with the same draws: give each purpose its own name.
// It takes about a microsecond.
func (s Streams) Stream(name string) *Stream {
	text := make([]byte, 8, 8+len(s.prefix)+len(name))
	binary.LittleEndian.PutUint64(text, s.seed)
	text = append(append(text, s.prefix...), name...)
	sum := sha256.Sum256(text)
	var stream Stream
	stream.pcg.Seed(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16]))
	return &stream
}

// Stream is a sequence of draws. One goroutine may use it at a time. The zero
// Stream works and is the same each time. No draw allocates.
type Stream struct {
	pcg rand.PCG
}

// Uint64 returns 64 random bits.
func (s *Stream) Uint64() uint64 { return s.pcg.Uint64() }

// N returns a whole number from 0 to n − 1, each equally likely. An n below 1
// counts as 1. It takes one word of the stream, and another with a chance below
// n/2^64.
func (s *Stream) N(n int64) int64 { return int64(s.below(uint64(max(n, 1)))) }

// below returns a number from 0 to n − 1, n from 1. It is Lemire's method: the high
// half of x·n, where those x that would make some results more likely are drawn
// again.
func (s *Stream) below(n uint64) uint64 {
	high, low := bits.Mul64(s.Uint64(), n)
	if low < n {
		for uneven := -n % n; low < uneven; {
			high, low = bits.Mul64(s.Uint64(), n)
		}
	}
	return high
}

// Uniform returns a whole number from lo to hi, both included, each equally
// likely. A hi below lo counts as lo.
func (s *Stream) Uniform(lo, hi int64) int64 {
	size := uint64(max(lo, hi)) - uint64(lo) + 1
	if size == 0 { // all 2^64 numbers
		return int64(s.Uint64())
	}
	return int64(uint64(lo) + s.below(size))
}

// Chance returns true num times in den, exactly. A den below 1 counts as 1; a num
// below 0 as 0, and above den as den. It draws even where the answer is certain,
// so that a changed chance does not move the draws that follow.
func (s *Stream) Chance(num, den int64) bool { return s.N(den) < num }

// Millionths returns true with a chance of n in a million, as Chance does.
func (s *Stream) Millionths(n int64) bool { return s.Chance(n, Million) }
