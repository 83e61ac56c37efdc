package algorithm_test

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/oracle"
	"pgregory.net/rapid"
)

// What the random tests, the fuzz targets and the goals draw from. Everything is
// made of raw numbers by the same functions, so that a fuzzer's bytes and a draw
// of rapid reach the same edges.

const (
	maxUnits   = algorithm.MaxUnits
	maxInstant = int64(algorithm.MaxInstant)
	maxPeriod  = int64(algorithm.MaxPeriod / time.Microsecond)
	maxFull    = int64(algorithm.MaxTimeToFull / time.Microsecond)
)

// limits are the parameters of one limit. capacity equals limit for a window.
type limits struct {
	kind                    oracle.Kind
	limit, period, capacity int64
}

func (l limits) String() string {
	return fmt.Sprintf("%s %d per %d µs, capacity %d", l.kind, l.limit, l.period, l.capacity)
}

func (l limits) oracle() *oracle.Oracle {
	o := oracle.New(l.kind, l.limit, l.period, l.capacity)
	l.set(o)
	return o
}

// set puts a key under the limits.
func (l limits) set(o *oracle.Oracle) {
	o.SetParameters(l.limit, l.period, l.capacity)
	if l.kind.ByCalendar() {
		o.Follow(oracle.NewCalendar(l.algorithm().Spec().Identity))
	}
}

// calendarOfPeriod makes a calendar from the number that stands for a period.
func calendarOfPeriod(n int64) algorithm.Calendar {
	pick := func(from ...string) string {
		one := from[n%int64(len(from))]
		n /= int64(len(from))
		return one
	}
	c := algorithm.Calendar{Unit: pick("day", "week", "month", "quarter", "year"), Zone: pick(zonesOfTests...)}
	switch c.Unit {
	case "week":
		c.Anchor = pick("monday", "sunday", "thursday")
	case "month":
		c.Anchor = pick("1", "15", "29", "30", "31")
	case "quarter":
		c.Anchor = pick("01-01", "02-15", "02-31", "03-30")
	case "year":
		c.Anchor = pick("01-01", "02-29", "07-01", "12-31")
	}
	return c
}

// algorithm builds what is under test. It panics where the constructor refuses.
func (l limits) algorithm() algorithm.InPlace {
	if l.kind.ByCalendar() {
		return algorithm.Must(algorithm.NewCalendarWindow(l.limit, calendarOfPeriod(l.period)))
	}
	rate := algorithm.Rate{Units: l.limit, Per: time.Duration(l.period) * time.Microsecond}
	a := algorithm.Must(the(string(l.kind)).Build(rate, l.capacity))
	if inPlace, is := a.(algorithm.InPlace); is {
		return inPlace
	}
	return byStep{a}
}

// byStep steps in place by Step.
type byStep struct{ algorithm.Algorithm }

func (b byStep) StepInPlace(s *algorithm.State, now algorithm.Instant, r algorithm.Request, o *algorithm.Outcome) {
	*s, *o = b.Step(*s, now, r)
}

// unit returns T in whole µs, rounded down.
func (l limits) unit() int64 { return l.period / l.limit }

// full returns capacity × T in whole µs, rounded up.
func (l limits) full() int64 {
	n := new(big.Int).Mul(big.NewInt(l.capacity), big.NewInt(l.period))
	n.Add(n, big.NewInt(l.limit-1))
	return n.Quo(n, big.NewInt(l.limit)).Int64()
}

// mostCapacity returns the largest burst that fills within the bound.
func mostCapacity(limit, period int64) int64 {
	n := new(big.Int).Mul(big.NewInt(maxFull), big.NewInt(limit))
	if n.Quo(n, big.NewInt(period)); n.IsInt64() {
		return min(n.Int64(), maxUnits)
	}
	return maxUnits
}

// raw is what a value is made of: which kind of value, and which of them.
type raw struct {
	how  uint8
	bits uint64
}

// pick makes a value from low to high: a small or large one, one of the round
// ones or a neighbour, or any, on a linear or logarithmic scale.
func (r raw) pick(low, high int64, round ...int64) int64 {
	n := low
	span := uint64(high-low) + 1
	switch r.how % 8 {
	case 0:
		n = low + int64(r.bits%4)
	case 1:
		n = low + int64(r.bits%20)
	case 2, 3:
		n = round[r.bits%uint64(len(round))]
	case 4:
		n = round[r.bits%uint64(len(round))] + int64(r.bits>>32%3) - 1
	case 5:
		n = high - int64(r.bits%3)
	case 6:
		n = low + int64(r.bits%span)
	case 7:
		shift := r.bits % uint64(bits.Len64(span)+1)
		n = low + int64((r.bits>>8)%span>>shift)
	}
	return min(max(n, low), high)
}

// limitsOf makes limits of a kind from three raw values.
func limitsOf(kind oracle.Kind, limit, period, capacity raw) limits {
	l := limits{kind: kind}
	l.limit = limit.pick(1, maxUnits, 7, 10, 60, 100, 1000, 999_983, 1_000_003, 67_108_859, 1_000_000_000, 999_999_999_989, maxUnits)
	l.period = period.pick(1, maxPeriod, 3, 7, 10, 1000, 1_000_000, 3_000_000, 60_000_000, 3_600_000_000,
		86_400_000_000, 2_592_000_000_000, 31_536_000_000_000, maxPeriod)
	if l.capacity = l.limit; !kind.Windowed() {
		most := mostCapacity(l.limit, l.period)
		l.capacity = capacity.pick(1, most, 1, 2, l.limit, l.limit, most)
	}
	return l
}

// move is one request, relative to what came before it.
type move struct {
	when, what, bound uint8
	bits              uint64
}

// aim returns when the move is made, under limits l after the last request.
func (m move) aim(l limits, last request) (instant int64) {
	off := int64(m.when/16%3) - 1 // -1, 0 or 1 µs beside the aim
	few := int64(m.bits%4) + 1
	edge := (last.now/l.period + 1) * l.period
	switch m.when % 16 {
	case 0, 1:
		instant = last.now
	case 2:
		instant = last.now + few
	case 3: // units later
		instant = last.now + few*l.unit() + off
	case 4: // periods later
		instant = last.now + few*l.period + off
	case 5, 6: // at the edge of a window
		instant = edge + few/2*l.period + off
	case 7: // within a window
		instant = edge - l.period + int64(m.bits%uint64(l.period))
	case 8, 9: // as soon as it is said to be admitted
		instant = last.now + max(0, last.outcome.RetryAfter) + off
	case 10: // as soon as the key is said to be as new
		instant = last.now + last.outcome.ResetAfter + off
	case 11: // any time to come
		instant = last.now + int64(m.bits>>8>>(m.bits%56))
	case 12:
		instant = last.now - few
	case 13: // in an earlier window
		instant = edge - (few+1)*l.period + off
	case 14: // any time ago
		instant = last.now - int64(m.bits>>8>>(m.bits%56))
	case 15:
		instant = last.now + l.full()/few + off
	}
	return min(max(instant, 0), maxInstant)
}

// ask returns the cost that the move asks for. A move that aims at a wait asks
// again for what was asked.
func (m move) ask(l limits, last request) int64 {
	if m.when%16 == 8 || m.when%16 == 9 {
		return last.cost
	}
	cost := int64(1)
	switch m.what % 12 {
	case 0, 1:
		cost = 1
	case 2:
		cost = 0
	case 3:
		cost = 2 + int64(m.bits>>3%4)
	case 4, 5:
		cost = last.outcome.Remaining
	case 6:
		cost = last.outcome.Remaining + 1
	case 7:
		cost = l.capacity
	case 8:
		cost = l.capacity + 1
	case 9:
		cost = math.MaxInt64 - int64(m.bits>>3%4)
	case 10:
		cost = 1 + int64((m.bits>>3)%uint64(l.capacity))
	case 11:
		cost = 1 + int64((m.bits>>9)%uint64(l.capacity)>>(m.bits>>3%40))
	}
	return cost
}

// within returns the bound on the delay that the move sets. After a request,
// ResetAfter is the delay of a unit to come.
func (m move) within(l limits, last request) time.Duration {
	if m.when%16 == 8 || m.when%16 == 9 {
		return last.bound
	}
	next := time.Duration(last.outcome.ResetAfter) * time.Microsecond
	bound := time.Duration(0)
	switch m.bound % 12 {
	case 6:
		bound = next
	case 7:
		bound = next - time.Duration(m.bits%2_000)
	case 8:
		bound = next + time.Duration(m.bits%2_000)
	case 9:
		bound = time.Duration(1 + m.bits%2_500)
	case 10:
		bound = time.Duration(m.bits % uint64(l.full()+1) * 1_000)
	case 11:
		bound = math.MaxInt64
	}
	return max(0, bound)
}

// start returns the instant that a run begins at.
func (r raw) start(l limits) int64 {
	const today = 1_764_277_200_123_456
	return r.pick(0, maxInstant, 0, today, today/l.period*l.period, 5_850_000_000_000_000, maxInstant)
}

var raws = rapid.Custom(func(t *rapid.T) raw {
	return raw{rapid.Uint8Range(0, 7).Draw(t, "how"), rapid.Uint64().Draw(t, "bits")}
})

var moves = rapid.Custom(func(t *rapid.T) move {
	return move{
		when:  rapid.Uint8Range(0, 47).Draw(t, "when"),
		what:  rapid.Uint8Range(0, 11).Draw(t, "what"),
		bound: rapid.Uint8Range(0, 11).Draw(t, "bound"),
		bits:  rapid.Uint64().Draw(t, "bits"),
	}
})

func drawLimits(t *rapid.T, kind oracle.Kind, label string) limits {
	l := limitsOf(kind, raws.Draw(t, label+" limit"), raws.Draw(t, label+" period"), raws.Draw(t, label+" capacity"))
	t.Logf("%s: %v", label, l)
	return l
}

// small limits are those at which everything happens within a few units.
func drawSmallLimits(t *rapid.T, kind oracle.Kind, label string) limits {
	l := limits{
		kind:   kind,
		limit:  rapid.Int64Range(1, 12).Draw(t, label+" limit"),
		period: rapid.Int64Range(1, 40).Draw(t, label+" period"),
	}
	if l.capacity = l.limit; !kind.Windowed() {
		l.capacity = rapid.Int64Range(1, 12).Draw(t, label+" capacity")
	}
	t.Logf("%s: %v", label, l)
	return l
}

// drawMoves draws runs of all lengths up to 40. A slice without a least length
// would mostly have five.
func drawMoves(t *rapid.T) []move {
	least := rapid.SampledFrom([]int{1, 5, 15, 30}).Draw(t, "least moves")
	return rapid.SliceOfN(moves, least, 40).Draw(t, "moves")
}

// forEachKind runs a property as a subtest for each of the kinds.
func forEachKind(t *testing.T, kinds []oracle.Kind, property func(t *rapid.T, kind oracle.Kind)) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { property(t, kind) })
		})
	}
}
