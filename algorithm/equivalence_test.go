package algorithm_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/algorithm"
	"pgregory.net/rapid"
)

// TestLawE1TokenBucketEqualsGCRA checks that a GCRA and a token bucket with the same parameters give
// the same answers, all fields of them, on a clock that does not go back, and
// TestLawE2StatesTellEachOther that one state tells the other: tokens = B − D/T, as fractions.
func TestLawE1TokenBucketEqualsGCRA(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { gcraBesideTokenBucket(t, false) })
}
func TestLawE2StatesTellEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { gcraBesideTokenBucket(t, true) })
}

func gcraBesideTokenBucket(t *rapid.T, states bool) {
	p := drawParams(t)
	gcra, bucket := the("gcra").build(p), the("token-bucket").build(p)
	w := newWalk(t, p, p.burst)
	var s1, s2 algorithm.State
	for range rapid.IntRange(1, 25).Draw(t, "requests") {
		now, n := w.next()
		var o1, o2 algorithm.Outcome
		s1, o1 = gcra.Step(s1, now, take(n))
		s2, o2 = bucket.Step(s2, now, take(n))
		w.last = o1
		if !states && o1 != o2 {
			t.Fatalf("E1: cost %d at %v (GCRA −, token bucket +):\n%s", n, now, cmp.Diff(o1, o2))
		}
		if states {
			debt := less(arrival(s1, now), whole(int64(now)))
			want := less(whole(p.burst), times(debt, p.perMicro()))
			if got := level(s2, p, now); got.Cmp(want) != 0 {
				t.Fatalf("E2: at %v the token bucket %q holds %v, the GCRA %q stands for %v", now, s2, got, s1, want)
			}
		}
	}
}

// TestLawE6CounterErrorIsBounded compares the estimate of a sliding counter with the true count over
// what it admitted itself: how far it can err, to either side.
func TestLawE6CounterErrorIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t)
		a := the("sliding-counter").build(p)
		limit, period := p.rate.Units, p.period()
		w := newWalk(t, p, limit)
		var s algorithm.State
		var admitted [][2]int64
		for range rapid.IntRange(1, 25).Draw(t, "requests") {
			now, n := w.next()
			before := s
			s, w.last = a.Step(s, now, take(n))
			trailing := int64(0)
			for _, e := range admitted {
				if e[0] > int64(now)-period {
					trailing += e[1]
				}
			}
			pos := int64(now) % period
			if w.last.Allowed {
				most := limit + floor(times(whole(limit), ratio(pos, period)))
				if trailing+n > most {
					t.Fatalf("E6: cost %d at %v admitted on %d in the trailing window: above %d", n, now, trailing, most)
				}
				admitted = append(admitted, [2]int64{int64(now), n})
				continue
			}
			prev := before.Word(2)
			if before.Word(0) < int64(now)-pos {
				prev = before.Word(1)
			}
			least := less(whole(limit), times(whole(prev), ratio(period-pos, period)))
			if whole(trailing+n).Cmp(least) <= 0 {
				t.Fatalf("E6: cost %d at %v denied on %d in the trailing window: not above %v", n, now, trailing, least)
			}
		}
	})
}

// TestLawE7LoneWindowCounterIsFixedWindow checks that a sliding counter whose previous window is empty admits
// as a fixed window does.
func TestLawE7LoneWindowCounterIsFixedWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t)
		window, counter := the("fixed-window").build(p), the("sliding-counter").build(p)
		index := rapid.Int64Range(0, int64(algorithm.MaxInstant)/p.period()/2).Draw(t, "window")
		var s1, s2 algorithm.State
		for range rapid.IntRange(1, 4).Draw(t, "windows") {
			for range rapid.IntRange(1, 8).Draw(t, "requests") {
				now := algorithm.Instant(index*p.period() + rapid.Int64Range(0, p.period()-1).Draw(t, "µs into it"))
				n := rapid.Int64Range(1, p.rate.Units).Draw(t, "cost")
				var o1, o2 algorithm.Outcome
				s1, o1 = window.Step(s1, now, take(n))
				s2, o2 = counter.Step(s2, now, take(n))
				if now <= algorithm.MaxInstant && (o1.Allowed != o2.Allowed || o1.Remaining != o2.Remaining) {
					t.Fatalf("E7: cost %d at %v: fixed window %+v, counter %+v", n, now, o1, o2)
				}
			}
			index += rapid.Int64Range(2, 5).Draw(t, "windows on")
		}
	})
}

// TestLawE8LogInOneWindowIsFixedWindow checks that a fixed window and a sliding log admit equally while
// everything falls into one window.
func TestLawE8LogInOneWindowIsFixedWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t)
		window, log := the("fixed-window").build(p), the("sliding-log").build(p)
		start := p.period() * rapid.Int64Range(0, int64(algorithm.MaxInstant)/p.period()-1).Draw(t, "window")
		var s1, s2 algorithm.State
		for range rapid.IntRange(1, 12).Draw(t, "requests") {
			now := algorithm.Instant(start + rapid.Int64Range(0, p.period()-1).Draw(t, "µs into it"))
			n := rapid.Int64Range(1, p.rate.Units).Draw(t, "cost")
			var o1, o2 algorithm.Outcome
			s1, o1 = window.Step(s1, now, take(n))
			s2, o2 = log.Step(s2, now, take(n))
			if o1.Allowed != o2.Allowed || o1.Remaining != o2.Remaining {
				t.Fatalf("E8: cost %d at %v: fixed window %+v, log %+v", n, now, o1, o2)
			}
		}
	})
}

// TestLawE9BurstOneIsSpacing checks that a GCRA with burst 1 is a minimum spacing of P/L between
// admissions, as an exact fraction.
func TestLawE9BurstOneIsSpacing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t)
		p.burst = 1
		a := the("gcra").build(p)
		w := newWalk(t, p, 1)
		var s algorithm.State
		var last algorithm.Instant
		for i := range rapid.IntRange(1, 20).Draw(t, "requests") {
			now, _ := w.next()
			spaced := i == 0 || whole(int64(now-last)).Cmp(p.perUnit()) >= 0
			s, w.last = a.Step(s, now, take(1))
			if w.last.Allowed != spaced {
				t.Fatalf("E9: at %v, %v µs after the last: allowed %t", now, now-last, w.last.Allowed)
			}
			if spaced {
				last = now
			}
		}
	})
}

// TestLawE10LeakyBucketFollowsGCRA checks that a leaky bucket decides as the GCRA of its capacity
// does, keeps the same state, and starts each caller at the arrival time that
// this GCRA had before it, rounded up; with capacity 1 nobody waits.
func TestLawE10LeakyBucketFollowsGCRA(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t)
		if rapid.Bool().Draw(t, "no place to wait") {
			p.burst = 1
		}
		gcra, queue := the("gcra").build(p), the("leaky-bucket").build(p)
		w := newWalk(t, p, p.burst)
		w.backwards = true
		var s1, s2 algorithm.State
		for range rapid.IntRange(1, 20).Draw(t, "requests") {
			now, n := w.next()
			free := arrival(s1, now)
			var want, got algorithm.Outcome
			s1, want = gcra.Step(s1, now, take(n))
			s2, got = queue.Step(s2, now, take(n))
			w.last = want
			if want.Allowed {
				turn := floor(free)
				if !free.IsInt() {
					turn++
				}
				want.Delay = micros(turn - int64(now))
				if p.burst == 1 && want.Delay != 0 {
					t.Fatalf("E10: a queue without places makes a caller at %v wait %v", now, want.Delay)
				}
			}
			if got != want || s1.String() != s2.String() {
				t.Fatalf("E10: cost %d at %v: states %q and %q (expected −, leaky bucket +):\n%s", n, now, s1, s2, cmp.Diff(want, got))
			}
		}
	})
}

// TestLawE11ScaledRateIsTheSame checks that k·L per k·P is the same limit as L per P, with a state
// of the same text.
func TestLawE11ScaledRateIsTheSame(t *testing.T) {
	for _, k := range buckets {
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := drawParams(t)
			scale := rapid.Int64Range(2, 1000).Draw(t, "scale")
			p.rate.Units = max(1, p.rate.Units/scale)
			p.rate.Per = max(time.Microsecond, (p.rate.Per / time.Duration(scale)).Truncate(time.Microsecond))
			p.burst = min(p.burst, mostBurst(p.rate))
			q := p
			q.rate.Units, q.rate.Per = p.rate.Units*scale, p.rate.Per*time.Duration(scale)
			if q.rate.Units > algorithm.MaxUnits || q.rate.Per > algorithm.MaxPeriod {
				q = p // too small to be divided, too large to be multiplied
			}
			a, b := k.build(p), k.build(q)
			w := newWalk(t, p, p.burst)
			w.backwards = true
			var s1, s2 algorithm.State
			for range rapid.IntRange(1, 15).Draw(t, "requests") {
				now, n := w.next()
				var o1, o2 algorithm.Outcome
				s1, o1 = a.Step(s1, now, take(n))
				s2, o2 = b.Step(s2, now, take(n))
				w.last = o1
				if o1 != o2 || s1.String() != s2.String() {
					t.Fatalf("E11: cost %d at %v: %v and %v: states %q and %q\n%s", n, now, a, b, s1, s2, cmp.Diff(o1, o2))
				}
			}
		}))
	}
}

// TestLawE12ShiftedTimeIsTheSame checks that adding a constant to every reading changes nothing; a
// multiple of the window for the algorithms whose windows are aligned.
func TestLawE12ShiftedTimeIsTheSame(t *testing.T) {
	for _, k := range kinds {
		if k.Calendar {
			continue // no shift moves each window to one of the same length
		}
		t.Run(k.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := drawParams(t)
			a := k.build(p)
			w := newWalk(t, p, k.capacity(p))
			w.backwards = true
			shift := rapid.Int64Range(0, int64(algorithm.MaxInstant)).Draw(t, "shift")
			if k.Name == "fixed-window" || k.Name == "sliding-counter" {
				shift -= shift % p.period()
			}
			var s1, s2 algorithm.State
			for range rapid.IntRange(1, 15).Draw(t, "requests") {
				now, n := w.next()
				later := now + algorithm.Instant(shift)
				if later > algorithm.MaxInstant {
					return
				}
				var o1, o2 algorithm.Outcome
				s1, o1 = a.Step(s1, now, take(n))
				s2, o2 = a.Step(s2, later, take(n))
				w.last = o1
				if o1 != o2 {
					t.Fatalf("E12: cost %d at %v and %v:\n%s", n, now, later, cmp.Diff(o1, o2))
				}
			}
		}))
	}
}
