package oracle

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"
)

// Worked by hand from the definitions.
func TestOracleAnswersWorkedExamples(t *testing.T) {
	type step struct {
		now, cost int64
		maxDelay  time.Duration
		want      Outcome
	}
	tests := []struct {
		name                    string
		kind                    Kind
		limit, period, capacity int64
		steps                   []step
	}{
		{"two per three", GCRA, 2, 3, 2, []step{ // T = 1.5
			{10, 1, 0, Outcome{true, 2, 1, 0, 2, 0, 0}},         // tat 11.5
			{10, 1, 0, Outcome{true, 2, 0, 0, 3, 0, 0}},         // tat 13
			{10, 1, 0, Outcome{false, 2, 0, 2, 3, 0, 0}},        // at 11: 13 + 1.5 − 11 = 3.5 > 3
			{12, 1, 0, Outcome{true, 2, 0, 0, 3, 0, 0}},         // tat 14.5
			{12, 3, 0, Outcome{false, 2, 0, -1, 3, 0, 0}},       // above the burst
			{9, 0, 0, Outcome{true, 2, 0, 0, 6, 0, 2}},          // a look at an earlier clock
			{9, 2, 0, Outcome{false, 2, 0, 6, 6, 0, 2}},         // 14.5 + 3 − 15 ≤ 3
			{1000, 0, 0, Outcome{true, 2, 2, 0, 0, 0, 0}},       // as new
			{1000, 2, 0, Outcome{true, 2, 0, 0, 3, 0, 0}},       //
			{0, 1, 0, Outcome{false, 2, 0, 1002, 1003, 0, 667}}, // 1003 + 1.5 − 1002 ≤ 3
		}},
		{"a bucket stands still", TokenBucket, 2, 3, 2, []step{
			{10, 1, 0, Outcome{true, 2, 1, 0, 2, 0, 0}},
			{5, 1, 0, Outcome{true, 2, 0, 0, 8, 0, 0}},  // still 1 token, at 10
			{5, 1, 0, Outcome{false, 2, 0, 7, 8, 0, 0}}, // 10 + 1.5, up
			{11, 1, 0, Outcome{false, 2, 0, 1, 2, 0, 0}},
			{12, 1, 0, Outcome{true, 2, 0, 0, 3, 0, 0}}, // 1⅓ − 1, last 12: full at 14.5
			{13, 1, 0, Outcome{true, 2, 0, 0, 3, 0, 0}}, // exactly 1
			{14, 1, 0, Outcome{false, 2, 0, 1, 2, 0, 0}},
		}},
		{"a queue of three", LeakyBucket, 2, 3, 3, []step{
			{0, 1, 0, Outcome{true, 3, 2, 0, 2, 0, 0}},
			{0, 0, 0, Outcome{true, 3, 2, 0, 2, 2, 0}},                       // 1.5, up
			{0, 1, time.Microsecond, Outcome{false, 3, 2, 1, 2, 0, 0}},       // at 1: 0.5, up
			{0, 1, 1999 * time.Nanosecond, Outcome{false, 3, 2, 1, 2, 0, 0}}, //
			{0, 1, 1, Outcome{false, 3, 2, 2, 2, 0, 0}},                      // no delay at all
			{0, 1, 2 * time.Microsecond, Outcome{true, 3, 1, 0, 3, 2, 0}},    // empty at 3
			{0, 1, 0, Outcome{true, 3, 0, 0, 5, 3, 0}},                       // empty at 4.5
			{0, 1, 0, Outcome{false, 3, 0, 2, 5, 0, 0}},                      // 4.5 + 1.5 − 2 ≤ 4.5
			{0, 1, 2 * time.Microsecond, Outcome{false, 3, 0, 3, 5, 0, 0}},   // 1.5, up, at 3
			{0, 0, time.Nanosecond, Outcome{true, 3, 0, 0, 5, 5, 0}},         // a look is never too late
			{5, 1, time.Nanosecond, Outcome{true, 3, 2, 0, 2, 0, 0}},         //
			{5, math.MaxInt64, 0, Outcome{false, 3, 2, -1, 2, 0, 0}},         //
		}},
		{"windows of ten", FixedWindow, 3, 10, 0, []step{
			{19, 3, 0, Outcome{true, 3, 0, 0, 1, 0, 0}},
			{19, 1, 0, Outcome{false, 3, 0, 1, 1, 0, 0}},
			{20, 2, 0, Outcome{true, 3, 1, 0, 10, 0, 0}},
			{12, 1, 0, Outcome{true, 3, 0, 0, 18, 0, 0}}, // counted from 20
			{12, 1, 0, Outcome{false, 3, 0, 18, 18, 0, 0}},
			{30, 0, 0, Outcome{true, 3, 3, 0, 0, 0, 0}},
		}},
		{"days", CalendarWindow, 3, 10, 0, []step{
			{86_399_999_999, 3, 0, Outcome{true, 3, 0, 0, 1, 0, 0}},
			{86_399_999_999, 1, 0, Outcome{false, 3, 0, 1, 1, 0, 0}},
			{172_799_999_991, 2, 0, Outcome{true, 3, 1, 0, 9, 0, 0}},
			{172_799_999_995, 2, 0, Outcome{false, 3, 1, 5, 5, 0, 0}},
			{172_800_000_000, 0, 0, Outcome{true, 3, 3, 0, 0, 0, 0}},
		}},
		{"a log of ten", SlidingLog, 3, 10, 0, []step{
			{19, 1, 0, Outcome{true, 3, 2, 0, 10, 0, 0}},
			{25, 2, 0, Outcome{true, 3, 0, 0, 10, 0, 0}},
			{28, 1, 0, Outcome{false, 3, 0, 1, 7, 0, 0}},
			{28, 2, 0, Outcome{false, 3, 0, 7, 7, 0, 0}},
			{29, 1, 0, Outcome{true, 3, 0, 0, 10, 0, 0}}, // 19 has left
			{20, 1, 0, Outcome{false, 3, 0, 15, 19, 0, 0}},
			{35, 1, 0, Outcome{true, 3, 1, 0, 10, 0, 0}},
			{30, 1, 0, Outcome{true, 3, 0, 0, 15, 0, 0}}, // recorded at 35
		}},
		{"a counter of ten", SlidingCounter, 4, 10, 0, []step{
			{19, 4, 0, Outcome{true, 4, 0, 0, 11, 0, 0}},
			{20, 1, 0, Outcome{false, 4, 0, 3, 10, 0, 0}}, // 4·7/10 = 2.8, up: 3
			{22, 1, 0, Outcome{false, 4, 0, 1, 8, 0, 0}},
			{23, 1, 0, Outcome{true, 4, 0, 0, 17, 0, 0}},
			{23, 4, 0, Outcome{false, 4, 0, 17, 17, 0, 0}}, // 1 of this one: until it has left at 40
			{25, 1, 0, Outcome{true, 4, 0, 0, 15, 0, 0}},   // 4·5/10 = 2 and 1
			{15, 1, 0, Outcome{false, 4, 0, 13, 25, 0, 2}}, // 4·2/10 = 0.8, up: 1, at 28
			{30, 2, 0, Outcome{true, 4, 0, 0, 20, 0, 0}},
		}},
	}
	for _, test := range tests {
		t.Run(string(test.kind)+"/"+test.name, func(t *testing.T) {
			o := New(test.kind, test.limit, test.period, test.capacity)
			for i, s := range test.steps {
				before := o.Clone()
				if got := o.Decide(s.now, s.cost, s.maxDelay); got != s.want {
					t.Fatalf("step %d, cost %d at %d in %v: %+v, want %+v", i, s.cost, s.now, before, got, s.want)
				}
				if got := before.DecideByScan(s.now, s.cost, s.maxDelay); got != s.want {
					t.Fatalf("step %d, by scan: %+v, want %+v", i, got, s.want)
				}
			}
		})
	}
}

// The predicates are monotone, or the two searches would differ.
func TestOracleSearchesAgree(t *testing.T) {
	for _, kind := range smallKinds() {
		t.Run(string(kind), func(t *testing.T) {
			decisions := 0
			small(kind, 3, func(o *Oracle, now int64) {
				for cost := range o.p.capacity + 2 {
					for _, bound := range []time.Duration{0, 1, 2500} {
						scanned, bisected := o.Clone(), o.Clone()
						a := scanned.DecideByScan(now, cost, bound)
						b := bisected.Decide(now, cost, bound)
						if a != b || scanned.String() != bisected.String() {
							t.Fatalf("cost %d within %v at %d in %v: scan %+v, bisection %+v", cost, bound, now, o, a, b)
						}
						decisions++
					}
				}
			})
			t.Logf("%d decisions", decisions)
		})
	}
}

// A key is fresh from the instant on from which nothing that can be asked of it
// tells it from a key that was never used; not a µs earlier.
func TestOracleResetIsWhereNoCallerCanTell(t *testing.T) {
	for _, kind := range smallKinds() {
		t.Run(string(kind), func(t *testing.T) {
			small(kind, 2, func(o *Oracle, now int64) {
				reset := o.Clone().Decide(now, 0, 0).ResetAfter
				unused := New(kind, o.p.limit, o.p.period, o.p.capacity)
				full := o.p.period*o.p.capacity/o.p.limit + 1
				for _, d := range []int64{reset - 1, reset, reset + 1} {
					if d < 0 {
						continue
					}
					if same, want := alike(o, unused, now+d, full, 2), d >= reset; same != want {
						t.Fatalf("%v under %+v, %d µs after %d: acts as fresh: %v, but ResetAfter is %d", o, o.p, d, now, same, reset)
					}
				}
			})
		})
	}
}

// alike reports whether a and b answer alike, whatever is asked at now and, up
// to depth takes later, at some later instants.
func alike(a, b *Oracle, now, full int64, depth int) bool {
	if a.Turn(now).Cmp(b.Turn(now)) != 0 {
		return false
	}
	for cost := int64(1); cost <= b.p.capacity; cost++ {
		admitted := b.state.admits(&b.p, now, cost)
		if a.state.admits(&a.p, now, cost) != admitted {
			return false
		}
		if !admitted || depth == 0 {
			continue
		}
		x, y := a.Clone(), b.Clone()
		x.state.take(&x.p, now, cost)
		y.state.take(&y.p, now, cost)
		for _, d := range []int64{0, 1, full} {
			if !alike(x, y, now+d, full, depth-1) {
				return false
			}
		}
	}
	return true
}

// smallKinds are those that can have windows of a few µs.
func smallKinds() []Kind { return slices.DeleteFunc(Kinds(), Kind.ByCalendar) }

// small visits keys of kind after every run of up to depth requests, some of them
// under other parameters and on clocks that go back.
func small(kind Kind, depth int, visit func(o *Oracle, now int64)) {
	seen := map[string]bool{} // many runs lead to one state
	for _, p := range [][3]int64{{1, 1, 1}, {2, 3, 2}, {3, 2, 2}, {2, 5, 3}} {
		var walk func(o *Oracle, now int64, depth int)
		walk = func(o *Oracle, now int64, depth int) {
			if id := fmt.Sprint(o.p.limit, o.p.period, o.p.capacity, o, now, depth); seen[id] {
				return
			} else {
				seen[id] = true
			}
			visit(o, now)
			if depth == 0 {
				return
			}
			for _, d := range []int64{-2, 0, 1, 4} {
				for cost := int64(1); cost <= o.p.capacity; cost++ {
					next := o.Clone()
					if next.Decide(now+d, cost, 0).Allowed {
						walk(next, now+d, depth-1)
					}
				}
			}
			if depth == 1 {
				for _, q := range [][3]int64{{3, 4, 1}, {1, 3, 3}} {
					next := o.Clone()
					next.SetParameters(q[0], q[1], q[2])
					walk(next, now, 0)
				}
			}
		}
		walk(New(kind, p[0], p[1], p[2]), 9, depth)
	}
}

// The rule for each kind, where its parameters change.
func TestOracleCarriesStateOverAChange(t *testing.T) {
	tests := []struct {
		kind          Kind
		before, after [3]int64
		take, look    int64 // instants
		remaining     int64
		reset         int64
	}{
		{TokenBucket, [3]int64{10, 10, 10}, [3]int64{10, 10, 4}, 20, 20, 3, 1}, // cut down to 4, had 3
		{TokenBucket, [3]int64{10, 10, 10}, [3]int64{10, 10, 2}, 20, 20, 2, 0},
		{TokenBucket, [3]int64{10, 10, 10}, [3]int64{10, 10, 2}, 20, 15, 2, 5}, // full, but still of the future
		{GCRA, [3]int64{10, 10, 10}, [3]int64{10, 20, 10}, 20, 20, 6, 7},       // 7 µs of 20
		{GCRA, [3]int64{10, 10, 10}, [3]int64{10, 10, 2}, 20, 20, 0, 7},
		{GCRA, [3]int64{10, 15, 10}, [3]int64{3, 3, 20}, 20, 20, 9, 11}, // 10.5 µs, up to whole ones
		{LeakyBucket, [3]int64{10, 15, 10}, [3]int64{3, 3, 20}, 20, 20, 9, 11},
		{FixedWindow, [3]int64{10, 10}, [3]int64{9, 100}, 20, 99, 2, 1}, // 20 ≥ 0: carried
		{SlidingLog, [3]int64{10, 10}, [3]int64{9, 100}, 20, 119, 2, 1},
		{SlidingLog, [3]int64{10, 10}, [3]int64{9, 5}, 20, 25, 9, 0},
		{SlidingCounter, [3]int64{10, 10}, [3]int64{9, 100}, 20, 150, 5, 50}, // ⌈7·50/100⌉ = 4
		{SlidingCounter, [3]int64{10, 10}, [3]int64{9, 3}, 20, 21, 2, 3},     // 20 ≥ 18: prev, whole
	}
	for _, test := range tests {
		o := New(test.kind, test.before[0], test.before[1], test.before[2])
		o.Decide(test.take, 7, 0)
		o.SetParameters(test.after[0], test.after[1], test.after[2])
		got := o.Decide(test.look, 0, 0)
		if got.Remaining != test.remaining || got.ResetAfter != test.reset {
			t.Errorf("%s %v to %v, 7 at %d: at %d %+v, want %d remaining, reset after %d",
				test.kind, test.before, test.after, test.take, test.look, got, test.remaining, test.reset)
		}
	}
}

func TestOracleRoundsFractionsBothWays(t *testing.T) {
	for _, test := range []struct {
		n, d, denominator, floor, ceil int64
	}{{7, 2, 1, 3, 4}, {-7, 2, 1, -4, -3}, {6, 2, 1, 3, 3}, {1, 3, 2, 0, 1}, {2, 3, 2, 1, 2}, {1, 2, 6, 3, 3}} {
		r, by := big.NewRat(test.n, test.d), big.NewInt(test.denominator)
		if got := floorTicks(r, by); got.Int64() != test.floor {
			t.Errorf("%v in 1/%v, down: %v, want %v", r, by, got, test.floor)
		}
		if got := ceilTicks(r, by); got.Int64() != test.ceil {
			t.Errorf("%v in 1/%v, up: %v, want %v", r, by, got, test.ceil)
		}
	}
}
