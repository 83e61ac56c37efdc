package model

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/oracle"
)

// TestModelsDecideAsTheOracle: the models of the simulator, which never ask package
// algorithm, and the oracle, which searches in rationals, were written apart. Clocks go
// back now and then.
func TestModelsDecideAsTheOracle(t *testing.T) {
	const start = 1_790_000_000_000_000
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		limit, period, capacity := 1+r.Int64N(9), 1+r.Int64N(1000), 1+r.Int64N(9)
		for _, kind := range oracle.Kinds() {
			if kind.Windowed() {
				capacity = limit
			}
			truth := oracle.New(kind, limit, period, capacity)
			l := build(t, kind, limit, period, capacity, false)
			m := l.Start()
			now, latest := int64(start), int64(start)
			for step := range 200 {
				now += r.Int64N(period/4 + 2)
				if r.Int64N(10) == 0 {
					now -= r.Int64N(2 * period)
				}
				latest = max(latest, now)
				cost := 1 + r.Int64N(capacity)
				want := truth.Clone().Decide(now, cost, 0)
				room := m.Room(now, cost)
				if room != want.Allowed {
					t.Fatalf("seed %d, %s %d/%d,%d, step %d: room for %d is %t", seed, kind, limit, period, capacity, step, cost, room)
				}
				if !room {
					if d := m.Retry(now, cost); d != want.RetryAfter {
						t.Fatalf("seed %d, %s %d/%d,%d, step %d: retry of %d after %d, not %d", seed, kind, limit, period, capacity, step, cost, d, want.RetryAfter)
					}
				} else {
					if d := m.Delay(now); d != want.Delay {
						t.Fatalf("seed %d, step %d: delay %d, not %d", seed, step, d, want.Delay)
					}
					m.Charge(now, cost)
					truth.Decide(now, cost, 0)
					if units, _ := m.Excess(); units > 0 {
						t.Fatalf("seed %d, %s, step %d: an excess of %d of what the limit admits", seed, kind, step, units)
					}
				}
			}
			if later := latest + l.Full; !m.Fresh(later) || m.Debt(later) != 0 {
				t.Fatalf("seed %d, %s: not fresh after the time to full", seed, kind)
			}
		}
	}
}

// build returns the Limit of a kind, with its own models or with those of the oracle.
func build(t *testing.T, name oracle.Kind, limit, period, capacity int64, generic bool) *Limit {
	t.Helper()
	text := fmt.Sprintf("%s:%d/%dus", name, limit, period)
	for _, f := range algorithm.Families() {
		if f.Name == string(name) && f.Option != "" {
			text += fmt.Sprintf(",%s=%d", f.Option, capacity)
		}
	}
	a, err := algorithm.ParseSpec(text)
	if name.ByCalendar() {
		f, _ := algorithm.FamilyOf(algorithm.KindCalendarWindow)
		a, err = f.Build(algorithm.Rate{Units: limit, Per: time.Duration(period) * time.Microsecond}, capacity)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(a)
	if generic {
		l, err = newLimit(a, oracleKind)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestExcessIsThatOfTheWorstInterval: what a bucket says that was charged too much is what
// comes out of comparing every interval with its bound.
func TestExcessIsThatOfTheWorstInterval(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		limit, period, burst := 1+r.Int64N(9), 1+r.Int64N(1000), 1+r.Int64N(9)
		l := build(t, oracle.GCRA, limit, period, burst, false)
		b := l.bucket(burst)
		var all []charge
		now := int64(0)
		for range 60 {
			now += r.Int64N(2*period/limit + 2)
			all = append(all, charge{now, 1 + r.Int64N(4)})
			b.Charge(now, all[len(all)-1].cost)
			worst, sum := int64(0), int64(0)
			for i := len(all) - 1; i >= 0; i-- {
				sum += all[i].cost
				worst = max(worst, sum-burst-(now-all[i].at)*limit/period)
			}
			if got, _ := b.Excess(); got != worst {
				t.Fatalf("seed %d: an excess of %d, and the worst interval has %d", seed, got, worst)
			}
		}
	}
}

func TestRefundUndoesACharge(t *testing.T) {
	for _, generic := range []bool{false, true} {
		for _, kind := range oracle.Kinds() {
			l := build(t, kind, 10, 1000, 10, generic)
			with, without := l.Start(), l.Start()
			const now = 1_000_500
			for _, m := range []Model{with, without} {
				m.Charge(now, 4)
			}
			with.Charge(now+7, 3)
			with.Refund(now+7, 3)
			for cost := int64(1); cost <= 10; cost++ {
				if got, want := with.Room(now+9, cost), without.Room(now+9, cost); got != want {
					t.Errorf("%s, generic %t: room for %d is %t after a refund, and %t without the charge", kind, generic, cost, got, want)
				}
			}
		}
	}
}

// TestGenericModelIsTheFastOne: the model on the oracle and the model in whole numbers
// of each kind answer the same, also where more was charged than the limit has room for.
func TestGenericModelIsTheFastOne(t *testing.T) {
	const start = 1_790_000_000_000_000
	for _, kind := range oracle.Kinds() {
		for seed := range uint64(25) {
			r := rand.New(rand.NewPCG(seed, 4))
			limit, period, capacity := 1+r.Int64N(9), 1+r.Int64N(1000), 1+r.Int64N(9)
			if kind.Windowed() {
				capacity = limit
			}
			fast, slow := build(t, kind, limit, period, capacity, false), build(t, kind, limit, period, capacity, true)
			if slow.Full < fast.Full || slow.Capacity != fast.Capacity || slow.Slack(period) < limit {
				t.Fatalf("%s: full %d, slack %d, want %d and %d at least", kind, slow.Full, slow.Slack(period), fast.Full, limit)
			}
			m, g := fast.Start(), slow.Start()
			now, over := int64(start), false
			for step := range 120 {
				where := fmt.Sprintf("seed %d, %s %d/%d,%d, step %d", seed, kind, limit, period, capacity, step)
				now += r.Int64N(period/4 + 2)
				if seed%2 == 0 && r.Int64N(10) == 0 { // a refund does not take back the instant of a charge
					now -= r.Int64N(2 * period)
				}
				cost := 1 + r.Int64N(capacity)
				room := m.Room(now, cost)
				if room != g.Room(now, cost) || m.Delay(now) != g.Delay(now) || m.Fresh(now) != g.Fresh(now) && kind != oracle.SlidingCounter {
					t.Fatalf("%s: room %t and %t, delay %d and %d, fresh %t and %t", where, room, g.Room(now, cost), m.Delay(now), g.Delay(now), m.Fresh(now), g.Fresh(now))
				}
				if a, b := min(m.Debt(now), capacity), g.Debt(now); a != b && kind != oracle.SlidingCounter {
					t.Fatalf("%s: a debt of %d, and %d", where, a, b)
				}
				if !room {
					if a, b := m.Retry(now, cost), g.Retry(now, cost); a != b {
						t.Fatalf("%s: retry after %d, and %d", where, a, b)
					}
				}
				if excess := r.Int64N(15) == 0; room || excess {
					over = over || !room
					m.Charge(now, cost)
					g.Charge(now, cost)
					if units, _ := g.Excess(); units > 0 && !over {
						t.Fatalf("%s: an excess of %d of what the limit admits", where, units)
					}
					if seed%2 == 1 && r.Int64N(5) == 0 {
						m.Refund(now, cost)
						g.Refund(now, cost)
					}
				}
			}
		}
	}
}

func TestGenericExcessIsTheWorstInterval(t *testing.T) {
	l := build(t, oracle.GCRA, 10, 1000, 5, true)
	m := l.Start()
	for _, c := range []struct{ at, cost, excess int64 }{{1000, 5, 0}, {1000, 1, 1}, {1100, 1, 1}, {1100, 3, 4}, {1300, 1, 3}} {
		m.Charge(c.at, c.cost)
		if got, _ := m.Excess(); got != c.excess {
			t.Errorf("after %d at %d: an excess of %d, want %d", c.cost, c.at, got, c.excess)
		}
	}
}

// stranger is an algorithm of a kind that no family has.
type stranger struct{ algorithm.Algorithm }

func (stranger) Spec() algorithm.Spec { return algorithm.Spec{Kind: "stranger/1"} }

func TestUnknownKindsAreRefused(t *testing.T) {
	if _, err := New(stranger{}); err == nil || !strings.Contains(err.Error(), `kind "stranger/1" is not allowed`) {
		t.Error(err)
	}
	if _, err := oracleOf("stranger"); err == nil || !strings.Contains(err.Error(), "internal/oracle must have one") {
		t.Error(err)
	}
}

// TestEveryFamilyHasAModel: a family without one cannot be simulated.
func TestEveryFamilyHasAModel(t *testing.T) {
	for _, f := range algorithm.Families() {
		for _, sample := range f.Samples {
			l, err := New(algorithm.Must(algorithm.ParseSpec(sample)))
			if err != nil {
				t.Fatalf("%s: %v", sample, err)
			}
			m := l.Start()
			m.Charge(1_790_000_000_000_000, l.Capacity)
			if units, _ := m.Excess(); units != 0 || m.Room(1_790_000_000_000_000, 1) || m.Fresh(1_790_000_000_000_000) {
				t.Errorf("%s: after the whole capacity: an excess of %d, room %t", sample, units, m.Room(1_790_000_000_000_000, 1))
			}
			if !m.Fresh(1_790_000_000_000_000 + l.Full) {
				t.Errorf("%s: not fresh after %d µs", sample, l.Full)
			}
		}
	}
}
