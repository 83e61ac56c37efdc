package ui

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
)

// TestThePreviewSaysWhatARuleWouldDeny: of what it was asked in shadow.
func TestThePreviewSaysWhatARuleWouldDeny(t *testing.T) {
	p := open(t, nil)
	p.decide(t, "ann", 4)
	p.decide(t, "bob", 1)
	if body := get(t, p, "/rule?id=trial"); !strings.Contains(body, "<strong>3 of 5</strong> requests (60 %)") ||
		!strings.Contains(body, p.subject("user=ann")) || strings.Contains(body, p.subject("user=bob")) || !strings.Contains(body, "Enforce this rule") {
		t.Errorf("%s", body)
	}
	for after, want := range map[time.Duration]string{0: "in the last minute.", 10 * time.Minute: "in the last 11 minutes.", 59 * time.Minute: "in the last 60 minutes."} {
		q := open(t, nil)
		q.recorder.tick(start)
		q.decide(t, "ann", 1)
		q.recorder.tick(start.Add(after))
		if body := get(t, q, "/rule?id=trial"); !strings.Contains(body, want) {
			t.Errorf("%s after the start: no %q in\n%s", after, want, body)
		}
	}
	if body := get(t, p, "/rule?id=user"); !strings.Contains(body, "nothing to judge by") || !strings.Contains(body, "into shadow") {
		t.Errorf("%s", body)
	}
	if status, _, _ := ask(p, "GET", "/rule?id=none", nil); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
}

// TestARuleChangesByItsForm: and the browser is sent back to the rule.
func TestARuleChangesByItsForm(t *testing.T) {
	p := open(t, nil)
	status, _, head := ask(p, "POST", "/x/mode", p.form("enforce"))
	if status != http.StatusSeeOther || head.Get("Location") != "rule?id=trial&done=enforce" {
		t.Errorf("%d, %v", status, head)
	}
	if want := []ModeChange{{"trial", policy.Enforce, p.file.Compiled.Version()}}; !slices.Equal(p.changed, want) {
		t.Errorf("%v, want %v", p.changed, want)
	}
}

// TestChangesAreRefused: where the page is read-only, for those who may not write, for other
// sites, and for what was not shown.
func TestChangesAreRefused(t *testing.T) {
	with := func(p *program, name, value string) url.Values { f := p.form("enforce"); f.Set(name, value); return f }
	for name, c := range map[string]struct {
		adapt  func(*Options)
		form   func(*program) url.Values
		heads  []string
		status int
	}{
		"read-only page":   {adapt: func(o *Options) { o.SetMode = nil }, status: http.StatusForbidden},
		"nobody":           {adapt: func(o *Options) { o.Account = nil }, status: http.StatusForbidden},
		"a reader":         {adapt: func(o *Options) { o.Account = func(*http.Request) Account { return Account{Name: "r"} } }, status: http.StatusForbidden},
		"another site":     {heads: []string{"Sec-Fetch-Site", "cross-site"}, status: http.StatusForbidden},
		"another origin":   {heads: []string{"Origin", "https://evil.example"}, status: http.StatusForbidden},
		"another mode":     {form: func(p *program) url.Values { return with(p, "mode", "off") }, status: http.StatusUnprocessableEntity},
		"an unknown rule":  {form: func(p *program) url.Values { return with(p, "rule", "none") }, status: http.StatusNotFound},
		"an older policy":  {form: func(p *program) url.Values { return with(p, "version", "old") }, status: http.StatusConflict},
		"too large a form": {form: func(p *program) url.Values { return with(p, "x", strings.Repeat("x", maxForm)) }, status: http.StatusBadRequest},
		"an error of theirs": {adapt: func(o *Options) {
			o.SetMode = func(*http.Request, ModeChange) error { return errors.New("the file is elsewhere") }
		}, status: http.StatusConflict},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, c.adapt)
			form := p.form("enforce")
			if c.form != nil {
				form = c.form(p)
			}
			if status, body, _ := ask(p, "POST", "/mode", form, c.heads...); status != c.status || len(p.changed) > 0 {
				t.Errorf("%d, want %d; changed %v\n%s", status, c.status, p.changed, body)
			}
		})
	}
	p := open(t, func(o *Options) { o.Account = nil })
	if body := get(t, p, "/rule?id=trial"); strings.Contains(body, `action="mode"`) || !strings.Contains(body, "role write") {
		t.Errorf("a form is offered to nobody:\n%s", body)
	}
	if status, _, head := ask(open(t, nil), "GET", "/mode", nil); status != http.StatusMethodNotAllowed || head.Get("Allow") != "POST" {
		t.Errorf("%d, %v", status, head)
	}
}

// TestExplanationsSayWhy: what is wrong is said without a value.
func TestExplanationsSayWhy(t *testing.T) {
	p := open(t, nil)
	for attributes, want := range map[string]string{
		"user=ann":          "gcra:2/1h, from rule, costs 1",
		" user = vip-4711 ": "gcra:9/1h, from override, costs 1, until 2100-01-01 00:00:00 UTC (&lt;b&gt;asked&lt;/b&gt; for it)",
		"user=bad-4711":     "Denied by lists.deny[0]</strong>: &lt;script&gt;",
		"":                  "trial",
	} {
		status, body, _ := ask(p, "POST", "/explain", url.Values{"method": {"GET"}, "path": {"/"}, "attributes": {attributes}})
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%q: %d, no %s in\n%s", attributes, status, want, body)
		}
	}
	for _, attributes := range []string{"secret", "=secret", strings.Repeat("a=1\n", 3) + "secret"} {
		status, body, _ := ask(p, "POST", "/explain", url.Values{"attributes": {attributes}})
		if status != http.StatusUnprocessableEntity || !strings.Contains(body, "must be name=value") || strings.Contains(body, "secret") {
			t.Errorf("%q: %d\n%s", attributes, status, body)
		}
	}
	if p.recorder.totals().results != (totals{}).results {
		t.Error("an explanation has asked a limit")
	}
}

// TestChangesOfThePolicyAreShown: added, removed and changed parts, their order, and of what
// names people that it has changed.
func TestChangesOfThePolicyAreShown(t *testing.T) {
	before := weir.Must(policy.Parse([]byte(testPolicy), nil))
	after := weir.Must(policy.Parse([]byte(`version: 1
default_tier: free
tiers: {free: {limits: {a: "gcra:1/1m"}}}
rules:
  - {id: new, limit: {tier: a}}
  - {id: trial, key: [user], limit: "gcra:1/1h"}
  - {id: user, key: [user], limit: "gcra:2/1h"}
`), nil))
	var got []string
	for _, c := range changes(&before.Policy, &after.Policy) {
		got = append(got, c.What+" "+c.How)
	}
	want := []string{
		"attribute plan removed", "default tier changed", "tier free added", "rule new added", "rule trial changed",
		"order of the rules changed", "overrides changed", "list deny changed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if same := changes(&before.Policy, &before.Policy); len(same) > 0 {
		t.Errorf("a policy and itself: %v", same)
	}
}

// TestAnExplanationSaysTheTimesOfALimit: of a schedule.
func TestAnExplanationSaysTheTimesOfALimit(t *testing.T) {
	got := explainedLimitOf(&policy.PlannedLimit{Action: policy.ActionBlock, Source: policy.FromTier, When: "Sat-Sun", Enforced: true}).Says
	if want := "blocks, from tier at Sat-Sun"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
