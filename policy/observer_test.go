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

type verdicts struct {
	all  []Verdict
	errs []error
}

func (o *verdicts) ObserveVerdict(_ context.Context, v *Verdict, err error) {
	o.all, o.errs = append(o.all, *v), append(o.errs, err)
}

// TestObserverSeesEachAnswerOfDecide: each once, with its error, and no Peek.
func TestObserverSeesEachAnswerOfDecide(t *testing.T) {
	seen := &verdicts{}
	b := newBench(t, one(Rule{ID: "ip", Key: []string{"ip"}, Limit: specOf("gcra:1/1m")}), &EnforcerOptions{Observer: seen})
	request := of("ip", "192.0.2.1")
	b.decide(request)
	b.decide(request)
	if _, err := b.Peek(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	b.asked.fail = func([]weir.Ask) error { return store.ErrUnavailable }
	if _, err := b.Decide(t.Context(), request); !errors.Is(err, store.ErrUnavailable) {
		t.Fatal(err)
	}
	if len(seen.all) != 3 {
		t.Fatalf("%d verdicts were seen, want 3", len(seen.all))
	}
	for i, want := range []struct {
		allowed bool
		err     error
	}{{true, nil}, {false, nil}, {false, store.ErrUnavailable}} {
		if got := seen.all[i]; got.Allowed != want.allowed || len(got.Rules) != 1 || !errors.Is(seen.errs[i], want.err) {
			t.Errorf("answer %d: %+v, error %v", i, got, seen.errs[i])
		}
	}
}

// TestShadowRuleIsAskedAsShadow: an observer of the limits counts no denial that nobody
// obeys.
func TestShadowRuleIsAskedAsShadow(t *testing.T) {
	shadow := map[string]bool{}
	limits := weir.Must(weir.NewMultiLimiter(weir.Must(memorystore.New(nil)), &weir.Options{Observer: limitObserver(func(o weir.Observation) { shadow[o.Limit] = o.Shadow })}))
	c := weir.Must(Compile(one(
		Rule{ID: "real", Limit: specOf("gcra:1/1m")},
		Rule{ID: "tried", Limit: specOf("gcra:1/1m"), Mode: Shadow},
	), nil))
	e := weir.Must(NewEnforcer(limits, c, &EnforcerOptions{Sequential: true}))
	if _, err := e.Decide(t.Context(), of()); err != nil {
		t.Fatal(err)
	}
	if len(shadow) != 2 || shadow["real"] || !shadow["tried"] {
		t.Errorf("shadow is %v, want that of tried alone", shadow)
	}
}

type limitObserver func(o weir.Observation)

func (f limitObserver) Observe(_ context.Context, o weir.Observation) { f(o) }

// TestPanicOfAShadowIsOneOfItsRequest: whoever serves the request can recover from it.
func TestPanicOfAShadowIsOneOfItsRequest(t *testing.T) {
	limits := weir.Must(weir.NewMultiLimiter(weir.Must(memorystore.New(nil)), &weir.Options{Observer: limitObserver(func(weir.Observation) { panic("a fault") })}))
	c := weir.Must(Compile(one(Rule{ID: "tried", Limit: specOf("gcra:1/1m"), Mode: Shadow}), nil))
	for _, sequential := range []bool{true, false} {
		e := weir.Must(NewEnforcer(limits, c, &EnforcerOptions{Sequential: sequential}))
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "a fault") {
					t.Errorf("sequential %t: the request recovers from %v", sequential, r)
				}
			}()
			_, _ = e.Decide(t.Context(), of())
		}()
	}
}
