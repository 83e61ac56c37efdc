// Package draw tries a property with random choices, and makes those that break it
// shorter and smaller. The depth and the seed are arguments: package rapid, which
// draws for laws under go test, takes them from flags of the whole process, and
// does not run without go test.
package draw

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/recorder"
)

// Source draws whole numbers. It is used by one goroutine.
type Source interface {
	// Draw returns a number of from to to, both included. label says what it is for.
	Draw(label string, from, to int64) int64
}

// Options say how a property is tried.
type Options struct {
	Name   string        // of the check, for the failure
	Runs   int           // how many times
	Seed   uint64        // of the first run; each later run has the next seed
	Shrink time.Duration // how long a failure is made smaller, at most
}

// T is what one run of a property gets.
type T struct {
	*recorder.T
	random *rand.Rand
	given  []uint64 // offsets that are drawn first; then 0 where random is nil
	drawn  []uint64 // offsets from the lower end, as they were drawn
}

// Draw implements Source. Small widths are drawn evenly; of large ones both ends
// are drawn more often than the rest.
func (t *T) Draw(_ string, from, to int64) int64 {
	if to < from {
		panic(fmt.Sprintf("draw: no number is from %d to %d", from, to))
	}
	width, offset := uint64(to)-uint64(from), uint64(0)
	switch i := len(t.drawn); {
	case i < len(t.given):
		offset = min(t.given[i], width)
	case t.random != nil:
		offset = t.offset(width)
	}
	t.drawn = append(t.drawn, offset)
	return int64(uint64(from) + offset)
}

func (t *T) offset(width uint64) uint64 {
	const few = 1000
	if width > few {
		switch t.random.IntN(8) {
		case 0:
			width = few
		case 1:
			return width - t.random.Uint64N(few)
		}
	}
	if width == 1<<64-1 {
		return t.random.Uint64()
	}
	return t.random.Uint64N(width + 1)
}

// Search runs a property and returns nil, or what the shortest failing run logged,
// with the seed that repeats it.
func Search(o Options, property func(t *T)) error {
	run := func(random *rand.Rand, given []uint64) (*T, recorder.Result) {
		t := &T{random: random, given: given}
		r := recorder.Run(o.Name, func(inner *recorder.T) { t.T = inner; property(t) })
		return t, r
	}
	for i := range o.Runs {
		seed := o.Seed + uint64(i)
		t, r := run(rand.New(rand.NewPCG(seed, 0)), nil)
		if !r.Failed {
			continue
		}
		text := r.Text
		shrink(t.drawn, time.Now().Add(o.Shrink), func(given []uint64) ([]uint64, bool) {
			t, r := run(nil, given)
			if r.Failed {
				text = r.Text
			}
			return t.drawn, r.Failed
		})
		return fmt.Errorf("%s\n  found by random history %d. To reproduce, specify -run=%q -rapid.seed=%d", text, i+1, o.Name, seed)
	}
	return nil
}

// shrink leaves out choices, and then lowers them, as long as the property fails.
func shrink(drawn []uint64, until time.Time, fails func(given []uint64) (drawn []uint64, failed bool)) {
	try := func(given []uint64) bool {
		if time.Now().After(until) {
			return false
		}
		again, failed := fails(given)
		if failed && (len(again) < len(drawn) || len(again) == len(drawn) && slices.Compare(again, drawn) < 0) {
			drawn = again
			return true
		}
		return false
	}
	for smaller := true; smaller && time.Now().Before(until); {
		smaller = false
		for size := max(1, len(drawn)/2); size > 0; size /= 2 {
			for i := len(drawn) - size; i >= 0; i-- {
				if i+size <= len(drawn) && try(slices.Delete(slices.Clone(drawn), i, i+size)) {
					smaller = true
				}
			}
		}
		for i := 0; i < len(drawn); i++ {
			for _, lower := range []func(uint64) uint64{
				func(uint64) uint64 { return 0 }, func(n uint64) uint64 { return n / 2 }, func(n uint64) uint64 { return n - 1 },
			} {
				for i < len(drawn) && drawn[i] > 0 {
					given := slices.Clone(drawn)
					if given[i] = lower(drawn[i]); !try(given) {
						break
					}
					smaller = true
				}
			}
		}
	}
}

// Limit draws requests to an algorithm and readings of a clock, mostly near those
// that matter to it.
type Limit struct {
	Source
	// Capacity, Full and Unit give the drawn costs and times their scale: the
	// Limit, and the µs from a drained key to a fresh one, and to one more unit.
	Capacity, Full, Unit int64
	// MaxDebt is that of an algorithm.Charger, and -1 for what is none.
	MaxDebt int64
}

// Instants are the last ones at which something was asked.
type Instants []algorithm.Instant

// Add adds an instant, and forgets an old one.
func (all *Instants) Add(at algorithm.Instant) {
	if *all = append(*all, at); len(*all) > 4 {
		*all = (*all)[1:]
	}
}

// For returns a Limit for an algorithm, whose scale is measured at an instant.
func For(s Source, a algorithm.Algorithm, at algorithm.Instant) *Limit {
	step := func(state algorithm.State, cost int64) (algorithm.State, algorithm.Outcome) {
		return a.Step(state, at, algorithm.Request{Cost: cost})
	}
	_, look := step(algorithm.State{}, 0)
	drained, o := step(algorithm.State{}, look.Limit)
	_, next := step(drained, 1)
	l := &Limit{Source: s, Capacity: look.Limit, Full: Micros(o.ResetAfter), Unit: Micros(next.RetryAfter), MaxDebt: -1}
	if charger, is := a.(algorithm.Charger); is {
		l.MaxDebt = charger.MaxDebt()
	}
	return l
}

// Micros is d in µs, kept to what can be added to an instant.
func Micros(d time.Duration) int64 {
	return min(max(0, int64(d/time.Microsecond)), int64(algorithm.MaxInstant))
}

// Number draws a small number.
func Number(s Source, label string, from, to int) int {
	return int(s.Draw(label, int64(from), int64(to)))
}

// Number draws a small number.
func (l *Limit) Number(label string, from, to int) int { return Number(l, label, from, to) }

// NumberOf draws from a range that may be wide: small numbers, large ones, and what
// lies between.
func (l *Limit) NumberOf(label string, from, to int64) int64 {
	if width := to - from; width > 1000 {
		switch l.Number(label+" is", 0, 3) {
		case 2:
			return to - l.Draw(label+", from the top", 0, 1000)
		case 3:
			return from + width/int64(l.Number(label+", a part of", 2, 9))
		}
	}
	return l.Draw(label, from, max(from, to))
}

// Request draws a request. last is the answer that the caller has seen last.
func (l *Limit) Request(last algorithm.Outcome) algorithm.Request {
	return algorithm.Request{Cost: l.Cost(last), MaxDelay: l.MaxDelay(last)}
}

// Any draws a request, which is a charge or a refund now and then where the algorithm is
// an algorithm.Charger. A refund is of what was taken at one of the instants, of which
// there is at least one.
func (l *Limit) Any(taken Instants, last algorithm.Outcome) algorithm.Request {
	r := l.Request(last)
	if l.MaxDebt < 0 {
		return r
	}
	switch l.Number("verb", 0, 8) {
	case 7:
		return l.Charge(last)
	case 8:
		return algorithm.Request{Verb: algorithm.Refund, Cost: r.Cost, At: taken[l.Number("taken at", 0, len(taken)-1)]}
	}
	return r
}

// Charge draws a charge: of any cost, and around the largest one that is admitted.
func (l *Limit) Charge(last algorithm.Outcome) algorithm.Request {
	cost := l.Cost(last)
	switch l.Number("charge", 0, 7) {
	case 6:
		cost = max(0, last.Remaining-last.Debt+l.MaxDebt+int64(l.Number("charge off by", -1, 1)))
	case 7:
		cost = l.NumberOf("units charged", 0, l.Capacity+l.MaxDebt+1)
	}
	return algorithm.Request{Verb: algorithm.Charge, Cost: cost}
}

// Cost draws a cost: around what remains, around the capacity, small.
func (l *Limit) Cost(last algorithm.Outcome) int64 {
	costs := []int64{1, 0, 2, last.Remaining, last.Remaining + 1, l.Capacity, l.Capacity + 1, l.Capacity / 2}
	if i := l.Number("cost", 0, len(costs)+1); i < len(costs) {
		return costs[i]
	}
	return l.NumberOf("units", 1, l.Capacity)
}

// MaxDelay draws a bound on the delay, mostly none.
func (l *Limit) MaxDelay(last algorithm.Outcome) time.Duration {
	switch l.Number("bound", 0, 8) {
	case 6:
		return time.Duration(l.Number("bound in ns", 1, 2000))
	case 7:
		return time.Duration(l.NumberOf("bound in µs", 0, l.Full)) * time.Microsecond
	case 8:
		return max(0, last.Delay+time.Duration(l.Number("off by µs", -1, 1))*time.Microsecond)
	}
	return 0
}

// Wait draws how many µs pass, mostly near a time that matters: when the last
// request is admitted, when the key is fresh, when the next unit is due.
func (l *Limit) Wait(last algorithm.Outcome) int64 {
	off := func(d int64) int64 { return max(0, d+int64(l.Number("off by", -1, 1))) }
	switch l.Number("wait", 0, 7) {
	case 0:
		return 0
	case 1:
		return int64(l.Number("µs", 1, 3))
	case 2:
		if last.RetryAfter == algorithm.Never {
			return off(l.Unit)
		}
		return off(Micros(last.RetryAfter))
	case 3:
		return off(Micros(last.ResetAfter))
	case 4:
		return off(l.Unit)
	case 5:
		return l.NumberOf("part of a unit", 0, l.Unit)
	case 6:
		return l.NumberOf("part of the whole", 0, l.Full)
	}
	return l.NumberOf("long", 0, min(3*l.Full+3, int64(algorithm.MaxInstant)))
}

// Reading draws the next reading of a clock that may go back.
func (l *Limit) Reading(now algorithm.Instant, last algorithm.Outcome) algorithm.Instant {
	switch l.Number("clock goes", 0, 9) {
	case 8:
		return After(now, -l.NumberOf("back by", 0, min(2*l.Full+1, int64(algorithm.MaxInstant))))
	case 9:
		return After(now, -l.NumberOf("back by a few", 0, 2*l.Unit+1))
	}
	return After(now, l.Wait(last))
}

// After is the instant some µs from now, kept within the bounds.
func After(now algorithm.Instant, micros int64) algorithm.Instant {
	return min(max(now+algorithm.Instant(micros), 0), algorithm.MaxInstant)
}
