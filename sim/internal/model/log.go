package model

import "slices"

// charge is a cost and its instant.
type charge struct{ at, cost int64 }

// log is the model of a sliding window log.
type log struct {
	limit   *Limit
	entries []charge
	live    int   // the first entry that counts, as of the last call of move
	sum     int64 // of the entries that count
}

// move sets live and sum to an instant. A clock that goes back stays at the last entry.
func (l *log) move(now int64) (effective int64) {
	if n := len(l.entries); n > 0 {
		now = max(now, l.entries[n-1].at)
	}
	for l.live < len(l.entries) && l.entries[l.live].at <= now-l.limit.Period {
		l.sum -= l.entries[l.live].cost
		l.live++
	}
	for l.live > 0 && l.entries[l.live-1].at > now-l.limit.Period {
		l.live--
		l.sum += l.entries[l.live].cost
	}
	return now
}

func (l *log) Room(now, cost int64) bool {
	l.move(now)
	return l.sum <= l.limit.Units-cost
}

func (l *log) Retry(now, cost int64) int64 {
	l.move(now)
	excess := l.sum + cost - l.limit.Units
	for i := l.live; ; i++ {
		if excess -= l.entries[i].cost; excess <= 0 {
			return l.entries[i].at + l.limit.Period - now
		}
	}
}

func (l *log) Delay(int64) int64 { return 0 }

func (l *log) Charge(now, cost int64) {
	now = l.move(now)
	if l.live > 32 && l.live > len(l.entries)/2 {
		l.entries = l.entries[:copy(l.entries, l.entries[l.live:])]
		l.live = 0
	}
	if n := len(l.entries); n > 0 && l.entries[n-1].at == now {
		l.entries[n-1].cost += cost
	} else {
		l.entries = append(l.entries, charge{now, cost})
	}
	l.sum += cost
}

func (l *log) Excess() (units int64, full bool) {
	return max(0, l.sum-l.limit.Units), l.sum == l.limit.Units
}

func (l *log) Debt(now int64) int64 {
	l.move(now)
	return l.sum
}

func (l *log) Fresh(now int64) bool { return l.Debt(now) == 0 }

// Refund takes back from the entry of that instant; where there never was one, as where a clock goes back, from
// those before it.
func (l *log) Refund(at, cost int64) {
	l.move(at)
	for i := len(l.entries) - 1; i >= 0; i-- {
		if e := &l.entries[i]; e.at == at {
			back := min(cost, e.cost)
			if e.cost -= back; i >= l.live {
				l.sum -= back
			}
			return
		}
	}
	for i := len(l.entries) - 1; i >= l.live && cost > 0; i-- {
		if e := &l.entries[i]; e.at <= at {
			back := min(cost, e.cost)
			e.cost, l.sum, cost = e.cost-back, l.sum-back, cost-back
		}
	}
}

func (l *log) Clone() Model {
	c := *l
	c.entries = slices.Clone(l.entries)
	return &c
}
