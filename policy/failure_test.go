package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

func TestFailureOfTheStore(t *testing.T) {
	rules := func(modes ...OnFailure) Policy {
		p := one()
		for i, m := range modes {
			p.Rules = append(p.Rules, Rule{ID: fmt.Sprint("r", i), Key: []string{"user"}, Limit: specOf("gcra:3/1m"), OnFailure: m, Cost: Cost{Attribute: "units", Default: 1}})
		}
		p.Rules = append(p.Rules, Rule{ID: "shadow", Limit: specOf("gcra:3/1m"), OnFailure: FailClosed, Mode: Shadow})
		return p
	}
	local := func() weir.Decider {
		s := weir.Must(memorystore.New(nil))
		t.Cleanup(func() { s.Close() })
		return weir.Must(weir.NewMultiLimiter(s, nil))
	}
	for _, test := range []struct {
		name    string
		modes   []OnFailure
		err     error
		request Request
		passed  int // of 5
		failed  bool
	}{
		{"all open", []OnFailure{FailOpen, FailOpen}, store.ErrUnavailable, of("user", "u"), 5, false},
		{"local is stricter than open", []OnFailure{FailOpen, FailLocal}, store.ErrUnavailable, of("user", "u"), 3, false},
		{"closed is the strictest", []OnFailure{FailOpen, FailLocal, FailClosed}, store.ErrUnavailable, of("user", "u"), 0, true},
		{"the enforcer says closed", []OnFailure{"", FailOpen}, store.ErrOutcomeUnknown, of("user", "u"), 0, true},
		{"no failure of the store", []OnFailure{FailOpen}, store.ErrCorrupt, of("user", "u"), 0, true},
		{"a cost that no key admits", []OnFailure{FailOpen}, store.ErrFull, of("user", "u", "units", "4"), 0, false},
	} {
		b := newBench(t, rules(test.modes...), &EnforcerOptions{Local: local()})
		b.asked.fail = func([]weir.Ask) error { return test.err }
		passed := 0
		for range 5 {
			v, err := b.Decide(context.Background(), test.request)
			if test.failed != (err != nil) || err != nil && (!errors.Is(err, test.err) || v.Allowed) {
				t.Errorf("%s: error %v with allowed %t", test.name, err, v.Allowed)
			}
			if err == nil && (!v.Degraded || !errors.Is(v.Cause, test.err)) {
				t.Errorf("%s: degraded %t because of %v", test.name, v.Degraded, v.Cause)
			}
			if v.Allowed {
				passed++
			}
			if shadow := v.Rules[len(v.Rules)-1]; !errors.Is(shadow.Err, test.err) {
				t.Errorf("%s: the error of a shadow is %v", test.name, shadow.Err)
			}
		}
		if passed != test.passed {
			t.Errorf("%s: %d of 5 pass, want %d", test.name, passed, test.passed)
		}
	}
	if _, err := NewEnforcer(local(), compile(t, rules(FailLocal)), nil); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "r0") {
		t.Errorf("a rule that needs a local decider gives %v", err)
	}
}

func TestFailureOfAShadowChangesNothing(t *testing.T) {
	b := newBench(t, one(Rule{ID: "r", Limit: specOf("gcra:3/1m")}, Rule{ID: "shadow", Limit: specOf("gcra:3/1m"), Mode: Shadow}), nil)
	b.asked.fail = func(asks []weir.Ask) error {
		if asks[0].Limit.Name == "shadow" {
			return store.ErrUnavailable
		}
		return nil
	}
	if v := b.decide(of()); !v.Allowed || v.Degraded || v.Rules[1].Err == nil {
		t.Errorf("allowed %t, degraded %t, shadow error %v", v.Allowed, v.Degraded, v.Rules[1].Err)
	}
	if s := b.Stats(); s.ShadowErrors != 1 || s.Errors != 0 || s.Decisions != 1 {
		t.Errorf("counted %+v", s)
	}
}

func TestCrossNodeErrorNamesTheCure(t *testing.T) {
	b := newBench(t, one(
		Rule{ID: "user", Key: []string{"user", "org"}, Limit: specOf("gcra:3/1m")},
		Rule{ID: "org", Key: []string{"org"}, Limits: map[string]LimitRef{"a": specOf("gcra:3/1m"), "b": specOf("gcra:3/1m")}},
	), nil)
	b.asked.fail = func([]weir.Ask) error { return fmt.Errorf("cluster: %w", store.ErrCrossNode) }
	_, err := b.Decide(context.Background(), of("user", "u", "org", "o"))
	var cross *CrossNodeError
	if !errors.As(err, &cross) || !errors.Is(err, store.ErrCrossNode) || cross.Colocate != "org" || strings.Join(cross.Rules, " ") != "user org" {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "colocate: org") {
		t.Errorf("the text does not name the cure: %v", err)
	}
}
