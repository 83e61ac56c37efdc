package policy

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/store"
)

// remaining are what the limits of a request have left.
func (b *bench) remaining(r Request) string {
	b.t.Helper()
	r = of("user", r.Attributes["user"], "cost", "0") // a look
	v, err := b.Peek(context.Background(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	text := ""
	for _, rule := range v.Rules {
		text += fmt.Sprintf("%s %d-%d ", rule.Rule, rule.Decision.Remaining, rule.Decision.Debt)
	}
	return text
}

// costs settles every limit of a verdict by the name of its rule.
func (b *bench) costs(v Verdict, actual map[string]int64) error {
	return b.Settle(context.Background(), &v, func(r *RuleVerdict) int64 { return actual[r.Rule] })
}

func TestSettleReplacesWhatWasTaken(t *testing.T) {
	b := newBench(t, one(
		Rule{ID: "requests", Key: []string{"user"}, Limit: specOf("gcra:10/24h"), Cost: Cost{Attribute: "cost", Default: 1}},
		Rule{ID: "tokens", Key: []string{"user"}, Limit: specOf("token-bucket:100/24h"), Cost: Cost{Attribute: "cost", Default: 20}},
		Rule{ID: "shadow", Key: []string{"user"}, Limit: specOf("gcra:100/24h"), Cost: Cost{Attribute: "cost", Default: 20}, Mode: Shadow},
	), nil)
	ann := of("user", "ann")
	for _, test := range []struct {
		actual map[string]int64
		want   string
		takes  int64
	}{
		{map[string]int64{"requests": 1, "tokens": 20, "shadow": 20}, "requests 9-0 tokens 80-0 shadow 80-0 ", 0}, // nothing to do
		{map[string]int64{"requests": 0, "tokens": 5, "shadow": 5}, "requests 9-0 tokens 75-0 shadow 75-0 ", 2},
		{map[string]int64{"requests": 1, "tokens": 90, "shadow": 1}, "requests 8-0 tokens 0-15 shadow 74-0 ", 2},
	} {
		v := b.decide(ann)
		before := b.asked.takes.Load()
		if err := b.costs(v, test.actual); err != nil {
			t.Fatal(err)
		}
		if got := b.remaining(ann); got != test.want {
			t.Errorf("%v: %q, want %q", test.actual, got, test.want)
		}
		if n := b.asked.takes.Load() - before; n != test.takes {
			t.Errorf("%v: %d calls, want %d", test.actual, n, test.takes)
		}
	}
}

func TestSettleOfADenialDoesNothing(t *testing.T) {
	b := newBench(t, one(Rule{ID: "api", Key: []string{"user"}, Limit: specOf("gcra:1/24h")}), nil)
	ann := of("user", "ann")
	b.decide(ann)
	if err := b.costs(b.decide(ann), map[string]int64{"api": 0}); err != nil {
		t.Fatal(err)
	}
	if got := b.remaining(ann); got != "api 0-0 " {
		t.Errorf("%q", got)
	}
}

// TestSettleSaysWhatFails: a cost below 0, a store that fails, and a debt that is too
// large leave what was taken, and rules in shadow are settled all the same.
func TestSettleSaysWhatFails(t *testing.T) {
	b := newBench(t, one(
		Rule{ID: "api", Key: []string{"user"}, Limit: specOf("gcra:10/24h"), Cost: Cost{Attribute: "cost", Default: 4}},
		Rule{ID: "shadow", Key: []string{"user"}, Limit: specOf("gcra:10/24h"), Cost: Cost{Attribute: "cost", Default: 4}, Mode: Shadow},
	), nil)
	ann := of("user", "ann")
	v := b.decide(ann)
	if err := b.costs(v, map[string]int64{"api": -1, "shadow": 4}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("below 0: %v", err)
	}
	var debt *weir.DebtError
	if err := b.costs(v, map[string]int64{"api": 1 << 50, "shadow": 4}); !errors.As(err, &debt) {
		t.Errorf("the debt: %v", err)
	}
	b.asked.fail = func(asks []weir.Ask) error {
		if asks[0].Limit.Name == "api" {
			return store.ErrUnavailable
		}
		return nil
	}
	if err := b.costs(v, map[string]int64{"api": 0, "shadow": 0}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a store that fails: %v", err)
	}
	if got := b.remaining(ann); got != "api 6-0 shadow 10-0 " {
		t.Errorf("%q", got)
	}
}

// TestDegradedDecisionsAreNotSettled: the store has not counted them.
func TestDegradedDecisionsAreNotSettled(t *testing.T) {
	b := newBench(t, one(Rule{ID: "api", Key: []string{"user"}, Limit: specOf("gcra:10/24h"), Cost: Cost{Attribute: "cost", Default: 1}, OnFailure: FailOpen}), nil)
	ann := of("user", "ann")
	b.decide(ann)
	b.asked.fail = func([]weir.Ask) error { return store.ErrUnavailable }
	v := b.decide(ann)
	b.asked.fail = nil
	if err := b.costs(v, map[string]int64{"api": 0}); err != nil || !v.Degraded {
		t.Fatal(v.Degraded, err)
	}
	if got := b.remaining(ann); got != "api 9-0 " {
		t.Errorf("%q", got)
	}
}

// degraded is a decider that answers by a failure mode.
type degraded struct {
	weir.Decider
	cause error
}

func (d *degraded) Take(ctx context.Context, asks ...weir.Ask) (weir.Result, error) {
	result, err := d.Decider.Take(ctx, asks...)
	for i := range result.Decisions {
		result.Decisions[i].Degraded, result.Decisions[i].Cause = d.cause != nil, d.cause
	}
	return result, err
}

func TestSettleThatAFailureModeAnswersIsAnError(t *testing.T) {
	b := newBench(t, one(Rule{ID: "api", Key: []string{"user"}, Limit: specOf("gcra:10/24h")}), nil)
	d := &degraded{Decider: b.decider}
	b.decider = d
	v := b.decide(of("user", "ann"))
	d.cause = store.ErrUnavailable
	if err := b.costs(v, map[string]int64{"api": 0}); !errors.Is(err, store.ErrUnavailable) {
		t.Error(err)
	}
}

// TestSettleOfAShadowThatDeniesDoesNothing: it has taken nothing, also where one of its
// limits alone would have admitted.
func TestSettleOfAShadowThatDeniesDoesNothing(t *testing.T) {
	b := newBench(t, one(
		Rule{ID: "api", Key: []string{"user"}, Limit: specOf("gcra:10/24h"), Cost: Cost{Attribute: "cost", Default: 1}},
		Rule{ID: "shadow", Key: []string{"user"}, Limits: map[string]LimitRef{"narrow": specOf("gcra:1/24h"), "wide": specOf("gcra:10/24h")}, Cost: Cost{Attribute: "cost", Default: 1}, Mode: Shadow},
	), nil)
	ann := of("user", "ann")
	b.decide(ann)
	if err := b.costs(b.decide(ann), nil); err != nil {
		t.Fatal(err)
	}
	if got := b.remaining(ann); got != "api 9-0 shadow 0-0 shadow 9-0 " {
		t.Errorf("%q", got)
	}
}
