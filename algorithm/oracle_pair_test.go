package algorithm_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/oracle"
)

// request is a request and its answer.
type request struct {
	now, cost int64
	bound     time.Duration
	verb      algorithm.Verb
	at        int64 // of a refund
	outcome   oracle.Outcome
}

// leftOver is what a step in place may find in the outcome that it is to write.
var leftOver = algorithm.Outcome{Allowed: true, Limit: -1, Remaining: -1, RetryAfter: -1, ResetAfter: -1, Delay: -1, Debt: -1}

// pair runs an algorithm and the oracle side by side.
type pair struct {
	limits
	a     algorithm.InPlace
	o     *oracle.Oracle
	state algorithm.State
	last  request
	taken []int64 // the instants of what was admitted
	steps int
	story strings.Builder
	goals goals
}

func newPair(l limits, start int64) *pair {
	p := &pair{limits: l, a: l.algorithm(), o: l.oracle(), goals: goals{}}
	p.last.now = start
	p.last.outcome.Remaining = l.capacity
	fmt.Fprintf(&p.story, "%v\n", l)
	return p
}

// change puts the key under other limits of the same kind.
func (p *pair) change(l limits) {
	p.limits, p.a = l, l.algorithm()
	l.set(p.o)
	fmt.Fprintf(&p.story, "now %v\n", l)
}

// play makes one move. The error tells the whole story.
func (p *pair) play(m move) error {
	r := request{now: m.aim(p.limits, p.last), cost: m.ask(p.limits, p.last), bound: m.within(p.limits, p.last)}
	if p.kind != oracle.LeakyBucket && m.bound%2 == 0 {
		r.bound = 0 // ignored, and seldom given
	}
	switch verb := m.bits >> 53 % 8; {
	case p.maxDebt() < 0:
	case verb == 6:
		r.verb, r.bound = algorithm.Charge, 0
		if m.bits>>50%8 == 7 { // around the largest debt
			r.now = p.last.now
			r.cost = max(0, p.last.outcome.Remaining-p.last.outcome.Debt+p.maxDebt()+1-int64(m.bits%3))
		}
	case verb == 7:
		r.verb, r.bound, r.at = algorithm.Refund, 0, r.now
		if n := uint64(len(p.taken)); n > 0 && m.bits>>50%8 > 0 {
			r.at = p.taken[n-1-m.bits>>40%min(n, 4)]
		}
	}
	return p.step(r)
}

// maxDebt is below 0 for an algorithm that knows neither a charge nor a refund.
func (p *pair) maxDebt() int64 {
	if charger, is := p.a.(algorithm.Charger); is {
		return charger.MaxDebt()
	}
	return -1
}

// decide asks the oracle.
func (p *pair) decide(r request) oracle.Outcome {
	switch r.verb {
	case algorithm.Charge:
		return p.o.DecideCharge(r.now, r.cost)
	case algorithm.Refund:
		return p.o.DecideRefund(r.now, r.at, r.cost)
	}
	o := p.o.Decide(r.now, r.cost, r.bound)
	if p.maxDebt() < 0 {
		o.Debt = 0 // what is no Charger need not know it
	}
	return o
}

// step takes one request to both, and compares every field of the outcome. Along
// the way it checks what holds for each step: P2, P5, P6, M6, M7, and the
// equality of both forms of a step.
func (p *pair) step(r request) error {
	before, text := p.state, p.state.String()
	asked := algorithm.Request{Cost: r.cost, MaxDelay: r.bound, Verb: r.verb, At: algorithm.Instant(r.at)}
	after, got := p.a.Step(before, algorithm.Instant(r.now), asked)
	r.outcome = p.decide(r)
	fmt.Fprintf(&p.story, "%d: %v %d units at %d within %v (of %d): %+v, now %q\n", p.steps, r.verb, r.cost, r.now, r.bound, r.at, r.outcome, after)
	if r.outcome.Allowed && r.cost > 0 && r.verb != algorithm.Refund {
		p.taken = append(p.taken, r.now)
	}
	p.steps++

	if o, err := inMicros(got); err != nil || o != r.outcome {
		return p.fail("the algorithm answers %+v, the oracle the above (%v)", got, err)
	}
	if before.String() != text {
		return p.fail("the state before was %q and has become %q", text, before)
	}
	if (!got.Allowed || r.cost == 0) && !after.Equal(before) {
		return p.fail("the state has changed from %q", text)
	}
	parsed, err := p.checkState(after)
	if err != nil {
		return p.fail("state %q: %v", after, err)
	}
	inPlace := before
	o := leftOver
	if p.a.StepInPlace(&inPlace, algorithm.Instant(r.now), asked, &o); o != got || !inPlace.Equal(after) {
		return p.fail("in place: %+v and %q, else %+v and %q", o, inPlace, got, after)
	}
	// Go on from each of the three in turn: they are the same state.
	p.state = [...]algorithm.State{after, inPlace, parsed}[p.steps%3]
	p.goals.note(p, r)
	p.last = r
	return nil
}

// checkState checks that a state can be stored: its text reads back to it, and
// its kind accepts it.
func (p *pair) checkState(s algorithm.State) (algorithm.State, error) {
	parsed, err := algorithm.ParseState(s.String())
	if err != nil {
		return s, err
	}
	if parsed.String() != s.String() || parsed.Fresh() != s.Fresh() {
		return s, fmt.Errorf("reads back as %q", parsed)
	}
	checker := p.a.(algorithm.StateChecker)
	if err := checker.CheckState(s); err != nil {
		return s, err
	}
	return parsed, checker.CheckState(parsed)
}

func (p *pair) fail(format string, arguments ...any) error {
	return fmt.Errorf("%s%s", p.story.String(), fmt.Sprintf(format, arguments...))
}

// inMicros turns an Outcome into the oracle's, and refuses parts of a µs.
func inMicros(o algorithm.Outcome) (oracle.Outcome, error) {
	var err error
	micros := func(d time.Duration) int64 {
		if d%time.Microsecond != 0 {
			err = fmt.Errorf("%d ns are not whole µs", d)
		}
		return int64(d / time.Microsecond)
	}
	same := oracle.Outcome{
		Allowed: o.Allowed, Limit: o.Limit, Remaining: o.Remaining,
		ResetAfter: micros(o.ResetAfter), Delay: micros(o.Delay), Debt: o.Debt,
	}
	if o.RetryAfter == algorithm.Never {
		same.RetryAfter = oracle.Never
	} else {
		same.RetryAfter = micros(o.RetryAfter)
	}
	return same, err
}

// goals counts the situations that a suite of runs has to meet, or it proves
// little.
type goals map[string]int

// note looks at a step that has just been taken, p.last being the one before.
func (g goals) note(p *pair, r request) {
	count := func(name string, met bool) {
		if met {
			g[name]++
		}
	}
	last, d := p.last, r.now-p.last.now
	again := p.steps > 1 && !last.outcome.Allowed && last.cost == r.cost && last.bound == r.bound && last.outcome.RetryAfter > 0
	count("denied 1 µs before RetryAfter", again && d == last.outcome.RetryAfter-1 && !r.outcome.Allowed)
	count("admitted exactly at RetryAfter", again && d == last.outcome.RetryAfter && r.outcome.Allowed)
	reset := p.steps > 1 && last.outcome.ResetAfter > 0
	count("fresh exactly at ResetAfter", reset && d == last.outcome.ResetAfter && r.outcome.Allowed && r.outcome.Remaining == p.capacity-r.cost)
	count("not fresh 1 µs before ResetAfter", reset && d == last.outcome.ResetAfter-1 && r.cost == 0 && r.outcome.ResetAfter == 1)
	count("cost is the capacity, admitted", r.cost == p.capacity && r.outcome.Allowed)
	count("cost is the capacity, denied", r.cost == p.capacity && !r.outcome.Allowed)
	count("cost is the capacity and one", r.cost == p.capacity+1)
	count("cost near the largest int64", r.cost > 1<<62)
	count("look at a key in debt", r.cost == 0 && r.outcome.Remaining == 0)
	count("clock back within a window", d < 0 && r.now/p.period == last.now/p.period)
	count("clock two windows behind", d < 0 && r.now/p.period < last.now/p.period-1)
	count("last instant there is", r.now == maxInstant)
	charge, refund := r.verb == algorithm.Charge, r.verb == algorithm.Refund
	count("charged into debt", charge && r.cost > 0 && r.outcome.Allowed && r.outcome.Debt > 0)
	count("charged to the largest debt", charge && r.cost > 0 && r.outcome.Allowed && r.outcome.Debt == p.maxDebt())
	count("charge beyond the largest debt", charge && !r.outcome.Allowed && r.outcome.RetryAfter != oracle.Never)
	count("charge that no wait allows", charge && r.outcome.RetryAfter == oracle.Never)
	count("look at a key that was charged into debt", r.cost == 0 && r.outcome.Debt > 0)
	count("refund that leaves a debt", refund && r.cost > 0 && last.outcome.Debt > 0 && r.outcome.Debt > 0)
	count("refund of all", refund && r.cost > 0 && p.steps > 1 && last.outcome.ResetAfter > 0 && r.outcome.Remaining == p.capacity)
	count("refund of a part", refund && r.cost > 0 && d == 0 && r.outcome.Remaining > last.outcome.Remaining && r.outcome.Remaining < p.capacity)
	switch p.kind {
	case oracle.GCRA, oracle.LeakyBucket, oracle.TokenBucket:
		count("fraction in the state", p.state.Words() >= 3)
		count("remaining in a fraction of a µs", p.limit > p.period && r.outcome.Remaining > 0)
	case oracle.SlidingCounter:
		prev := p.state.Word(2)
		count("previous window counts", prev > 0)
		count("estimate without rounding", prev > 0 && prev < 1<<20 && p.period < 1<<40 &&
			r.now%p.period > 0 && prev*(p.period-r.now%p.period)%p.period == 0)
		count("window rolled with a count before", d > 0 && prev > 0 && r.now/p.period == last.now/p.period+1)
	case oracle.SlidingLog:
		count("entry leaves exactly", again && d == last.outcome.RetryAfter)
		count("several costs in one µs", strings.Contains(p.state.String(), ":"))
	}
	if p.kind == oracle.LeakyBucket {
		count("delay within its bound exactly", r.bound > 0 && r.outcome.Delay > 0 && r.cost > 0 &&
			time.Duration(r.outcome.Delay)*time.Microsecond == r.bound)
		count("denied for the delay alone", r.bound > 0 && !r.outcome.Allowed && r.cost <= r.outcome.Remaining)
	}
}
