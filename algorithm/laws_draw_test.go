package algorithm_test

import (
	"math/bits"
	"time"

	"github.com/weirgo/weir/algorithm"
	"pgregory.net/rapid"
)

// params are what any of the algorithms is built from; the window algorithms
// ignore burst.
type params struct {
	rate  algorithm.Rate
	burst int64
}

func (p params) period() int64 { return int64(p.rate.Per / time.Microsecond) }

// A kind builds an algorithm of a family, whose parameters are drawn.
type kind struct{ algorithm.Family }

var kinds = func() (all []kind) {
	for _, f := range algorithm.Families() {
		all = append(all, kind{f})
	}
	return all
}()

// the is the kind of a name.
func the(name string) kind {
	for _, k := range kinds {
		if k.Name == name {
			return k
		}
	}
	panic("no family is named " + name)
}

// six are the kinds of which more is claimed than laws demand: what remains of a state
// under any other parameters (K2, K7), and that to leave out an admission hurts nobody
// (M9). Every kind is held to the laws, to its oracle and to its Family.Bound.
var six = append([]kind{the("fixed-window"), the("sliding-log"), the("sliding-counter")}, buckets...)

// buckets are the kinds that gain units all the time, and share some laws.
var buckets = []kind{the("gcra"), the("token-bucket"), the("leaky-bucket")}

func (k kind) build(p params) algorithm.Algorithm {
	return algorithm.Must(k.Build(p.rate, p.burst))
}

// capacity is what a fresh key of this kind admits at one instant.
func (k kind) capacity(p params) int64 {
	if k.Option != "" {
		return p.burst
	}
	return p.rate.Units
}

// drawParams draws from within the bounds, with an eye on their edges, on small
// numbers, and on fractions that do not cancel.
func drawParams(t *rapid.T) params {
	p := params{rate: algorithm.Rate{Units: drawUnits(t), Per: drawPeriod(t)}}
	if rapid.IntRange(0, 5).Draw(t, "a known fraction") == 5 {
		p.rate = rapid.SampledFrom([]algorithm.Rate{
			{Units: 7, Per: 3 * time.Second},
			{Units: 3, Per: 7 * time.Microsecond},
			{Units: 1_000_003, Per: 24 * time.Hour},
			{Units: 10, Per: time.Microsecond},
			{Units: 17, Per: 30 * time.Second},
			{Units: algorithm.MaxUnits - 11, Per: algorithm.MaxPeriod - time.Microsecond},
		}).Draw(t, "rate")
	}
	p.burst = drawBurst(t, p.rate)
	return p
}

func drawUnits(t *rapid.T) int64 {
	const most = algorithm.MaxUnits
	switch rapid.IntRange(0, 5).Draw(t, "limit is") {
	case 3:
		return rapid.Int64Range(1, most).Draw(t, "limit")
	case 4:
		return most - rapid.Int64Range(0, 3).Draw(t, "limit, below the largest by")
	case 5:
		return rapid.SampledFrom([]int64{97, 4096, 999_983, 1 << 39, 999_999_999_989}).Draw(t, "limit")
	}
	return rapid.Int64Range(1, 12).Draw(t, "limit")
}

func drawPeriod(t *rapid.T) time.Duration {
	const longest = int64(algorithm.MaxPeriod / time.Microsecond)
	µs := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	switch rapid.IntRange(0, 5).Draw(t, "period is") {
	case 3:
		return µs(rapid.Int64Range(1, longest).Draw(t, "µs"))
	case 4:
		return µs(longest - rapid.Int64Range(0, 3).Draw(t, "µs, below the longest by"))
	case 5:
		return rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 3 * time.Second, time.Minute,
			time.Hour, 24 * time.Hour}).Draw(t, "period")
	}
	return µs(rapid.Int64Range(1, 30).Draw(t, "µs"))
}

// mostBurst is the largest burst that fills within MaxTimeToFull.
func mostBurst(r algorithm.Rate) int64 {
	hi, lo := bits.Mul64(uint64(algorithm.MaxTimeToFull/time.Microsecond), uint64(r.Units))
	per := uint64(r.Per / time.Microsecond)
	if hi >= per {
		return algorithm.MaxUnits
	}
	q, _ := bits.Div64(hi, lo, per)
	return int64(min(q, uint64(algorithm.MaxUnits)))
}

func drawBurst(t *rapid.T, r algorithm.Rate) int64 {
	most := mostBurst(r)
	switch rapid.IntRange(0, 5).Draw(t, "burst is") {
	case 2:
		return min(r.Units, most)
	case 3:
		return rapid.Int64Range(1, most).Draw(t, "burst")
	case 4:
		return most - rapid.Int64Range(0, min(2, most-1)).Draw(t, "burst, below the largest by")
	case 5:
		return min(most, 40)
	}
	return rapid.Int64Range(1, min(12, most)).Draw(t, "burst")
}

// A walk draws requests one after the other: when they come and what they cost,
// close to what the answer to the last one promised. Set last after each.
type walk struct {
	t         *rapid.T
	p         params
	capacity  int64
	backwards bool // readings may go back
	now       algorithm.Instant
	last      algorithm.Outcome
}

func newWalk(t *rapid.T, p params, capacity int64) *walk {
	const today = 1_764_277_200_123_456
	w := &walk{t: t, p: p, capacity: capacity}
	w.last.Remaining = capacity
	switch rapid.IntRange(0, 3).Draw(t, "epoch") {
	case 0:
		w.now = algorithm.Instant(rapid.Int64Range(0, 100).Draw(t, "start"))
	case 1:
		w.now = today
	case 2:
		w.now = algorithm.Instant(rapid.Int64Range(0, int64(algorithm.MaxInstant)).Draw(t, "start"))
	case 3:
		w.now = algorithm.Instant(today - today%p.period() + rapid.Int64Range(0, 10).Draw(t, "into the window"))
	}
	return w
}

// next moves the clock and draws a cost, at least 1 and at most the capacity.
func (w *walk) next() (at algorithm.Instant, cost int64) {
	w.now = min(max(w.now+algorithm.Instant(w.tick()), 0), algorithm.MaxInstant)
	switch rapid.IntRange(0, 5).Draw(w.t, "cost is") {
	case 2:
		cost = w.last.Remaining
	case 3:
		cost = w.last.Remaining + 1
	case 4:
		cost = w.capacity
	case 5:
		cost = rapid.Int64Range(1, w.capacity).Draw(w.t, "cost")
	}
	return w.now, min(max(cost, 1), w.capacity)
}

func (w *walk) tick() int64 {
	full := 2 * int64(w.p.rate.Per/time.Microsecond)
	if w.backwards && rapid.IntRange(0, 3).Draw(w.t, "clock goes back") == 3 {
		return -rapid.Int64Range(0, full).Draw(w.t, "by")
	}
	off := func(d time.Duration) int64 {
		return max(0, int64(d/time.Microsecond)+int64(rapid.IntRange(-1, 1).Draw(w.t, "off by")))
	}
	switch rapid.IntRange(0, 5).Draw(w.t, "wait") {
	case 1:
		return int64(rapid.IntRange(0, 3).Draw(w.t, "µs"))
	case 2:
		if w.last.RetryAfter != algorithm.Never {
			return off(w.last.RetryAfter)
		}
	case 3:
		return off(w.last.ResetAfter)
	case 4:
		return off(w.p.rate.Per / time.Duration(w.p.rate.Units))
	case 5:
		return rapid.Int64Range(0, full).Draw(w.t, "µs")
	}
	return 0
}

// micros is n µs as a Duration.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// take is a plain request.
func take(n int64) algorithm.Request { return algorithm.Request{Cost: n} }
