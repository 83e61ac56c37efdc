package oracle

import (
	"fmt"
	"math/big"
	"slices"
)

// logged is the state of a sliding log: the admitted requests, oldest first.
//
//	e = max(now, last); an entry counts while at > e − W; admitted iff the sum of
//	those + n ≤ L; recorded at e
//
// An admission forgets what no longer counts. That can be seen only where the
// window becomes longer later: a log cannot grow for ever, and what is stored
// must not depend on who stores it.
type logged struct{ admitted []admission }

type admission struct{ at, cost int64 }

// effective returns the latest instant known.
func (l *logged) effective(now int64) int64 {
	for _, a := range l.admitted {
		now = max(now, a.at)
	}
	return now
}

// counting returns the entries that count at now.
func (l *logged) counting(p *parameters, now int64) []admission {
	e := l.effective(now)
	return slices.DeleteFunc(slices.Clone(l.admitted), func(a admission) bool { return a.at <= e-p.period })
}

func (l *logged) admits(p *parameters, now, cost int64) bool {
	used := new(big.Int)
	for _, a := range l.counting(p, now) {
		used.Add(used, big.NewInt(a.cost))
	}
	return fits(p, used, cost)
}

func (l *logged) take(p *parameters, now, cost int64) {
	l.admitted = append(l.counting(p, now), admission{l.effective(now), cost})
}

func (l *logged) fresh(p *parameters, now int64) bool { return len(l.counting(p, now)) == 0 }

func (l *logged) turn(*parameters, int64) *big.Rat { return new(big.Rat) }

func (l *logged) clone() model { return &logged{slices.Clone(l.admitted)} }

func (l *logged) String() string { return fmt.Sprint(l.admitted) }
