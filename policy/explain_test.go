package policy

import (
	"testing"
	"time"
)

func TestExplanationOfTheExample(t *testing.T) {
	p := example()
	p.Attributes = map[string]Attribute{"ip": {Type: Address}, "org": {}} // keys that can be read
	c := compile(t, p)
	r := on("POST", "/api/orders", "org", "acme", "user", "42", "api_key", "k1")
	const want = `lists: none of 1 denials and 1 exemptions applies
tier: enterprise, from subject
rule login: other endpoint
rule api: applies, by /api/
  limit api: gcra:9000/1m, from subject, 1 for api_key=k1&org=acme
rule orders: applies, by POST /api/orders
  limit orders POST /api/orders: gcra:10/1m, from rule, 1 for user=42
rule org-total: replaced by partners
rule partners: applies
  limit partners: gcra:50000/1m, from rule, 1 for org=acme
`
	if got := c.Explain(r, instantOf(noon)).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	r = on("GET", "/api/x", "org", "initech", "api_key", "k1", "tier", "gold")
	const overridden = `lists: none of 1 denials and 1 exemptions applies
tier: free, from default
tier: the request names one that the policy does not have
rule login: other endpoint
rule api: applies, by /api/
  limit api: gcra:2000/1m, from override, 1 for api_key=k1&org=initech, until 2026-12-31T00:00:00Z (migration)
rule orders: other endpoint
rule org-total: applies
  limit org-total/day: fixed-window:1000000/24h, from rule, 1 for org=initech, in shadow
  limit org-total/minute: gcra:10000/1m, from rule, 1 for org=initech, in shadow
rule partners: other attributes: org
`
	if got := c.Explain(r, instantOf(noon)).String(); got != overridden {
		t.Errorf("got\n%swant\n%s", got, overridden)
	}
	if got, want := c.Explain(on("GET", "/", "ip", "203.0.113.9"), instantOf(noon)).String(), "denied by lists.deny[0]: scan, until 2026-12-01T00:00:00Z\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := c.Explain(on("GET", "/", "ip", "10.9.9.9"), instantOf(noon)).String(), "exempt by lists.allow[0]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExplanationOfEveryAction(t *testing.T) {
	c := compile(t, one(
		Rule{ID: "blocks", Limit: specOf(Block)},
		Rule{ID: "exempts", Limit: specOf(Unlimited)},
		Rule{ID: "misses", Key: []string{"user"}, Limit: specOf("gcra:1/1m"), OnMissing: DenyMissing},
		Rule{ID: "skips", Key: []string{"user", "ip"}, Limit: specOf("gcra:1/1m")},
		Rule{ID: "shares", Key: []string{"user"}, Limit: specOf("gcra:1/1m"), OnMissing: ShareMissing},
		Rule{ID: "off", Limit: specOf("gcra:1/1m"), Mode: Off},
		Rule{ID: "later", Limit: specOf("gcra:1/1m"), Active: Active{From: noon.Add(time.Second)}},
	))
	const want = `lists: none of 0 denials and 0 exemptions applies
rule blocks: applies
  limit blocks: blocks, from rule
rule exempts: applies
  limit exempts: exempts, from rule
rule misses: applies
  limit misses: denies, because a key attribute is missing
rule skips: key attribute missing: ip
rule shares: applies
  limit shares: gcra:1/1m, from rule, 1 for missing
rule off: off
rule later: not active
`
	if got := c.Explain(Request{}, instantOf(noon)).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got, want := compile(t, one()).Explain(Request{}, 1).String(), "lists: none of 0 denials and 0 exemptions applies\nno rule applies: the request is allowed\n"; got != want {
		t.Errorf("got %q", got)
	}
}
