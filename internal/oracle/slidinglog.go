package oracle

import (
	"fmt"
	"math/big"
	"slices"
)

// SlidingLog is the sliding window log.
const SlidingLog Kind = "sliding-log"

func slidingLog() family {
	return family{kind: SlidingLog, windowed: true, start: func() model { return &log{} }}
}

// log is the state of a sliding log: the admitted requests, oldest first.
//
//	e = max(now, last); an entry counts while at > e − W; admitted iff the sum of
//	these + n ≤ L; recorded at e
//
// An admission forgets what no longer counts. That can be seen only where the
// window becomes longer later: a log cannot grow for ever, and what is stored
// must not depend on who stores it.
type log struct{ admitted []admission }

type admission struct{ at, cost int64 }

// effective returns the latest instant known.
func (l *log) effective(now int64) int64 {
	for _, a := range l.admitted {
		now = max(now, a.at)
	}
	return now
}

// counting returns the entries that count at now.
func (l *log) counting(p *parameters, now int64) []admission {
	e := l.effective(now)
	return slices.DeleteFunc(slices.Clone(l.admitted), func(a admission) bool { return a.at <= e-p.period })
}

func (l *log) admits(p *parameters, now, cost int64) bool {
	used := new(big.Int)
	for _, a := range l.counting(p, now) {
		used.Add(used, big.NewInt(a.cost))
	}
	return fits(p, used, cost)
}

func (l *log) take(p *parameters, now, cost int64) {
	l.admitted = append(l.counting(p, now), admission{l.effective(now), cost})
}

// refund: from what was admitted at the instant at, where it counts.
func (l *log) refund(p *parameters, now, at, cost int64) {
	if at <= l.effective(now)-p.period {
		return
	}
	left := slices.Clone(l.admitted)
	for i := range left {
		if left[i].at == at {
			given := min(left[i].cost, cost)
			left[i].cost -= given
			cost -= given
		}
	}
	l.admitted = slices.DeleteFunc(left, func(a admission) bool { return a.cost == 0 })
}

func (l *log) fresh(p *parameters, now int64) bool { return len(l.counting(p, now)) == 0 }

func (l *log) turn(*parameters, int64) *big.Rat { return new(big.Rat) }

func (l *log) clone() model { return &log{slices.Clone(l.admitted)} }

func (l *log) String() string { return fmt.Sprint(l.admitted) }
