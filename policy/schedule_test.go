package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// scheduledPolicy has schedules in a rule, in tiers and below an override and a subject. Noon is on
// a Friday.
func scheduledPolicy() Policy {
	return Policy{
		Version: FormatVersion, DefaultTier: "free",
		Tiers: map[string]Tier{
			"free": {Limits: map[string]Spec{"api": "gcra:10/1m", "search": "gcra:1/1m"}, Schedule: []Scheduled{
				{When: "Mon-Fri 08:00-18:00", Limits: map[string]Spec{"api": "gcra:5/1m"}},
				{When: "Sat-Sun", Limits: map[string]Spec{"api": Unlimited, "search": "gcra:2/1m"}},
			}},
			"paid": {Extends: "free", Limits: map[string]Spec{"api": "gcra:100/1m"}},
			"gold": {Extends: "free", Schedule: []Scheduled{{When: "Fri 12:00-13:00", Limits: map[string]Spec{"api": "gcra:50/1m"}}}},
		},
		Rules: []Rule{
			{ID: "api", Key: []string{"org"}, Limit: LimitRef{Tier: "api"}},
			{ID: "own", Key: []string{"org"}, Limit: specOf("fixed-window:10/1h"), Schedule: []Scheduled{
				{When: "12:00-12:30", Limit: Block}, {When: "12:00-13:00", Limit: "fixed-window:20/1h"},
			}},
			{ID: "paths", Endpoints: map[string]LimitRef{"GET /a": specOf("gcra:1/1m"), "GET /b": specOf("gcra:1/1m")}, Schedule: []Scheduled{
				{When: "Fri", Zone: "Europe/Berlin", Limits: map[string]Spec{"GET /a": "gcra:7/1m"}},
			}},
		},
		Subjects:  []Subject{{Match: Conditions{"org": {"acme"}}, Tier: "gold", Limits: map[string]Spec{"own": "fixed-window:99/1h"}}},
		Overrides: []Override{{Rule: "api", Match: Conditions{"org": {"initech"}}, Limit: "gcra:77/1m", Until: noon.AddDate(1, 0, 0)}},
	}
}

func TestSchedulesChooseTheLimitOfTheirLayer(t *testing.T) {
	c := compile(t, scheduledPolicy())
	for _, c2 := range []struct {
		name string
		at   time.Time
		r    Request
		want string // spec and When of api, own and paths
	}{
		{"office hours", noon, of("org", "x"), `gcra:5/1m tier "Mon-Fri 08:00-18:00"; 0 rule "12:00-12:30"`},
		{"the first entry counts, then the next", noon.Add(30 * time.Minute), of("org", "x"), `gcra:5/1m tier "Mon-Fri 08:00-18:00"; fixed-window:20/1h rule "12:00-13:00"`},
		{"evening", noon.Add(6 * time.Hour), of("org", "x"), `gcra:10/1m tier ""; fixed-window:10/1h rule ""`},
		{"weekend", noon.Add(24 * time.Hour), of("org", "x"), `unlimited tier "Sat-Sun"; 0 rule "12:00-12:30"`},
		{"a limit of its own has no schedule of the tier that it extends", noon, of("org", "x", "tier", "paid"), `gcra:100/1m tier ""; 0 rule "12:00-12:30"`},
		{"an entry of its own comes before that of the tier that it extends", noon, of("org", "x", "tier", "gold"), `gcra:50/1m tier "Fri 12:00-13:00"; 0 rule "12:00-12:30"`},
		{"behind it comes the tier that it extends", noon.Add(time.Hour), of("org", "x", "tier", "gold"), `gcra:5/1m tier "Mon-Fri 08:00-18:00"; fixed-window:10/1h rule ""`},
		{"a subject and an override come before schedules", noon, of("org", "initech"), `gcra:77/1m override ""; 0 rule "12:00-12:30"`},
		{"a limit of a subject", noon, of("org", "acme"), `gcra:50/1m tier "Fri 12:00-13:00"; fixed-window:99/1h subject ""`},
		{"an endpoint", noon.Add(-time.Hour), on("GET", "/a", "org", "x"), `gcra:5/1m tier "Mon-Fri 08:00-18:00"; fixed-window:10/1h rule ""; gcra:7/1m rule "Fri Europe/Berlin"`},
		{"in a zone it is Saturday already", noon.Add(11 * time.Hour), on("GET", "/a", "org", "x"), `gcra:10/1m tier ""; fixed-window:10/1h rule ""; gcra:1/1m rule ""`},
		{"another endpoint", noon, on("GET", "/b", "org", "x"), `gcra:5/1m tier "Mon-Fri 08:00-18:00"; 0 rule "12:00-12:30"; gcra:1/1m rule ""`},
	} {
		t.Run(c2.name, func(t *testing.T) {
			var p Plan
			c.Resolve(&p, c2.r, instantOf(c2.at))
			var got []string
			for _, l := range p.Limits {
				got = append(got, string(l.Spec)+" "+l.Source.String()+` "`+l.When+`"`)
			}
			if text := strings.Join(got, "; "); text != c2.want {
				t.Errorf("got  %s\nwant %s", text, c2.want)
			}
		})
	}
}

// TestStatesRunOnWhereAScheduleChangesTheNumbers: who has spent a limit does not start fresh at the change, and does not
// start fresh when it changes back.
func TestStatesRunOnWhereAScheduleChangesTheNumbers(t *testing.T) {
	b := newBench(t, one(Rule{ID: "a", Key: []string{"org"}, Limit: specOf("fixed-window:10/1h"), Schedule: []Scheduled{
		{When: "12:10-12:20", Limit: "fixed-window:15/1h"}, {When: "12:20-12:30", Limit: "fixed-window:3/1h"}, {When: "12:30-12:40", Limit: Unlimited},
	}}), nil)
	for _, step := range []struct {
		minute float64
		want   int // of 30 requests
	}{{0, 10}, {10, 5}, {20, 0}, {30, 30}, {40, 0}, {60, 10}} {
		b.at(step.minute * 60)
		if got := b.admitted(30, of("org", "x")); got != step.want {
			t.Errorf("minute %v: %d admitted, want %d", step.minute, got, step.want)
		}
	}
}

func TestSchedulesThatAreRefused(t *testing.T) {
	rule := func(r Rule, schedule ...Scheduled) Policy {
		r.ID, r.Schedule = "a", schedule
		return one(r)
	}
	simple := Rule{Limit: specOf("gcra:1/1m")}
	several := Rule{Limits: map[string]LimitRef{"m": specOf("gcra:1/1m"), "h": specOf("gcra:9/1h")}}
	tier := func(schedule ...Scheduled) Policy {
		return Policy{Version: FormatVersion, DefaultTier: "free", Tiers: map[string]Tier{"free": {Limits: map[string]Spec{"api": "gcra:1/1m"}, Schedule: schedule}}}
	}
	for _, c := range []struct {
		name string
		p    Policy
		want string
	}{
		{"too many entries", rule(simple, slices.Repeat([]Scheduled{{When: "Mon", Limit: "gcra:2/1m"}}, 101)...), `rules[0].schedule "101 entries"`},
		{"too many parts", rule(simple, Scheduled{When: strings.Repeat("Mon,", 50) + "Mon", Limit: "gcra:2/1m"}), `rules[0].schedule[0].when`},
		{"no times", rule(simple, Scheduled{Limit: "gcra:2/1m"}), `rules[0].schedule[0].when`},
		{"no day", rule(simple, Scheduled{When: "Mod 08:00-09:00", Limit: "gcra:2/1m"}), `rules[0].schedule[0].when "Mod 08:00-09:00"`},
		{"unknown zone", rule(simple, Scheduled{When: "Mon", Zone: "Europe/Berlim", Limit: "gcra:2/1m"}), `rules[0].schedule[0].zone "Europe/Berlim"`},
		{"zone of the machine", rule(simple, Scheduled{When: "Mon", Zone: "Local", Limit: "gcra:2/1m"}), `rules[0].schedule[0].zone "Local"`},
		{"zone that leads out of the database", rule(simple, Scheduled{When: "Mon", Zone: "../../etc/passwd", Limit: "gcra:2/1m"}), `rules[0].schedule[0].zone`},
		{"nothing changes", rule(simple, Scheduled{When: "Mon"}), `rules[0].schedule[0] is not allowed: must be one of limit and limits`},
		{"both", rule(several, Scheduled{When: "Mon", Limit: "gcra:2/1m", Limits: map[string]Spec{"m": "gcra:2/1m"}}), `rules[0].schedule[0] is not allowed: must be one of limit and limits`},
		{"a spec that is none", rule(simple, Scheduled{When: "Mon", Limit: "gcra:2"}), `rules[0].schedule[0].limit "gcra:2"`},
		{"a name in a rule with one limit", rule(simple, Scheduled{When: "Mon", Limits: map[string]Spec{"m": "gcra:2/1m"}}), `rules[0].schedule[0].limits.m "m"`},
		{"an unknown name", rule(several, Scheduled{When: "Mon", Limits: map[string]Spec{"d": "gcra:2/1m"}}), `rules[0].schedule[0].limits.d "d"`},
		{"one limit in a rule with several", rule(several, Scheduled{When: "Mon", Limit: "gcra:2/1m"}), `rules[0].schedule[0].limit "gcra:2/1m"`},
		{"another algorithm", rule(simple, Scheduled{When: "Mon", Limit: "token-bucket:2/1m"}), `rules[0].schedule "token-bucket:2/1m"`},
		{"another window", rule(Rule{Limit: specOf("fixed-window:1/1m")}, Scheduled{When: "Mon", Limit: "fixed-window:9/1h"}), `rules[0].schedule "fixed-window:9/1h"`},
		{"two that differ beside one that asks nothing", rule(Rule{Limit: specOf(Unlimited)}, Scheduled{When: "Mon", Limit: "gcra:2/1m"}, Scheduled{When: "Tue", Limit: "fixed-window:9/1h"}), `rules[0].schedule "fixed-window:9/1h"`},
		{"another number of shards", rule(Rule{Limit: specOf("gcra:100/1m"), Shards: 8}, Scheduled{When: "Mon", Limit: "gcra:3/1m"}), `rules[0].schedule "gcra:3/1m"`},
		{"what cannot be divided", rule(Rule{Limit: specOf(Unlimited), Shards: 8}, Scheduled{When: "Mon", Limit: "leaky-bucket:30/1m"}), `rules[0].schedule[0] "leaky-bucket:30/1m"`},
		{"an unknown limit of a tier", tier(Scheduled{When: "Mon", Limits: map[string]Spec{"ap": "gcra:2/1m"}}), `tiers.free.schedule[0].limits.ap "ap"`},
		{"one limit in a tier", tier(Scheduled{When: "Mon", Limit: "gcra:2/1m"}), `tiers.free.schedule[0].limit "gcra:2/1m"`},
		{"another algorithm in a tier", tier(Scheduled{When: "Mon", Limits: map[string]Spec{"api": "sliding-log:2/1m"}}), `tiers.free.schedule "sliding-log:2/1m"`},
		{"a rule whose limit is of the tier", func() Policy {
			p := tier()
			p.Rules = []Rule{{ID: "a", Limit: LimitRef{Tier: "api"}, Schedule: []Scheduled{{When: "Mon", Limit: "gcra:2/1m"}}}}
			return p
		}(), `rules[0].schedule: the rule has no limit of its own: must be in the tiers`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Compile(c.p, nil)
			var invalid *InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v", err)
			}
			if len(invalid.Fields) != 1 && c.name != "both" || !strings.HasPrefix(invalid.Fields[0].Error(), c.want) {
				t.Errorf("got  %v\nwant %s …", err, c.want)
			}
		})
	}
}

// TestScheduleOfATierWithoutLimitsIsRefused: a name, not the one limit, is what a tier has.
func TestScheduleOfATierWithoutLimitsIsRefused(t *testing.T) {
	p := Policy{Version: FormatVersion, DefaultTier: "free", Tiers: map[string]Tier{"free": {Schedule: []Scheduled{{When: "Mon", Limit: "gcra:2/1m"}}}}}
	if _, err := Compile(p, nil); err == nil || !strings.Contains(err.Error(), "tiers.free.schedule[0].limit") {
		t.Errorf("got %v", err)
	}
}

func TestExplanationNamesTheSchedule(t *testing.T) {
	c := compile(t, scheduledPolicy())
	text := c.Explain(of("org", "x"), instantOf(noon)).String()
	for _, want := range []string{"limit api: gcra:5/1m, from tier at Mon-Fri 08:00-18:00, 1 for org=x\n", "limit own: blocks, from rule at 12:00-12:30\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestLintLooksAtSchedules(t *testing.T) {
	f, err := Parse([]byte(`version: 1
rules:
  - id: a
    limit: fixed-window:10/1h
    cost: {attribute: units, default: 5, max: 50}
    schedule:
      - {when: Sat-Sun, limit: "fixed-window:500/1h"}
      - {when: "22:00-06:00", limit: "fixed-window:40/1h"}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, finding := range f.Lint(nil) {
		got = append(got, finding.Kind+" "+finding.Path.String()+" "+strings.Fields(finding.Text)[0])
	}
	want := "cost rules[0].cost a; cost rules[0].cost a; doubled-burst rules[0].schedule[0] fixed-window:500/1h"
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// TestAZoneOfSchedulesIsReadOnce: for all entries of a policy that name it.
func TestAZoneOfSchedulesIsReadOnce(t *testing.T) {
	p := one(Rule{ID: "r", Limit: specOf("gcra:1/1m"), Schedule: []Scheduled{
		{When: "Mon", Zone: "Europe/Berlin", Limit: Block}, {When: "Tue", Zone: "Europe/Berlin", Limit: Block},
	}})
	if entries := compile(t, p).rules[0].limits[0].own.schedule; entries[0].when.zone != entries[1].when.zone {
		t.Error("each entry has a zone of its own")
	}
}

// TestZonesOfTheMachineAreRefused: they are other zones on other machines.
func TestZonesOfTheMachineAreRefused(t *testing.T) {
	for _, zone := range []string{"Local", "localtime", "LocalTime", "posixrules"} {
		p := one(Rule{ID: "r", Limit: specOf("gcra:1/1m"), Schedule: []Scheduled{{When: "Mon", Zone: zone, Limit: Block}}})
		var invalid *InvalidError
		if _, err := Compile(p, nil); !errors.As(err, &invalid) || len(invalid.Fields) != 1 || invalid.Fields[0].Path.String() != "rules[0].schedule[0].zone" {
			t.Errorf("%s: %v", zone, err)
		}
	}
}

// TestSchedulesOfAChainOfTiersAreHeldAgainstEachOther: also where the limit itself keeps no state.
func TestSchedulesOfAChainOfTiersAreHeldAgainstEachOther(t *testing.T) {
	p := one(Rule{ID: "r", Limit: LimitRef{Tier: "api"}})
	at := func(s Spec) []Scheduled { return []Scheduled{{When: "Mon", Limits: map[string]Spec{"api": s}}} }
	p.DefaultTier, p.Tiers = "a", map[string]Tier{
		"a": {Limits: map[string]Spec{"api": Block}, Schedule: at("gcra:1/1m")},
		"b": {Extends: "a"},
		"c": {Extends: "b", Schedule: at("fixed-window:1/1m")},
		"d": {Extends: "c", Schedule: at("gcra:9/1m")},
	}
	var invalid *InvalidError
	if _, err := Compile(p, nil); !errors.As(err, &invalid) || len(invalid.Fields) != 1 || invalid.Fields[0].Path.String() != "tiers.c.schedule" {
		t.Error(err)
	}
}
