package policy

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/store"
)

func TestTimesMultipliesTheCostOfEachRule(t *testing.T) {
	b := newBench(t, one(
		Rule{ID: "one", Limit: specOf("gcra:100/1h")},
		Rule{ID: "units", Limit: specOf("gcra:1000/1h"), Cost: Cost{Attribute: "units", Default: 5}},
	), nil)
	r := of("units", "7")
	r.Times = 3
	v := b.decide(r)
	if one, units := v.Rules[0].Decision.Remaining, v.Rules[1].Decision.Remaining; one != 97 || units != 979 {
		t.Errorf("%d and %d left, want 97 and 979: 3 requests of 1 and of 7 units", one, units)
	}
	r.Times = math.MaxInt64
	if v := b.decide(r); v.Allowed || v.RetryAfter != weir.Never {
		t.Errorf("allowed %t, retry after %s: want denied for ever", v.Allowed, v.RetryAfter)
	}
	r.Times = -1
	if v, err := b.Decide(t.Context(), r); v.Allowed || !errors.Is(err, store.ErrInvalid) {
		t.Errorf("allowed %t, error %v: want ErrInvalid", v.Allowed, err)
	}
}

func TestLookChargesNothingAndDeniesNothing(t *testing.T) {
	b := newBench(t, one(Rule{ID: "one", Limit: specOf("gcra:1/1h")}), nil)
	b.decide(of())
	look := of()
	look.Look = true
	for range 2 {
		if v := b.decide(look); !v.Allowed || v.Rules[0].Decision.Remaining != 0 {
			t.Errorf("allowed %t with %d left: want an allowed look at 0", v.Allowed, v.Rules[0].Decision.Remaining)
		}
	}
}

// TestIDIsChargedOnce: in the enforced limits together, and in each rule in shadow.
func TestIDIsChargedOnce(t *testing.T) {
	b := newBench(t, one(
		Rule{ID: "ip", Limit: specOf("gcra:10/1h")},
		Rule{ID: "org", Limit: specOf("gcra:10/1h")},
		Rule{ID: "trial", Limit: specOf("gcra:10/1h"), Mode: Shadow},
		Rule{ID: "trial2", Limit: specOf("gcra:10/1h"), Mode: Shadow},
	), nil)
	r := of()
	r.ID = "request 1"
	first := b.decide(r)
	again := b.decide(r)
	for i := range first.Rules {
		if !first.Rules[i].Decided || first.Rules[i].Decision != again.Rules[i].Decision || again.Rules[i].Decision.Remaining != 9 {
			t.Errorf("rule %s: %+v, then %+v: want the same, charged once", first.Rules[i].Rule, first.Rules[i].Decision, again.Rules[i].Decision)
		}
	}
	r.ID = strings.Repeat("x", 101)
	if v, err := b.Decide(t.Context(), r); v.Allowed || !errors.Is(err, store.ErrInvalid) {
		t.Errorf("allowed %t, error %v: want ErrInvalid", v.Allowed, err)
	}
}
