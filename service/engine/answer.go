package engine

import (
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
)

// Numbers are what one limit says. The zero value but for Allowed is the answer where no
// limit was asked.
type Numbers struct {
	// Allowed reports whether the request may pass.
	Allowed bool
	// Limit is the capacity, Remaining the largest cost that would be admitted now, and
	// Current the difference: what counts.
	Limit, Remaining, Current int64
	// RetryAfter is the wait after which the same request is admitted if nobody else asks;
	// 0 when allowed, weir.Never where no wait helps.
	RetryAfter time.Duration
	// ResetAfter is the wait after which the key acts as a fresh one.
	ResetAfter time.Duration
	// Delay is how long an admitted caller waits before it starts.
	Delay time.Duration
	// At is the instant of the decision on the clock of the store; zero where no store has
	// decided.
	At time.Time
}

func numbersOf(d weir.Decision) Numbers {
	return Numbers{
		Allowed: d.Allowed, Limit: d.Limit, Remaining: d.Remaining, Current: d.Limit - d.Remaining,
		RetryAfter: d.RetryAfter, ResetAfter: d.ResetAfter, Delay: d.Delay, At: d.At,
	}
}

// RetryAfterSeconds is RetryAfter in whole seconds, rounded up; -1 where no wait helps.
func (n Numbers) RetryAfterSeconds() int64 {
	if n.RetryAfter == weir.Never {
		return -1
	}
	return int64((n.RetryAfter + time.Second - 1) / time.Second)
}

// ResetAtUnix is the second since 1970, rounded up, from which the key acts as a fresh
// one; 0 where that is not known.
func (n Numbers) ResetAtUnix() int64 {
	at := weir.Decision{At: n.At, ResetAfter: n.ResetAfter}.ResetAt()
	if at.IsZero() {
		return 0
	}
	return at.Add(time.Second - 1).Unix()
}

// answeredBefore reports whether the answer was given before an instant of the same clock.
func (n Numbers) answeredBefore(start time.Time) bool {
	return n.Allowed && !n.At.IsZero() && n.At.Before(start)
}

// Answer is the answer to a Request. Its Numbers are those of the binding limit: when
// denied the one with the longest wait, when allowed the one with the least remaining.
type Answer struct {
	Numbers
	// Rule is the ID of the rule of the binding limit, with "/" and the name of the limit
	// where the rule has several; "" where there is none.
	Rule string
	// Decisions has an entry for each enforced limit that applies, in the order of the
	// policy.
	Decisions []Decision
	// Standing is how near the request is to being denied.
	Standing policy.Standing
	// Listed reports that an entry of the lists of the policy has answered; then there are
	// no Decisions.
	Listed bool
	// Degraded reports that a failure mode has answered for the store, and Cause why.
	Degraded bool
	Cause    error
	// PolicyVersion is the version of the policy that decided.
	PolicyVersion string
	// Replayed reports that the request was admitted before under the same idempotency key,
	// and is not charged again.
	Replayed bool
	// Verdict is what the policy said, for headers, logs and metrics.
	Verdict policy.Verdict
}

// Decision is what one enforced limit says.
type Decision struct {
	Numbers
	Rule string
}

func answerOf(v policy.Verdict) Answer {
	a := Answer{
		Numbers: Numbers{Allowed: v.Allowed, RetryAfter: v.RetryAfter}, Standing: v.Standing, Listed: v.List != policy.None,
		Degraded: v.Degraded, Cause: v.Cause, PolicyVersion: v.Version, Verdict: v,
	}
	for i := range v.Rules {
		r := &v.Rules[i]
		if !r.Enforced || r.Action == policy.ActionExempt {
			continue
		}
		d := Decision{Numbers: Numbers{Allowed: r.Allowed, RetryAfter: r.RetryAfter}, Rule: r.Rule}
		if r.Name != "" {
			d.Rule += "/" + r.Name
		}
		if r.Decided {
			d.Numbers = numbersOf(r.Decision)
		}
		if i == v.Binding {
			a.Numbers, a.Rule = d.Numbers, d.Rule
			a.Allowed, a.RetryAfter = v.Allowed, v.RetryAfter
		}
		a.Decisions = append(a.Decisions, d)
	}
	a.Delay = v.Delay
	return a
}

// LimitAnswer is the answer of a limit that was asked by its name.
type LimitAnswer struct {
	Numbers
	Degraded bool
	Cause    error
	// Replayed is as in Answer.
	Replayed bool
}

func limitAnswerOf(d weir.Decision) LimitAnswer {
	return LimitAnswer{Numbers: numbersOf(d), Degraded: d.Degraded, Cause: d.Cause}
}
