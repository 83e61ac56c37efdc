package traffic

import (
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/scenario"
)

// run steps an algorithm through arrivals and calls back with each outcome.
func run(t *testing.T, a algorithm.Algorithm, list []Arrival, each func(i int, o algorithm.Outcome)) {
	t.Helper()
	var state algorithm.State
	for i, r := range list {
		var o algorithm.Outcome
		state, o = a.Step(state, algorithm.Instant(testEnv().Epoch+r.At), algorithm.Request{Cost: r.Cost})
		each(i, o)
	}
}

func TestBoundaryPassesTwiceTheLimitAtEachEdge(t *testing.T) {
	for _, c := range []struct {
		limit scenario.Rate
		delta time.Duration
	}{
		{rate(100, 10*time.Second), 0}, {rate(100, 10*time.Second), time.Microsecond},
		{rate(7, time.Minute), 333 * time.Microsecond}, {rate(1, 2*time.Microsecond), 0}, {rate(3, time.Second), 500 * time.Millisecond},
	} {
		attack := source(t, scenario.Traffic{Process: scenario.Process{Kind: "boundary", Limit: c.limit, Delta: c.delta}})
		list := take(t, attack, int(20*c.limit.Units))
		window, err := algorithm.NewFixedWindow(algorithm.Rate{Units: c.limit.Units, Per: c.limit.Per})
		if err != nil {
			t.Fatal(err)
		}
		run(t, window, list, func(i int, o algorithm.Outcome) {
			if !o.Allowed {
				t.Fatalf("%v, δ %v: arrival %d at %d is refused", c.limit, c.delta, i, list[i].At)
			}
		})
		delta := micros(c.delta)
		if delta == 0 {
			delta = min(1000, micros(c.limit.Per)/2)
		}
		n := int(c.limit.Units)
		for i := 0; i < len(list); i += 2 * n {
			edge := list[i+n].At
			if (testEnv().Epoch+edge)%micros(c.limit.Per) != 0 {
				t.Fatalf("%v, δ %v: %d is no edge", c.limit, c.delta, edge)
			}
			if list[i].At != edge-delta || list[i+n-1].At >= edge || list[i+2*n-1].At >= edge+delta {
				t.Fatalf("%v, δ %v: from %d to %d and on to %d around %d", c.limit, c.delta, list[i].At, list[i+n-1].At, list[i+2*n-1].At, edge)
			}
		}
	}
}

func TestCounterAttackPassesTwiceTheLimitLessOneInAWindow(t *testing.T) {
	for _, limit := range []scenario.Rate{rate(100, 10*time.Second), rate(7, time.Minute), rate(3, time.Second), rate(2, 4*time.Microsecond), rate(1, time.Second)} {
		list := take(t, source(t, scenario.Traffic{Process: scenario.Process{Kind: "counter", Limit: limit}}), int(5*(2*limit.Units-1)))
		counter, err := algorithm.NewSlidingCounter(algorithm.Rate(limit))
		if err != nil {
			t.Fatal(err)
		}
		run(t, counter, list, func(i int, o algorithm.Outcome) {
			if !o.Allowed {
				t.Fatalf("%v: arrival %d at %d is refused", limit, i, list[i].At)
			}
		})
		last := int(2*limit.Units - 2)
		if list[last].At-list[0].At >= micros(limit.Per) {
			t.Errorf("%v: %d arrivals from %d to %d, longer than a window", limit, last+1, list[0].At, list[last].At)
		}
		// Each of the drip is the first that passes: 1 µs earlier it is refused.
		early := append([]Arrival(nil), list[:last+1]...)
		for i := int(limit.Units); i <= last; i++ {
			early[i].At--
			run(t, counter, early[:i+1], func(j int, o algorithm.Outcome) {
				if j == i && o.Allowed {
					t.Errorf("%v: arrival %d passes 1 µs earlier too", limit, i)
				}
			})
			early[i].At++
		}
	}
}

// On every edge the attack gets no more than the limit around any edge but the first.
func TestBoundaryOnEveryEdgeIsHalfRefused(t *testing.T) {
	list := take(t, source(t, scenario.Traffic{Process: scenario.Process{Kind: "boundary", Limit: rate(10, time.Second), Every: 1}}), 200)
	window, err := algorithm.NewFixedWindow(algorithm.PerSecond(10))
	if err != nil {
		t.Fatal(err)
	}
	var passed int
	run(t, window, list, func(_ int, o algorithm.Outcome) {
		if o.Allowed {
			passed++
		}
	})
	if passed != 110 {
		t.Errorf("%d of 200 pass around 10 edges, want 20 at the first and 10 at each other", passed)
	}
}

// More units than microseconds: the instants of the drip fall together, and none may
// fall out of the window.
func TestCounterAttackOnManyUnits(t *testing.T) {
	limit := rate(1000, 10*time.Microsecond)
	for i, a := range take(t, source(t, scenario.Traffic{Process: scenario.Process{Kind: "counter", Limit: limit}}), 10_000) {
		window := (testEnv().Epoch + a.At) / 10
		if i > 0 && (window-(testEnv().Epoch+6)/10)%3 == 2 {
			t.Fatalf("arrival %d at %d is in the window of rest", i, a.At)
		}
	}
}

func TestDripIsExact(t *testing.T) {
	for _, offset := range []time.Duration{-time.Microsecond, 0, time.Microsecond} {
		s := source(t, scenario.Traffic{Process: scenario.Process{Kind: "drip", Gap: time.Second, Offset: offset}, Start: time.Minute})
		for i, a := range take(t, s, 10_000) {
			if want := 60_000_000 + int64(i)*(1_000_000+micros(offset)); a.At != want {
				t.Fatalf("offset %v: arrival %d at %d, want %d", offset, i, a.At, want)
			}
		}
	}
}
