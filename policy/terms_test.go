package policy

import (
	"context"
	"strconv"
	"testing"
	"time"
)

// withTerms is a bench of which the users have Terms.
func withTerms(t *testing.T, p Policy, kept map[string]Terms) *bench {
	return newBench(t, p, &EnforcerOptions{Subjects: &SubjectLookup{
		Attributes: []string{"user"}, Timeout: time.Minute,
		Lookup: func(_ context.Context, who Attributes) (Terms, error) { return kept[who["user"]], nil },
	}})
}

func tiered() Policy {
	return Policy{
		Version: 1, DefaultTier: "free",
		Tiers: map[string]Tier{
			"free": {Limits: map[string]Spec{"api": "gcra:10/1h"}, Algorithms: []string{"gcra"}},
			"paid": {Limits: map[string]Spec{"api": "gcra:100/1h"}},
		},
		Rules: []Rule{
			{ID: "api", Key: []string{"user"}, Limit: LimitRef{Tier: "api"}},
			{ID: "two", Key: []string{"user"}, Limits: map[string]LimitRef{"a": specOf("gcra:5/1h"), "b": specOf("gcra:50/1h")}},
		},
		Subjects:  []Subject{{Match: Conditions{"user": {"known"}}, Tier: "paid", Limits: map[string]Spec{"two/a": "gcra:7/1h"}}},
		Overrides: []Override{{Rule: "two", Name: "b", Match: Conditions{"user": {"known"}}, Limit: "gcra:70/1h", Until: noon.Add(time.Hour)}},
	}
}

// TestTermsCountBehindThePolicyInEachLayer: override, own limit, tier, rule; and in each
// layer what the policy says first.
func TestTermsCountBehindThePolicyInEachLayer(t *testing.T) {
	hour := noon.Add(time.Hour)
	all := Terms{Tier: "paid", Limits: map[string]Spec{"two/a": "gcra:6/1h"}, Overrides: []Override{{Rule: "two", Name: "b", Limit: "gcra:60/1h", Until: hour}}}
	kept := map[string]Terms{
		"all": all, "known": {Tier: "free", Limits: all.Limits, Overrides: all.Overrides}, "tier": {Tier: "paid"},
		"gone":    {Tier: "gone", Limits: map[string]Spec{"gone": "gcra:1/1h"}, Overrides: []Override{{Rule: "gone", Limit: "0", Until: hour}}},
		"ended":   {Overrides: []Override{{Rule: "two", Name: "a", Limit: "0", Until: noon}}},
		"several": {Overrides: []Override{{Rule: "two", Limit: "gcra:1/1h", Until: hour}}},
		"blocked": {Overrides: []Override{{Rule: "two", Limit: Block, Until: hour}}},
		"other":   {Limits: map[string]Spec{"api": "fixed-window:1/1h"}},
	}
	b := withTerms(t, tiered(), kept)
	for user, want := range map[string]string{
		"nobody":  "10 tier, 5 rule, 50 rule",
		"all":     "100 tier, 6 subject, 60 override",
		"known":   "100 tier, 7 subject, 70 override",
		"tier":    "100 tier, 5 rule, 50 rule",
		"gone":    "10 tier, 5 rule, 50 rule",
		"ended":   "10 tier, 5 rule, 50 rule",
		"several": "10 tier, 5 rule, 50 rule",
		"blocked": "0 tier, 0 override, 0 override",
		"other":   "10 tier, 5 rule, 50 rule", // the tier allows gcra only
	} {
		got := ""
		for i, r := range b.decide(of("user", user)).Rules {
			if i > 0 {
				got += ", "
			}
			got += integer(r.Decision.Limit) + " " + r.Source.String()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", user, got, want)
		}
	}
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

// TestTermsThatCannotBeReadAreAFailedLookup: the answer before counts on.
func TestTermsThatCannotBeReadAreAFailedLookup(t *testing.T) {
	for name, wrong := range map[string]Terms{
		"spec":        {Tier: "paid", Limits: map[string]Spec{"api": "gcra:x"}},
		"without end": {Tier: "paid", Overrides: []Override{{Rule: "api", Limit: "0"}}},
		"match":       {Tier: "paid", Overrides: []Override{{Rule: "api", Limit: "0", Until: noon.Add(time.Hour), Match: Conditions{"user": {"x"}}}}},
	} {
		b := withTerms(t, tiered(), map[string]Terms{"u": wrong})
		if v := b.decide(of("user", "u")); v.Tier != "free" || b.Stats().LookupErrors != 1 {
			t.Errorf("%s: tier %s, %d errors", name, v.Tier, b.Stats().LookupErrors)
		}
	}
}

// TestForgetAsksAgain: a process that has changed somebody need not wait for Life.
func TestForgetAsksAgain(t *testing.T) {
	kept := map[string]Terms{"u": {Tier: "paid"}}
	b := withTerms(t, tiered(), kept)
	if v := b.decide(of("user", "u")); v.Tier != "paid" {
		t.Fatal(v.Tier)
	}
	kept["u"] = Terms{}
	if v := b.decide(of("user", "u")); v.Tier != "paid" {
		t.Errorf("an answer is asked for again before its life is over: %s", v.Tier)
	}
	b.Forget(Attributes{"user": "other"})
	b.Forget(Attributes{})
	b.Forget(Attributes{"user": "u"})
	if v := b.decide(of("user", "u")); v.Tier != "free" {
		t.Errorf("after Forget the tier is %s", v.Tier)
	}
	newBench(t, tiered(), nil).Forget(Attributes{"user": "u"}) // there is no look-up
}

// TestSurveyShowsEveryLimitThatSomebodyMayMeet, on all endpoints, and charges nothing.
func TestSurveyShowsEveryLimitThatSomebodyMayMeet(t *testing.T) {
	p := tiered()
	p.Rules = append(p.Rules,
		Rule{ID: "ends", Key: []string{"user"}, Endpoints: map[string]LimitRef{"POST /a": specOf("gcra:1/1h"), "GET /b": specOf("gcra:2/1h")}},
		Rule{ID: "login", Key: []string{"user"}, Match: Match{Endpoints: []string{"/login", "/in"}}, Limit: specOf("fixed-window:3/1h")},
		Rule{ID: "ip", Key: []string{"ip"}, Limit: specOf("gcra:1/1h")},
		Rule{ID: "orgs", Key: []string{"user"}, Match: Match{Attributes: Conditions{"org": {"acme"}}}, Limit: specOf("gcra:1/1h")},
		Rule{ID: "shadow", Limit: specOf("gcra:9/1h"), Mode: Shadow},
	)
	b := withTerms(t, p, map[string]Terms{"u": {Tier: "paid", Limits: map[string]Spec{"login": "unlimited"}}})
	b.decide(on("POST", "/a", "user", "u"))
	for range 2 { // a look changes nothing
		v, err := b.Survey(context.Background(), Attributes{"user": "u"})
		if err != nil {
			t.Fatal(err)
		}
		got := v.Tier + ":"
		for _, r := range v.Rules {
			got += " " + r.Limit.Name + " " + integer(r.Decision.Remaining) + "/" + integer(r.Decision.Limit)
		}
		want := "paid: api 99/100 two/a 4/5 two/b 49/50 ends GET /b 2/2 ends POST /a 0/1 login 0/0 ip 0/0 shadow 8/9"
		if got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
}

// TestExplainOfAnEnforcerLooksUp: and Compiled.Explain does not.
func TestExplainOfAnEnforcerLooksUp(t *testing.T) {
	b := withTerms(t, tiered(), map[string]Terms{"u": {Tier: "paid"}})
	e, err := b.Explain(context.Background(), of("user", "u"))
	if err != nil || e.Tier != "paid" || e.TierSource != TierFromLookup {
		t.Errorf("%s from %s, %v", e.Tier, e.TierSource, err)
	}
	if pure := b.Policy().Explain(of("user", "u"), instantOf(noon)); pure.Tier != "free" {
		t.Errorf("Compiled.Explain says %s", pure.Tier)
	}
}
