package sim

import "slices"

// charged is a cost and when.
type charged struct{ at, cost int64 }

// logged is the model of a sliding window log.
type logged struct {
	*law
	entries []charged
	live    int   // the first of entries that counts, as of the last look
	sum     int64 // of those that count
}

// move makes live and sum those of an instant. A clock that goes back stays at the
// last entry.
func (l *logged) move(now int64) (effective int64) {
	if n := len(l.entries); n > 0 {
		now = max(now, l.entries[n-1].at)
	}
	for l.live < len(l.entries) && l.entries[l.live].at <= now-l.period {
		l.sum -= l.entries[l.live].cost
		l.live++
	}
	for l.live > 0 && l.entries[l.live-1].at > now-l.period {
		l.live--
		l.sum += l.entries[l.live].cost
	}
	return now
}

func (l *logged) room(now, cost int64) bool {
	l.move(now)
	return l.sum <= l.limit-cost
}

func (l *logged) retry(now, cost int64) int64 {
	l.move(now)
	excess := l.sum + cost - l.limit
	for i := l.live; ; i++ {
		if excess -= l.entries[i].cost; excess <= 0 {
			return l.entries[i].at + l.period - now
		}
	}
}

func (l *logged) charge(now, cost int64) {
	now = l.move(now)
	if l.live > 32 && l.live > len(l.entries)/2 {
		l.entries = l.entries[:copy(l.entries, l.entries[l.live:])]
		l.live = 0
	}
	if n := len(l.entries); n > 0 && l.entries[n-1].at == now {
		l.entries[n-1].cost += cost
	} else {
		l.entries = append(l.entries, charged{now, cost})
	}
	l.sum += cost
}

func (l *logged) excess() (units int64, full bool) { return max(0, l.sum-l.limit), l.sum == l.limit }

func (l *logged) debt(now int64) int64 {
	l.move(now)
	return l.sum
}

func (l *logged) fresh(now int64) bool { return l.debt(now) == 0 }

func (l *logged) refund(at, cost int64) {
	l.move(at)
	for i := len(l.entries) - 1; i >= l.live && cost > 0; i-- {
		if e := &l.entries[i]; e.at <= at {
			back := min(cost, e.cost)
			e.cost, l.sum, cost = e.cost-back, l.sum-back, cost-back
		}
	}
}

func (l *logged) clone() model {
	c := *l
	c.entries = slices.Clone(l.entries)
	return &c
}
