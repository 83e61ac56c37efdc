package policy

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/race"
)

// chained returns rules of which each replaces the next.
func chained(n int) *Policy {
	p := &Policy{Version: 1}
	for i := range n {
		r := Rule{ID: fmt.Sprint("r", i), Limit: specOf("0")}
		if i+1 < n {
			r.Replaces = []string{fmt.Sprint("r", i+1)}
		}
		p.Rules = append(p.Rules, r)
	}
	return p
}

func TestMemoryForAChainOfReplacesGrowsWithItsLength(t *testing.T) {
	memoryGrowsWithTheLength(t, func(n int) {
		if _, err := Compile(*chained(n), nil); err != nil {
			t.Fatal(err)
		}
	})
}

// memoryGrowsWithTheLength makes something 400 and 3200 long.
func memoryGrowsWithTheLength(t *testing.T, make func(n int)) {
	t.Helper()
	bytes := func(n int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		make(n)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if short, long := bytes(400), bytes(3200); long > 16*short {
		t.Errorf("8 times the length takes %d times the memory", long/short)
	}
}

func TestMemoryForManyMistakesGrowsWithTheirNumber(t *testing.T) {
	for name, of := range map[string]func(n int) *Policy{
		"rules that replace the first": func(n int) *Policy {
			p := chained(n)
			for i := range p.Rules {
				p.Rules[i].Replaces = append(p.Rules[i].Replaces, "r0")
			}
			return p
		},
		"endpoints given twice": func(n int) *Policy {
			p := one(Rule{ID: "r", Limit: specOf("0")})
			for i := range n {
				p.Rules[0].Match.Endpoints = append(p.Rules[0].Match.Endpoints, fmt.Sprint("/", i/2))
			}
			return &p
		},
	} {
		t.Run(name, func(t *testing.T) {
			memoryGrowsWithTheLength(t, func(n int) {
				_, err := Compile(*of(n), nil)
				var invalid *InvalidError
				if !errors.As(err, &invalid) || len(invalid.Fields) < n/2 {
					t.Fatal(err)
				}
			})
		})
	}
}

// TestManyMistakesTakeSeconds is far from what a busy machine takes, and from the minutes
// that it takes to compare each mistake with all others.
func TestManyMistakesTakeSeconds(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: 20,000 mistakes")
	}
	start := time.Now()
	_, err := Parse([]byte("version: 1\nrules:\n"+strings.Repeat("- {x: 1}\n", 20_000)), nil)
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Fields) < 20_000 {
		t.Fatal(err)
	}
	most := 20 * time.Second
	if race.Enabled {
		most *= 10
	}
	if took := time.Since(start); took > most {
		t.Errorf("it takes %s", took)
	}
}

func TestAConflictNamesAPatternOfTheRule(t *testing.T) {
	p := one(Rule{ID: "r", Limit: specOf("0"), Match: Match{Endpoints: []string{"/{", "/{x}/d", "/c/{y}"}}})
	_, err := Compile(p, nil)
	if err == nil || !strings.Contains(err.Error(), `conflicts with "/{x}/d"`) {
		t.Error(err)
	}
}

func TestManyUnknownNamesAreAllShownAndFewExplained(t *testing.T) {
	p := chained(4 * mostExplained)
	for i := range p.Rules {
		p.Rules[i].Replaces = []string{"r1x"}
	}
	_, err := Compile(*p, nil)
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Fields) != len(p.Rules) {
		t.Fatal(err)
	}
	for i, e := range invalid.Fields {
		explained := e.Allowed != "" && e.Suggestion == "r1"
		if e.Problem != "unknown rule" || e.Value != "r1x" || explained != (i < mostExplained) {
			t.Fatalf("error %d: %+v", i, e)
		}
	}
}

// TestTiersInALongRowAreCompiledInOneWalk: each of many tiers extends the one before it, and
// has the first one's limit. A walk from each to the first would be millions of steps.
func TestTiersInALongRowAreCompiledInOneWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: 100,000 tiers")
	}
	p := Policy{Version: FormatVersion, DefaultTier: "t00000", Tiers: map[string]Tier{}, Rules: []Rule{
		{ID: "r", Limit: LimitRef{Tier: "api"}}, {ID: "s", Limit: LimitRef{Tier: "late", Spec: "gcra:1/1s"}},
	}}
	const n = 100_000
	name := func(i int) string { return fmt.Sprintf("t%05d", i) }
	for i := range n {
		tier := Tier{Limits: map[string]Spec{}}
		switch i {
		case 0:
			tier = Tier{Limits: map[string]Spec{"api": "gcra:7/1s"}, Algorithms: []string{"gcra"}}
		case n / 2:
			tier.Limits["late"], tier.Extends = "gcra:9/1s", name(i-1)
		default:
			tier.Extends = name(i - 1)
		}
		p.Tiers[name(i)] = tier
	}
	c, err := Compile(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{0: "gcra:7/1s gcra:1/1s", n/2 - 1: "gcra:7/1s gcra:1/1s", n / 2: "gcra:7/1s gcra:9/1s", n - 1: "gcra:7/1s gcra:9/1s"} {
		var plan Plan
		c.Resolve(&plan, Request{Attributes: Attributes{"tier": name(i)}}, 1)
		if got := fmt.Sprint(plan.Limits[0].Spec, " ", plan.Limits[1].Spec); got != want {
			t.Errorf("tier %d has %s, want %s", i, got, want)
		}
		if algorithms := c.tiers[i].algorithms; len(algorithms) != 1 {
			t.Errorf("tier %d may use %v", i, algorithms)
		}
	}
}

// TestMemoryForTiersWithSchedulesGrowsWithTheirNumber: of a chain of tiers each has the schedules of
// all that it extends.
func TestMemoryForTiersWithSchedulesGrowsWithTheirNumber(t *testing.T) {
	memoryGrowsWithTheLength(t, func(n int) {
		p := one(Rule{ID: "r", Limit: LimitRef{Tier: "api"}})
		p.DefaultTier, p.Tiers = "t0", map[string]Tier{"t0": {Limits: map[string]Spec{"api": "gcra:1/1m"}}}
		for i := 1; i < n; i++ {
			p.Tiers[fmt.Sprint("t", i)] = Tier{Extends: fmt.Sprint("t", i-1), Schedule: []Scheduled{{When: "Mon", Limits: map[string]Spec{"api": "gcra:2/1m"}}}}
		}
		if _, err := Compile(p, nil); err != nil {
			t.Fatal(err)
		}
	})
}
