package sim

import (
	"math"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// jar is a right token bucket, in units × period: the mistakes are around it.
type jar struct {
	numbers
	have, last int64
	used       bool
}

// newJar returns a full one.
func newJar(l numbers) *jar { return &jar{numbers: l, have: l.burst * l.period} }

// fill adds what an elapsed time earns.
func (j *jar) fill(elapsed int64) {
	j.have = min(j.burst*j.period, j.have+elapsed*j.limit)
}

// turn fills it up to an instant, and takes that as the last.
func (j *jar) turn(now int64) {
	if j.used && now > j.last {
		j.fill(now - j.last)
	}
	if !j.used || now > j.last {
		j.used, j.last = true, now
	}
}

// take decides a cost.
func (j *jar) take(cost int64) algorithm.Outcome {
	o := algorithm.Outcome{Limit: j.burst, Allowed: cost == 0 || cost*j.period <= j.have}
	switch {
	case o.Allowed:
		j.have -= cost * j.period
	case cost > j.burst:
		o.RetryAfter = algorithm.Never
	default:
		o.RetryAfter = length((cost*j.period - j.have + j.limit - 1) / j.limit)
	}
	o.Remaining = max(0, j.have/j.period)
	return o
}

func length(micros int64) time.Duration { return time.Duration(micros) * time.Microsecond }

// inWholeSeconds reads the clock in whole seconds.
func inWholeSeconds(l numbers) step {
	j := newJar(l)
	return func(now, cost int64) algorithm.Outcome {
		j.turn(now - now%1_000_000)
		return j.take(cost)
	}
}

// losesFractions adds whole units, and takes the instant as the last whether or not one
// was added.
func losesFractions(l numbers) step {
	j := newJar(l)
	return func(now, cost int64) algorithm.Outcome {
		if j.used && now > j.last {
			earned := (now - j.last) * l.limit / l.period
			j.have = min(l.burst, j.have/l.period+earned) * l.period
		}
		j.used, j.last = true, now
		return j.take(cost)
	}
}

// drainsBackwards adds what a negative elapsed time earns.
func drainsBackwards(l numbers) step {
	j := newJar(l)
	return func(now, cost int64) algorithm.Outcome {
		if j.used {
			j.fill(now - j.last)
		}
		j.used, j.last = true, now
		return j.take(cost)
	}
}

// goesBack takes each instant as the last, also an earlier one.
func goesBack(l numbers) step {
	j := newJar(l)
	return func(now, cost int64) algorithm.Outcome {
		if j.used {
			j.fill(max(0, now-j.last))
		}
		j.used, j.last = true, now
		return j.take(cost)
	}
}

// overflows multiplies units by nanoseconds, in 64 bits.
func overflows(l numbers) step {
	j := newJar(l)
	return func(now, cost int64) algorithm.Outcome {
		if j.used {
			earned := (now - j.last) * 1000 * l.limit / (l.period * 1000)
			j.have = min(l.burst*l.period, j.have+earned*l.period)
		}
		j.used, j.last = true, now
		return j.take(cost)
	}
}

// changed is a right bucket whose answer or state is changed after each decision.
func changed(change func(j *jar, cost int64, o *algorithm.Outcome)) func(numbers) step {
	return func(l numbers) step {
		j := newJar(l)
		return func(now, cost int64) algorithm.Outcome {
			j.turn(now)
			o := j.take(cost)
			change(j, cost, &o)
			return o
		}
	}
}

// waitsForAll tells a denied caller to wait until everything is there again.
func waitsForAll(j *jar, _ int64, o *algorithm.Outcome) {
	if !o.Allowed && o.RetryAfter != algorithm.Never {
		o.RetryAfter = length((j.burst*j.period - j.have + j.limit - 1) / j.limit)
	}
}

// waitsWholeSeconds cuts a wait down to whole seconds.
func waitsWholeSeconds(_ *jar, _ int64, o *algorithm.Outcome) {
	if !o.Allowed && o.RetryAfter != algorithm.Never {
		o.RetryAfter = max(o.RetryAfter.Truncate(time.Second), time.Microsecond)
	}
}

// drainsByOversize lets a cost that can never pass take all there is.
func drainsByOversize(j *jar, cost int64, _ *algorithm.Outcome) {
	if cost > j.burst {
		j.have = 0
	}
}

// passesOneMore lets a cost of one unit more than the burst pass a full bucket.
func passesOneMore(j *jar, cost int64, o *algorithm.Outcome) {
	if cost == j.burst+1 && j.have == j.burst*j.period {
		j.have = 0
		*o = algorithm.Outcome{Limit: j.burst, Allowed: true}
	}
}

// cutsTheReply tells the wait as a whole number of seconds, and takes 0 as admitted.
func cutsTheReply(_ *jar, _ int64, o *algorithm.Outcome) {
	if !o.Allowed && o.RetryAfter < time.Second {
		o.Allowed, o.RetryAfter = true, 0
	}
}

// burstsByTenths makes a burst of a tenth of the limit, and of one at least, and names
// the limit as if there were none.
func burstsByTenths(l numbers) step {
	j := newJar(numbers{l.limit, l.period, max(1, l.limit/10)})
	return func(now, cost int64) algorithm.Outcome {
		j.turn(now)
		o := j.take(cost)
		o.Limit = l.burst
		return o
	}
}

// expiring is a right bucket that is dropped where gone says so: of the time since it was
// made and since it was used.
func expiring(gone func(l numbers, made, used int64) bool) func(numbers) step {
	return func(l numbers) step {
		j, made := newJar(l), int64(0)
		return func(now, cost int64) algorithm.Outcome {
			if !j.used || gone(l, now-made, now-j.last) {
				j, made = newJar(l), now
			}
			j.turn(now)
			return j.take(cost)
		}
	}
}

// inWholeSecondsOfLife keeps a bucket for twice its time to full, in whole seconds.
func inWholeSecondsOfLife(l numbers, _, used int64) bool {
	return used >= 2*l.burst*l.period/l.limit/1_000_000*1_000_000
}

// sinceItWasMade keeps a bucket for its time to full, from its first request on.
func sinceItWasMade(l numbers, made, _ int64) bool { return made >= l.burst*l.period/l.limit }

// unsigned keeps a bucket for its time to full, and takes a length of time below 0 as
// the longest there is.
func unsigned(l numbers, _, used int64) bool {
	return uint64(used) > uint64(l.burst*l.period/l.limit)
}

// arrivals is a GCRA on whole µs: interval is between two units, and keep is how the
// arrival time is stored.
func arrivals(interval func(numbers) int64, keep func(int64) int64) func(numbers) step {
	return func(l numbers) step {
		t, tat := interval(l), int64(0)
		return func(now, cost int64) algorithm.Outcome {
			o := algorithm.Outcome{Limit: l.burst, Allowed: true}
			if wait := max(tat, now) + cost*t - now - l.burst*t; cost > 0 && wait > 0 {
				o.Allowed, o.RetryAfter = false, length(wait)
			} else if cost > 0 {
				tat = keep(max(tat, now) + cost*t)
			}
			o.Remaining = max(0, (l.burst*t-max(0, tat-now))/t)
			return o
		}
	}
}

// wholeMicros rounds the interval between two units to whole µs.
func wholeMicros(l numbers) int64 { return max(1, (l.period+l.limit/2)/l.limit) }

func asItIs(tat int64) int64 { return tat }

// in14Digits writes a number as a script does that turns it into text without a format.
func in14Digits(tat int64) int64 {
	back, err := strconv.ParseFloat(strconv.FormatFloat(float64(tat), 'g', 14, 64), 64)
	if err != nil {
		panic(err) // it reads what it has written
	}
	return int64(back)
}

// inFloatSeconds is a GCRA whose times are seconds since an epoch, in floating point.
// Products are rounded by themselves, so that every machine has the same errors.
func inFloatSeconds(epoch int64) func(numbers) step {
	return func(l numbers) step {
		interval := float64(l.period) / 1e6 / float64(l.limit)
		tat := math.Inf(-1)
		return func(micros, cost int64) algorithm.Outcome {
			now := float64(micros/1_000_000-epoch) + float64(micros%1_000_000)/1e6
			next := max(tat, now) + float64(interval*float64(cost))
			left := (now - (next - float64(interval*float64(l.burst)))) / interval
			o := algorithm.Outcome{Limit: l.burst, Allowed: cost == 0 || left >= 0}
			switch {
			case !o.Allowed:
				o.RetryAfter = max(time.Microsecond, length(int64(math.Ceil(-left*interval*1e6))))
			case cost > 0:
				tat = next
			}
			o.Remaining = min(max(0, int64(left)), l.burst)
			return o
		}
	}
}
