package policy

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/divide"
	"github.com/weirgo/weir/internal/oracle"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// sharded is a policy of one rule with shards.
func sharded(spec Spec, n int) Policy {
	return one(Rule{ID: "hot", Key: []string{"org"}, Limit: specOf(spec), Shards: n})
}

// handClock is a clock that one goroutine moves; a mock clock waits each time.
type handClock struct{ at time.Time }

func (c *handClock) Now() time.Time { return c.at }

// TestShardsOfARuleAdmitWhatTheLimitAdmits: the oracle of the whole limit, charged with
// everything that was admitted, would have admitted it too.
func TestShardsOfARuleAdmitWhatTheLimitAdmits(t *testing.T) {
	for _, spec := range []Spec{"fixed-window:57/1s", "sliding-counter:57/1s", "sliding-log:57/1s", "gcra:57/1s,burst=23", "token-bucket:57/1s,burst=23"} {
		t.Run(string(spec), func(outer *testing.T) {
			a := algorithm.Must(algorithm.ParseSpec(string(spec)))
			family, _ := algorithm.FamilyOf(a.Spec().Kind)
			rate, capacity := family.Parameters(a.Spec())
			rapid.Check(outer, func(t *rapid.T) {
				random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
				clk := &handClock{noon}
				states := weir.Must(memorystore.New(&memorystore.Options{Clock: clk}))
				defer states.Close()
				c := compile(outer, sharded(spec, rapid.IntRange(2, 70).Draw(t, "shards")))
				e := weir.Must(NewEnforcer(weir.Must(weir.NewMultiLimiter(states, nil)), c, &EnforcerOptions{Clock: clk, Random: random.IntN}))
				want := oracle.New(oracle.Kind(family.Name), rate.Units, int64(rate.Per/time.Microsecond), capacity)
				for range rapid.IntRange(1, 12).Draw(t, "steps") {
					clk.at = clk.at.Add(time.Duration(rapid.IntRange(0, 500_000).Draw(t, "µs")) * time.Microsecond)
					now := clk.at.UnixMicro()
					for range rapid.IntRange(1, 50).Draw(t, "asks") {
						if v, err := e.Decide(context.Background(), of("org", "acme")); err != nil {
							t.Fatal(err)
						} else if !v.Allowed {
							continue
						}
						if !want.Admits(now, 1) {
							t.Fatalf("the shards have admitted what %s does not", spec)
						}
						want.Charge(now, 1)
					}
				}
			})
		})
	}
}

// TestShardsOfARuleAdmitTheWholeLimit, where there are many more requests than units.
func TestShardsOfARuleAdmitTheWholeLimit(t *testing.T) {
	for _, n := range []int{2, 7, 64, 256} {
		for _, spec := range []Spec{"fixed-window:100/1h", "gcra:10/9600h,burst=100", "sliding-log:3/1h"} {
			random := rand.New(rand.NewPCG(1, 2))
			b := newBench(t, sharded(spec, n), &EnforcerOptions{Random: random.IntN})
			want := int(capacityOf(algorithm.Must(algorithm.ParseSpec(string(spec)))))
			if got := b.admitted(4000, of("org", "acme")); got != want {
				t.Errorf("%s in %d shards: %d of 4000 requests pass, want %d", spec, n, got, want)
			}
			if got := b.admitted(4000, of("org", "other")); got != want {
				t.Errorf("%s in %d shards: %d of 4000 requests of another key pass, want %d", spec, n, got, want)
			}
		}
	}
}

// TestLimitsOfAShardedRuleHaveTheSameShard, so that a cluster decides them in one call.
func TestLimitsOfAShardedRuleHaveTheSameShard(t *testing.T) {
	turn := 0
	p := one(Rule{ID: "hot", Key: []string{"org"}, Limits: map[string]LimitRef{"day": specOf("fixed-window:1000/24h"), "minute": specOf("gcra:100/1m")}, Shards: 8},
		Rule{ID: "plain", Key: []string{"org"}, Limit: specOf("gcra:100/1m")})
	b := newBench(t, p, &EnforcerOptions{Random: func(n int) int { turn++; return turn % n }})
	for range 20 {
		v := b.decide(of("org", "acme"))
		if day, minute := v.Rules[0], v.Rules[1]; day.slotKey() != minute.slotKey() || day.slotKey() != divide.Key(v.Rules[2].Key, turn%8) {
			t.Fatalf("turn %d: %q and %q", turn, day.slotKey(), minute.slotKey())
		}
		if v.Rules[0].Key != v.Rules[2].Key || v.Rules[2].slotKey() != v.Rules[2].Key || v.Rules[0].Shards != 8 || v.Rules[2].Shards != 0 {
			t.Fatalf("%+v", v.Rules)
		}
	}
	if turn != 20 {
		t.Errorf("%d shards were chosen for 20 requests of one sharded rule", turn)
	}
}

// TestShardsAreSettledWhereTheyWereTaken: a refund and a charge meet the shard of the take.
func TestShardsAreSettledWhereTheyWereTaken(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	b := newBench(t, sharded("gcra:80/9600h", 8), &EnforcerOptions{Random: random.IntN})
	var taken []Verdict
	for range 400 {
		if v := b.decide(of("org", "acme")); v.Allowed {
			taken = append(taken, v)
		}
	}
	if len(taken) != 80 {
		t.Fatalf("%d of 400 requests pass, want 80", len(taken))
	}
	for i := range taken {
		if err := b.Settle(context.Background(), &taken[i], func(*RuleVerdict) int64 { return 0 }); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.admitted(400, of("org", "acme")); got != 80 {
		t.Errorf("%d of 400 requests pass after everything was given back, want 80", got)
	}
}

// TestShardsHonourTiersSubjectsAndOverrides: the limit of each layer is divided.
func TestShardsHonourTiersSubjectsAndOverrides(t *testing.T) {
	p := sharded("", 4)
	p.Rules[0].Limit = LimitRef{Tier: "api"}
	p.DefaultTier = "free"
	p.Tiers = map[string]Tier{"free": {Limits: map[string]Spec{"api": "fixed-window:10/24h"}}}
	p.Subjects = []Subject{
		{Match: Conditions{"org": {"big"}}, Limits: map[string]Spec{"api": "fixed-window:30/24h"}},
		{Match: Conditions{"org": {"own"}}, Limits: map[string]Spec{"hot": "fixed-window:2/24h"}},
	}
	p.Overrides = []Override{
		{Rule: "hot", Match: Conditions{"org": {"huge"}}, Limit: "gcra:50/9600h", Until: noon.Add(time.Hour)},
		{Rule: "hot", Match: Conditions{"org": {"out"}}, Limit: Block, Until: noon.Add(time.Hour)},
	}
	random := rand.New(rand.NewPCG(5, 6))
	b := newBench(t, p, &EnforcerOptions{Random: random.IntN})
	for org, want := range map[string]int{"some": 10, "big": 30, "own": 2, "huge": 50, "out": 0} {
		if got := b.admitted(500, of("org", org)); got != want {
			t.Errorf("%s: %d of 500 requests pass, want %d", org, got, want)
		}
	}
}

// TestShardsHonourTerms: what an application keeps for somebody is divided too, and passed over
// where it cannot be.
func TestShardsHonourTerms(t *testing.T) {
	p := sharded("fixed-window:10/24h", 4)
	p.Rules[0].Key = []string{"user"}
	hour := noon.Add(time.Hour)
	b := withTerms(t, p, map[string]Terms{
		"limit":       {Limits: map[string]Spec{"hot": "fixed-window:30/24h"}},
		"override":    {Overrides: []Override{{Rule: "hot", Limit: "fixed-window:20/24h", Until: hour}}},
		"queue":       {Limits: map[string]Spec{"hot": "leaky-bucket:30/24h"}},
		"to-a-queue":  {Overrides: []Override{{Rule: "hot", Limit: "leaky-bucket:20/24h", Until: hour}}},
		"blocked":     {Overrides: []Override{{Rule: "hot", Limit: Block, Until: hour}}},
		"without any": {},
	})
	for user, want := range map[string]int{"limit": 30, "override": 20, "queue": 10, "to-a-queue": 10, "blocked": 0, "without any": 10} {
		if got := b.admitted(500, of("user", user)); got != want {
			t.Errorf("%s: %d of 500 requests pass, want %d", user, got, want)
		}
	}
}

// TestShardOfAnIDIsTheSameEachTime, so that a request that is sent again is counted once.
func TestShardOfAnIDIsTheSameEachTime(t *testing.T) {
	b := newBench(t, sharded("fixed-window:80/24h", 8), nil)
	seen := map[int]bool{}
	for i := range 40 {
		r := of("org", "acme")
		r.ID = fmt.Sprintf("request %d", i)
		first := b.decide(r)
		seen[first.Rules[0].shard] = true
		for range 3 {
			if again := b.decide(r); again.Rules[0].Decision != first.Rules[0].Decision {
				t.Fatalf("%s is decided as %+v, and again as %+v", r.ID, first.Rules[0].Decision, again.Rules[0].Decision)
			}
		}
	}
	if len(seen) != 8 {
		t.Errorf("40 requests with an ID have met %d of 8 shards", len(seen))
	}
}

// TestSurveyShowsTheSumOfShards, each of which it looks at.
func TestSurveyShowsTheSumOfShards(t *testing.T) {
	b := newBench(t, sharded("fixed-window:80/24h", 8), nil)
	taken := int64(0)
	for range 5 {
		taken += int64(b.admitted(20, of("org", "acme")))
		v, err := b.Survey(context.Background(), Attributes{"org": "acme"})
		if err != nil || v.Rules[0].Shards != 8 || v.Rules[0].Decision.Limit != 80 || v.Rules[0].Decision.Remaining != 80-taken {
			t.Fatalf("%+v, %v; want %d of 80 left", v.Rules, err, 80-taken)
		}
	}
}

// TestShardOfAFailureAdmitsAShard: what a request may cost without the store is what it may
// cost with it.
func TestShardOfAFailureAdmitsAShard(t *testing.T) {
	p := sharded("gcra:100/1s", 10)
	p.Rules[0].OnFailure = FailOpen
	p.Rules[0].Cost = Cost{Default: 11}
	b := newBench(t, p, nil)
	if v := b.decide(of("org", "x")); v.Allowed || v.RetryAfter != algorithm.Never || v.Rules[0].Decision.Limit != 10 {
		t.Errorf("%+v: a cost of 11 passed a shard of 10 units", v.Rules[0].Decision)
	}
	b.asked.Decider = nil
	b.asked.fail = func([]weir.Ask) error { return store.ErrUnavailable }
	if v := b.decide(of("org", "x")); v.Allowed || !v.Degraded || v.Rules[0].Decision.Limit != 10 {
		t.Errorf("%+v: without the store a cost of 11 passed a shard of 10 units", v.Rules[0].Decision)
	}
}

func TestShardsOfARuleAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"{id: a, limit: gcra:5/1m, shards: 1}":                             `rules[0].shards "1" is not allowed: must be 2 to 256`,
		"{id: a, limit: gcra:5/1m, shards: 0}":                             `rules[0].shards "0" is not allowed: must be 2 to 256`,
		"{id: a, limit: gcra:5/1m, shards: 257}":                           `rules[0].shards "257" is not allowed: must be 2 to 256`,
		"{id: a, limit: gcra:5/1m, shards: -2}":                            `rules[0].shards "-2" is not allowed: must be 2 to 256`,
		"{id: a, limit: gcra:5/1m, shards: many}":                          `rules[0].shards "many" is not allowed: must be a whole number`,
		"{id: a, limit: gcra:5/1m, shard: 2}":                              `rules[0].shard: unknown field`,
		"{id: a, limit: leaky-bucket:5/1m, shards: 2}":                     `rules[0].limit "leaky-bucket:5/1m" is not allowed: must be an algorithm of package algorithm that is no queue, where the rule has shards`,
		"{id: a, limits: {x: gcra:5/1m, y: leaky-bucket:5/1m}, shards: 2}": `rules[0].limits.y "leaky-bucket:5/1m"`,
		"{id: a, limit: gcra:5/1m, shards: 2, lease: true}":                `rules[0].lease "true" is not allowed: must be left out where the rule has shards`,
		"{id: a, limit: gcra:5/1m, lease: maybe}":                          `rules[0].lease "maybe" is not allowed: must be true or false`,
		"{id: a, key: [org], limit: gcra:5/1m, shards: 2}\nsubjects: [{match: {org: x}, limits: {a: leaky-bucket:5/1m}}]":                                  `subjects[0].limits.a "leaky-bucket:5/1m"`,
		"{id: a, key: [org], limit: gcra:5/1m, shards: 2}\noverrides: [{rule: a, match: {org: x}, limit: leaky-bucket:5/1m, until: 2030-01-01T00:00:00Z}]": `overrides[0].limit "leaky-bucket:5/1m"`,
		"{id: a, limit: {tier: api}, shards: 2}\ndefault_tier: t\ntiers: {t: {limits: {api: leaky-bucket:5/1m}}}":                                          `rules[0].limit.tier "leaky-bucket:5/1m"`,
	} {
		_, err := Parse([]byte("version: 1\nrules:\n  - "+text+"\n"), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestExplanationShowsShardsAndLeases(t *testing.T) {
	c := compile(t, one(Rule{ID: "a", Limit: specOf("gcra:5/1m"), Shards: 8}, Rule{ID: "b", Limit: specOf("gcra:5/1m"), Lease: true}))
	got := c.Explain(of(), instantOf(noon)).String()
	want := "lists: none of 0 denials and 0 exemptions applies\nrule a: applies\n  limit a: gcra:5/1m, from rule, 1 for all, from one of 5 shards\nrule b: applies\n  limit b: gcra:5/1m, from rule, 1 for all, leased\n"
	if got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// TestLeasesOfARuleNeedADeciderWithLeases: nothing of a policy is ignored in silence.
func TestLeasesOfARuleNeedADeciderWithLeases(t *testing.T) {
	leased := one(Rule{ID: "a", Limit: specOf("gcra:500/1m"), Lease: true}, Rule{ID: "b", Limits: map[string]LimitRef{"x": specOf("gcra:1/1s")}})
	b := newBench(t, one(), nil)
	if _, err := b.Swap(compile(t, leased)); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "EnforcerOptions.Leases") || !strings.Contains(err.Error(), "rule a ") {
		t.Errorf("%v", err)
	}
	if b.Policy() == nil || b.Policy().Leased("a") {
		t.Error("the policy before is gone")
	}
	off := leased
	off.Rules[0].Mode = Off
	if _, err := b.Swap(compile(t, off)); err != nil {
		t.Errorf("a rule that is off: %v", err)
	}
	off.Rules[0].Mode = Enforce
	b = newBench(t, leased, &EnforcerOptions{Leases: true})
	for limit, want := range map[string]bool{"a": true, "b": false, "b/x": false, "": false} {
		if b.Policy().Leased(limit) != want {
			t.Errorf("%q is leased: %t, want %t", limit, !want, want)
		}
	}
	if v := b.decide(of()); !v.Rules[0].Leased || v.Rules[1].Leased {
		t.Errorf("%+v", v.Rules)
	}
}

// TestNoLeasesRefusesWhatAnEnforcerWithoutThemDoes: in the text, where it can be mended.
func TestNoLeasesRefusesWhatAnEnforcerWithoutThemDoes(t *testing.T) {
	const text = "version: 1\nrules:\n  - {id: a, limit: gcra:500/1m, mode: %s, lease: %t}\n"
	for _, c := range []struct {
		mode    Mode
		lease   bool
		refused bool
	}{{Enforce, true, true}, {Shadow, true, true}, {Off, true, false}, {Enforce, false, false}} {
		for _, none := range []bool{true, false} {
			_, err := Parse(fmt.Appendf(nil, text, c.mode, c.lease), &CompileOptions{NoLeases: none})
			var invalid *InvalidError
			if refused := errors.As(err, &invalid); refused != (none && c.refused) || !refused && err != nil {
				t.Errorf("%s, lease %t, NoLeases %t: %v", c.mode, c.lease, none, err)
			} else if refused && (invalid.Fields[0].Path.String() != "rules[0].lease" || invalid.Fields[0].Line != 3) {
				t.Errorf("%+v", invalid.Fields[0])
			}
		}
	}
}

func Example_shards() {
	file, err := Parse([]byte("version: 1\nrules:\n  - {id: service, limit: fixed-window:1000/1h, shards: 10}\n"), nil)
	if err != nil {
		panic(err)
	}
	fmt.Print(file.Compiled.Explain(Request{}, 0))
	// Output:
	// lists: none of 0 denials and 0 exemptions applies
	// rule service: applies
	//   limit service: fixed-window:1000/1h, from rule, 1 for all, from one of 10 shards
}
