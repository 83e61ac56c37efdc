package sim

import (
	"math/rand/v2"
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
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		limit, period, capacity := 1+r.Int64N(9), 1+r.Int64N(1000), 1+r.Int64N(9)
		for _, kind := range oracle.Kinds() {
			if kind.Windowed() {
				capacity = limit
			}
			truth := oracle.New(kind, limit, period, capacity)
			l := newLaw(build(t, kind, limit, period, capacity))
			m := l.start()
			now, latest := int64(start), int64(start)
			for step := range 200 {
				now += r.Int64N(period/4 + 2)
				if r.Int64N(10) == 0 {
					now -= r.Int64N(2 * period)
				}
				latest = max(latest, now)
				cost := 1 + r.Int64N(capacity)
				want := truth.Clone().Decide(now, cost, 0)
				room := m.room(now, cost)
				if room != want.Allowed {
					t.Fatalf("seed %d, %s %d/%d,%d, step %d: room for %d is %t", seed, kind, limit, period, capacity, step, cost, room)
				}
				if !room {
					if d := m.retry(now, cost); d != want.RetryAfter {
						t.Fatalf("seed %d, %s %d/%d,%d, step %d: retry of %d after %d, not %d", seed, kind, limit, period, capacity, step, cost, d, want.RetryAfter)
					}
				} else {
					if l.queue {
						if d := m.(*bucket).delay(now); d != want.Delay {
							t.Fatalf("seed %d, step %d: delay %d, not %d", seed, step, d, want.Delay)
						}
					}
					m.charge(now, cost)
					truth.Decide(now, cost, 0)
					if units, _ := m.excess(); units > 0 {
						t.Fatalf("seed %d, %s, step %d: an excess of %d of what the limit admits", seed, kind, step, units)
					}
				}
			}
			if later := latest + l.full; !m.fresh(later) || m.debt(later) != 0 {
				t.Fatalf("seed %d, %s: not fresh after the time to full", seed, kind)
			}
		}
	}
}

func build(t *testing.T, kind oracle.Kind, limit, period, capacity int64) algorithm.Algorithm {
	t.Helper()
	rate := algorithm.Rate{Units: limit, Per: time.Duration(period) * time.Microsecond}
	var a algorithm.Algorithm
	var err error
	switch kind {
	case oracle.GCRA:
		a, err = algorithm.NewGCRA(rate, capacity)
	case oracle.TokenBucket:
		a, err = algorithm.NewTokenBucket(rate, capacity)
	case oracle.LeakyBucket:
		a, err = algorithm.NewLeakyBucket(rate, capacity)
	case oracle.FixedWindow:
		a, err = algorithm.NewFixedWindow(rate)
	case oracle.SlidingLog:
		a, err = algorithm.NewSlidingLog(rate)
	case oracle.SlidingCounter:
		a, err = algorithm.NewSlidingCounter(rate)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestExcessIsThatOfTheWorstInterval: what a bucket says that was charged too much is what
// comes out of comparing every interval with its bound.
func TestExcessIsThatOfTheWorstInterval(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		limit, period, burst := 1+r.Int64N(9), 1+r.Int64N(1000), 1+r.Int64N(9)
		l := newLaw(build(t, oracle.GCRA, limit, period, burst))
		b := l.interval(burst)
		var all []charged
		now := int64(0)
		for range 60 {
			now += r.Int64N(2*period/limit + 2)
			all = append(all, charged{now, 1 + r.Int64N(4)})
			b.charge(now, all[len(all)-1].cost)
			worst, sum := int64(0), int64(0)
			for i := len(all) - 1; i >= 0; i-- {
				sum += all[i].cost
				worst = max(worst, sum-burst-(now-all[i].at)*limit/period)
			}
			if got, _ := b.excess(); got != worst {
				t.Fatalf("seed %d: an excess of %d, and the worst interval has %d", seed, got, worst)
			}
		}
	}
}

func TestRefundUndoesACharge(t *testing.T) {
	for _, kind := range oracle.Kinds() {
		l := newLaw(build(t, kind, 10, 1000, 10))
		with, without := l.start(), l.start()
		const now = 1_000_500
		for _, m := range []model{with, without} {
			m.charge(now, 4)
		}
		with.charge(now+7, 3)
		with.refund(now+7, 3)
		for cost := int64(1); cost <= 10; cost++ {
			if got, want := with.room(now+9, cost), without.room(now+9, cost); got != want {
				t.Errorf("%s: room for %d is %t after a refund, and %t without the charge", kind, cost, got, want)
			}
		}
	}
}
