package weir_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// Cases that were reported of other limiters and need a limiter or several of
// them, each with its source. Those that one key can tell are timelines of
// package conformance, so that every store runs them.

// fieldLimiter is a Limiter on a store of its own, and its clock.
func fieldLimiter(t *testing.T, spec string) (*weir.Limiter, *movable) {
	t.Helper()
	clk := &movable{midnight}
	return newLimiter(t, newMemory(t, &memorystore.Options{Clock: clk}), parse(t, spec), ""), clk
}

func mustAllow(t *testing.T, l *weir.Limiter, key string, n int64) weir.Decision {
	t.Helper()
	d, err := l.AllowN(background, key, n)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// admitted is how many of n requests pass at once.
func admitted(t *testing.T, l *weir.Limiter, key string, n int) (passed int) {
	t.Helper()
	for range n {
		if mustAllow(t, l, key, 1).Allowed {
			passed++
		}
	}
	return passed
}

// Each node sent its own time, and the next call of the early one was credited
// again for the same second. spring-cloud/spring-cloud-gateway #2412, #1117
func TestTwoNodesASecondApartDoNotRefillTwice(t *testing.T) {
	for _, spec := range []string{"token-bucket:10/1s", "gcra:10/1s"} {
		clk := &movable{}
		shared := newMemory(t, &memorystore.Options{Clock: clk})
		a, b := newLimiter(t, shared, parse(t, spec), ""), newLimiter(t, shared, parse(t, spec), "")
		total := int64(0)
		for range 11 {
			for _, node := range []struct {
				l    *weir.Limiter
				at   time.Duration
				cost int64
			}{{a, 100 * time.Second, 10}, {b, 99 * time.Second, 1}} {
				clk.at(node.at)
				if mustAllow(t, node.l, "k", node.cost).Allowed {
					total += node.cost
				}
			}
		}
		if total != 10 {
			t.Errorf("%s: %d units admitted while no time passed, and must be 10", spec, total)
		}
	}
}

// A wait of 0, then one of minus the epoch, as the window rolled over between
// the decision and the header. alisaifee/flask-limiter #62 and PR 56
func TestEveryDenialAroundAnEdgeHasAWaitInsideTheWindow(t *testing.T) {
	l, clk := fieldLimiter(t, "fixed-window:2/1s")
	if d, err := l.Peek(background, "nobody"); err != nil || d.Remaining != 2 || d.ResetAfter != 0 {
		t.Errorf("an unknown key: %+v, error %v", d, err)
	}
	denials := 0
	for ms := 900; ms < 1100; ms++ {
		clk.at(time.Duration(ms) * time.Millisecond)
		d := mustAllow(t, l, "k", 1)
		if d.ResetAfter <= 0 || d.ResetAfter > time.Second {
			t.Errorf("at %d ms: reset after %v", ms, d.ResetAfter)
		}
		if !d.Allowed {
			denials++
			if d.RetryAfter <= 0 || d.RetryAfter > time.Second {
				t.Errorf("at %d ms: retry after %v", ms, d.RetryAfter)
			}
		}
	}
	if denials != 196 {
		t.Errorf("%d of 200 denied", denials)
	}
}

// A negative cost created capacity, and 0 behaved differently from place to
// place. songzhibin97/gkit PR 133, golang/go #54082, mailgun/gubernator #156
func TestNegativeCostIsAnErrorAndGivesNothingBack(t *testing.T) {
	for _, spec := range []string{"gcra:5/1m", "token-bucket:5/1m", "leaky-bucket:5/1m", "fixed-window:5/1m", "sliding-log:5/1m", "sliding-counter:5/1m"} {
		l, _ := fieldLimiter(t, spec)
		mustAllow(t, l, "k", 5)
		if d, err := l.AllowN(background, "k", -3); !errors.Is(err, store.ErrInvalid) || d.Allowed {
			t.Errorf("%s: −3 gives %+v, error %v", spec, d, err)
		}
		if mustAllow(t, l, "k", 1).Allowed {
			t.Errorf("%s: a negative cost has given back", spec)
		}
		if d := mustAllow(t, l, "k", 0); !d.Allowed || d.Remaining != 0 {
			t.Errorf("%s: 0 gives %+v", spec, d)
		}
	}
}

// Rate 0 meant unlimited. golang/go #39984, #18763, traefik/traefik PR 9621
func TestLimitOfZeroIsRefused(t *testing.T) {
	for _, spec := range []string{"gcra:0/1s", "token-bucket:0/1s,burst=100", "fixed-window:0/1m", "gcra:1/0s", "gcra:1/1s,burst=0"} {
		if a, err := algorithm.ParseSpec(spec); err == nil {
			t.Errorf("%s is taken for %v", spec, a)
		}
	}
}

// State kept the limit that it was created with. mailgun/gubernator #37, PR 40
func TestNewLimitIsInTheNextAnswer(t *testing.T) {
	clk := &movable{midnight}
	s := newMemory(t, &memorystore.Options{Clock: clk})
	mustAllow(t, newLimiter(t, s, parse(t, "token-bucket:100/1m"), ""), "k", 1)
	lowered := newLimiter(t, s, parse(t, "token-bucket:10/1m"), "")
	if d := mustAllow(t, lowered, "k", 1); d.Limit != 10 || d.Remaining != 9 {
		t.Errorf("after the limit was lowered: %+v", d)
	}
	if n := admitted(t, lowered, "k", 20); n != 9 {
		t.Errorf("%d more admitted", n)
	}
	if d := mustAllow(t, newLimiter(t, s, parse(t, "token-bucket:100/1m"), ""), "k", 1); d.Allowed || d.Limit != 100 {
		t.Errorf("raising the limit has made tokens: %+v", d)
	}
}

// A shorter window took effect only after the long one had ended.
// 3scale/APIcast #667
func TestShorterWindowCountsImmediately(t *testing.T) {
	clk := &movable{midnight}
	s := newMemory(t, &memorystore.Options{Clock: clk})
	mustAllow(t, newLimiter(t, s, parse(t, "fixed-window:5/1h"), ""), "k", 5)
	l := newLimiter(t, s, parse(t, "fixed-window:5/1m"), "")
	for at := 11; at <= 61; at += 5 { // five before the minute, which is a state of its own
		clk.at(time.Duration(at) * time.Second)
		d := mustAllow(t, l, "k", 1)
		if d.Allowed != (at <= 31 || at >= 60) || d.RetryAfter > time.Minute {
			t.Errorf("at %d s: %+v", at, d)
		}
	}
}

// Two versions of a service ran side by side while a limit of 1000 an hour became one
// of 10 a second: each call of one erased the window of the other, and 10,318 passed in
// ten seconds. The period of a window belongs to the identity of its state, so both
// count for themselves: at most the sum of the two.
func TestWindowsOfTwoPeriodsDoNotEraseEachOther(t *testing.T) {
	for _, kind := range []string{"fixed-window", "sliding-counter", "sliding-log"} {
		clk := &movable{midnight}
		s := newMemory(t, &memorystore.Options{Clock: clk})
		versions := []*weir.Limiter{newLimiter(t, s, parse(t, kind+":1000/1h"), ""), newLimiter(t, s, parse(t, kind+":10/1s"), "")}
		var passed [2]int
		for ms := 0; ms < 10_000; ms += 5 {
			clk.at(time.Duration(ms) * time.Millisecond)
			for i, l := range versions {
				passed[i] += admitted(t, l, "k", 2)
			}
		}
		if passed[0] != 1000 || passed[1] > 110 || passed[1] < 90 {
			t.Errorf("%s: %d passed at 1000/1h, and %d at 10/1s in 10 s", kind, passed[0], passed[1])
		}
	}
}

// The number of units of a window is no part of its identity: a limit that is raised or
// lowered goes on from the count.
func TestWindowOfAnotherLimitRunsOn(t *testing.T) {
	for _, kind := range []string{"fixed-window", "sliding-counter", "sliding-log"} {
		clk := &movable{midnight}
		s := newMemory(t, &memorystore.Options{Clock: clk})
		mustAllow(t, newLimiter(t, s, parse(t, kind+":10/1m"), ""), "k", 4)
		if d := mustAllow(t, newLimiter(t, s, parse(t, kind+":7/1m"), ""), "k", 1); !d.Allowed || d.Remaining != 2 {
			t.Errorf("%s: %+v", kind, d)
		}
	}
}

// A reload built new limiters, each with a full bucket: who could cause reloads
// had no limit. nuetzliches/hookaido PR 239, milvus-io/milvus PR 35699
func TestReloadOfTheSameLimitRefillsNothing(t *testing.T) {
	clk := &movable{midnight}
	s := newMemory(t, &memorystore.Options{Clock: clk})
	mustAllow(t, newLimiter(t, s, parse(t, "token-bucket:1/1s,burst=10"), "api"), "k", 10)
	for reload := range 100 {
		clk.at(time.Duration(reload) * time.Millisecond)
		l := newLimiter(t, s, parse(t, "token-bucket:1/1s,burst=10"), "api")
		if d := mustAllow(t, l, "k", 1); d.Allowed {
			t.Fatalf("reload %d: %+v", reload, d)
		}
		if err := l.Close(); err != nil { // the old one is closed, its states stay
			t.Fatal(err)
		}
		if _, err := weir.New(s, weir.Limit{Name: "limit"}, nil); err == nil {
			t.Fatal("a limit that cannot be built is built")
		}
	}
}

// A name with the separator in it matched another rule's name and value.
// kgateway-dev/kgateway #3801, #4257
func TestRulesAreToldApartByStructureNotByJoinedText(t *testing.T) {
	clk := &movable{midnight}
	s := newMemory(t, &memorystore.Options{Clock: clk})
	once := parse(t, "fixed-window:1/1m")
	for _, rule := range []struct{ name, key string }{
		{"type", "example"}, {"type_example", ""}, {"type_", "example"}, {"type", "_example"}, {"", "type_example"}, {"typ", "e_example"},
	} {
		if rule.key == "" {
			rule.key = "-"
		}
		l := newLimiter(t, s, once, rule.name)
		if n := admitted(t, l, rule.key, 2); n != 1 {
			t.Errorf("rule %q, key %q: %d of 2 admitted, and must be 1", rule.name, rule.key, n)
		}
	}
}

// The key held scope and period but not the rule, so every rule that matched
// raised the same counter. erpc/erpc PR 1058, envoyproxy/gateway #2225
func TestRulesThatMatchTheSameRequestCountForThemselves(t *testing.T) {
	for _, rules := range [][2]string{{"fixed-window:1000/1m", "fixed-window:10/1m"}, {"fixed-window:10/1m", "fixed-window:20/1m"}} {
		clk := &movable{midnight}
		multi := newMulti(t, newMemory(t, &memorystore.Options{Clock: clk}))
		passed := 0
		for range 12 {
			if take(t, multi, ask(t, "k", rules[0], 1), ask(t, "k", rules[1], 1)).Allowed {
				passed++
			}
		}
		if passed != 10 {
			t.Errorf("%v: %d of 12 admitted, and must be 10", rules, passed)
		}
	}
}

// A request that the short limit stopped still raised the long one's counter.
// ravangen/graphql-rate-limit #129, laravel/framework PR 55981
func TestRequestRefusedByTheShortLimitIsNotChargedToTheLongOne(t *testing.T) {
	minute, half := "fixed-window:10/1m", "fixed-window:30/30m"
	for _, order := range [][2]string{{minute, half}, {half, minute}} {
		clk := &movable{midnight}
		multi := newMulti(t, newMemory(t, &memorystore.Options{Clock: clk}))
		for i, step := range []struct{ requests, admitted, long int64 }{{16, 10, 20}, {15, 10, 10}, {15, 10, 0}, {5, 0, 0}} {
			clk.at(time.Duration(i) * time.Minute)
			passed := int64(0)
			for range step.requests {
				if take(t, multi, ask(t, "k", order[0], 1), ask(t, "k", order[1], 1)).Allowed {
					passed++
				}
			}
			left := take(t, multi, ask(t, "k", half, 0)).Decisions[0].Remaining
			if passed != step.admitted || left != step.long {
				t.Errorf("%v, minute %d: %d admitted, the long limit has %d left; want %d, %d", order, i, passed, left, step.admitted, step.long)
			}
		}
	}
}

// With the day used up, retries ate the hour's budget, and the denials named
// the hour. langfuse/langfuse PR 14175
func TestRequestRefusedByTheLongLimitBlamesItAndSparesTheShortOne(t *testing.T) {
	clk := &movable{midnight}
	multi := newMulti(t, newMemory(t, &memorystore.Options{Clock: clk}))
	both := []weir.Ask{ask(t, "k", "fixed-window:10/1h", 1), ask(t, "k", "fixed-window:20/24h", 1)}
	for hour := range 2 {
		clk.at(time.Duration(hour) * time.Hour)
		for range 10 {
			if !take(t, multi, both...).Allowed {
				t.Fatal("a limit that is not used up denies")
			}
		}
	}
	clk.at(7260 * time.Second)
	for range 15 {
		r := take(t, multi, both...)
		if r.Allowed || r.Binding != 1 || r.RetryAfter != 79140*time.Second || r.Decisions[0].Remaining != 10 {
			t.Fatalf("got %+v", r)
		}
	}
}

// Refused calls were written to the window too, so steady traffic above the
// limit was blocked for ever. mennanov/limiters #110, teamplanes/graphql-rate-limit #191
func TestClientThatKeepsTryingIsServed(t *testing.T) {
	for _, c := range []struct {
		spec     string
		every    time.Duration
		calls    int
		admitted []int // which calls; or only how many
		count    int
	}{
		{"sliding-log:1/5s", time.Second, 21, []int{0, 5, 10, 15, 20}, 5},
		{"sliding-log:10/600s", 30 * time.Second, 120, nil, 60},
		{"sliding-counter:1/5s", time.Second, 21, []int{0, 10, 20}, 3},
		{"sliding-counter:10/600s", 30 * time.Second, 120, nil, 55},
	} {
		l, clk := fieldLimiter(t, c.spec)
		var passed []int
		for i := range c.calls {
			clk.at(time.Duration(i) * c.every)
			if mustAllow(t, l, "k", 1).Allowed {
				passed = append(passed, i)
			}
		}
		if len(passed) != c.count || c.admitted != nil && fmt.Sprint(passed) != fmt.Sprint(c.admitted) {
			t.Errorf("%s: calls %v admitted; want %d, %v", c.spec, passed, c.count, c.admitted)
		}
	}
}

// A burst of the limit and the refill look like too many.
// go-redis/redis_rate #24 and #92, boinkor-net/governor #219
func TestBurstAndRefillAreWithinTheirBound(t *testing.T) {
	for spec, want := range map[string]int{
		"gcra:17/30s": 33, "token-bucket:17/30s": 33, "gcra:17/30s,burst=1": 15, "sliding-log:17/30s": 17,
	} {
		l, clk := fieldLimiter(t, spec)
		passed := 0
		for i := range 30 {
			for _, part := range []time.Duration{0, 250 * time.Millisecond} {
				clk.at(time.Duration(i)*time.Second + part)
				passed += admitted(t, l, "k", 1)
			}
		}
		if passed != want {
			t.Errorf("%s: %d of 60 admitted, and must be %d", spec, passed, want)
		}
	}
}

// A derived time that fell, where two parts of it were joined as text.
// taylorhakes/python-redis-cache PR 45
func TestTimeNeverFallsFromOneMicrosecondToTheNext(t *testing.T) {
	l, clk := fieldLimiter(t, "gcra:1000000/1s")
	last := time.Time{}
	for micros := 98_000; micros <= 102_000; micros++ {
		clk.at(time.Duration(micros) * time.Microsecond)
		d := mustAllow(t, l, "k", 1)
		if !d.At.After(last) || !d.Allowed {
			t.Fatalf("%d µs: %+v, after %v", micros, d, last)
		}
		last = d.At
	}
}
