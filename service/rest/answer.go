package rest

import (
	"strconv"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/service/engine"
)

// numbers are what a limit says, as JSON.
type numbers struct {
	Allowed         bool   `json:"allowed"`
	CurrentCount    int64  `json:"current_count"`
	Limit           int64  `json:"limit"`
	Remaining       int64  `json:"remaining"`
	ResetAt         int64  `json:"reset_at"`
	RetryAfter      int64  `json:"retry_after"`
	RetryAfterExact string `json:"retry_after_exact,omitempty"`
	ResetAfterExact string `json:"reset_after_exact,omitempty"`
	Delay           string `json:"delay,omitempty"`
}

func numbersOf(n engine.Numbers) numbers {
	return numbers{
		Allowed: n.Allowed, CurrentCount: n.Current, Limit: n.Limit, Remaining: n.Remaining, ResetAt: n.ResetAtUnix(),
		RetryAfter: n.RetryAfterSeconds(), RetryAfterExact: exact(n.RetryAfter), ResetAfterExact: exact(n.ResetAfter), Delay: exact(n.Delay),
	}
}

// exact is a duration in seconds to the microsecond, rounded up; "" where there is none that
// helps.
func exact(d time.Duration) string {
	if d == weir.Never || d < 0 {
		return ""
	}
	micros := int64((d + time.Microsecond - 1) / time.Microsecond)
	text := strconv.FormatInt(micros/1e6, 10)
	if part := micros % 1e6; part > 0 {
		digits := strconv.FormatInt(1e6+part, 10)[1:]
		for digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
		}
		text += "." + digits
	}
	return text + "s"
}

type ruleDecision struct {
	numbers
	RuleID string `json:"rule_id"`
}

// quotaAnswer is the answer to a quota, checkAnswer that to a check.
type quotaAnswer struct {
	numbers
	At            *time.Time     `json:"at,omitempty"`
	RuleID        string         `json:"rule_id"`
	Decisions     []ruleDecision `json:"decisions"`
	Standing      string         `json:"standing"`
	Degraded      bool           `json:"degraded"`
	PolicyVersion string         `json:"policy_version"`
}

type checkAnswer struct {
	quotaAnswer
	Replayed bool `json:"replayed"`
}

func quotaOf(a *engine.Answer) quotaAnswer {
	q := quotaAnswer{
		numbers: numbersOf(a.Numbers), RuleID: a.Rule, Decisions: make([]ruleDecision, 0, len(a.Decisions)), Standing: a.Standing.String(),
		Degraded: a.Degraded, PolicyVersion: a.PolicyVersion,
	}
	if !a.At.IsZero() {
		at := a.At.UTC()
		q.At = &at
	}
	for _, d := range a.Decisions {
		q.Decisions = append(q.Decisions, ruleDecision{numbersOf(d.Numbers), d.Rule})
	}
	return q
}
