package policy_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
	memorystore "github.com/weirgo/weir/store/memory"
)

// perUser is a policy of one rule, with an exception for one user.
func perUser() policy.Policy {
	return policy.Policy{
		Version: policy.FormatVersion,
		Rules:   []policy.Rule{{ID: "requests", Key: []string{"user"}, Limit: policy.LimitRef{Spec: "gcra:10/1h,burst=2"}}},
		Overrides: []policy.Override{{
			Rule: "requests", Match: policy.Conditions{"user": {"load-test"}}, Limit: policy.Unlimited,
			Until: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), Reason: "load test",
		}},
	}
}

func request(user string) policy.Request {
	return policy.Request{Method: "GET", Path: "/", Attributes: policy.Attributes{"user": user}}
}

// An Enforcer decides requests by a policy.
func ExampleNewEnforcer() {
	store := weir.Must(memorystore.New(nil))
	defer store.Close()
	limits := weir.Must(weir.NewMultiLimiter(store, nil))
	compiled := weir.Must(policy.Compile(perUser(), nil))
	enforcer := weir.Must(policy.NewEnforcer(limits, compiled, &policy.EnforcerOptions{OnFailure: policy.FailOpen}))

	for range 3 {
		v, err := enforcer.Decide(context.Background(), request("42"))
		if err != nil {
			fmt.Println(err)
			return
		}
		binding := v.Rules[v.Binding]
		fmt.Println(v.Allowed, binding.Rule, binding.Decision.Remaining, v.Standing)
	}
	// Output:
	// true requests 1 normal
	// true requests 0 warning
	// false requests 0 throttled
}

// A look changes nothing.
func ExampleEnforcer_Peek() {
	store := weir.Must(memorystore.New(nil))
	defer store.Close()
	limits := weir.Must(weir.NewMultiLimiter(store, nil))
	enforcer := weir.Must(policy.NewEnforcer(limits, weir.Must(policy.Compile(perUser(), nil)), nil))
	for range 3 {
		v, err := enforcer.Peek(context.Background(), request("42"))
		fmt.Println(v.Allowed, v.Rules[0].Decision.Remaining, err)
	}
	// Output:
	// true 1 <nil>
	// true 1 <nil>
	// true 1 <nil>
}

// Swap replaces the policy; a limit whose numbers change runs on from its state.
func ExampleEnforcer_Swap() {
	store := weir.Must(memorystore.New(nil))
	defer store.Close()
	limits := weir.Must(weir.NewMultiLimiter(store, nil))
	enforcer := weir.Must(policy.NewEnforcer(limits, weir.Must(policy.Compile(perUser(), nil)), nil))
	enforcer.Decide(context.Background(), request("42"))

	next := perUser()
	next.Rules[0].Limit.Spec = "gcra:10/1h,burst=5"
	before, err := enforcer.Swap(weir.Must(policy.Compile(next, &policy.CompileOptions{Version: "second"})))
	v, _ := enforcer.Decide(context.Background(), request("42"))
	fmt.Println(len(before.Version()), err, v.Version, v.Rules[0].Decision.Limit, v.Rules[0].Decision.Remaining)
	// Output:
	// 12 <nil> second 5 3
}

// Compile shows everything that is wrong, with the path of each field.
func ExampleCompile() {
	p := perUser()
	p.Rules[0].Key = []string{"usr"}
	p.Rules[0].Mode = "shadowy"
	_, err := policy.Compile(p, nil)
	var invalid *policy.InvalidError
	if errors.As(err, &invalid) {
		for _, f := range invalid.Fields {
			fmt.Println(f.Path, f.Suggestion)
		}
	}
	// Output:
	// rules[0].mode shadow
	// rules[0].key[0] user
}

// Resolve says what to ask, without asking.
func ExampleCompiled_Resolve() {
	compiled := weir.Must(policy.Compile(perUser(), nil))
	at := weir.Must(algorithm.InstantOf(time.Date(2029, 12, 31, 23, 59, 0, 0, time.UTC)))
	var plan policy.Plan // can be used again
	for _, user := range []string{"42", "load-test"} {
		compiled.Resolve(&plan, request(user), at)
		for _, l := range plan.Limits {
			fmt.Println(l.Limit.Name, l.Action, l.Spec, l.Source, l.Key)
		}
	}
	// Output:
	// requests ask gcra:10/1h,burst=2 rule user=42
	// requests exempt unlimited override user=load-test
}

// Explain says why.
func ExampleCompiled_Explain() {
	compiled := weir.Must(policy.Compile(perUser(), nil))
	at := weir.Must(algorithm.InstantOf(time.Date(2029, 12, 31, 23, 59, 0, 0, time.UTC)))
	fmt.Print(compiled.Explain(request("load-test"), at))
	// Output:
	// lists: none of 0 denials and 0 exemptions applies
	// rule requests: applies
	//   limit requests: exempts, from override, until 2030-01-01T00:00:00Z (load test)
}
