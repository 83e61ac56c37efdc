package engine

import (
	"context"

	"github.com/weirgo/weir/policy"
)

// Explain says how the policy decides a request now, and why. It charges nothing and asks
// no limit.
func (e *Engine) Explain(ctx context.Context, s Subject) (policy.Explanation, error) {
	var p problems
	s.check("", &p)
	if err := p.err(); err != nil {
		return policy.Explanation{}, err
	}
	explained, err := e.enforcer.Explain(ctx, s.request(e.tenant))
	if err != nil {
		return policy.Explanation{}, As(err)
	}
	return explained, nil
}

// Survey says how all limits stand that a user may meet, on whatever endpoint; see
// policy.Enforcer.Survey.
func (e *Engine) Survey(ctx context.Context, user string) (policy.Verdict, error) {
	s := Subject{Identifier: user, Dimension: User, Endpoint: "*"}
	var p problems
	s.check("", &p)
	if err := p.err(); err != nil {
		return policy.Verdict{}, err
	}
	v, err := e.enforcer.Survey(ctx, s.request(e.tenant).Attributes)
	if err != nil {
		return policy.Verdict{}, As(err)
	}
	return v, nil
}
