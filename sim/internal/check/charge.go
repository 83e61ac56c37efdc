package check

import (
	"math"

	"github.com/weirgo/weir/internal/exact"
	"github.com/weirgo/weir/sim/result"
)

// charge charges a slot with what the server committed; always, whether or not the limit had room for it.
func (c *Checker) charge(s *Slot, d *Decision, cost int64, always bool) {
	l, at := s.Limit, d.At
	if !s.lossy && s.model.Delay(at) > 0 {
		c.Goals[Queued]++
	}
	s.chargeModels(at, c.Epoch+c.Now, cost)
	if always {
		AddUnits(&s.debts, cost)
	}
	units, full := s.model.Excess()
	if full {
		c.Goals[CurveReached]++
	}
	if units > s.forgotten+s.debts {
		if explained := s.forgotten + s.debts + c.clockSlack(s, s.losses); units > explained {
			c.Fail(Admission, "%d units more than the limit were charged, and %d are explained by what was lost and by what was charged into debt", units, explained)
		}
	}
	if units > 0 && units == s.forgotten {
		c.Goals[BoundReached]++
	}
	if !s.charged {
		s.charged = true
		l.Result.Keys++
	}
	AddUnits(&l.Result.ExecutedUnits, cost)
	c.fraction(s)
	if s.leased.taken += cost; c.Leased == nil {
		c.admittedByServer(s, d, cost)
	}
}

// admittedByServer notes an admission by the server, whose caller is not told yet. Where a reservation is settled, its units were
// used, whatever the client is told: they count once.
func (c *Checker) admittedByServer(s *Slot, d *Decision, cost int64) {
	a := admission{cost: cost, bound: c.explained(s, cost, false)}
	switch r := d.Reserved; {
	case r != nil && r.Settling:
		if !r.closed {
			a.fate = counts
			c.add(s, a)
			c.measureAnswered()
		}
	case d.Try != nil && !d.Try.ended:
		d.Try.charges = append(d.Try.charges, charged{s, c.add(s, a)})
	}
}

// AdmittedWithout notes that a caller is told to go on by a failure mode, without the server. decided is when a local
// store decided; below 0, no local store did.
func (c *Checker) AdmittedWithout(try *Try, s *Slot, cost, decided int64) {
	c.Goals[FallbackAdmitted]++
	if decided >= 0 {
		c.admittedLocally(s, cost, decided)
	}
	if try != nil {
		try.drop(&c.admissions, s)
	}
	c.admitted(s, cost, true)
}

// admitted notes an admission that its caller is told now.
func (c *Checker) admitted(s *Slot, cost int64, without bool) {
	c.add(s, admission{cost: cost, bound: c.explained(s, cost, without), fate: counts})
	c.measureAnswered()
}

// explained is how much excess of a slot is explained, after an admission that the server or a failure mode made. The
// rule true-time compares all of these with it, whatever callers are told of them.
func (c *Checker) explained(s *Slot, cost int64, without bool) (bound int64) {
	if bound = s.forgotten + s.debts; s.trueTime != nil {
		bound = c.measure(s, cost, without)
	}
	if c.Leased != nil { // units are used after they were charged
		bound += s.Limit.Slack(c.Leased.Late)
	}
	return bound
}

// measure charges the model of true time, and returns how much excess is explained.
func (c *Checker) measure(s *Slot, cost int64, without bool) (bound int64) {
	now := c.Epoch + c.Now
	if s.trueTime.Fresh(now) {
		s.trueForgotten, s.trueLosses, s.without, s.withServer = s.forgotten, s.losses, 0, false
	}
	if without {
		s.without += cost
		c.Goals[BothAdmitted] += One(s.withServer)
	} else {
		s.withServer = true
	}
	s.trueTime.Charge(now, cost)
	units, _ := s.trueTime.Excess()
	bound = s.trueForgotten + s.without + c.clockSlack(s, 1+s.trueLosses)
	if units > bound && c.Leased == nil { // units of a lease are used late: the rule leases says how much
		c.Fail(TrueTime, "%d units more than the limit were admitted in true time, and %d are explained: %d lost, %d admitted without the server, clocks off by %d µs",
			units, bound, s.trueForgotten, s.without, s.clock(c).spread())
	}
	return bound
}

// Forgotten notes that the server has lost units of a slot, at most its capacity.
func (c *Checker) Forgotten(s *Slot, units int64) {
	if !s.charged {
		return
	}
	s.loose = true
	if s.state != nil && s.state.several {
		s.state.last = nil // what the state holds now may be of any of its limits
		return
	}
	s.lossy, s.retryAt, s.freshAt = true, 0, 0
	if units <= 0 {
		return
	}
	c.Goals[StateForgotten]++
	c.Goals[ForgottenDenied] += One(s.denied)
	units = min(units, s.Limit.Capacity)
	s.forgotten += units
	s.losses++
	s.trueForgotten += units
	s.trueLosses++
	AddUnits(&s.Limit.Result.ForgottenUnits, units)
	for _, f := range c.Faulty {
		AddUnits(&f.ForgottenUnits, units)
	}
	e := c.Journal.Next(Forgotten, c.Now, -1)
	e.Limit, e.Key, e.Cost = s.Limit.Index, s.Key, units
	c.Journal.Add(e, s.Hash)
}

// Unrefunded notes that the server has lost that units of a slot were given back: it may deny what the
// limit has room for.
func (c *Checker) Unrefunded(s *Slot) { s.carried = true }

// clockSlack returns how many more units clocks explain that are off by different
// lengths of time: a state remembers the latest instant, and a state that starts anew
// does not, so that the whole difference may pass once more, as many times.
func (c *Checker) clockSlack(s *Slot, times int64) int64 {
	off := s.clock(c).spread()
	if off == 0 {
		return 0
	}
	const most = math.MaxInt64 / 4 // sums with it must not overflow
	return min(exact.Product(s.Limit.Slack(off), times).Floor(1), most)
}

// noteClock notes how far the clock of a decision is off.
func (c *Checker) noteClock(k *Clock, at int64) {
	off := at - c.Epoch - c.Now
	if k.LastAt == 0 {
		k.latest, k.earliest = off, off
	}
	k.latest, k.earliest = max(k.latest, off), min(k.earliest, off)
	k.LastAt = max(k.LastAt, at)
}

// spread is by how much readings of the clock were off differently.
func (k *Clock) spread() int64 { return k.latest - k.earliest }

func (s *Slot) clock(c *Checker) *Clock { return c.Servers[s.Server] }

// Sum returns the result of a limit, and counts the goals that its worst window meets.
func (c *Checker) Sum(l *Limit) result.Limit {
	r := l.Result
	r.Worst = l.curve.worst
	r.CurveKeys, r.CurveOf, r.CurveLate = l.curve.followed, l.curve.all, l.curve.late
	for i, length := range l.curve.lengths {
		r.Curve = append(r.Curve, result.CurvePoint{Micros: length, Units: l.curve.most[i], BoundUnits: l.Bound(length)})
	}
	if g, known := worstGoals[l.Kind]; known && r.Worst.Units == r.Worst.BoundUnits {
		c.Goals[g]++
	}
	return r
}
