package world

import (
	"context"
	"testing"

	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/sim/internal/check"
)

const ruled = `
name: ruled
duration: 5s
policy: |
  version: 1
  rules:
    - {id: user, key: [user], limit: "gcra:20/1s,burst=5"}
    - {id: org, key: [org], limit: "gcra:100/1s", match: {attributes: {org: ["!org-0"]}}}
    - {id: watched, key: [user], limit: "sliding-log:3/1s", mode: shadow}
  lists:
    deny: [{match: {user: key-1}}]
    allow: [{match: {user: [key-2, key-1]}}]
traffic:
  - name: users
    process: {kind: poisson, rate: 100/1s}
    keys: {kind: uniform, n: 8}
    request: {attributes: {user: "{key}", org: "org-{key%2}"}}
`

// Each mistake of an Enforcer is found by the rule that is about it.
func TestMistakesOfAnEnforcerAreFound(t *testing.T) {
	ctx := context.Background()
	without := func(r policy.Request, name string) policy.Request {
		changed := policy.Attributes{}
		for n, v := range r.Attributes {
			if n != name {
				changed[n] = v
			}
		}
		r.Attributes = changed
		return r
	}
	turn := 0
	for name, c := range map[string]struct {
		rule   string
		decide func(*policy.Enforcer, policy.Request) (policy.Verdict, error)
	}{
		"none": {"", func(e *policy.Enforcer, r policy.Request) (policy.Verdict, error) { return e.Decide(ctx, r) }},
		"the deny list is passed over": {check.List, func(e *policy.Enforcer, r policy.Request) (policy.Verdict, error) {
			return e.Decide(ctx, without(r, "user"))
		}},
		"an allow entry wins": {check.List, func(e *policy.Enforcer, r policy.Request) (policy.Verdict, error) {
			if r.Attributes["user"] == "key-1" {
				r = without(r, "user")
				r.Attributes["user"] = "key-2"
			}
			return e.Decide(ctx, r)
		}},
		"a denied request is charged": {check.List, func(e *policy.Enforcer, r policy.Request) (policy.Verdict, error) {
			v, err := e.Decide(ctx, r)
			if v.List == policy.Denied {
				r = without(r, "user")
				r.Attributes["user"] = "key-4"
				_, err = e.Decide(ctx, r)
			}
			return v, err
		}},
		"a denied request is let through": {check.List, func(e *policy.Enforcer, r policy.Request) (policy.Verdict, error) {
			v, err := e.Decide(ctx, r)
			v.Allowed = v.Allowed || v.List == policy.Denied
			return v, err
		}},
		"a rule in shadow denies": {check.Shadow, func(e *policy.Enforcer, r policy.Request) (policy.Verdict, error) {
			v, err := e.Decide(ctx, r)
			for i := range v.Rules {
				v.Allowed = v.Allowed && v.Rules[i].Allowed
			}
			return v, err
		}},
		"a rule in shadow is enforced": {check.Shadow, func(e *policy.Enforcer, r policy.Request) (policy.Verdict, error) {
			v, err := e.Decide(ctx, r)
			for i := range v.Rules {
				v.Rules[i].Enforced = true
			}
			return v, err
		}},
		"a rule is forgotten": {check.Subject, func(e *policy.Enforcer, r policy.Request) (policy.Verdict, error) {
			return e.Decide(ctx, without(r, "org"))
		}},
		"a subject has several keys": {check.Subject, func(e *policy.Enforcer, r policy.Request) (policy.Verdict, error) {
			if turn++; turn%20 == 0 && r.Attributes["user"] == "key-3" {
				r = without(r, "user")
				r.Attributes["user"] = "somebody"
			}
			return e.Decide(ctx, r)
		}},
		"subjects share a key": {check.Subject, func(e *policy.Enforcer, r policy.Request) (policy.Verdict, error) {
			if r.Attributes["user"] == "key-3" {
				r = without(r, "user")
				r.Attributes["user"] = "key-4"
			}
			return e.Decide(ctx, r)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := parsed(t, ruled)
			r, err := Run(ctx, s, nil, Options{Decide: func(_ context.Context, e *policy.Enforcer, r policy.Request) (policy.Verdict, error) {
				return c.decide(e, r)
			}})
			if err != nil {
				t.Fatal(err)
			}
			switch f := r.Failure; {
			case c.rule == "" && f != nil:
				t.Errorf("%+v", f)
			case c.rule != "" && (f == nil || f.Rule != c.rule):
				t.Errorf("want a violation of %s, got %+v", c.rule, f)
			}
		})
	}
}
