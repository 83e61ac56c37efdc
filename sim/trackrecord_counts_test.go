package sim

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// entry is an admission that a log remembers.
type entry struct{ at, cost int64 }

// entries are a log, in the order in which they came.
type entries []entry

// logging is a sliding log, right but for the fields that are set.
type logging struct {
	clock        func(now int64) int64 // how the time is read
	countedFirst bool                  // entries are counted before those that have left are removed
	byInstant    bool                  // an entry is its instant
	deniedToo    bool                  // a denied request is an entry, too
}

func (g logging) open(l numbers) step {
	var log entries
	return func(now, cost int64) algorithm.Outcome {
		if g.clock != nil {
			now = g.clock(now)
		}
		stale := log
		log = log.after(now - l.period)
		counted := log
		if g.countedFirst {
			counted = stale
		}
		o := algorithm.Outcome{Limit: l.limit, Allowed: cost == 0 || counted.units()+cost <= l.limit}
		if !o.Allowed {
			o.RetryAfter = max(time.Microsecond, length(log.leaves(l.limit-cost)+l.period-now))
		}
		if cost > 0 && (o.Allowed || g.deniedToo) {
			if last := len(log) - 1; !g.byInstant || last < 0 || log[last].at != now {
				log = append(log, entry{now, cost})
			}
		}
		o.Remaining = max(0, l.limit-log.units())
		return o
	}
}

// after returns those that came after an instant.
func (e entries) after(cut int64) (left entries) {
	for _, one := range e {
		if one.at > cut {
			left = append(left, one)
		}
	}
	return left
}

func (e entries) units() (n int64) {
	for _, one := range e {
		n += one.cost
	}
	return n
}

// leaves returns the instant of the entry with whose leaving no more than some units are left.
func (e entries) leaves(most int64) int64 {
	left := e.units()
	for _, one := range e {
		if left -= one.cost; left <= most {
			return one.at
		}
	}
	return 0
}

// gluesTheTime joins the seconds and the microseconds of a time as text.
func gluesTheTime(now int64) int64 {
	seconds, err := strconv.ParseFloat(fmt.Sprintf("%d.%d", now/1_000_000, now%1_000_000), 64)
	if err != nil {
		panic(err) // it reads what it has written
	}
	return int64(math.Round(seconds * 1e6))
}

// weighing is a sliding counter, right but for the fields that are set.
type weighing struct {
	cutShare  bool // the share of the window before is cut to a whole number
	leavesOut bool // what remains leaves out that share
	deniedToo bool // a denied request counts, too
}

func (g weighing) open(l numbers) step {
	var start, current, before int64
	return func(now, cost int64) algorithm.Outcome {
		switch first := now - now%l.period; {
		case first == start+l.period:
			start, before, current = first, current, 0
		case first > start:
			start, before, current = first, 0, 0
		}
		used := func(at int64) int64 {
			now, before := at, before
			if at >= start+l.period {
				now, before = at-l.period, current
			}
			share := before * (start + l.period - now)
			if !g.cutShare {
				share += l.period - 1
			}
			used := share / l.period
			if at < start+l.period {
				used += current
			}
			return used
		}
		o := algorithm.Outcome{Limit: l.limit, Allowed: cost == 0 || used(now)+cost <= l.limit}
		if !o.Allowed {
			low, high := now, start+2*l.period // no room, room
			for high-low > 1 {
				if middle := low + (high-low)/2; used(middle)+cost <= l.limit {
					high = middle
				} else {
					low = middle
				}
			}
			o.RetryAfter = length(high - now)
		}
		if o.Allowed || g.deniedToo {
			current += cost
		}
		if o.Remaining = max(0, l.limit-used(now)); g.leavesOut {
			o.Remaining = l.limit - current
		}
		return o
	}
}

// counting is a fixed window as a server counts it: a number, and the instant at which
// its key expires. life returns how long a key is kept from where it is made; made is how
// often that was. nil is until the window ends.
type counting struct {
	life      func(untilEnd int64, made int) int64
	resetsTo0 bool // a denial tells no reset
}

// never is the life of a key that was not told to expire.
const never = math.MaxInt64

func (g counting) open(l numbers) step {
	var count, expires int64
	made := 0
	return func(now, cost int64) algorithm.Outcome {
		end := now - now%l.period + l.period
		if now >= expires {
			count = 0
		}
		o := algorithm.Outcome{Limit: l.limit, Allowed: cost == 0 || count+cost <= l.limit}
		if o.Allowed && cost > 0 {
			if count == 0 {
				made++
				expires = end
				if g.life != nil {
					expires = until(now, g.life(end-now, made))
				}
			}
			if count += cost; now >= expires {
				count = 0
			}
		}
		if !o.Allowed {
			o.RetryAfter = length(end - now)
		}
		if count > 0 && (o.Allowed || !g.resetsTo0) {
			o.ResetAfter = length(end - now)
		}
		o.Remaining = l.limit - count
		return o
	}
}

// until adds a life to an instant.
func until(now, life int64) int64 {
	if life == never {
		return never
	}
	return now + life
}

// inTwoSteps sets the life in a step of its own, which the third time does not come.
func inTwoSteps(untilEnd int64, made int) int64 {
	if made == 3 {
		return never
	}
	return untilEnd
}

// milliseconds gives a number of milliseconds where seconds are wanted.
func milliseconds(untilEnd int64, _ int) int64 { return untilEnd * 1000 }

// flooredSeconds gives whole seconds.
func flooredSeconds(untilEnd int64, _ int) int64 { return untilEnd / 1_000_000 * 1_000_000 }

// timer32 sets a timer in milliseconds, which has 32 bits and takes what is longer for one.
func timer32(untilEnd int64, _ int) int64 {
	if untilEnd/1000 > math.MaxInt32 {
		return 1000
	}
	return untilEnd
}
