package check

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/model"
	"github.com/weirgo/weir/sim/scenario"
)

func limitOf(t *testing.T) *model.Limit {
	t.Helper()
	l, err := model.New(algorithm.Must(algorithm.ParseSpec("gcra:20/1s")))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What a slot was admitted before it was forgotten counts when it comes back.
func TestCurveRemembersWhoWasForgotten(t *testing.T) {
	limit := limitOf(t)
	c := newCurve(limit, 60_000_000)
	var w window
	w.add(&c, 1_000_000, 7)
	c.keep(&w, "key")
	c.tidy(3_000_000)
	w = c.back("key")
	w.add(&c, 4_000_000, 5)
	if longest := c.most[len(c.most)-1]; longest != 12 || c.all != 1 || c.followed != 1 || c.now != 1 {
		t.Errorf("%d in the longest interval; %d of %d, %d now", longest, c.followed, c.all, c.now)
	}
	c.keep(&w, "key")
	c.tidy(4_000_000 + c.lengths[len(c.lengths)-1])
	if len(c.kept) != 1 {
		t.Error("a window was forgotten that the longest interval reaches")
	}
	c.tidy(4_000_001 + c.lengths[len(c.lengths)-1])
	if len(c.kept) != 0 || c.now != 0 {
		t.Errorf("%d windows are kept, %d followed", len(c.kept), c.now)
	}
}

// The places of those that rest are given to others.
func TestCurveFollowsASpray(t *testing.T) {
	limit := limitOf(t)
	c := newCurve(limit, 60_000_000)
	for i := range int64(3 * curveSlots) {
		if i%(curveSlots/2) == 0 {
			c.tidy(i * 10_000)
		}
		var w window
		w.add(&c, i*10_000, 1)
		c.keep(&w, fmt.Sprint(i))
	}
	if c.followed != c.all || c.late != 0 {
		t.Errorf("%d of %d, %d late", c.followed, c.all, c.late)
	}
}

func TestSumsOfUnitsStayAtTheLargestNumber(t *testing.T) {
	sum := int64(math.MaxInt64 - 1)
	for range 3 {
		if AddUnits(&sum, 1); sum != math.MaxInt64 {
			t.Errorf("%d, want %d", sum, int64(math.MaxInt64))
		}
	}
}

// TestAdmissionsInTrueTimeAreMeasuredApart: no store of a server can violate the rule.
func TestAdmissionsInTrueTimeAreMeasuredApart(t *testing.T) {
	c := &Checker{Epoch: 1_790_000_000_000_000, Measure: true, Servers: []*Clock{{}}}
	l, err := NewLimit(0, scenario.Limit{Name: "l", Spec: "gcra:20/1s"}, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	s := c.SlotOf(l, "key", Hash("key"))
	c.charge(s, &Decision{At: c.Epoch}, 20, false)
	if c.Failure != nil {
		t.Fatalf("%+v", c.Failure)
	}
	s.trueTime.Charge(c.Epoch, 1)
	c.Now++
	if c.AdmittedWithout(nil, s, 1, c.Now); c.Failure == nil || c.Failure.Rule != TrueTime {
		t.Errorf("%+v", c.Failure)
	}
}

func TestRulesHaveTheirNames(t *testing.T) {
	own := []string{Admission, Denial, Outcome, AllOrNone, Retry, Reset, TrueTime, Local, Liveness, Isolation, Leases, Subject, Shadow, List, Breaker, DenyCache, LocalSum, IDs, Reservations}
	if !slices.Equal(own, scenario.Rules()) {
		t.Errorf("%v, and a scenario knows %v", own, scenario.Rules())
	}
}

func TestEveryGoalHasAName(t *testing.T) {
	for g := range Goals {
		if goalNames[g] == "" {
			t.Errorf("goal %d has no name", g)
		}
	}
}
