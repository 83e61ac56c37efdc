package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
)

var (
	noon      = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	secretKey = []byte("0123456789abcdef")
)

func instantOf(t time.Time) algorithm.Instant { return weir.Must(algorithm.InstantOf(t)) }

// example is the policy of the documentation.
func example() Policy {
	return Policy{
		Version:     FormatVersion,
		Attributes:  map[string]Attribute{"ip": {Type: Address, IPv6Prefix: 64}, "api_key": {Secret: true}, "org": {}},
		DefaultTier: "free",
		Tiers: map[string]Tier{
			"free":       {Limits: map[string]Spec{"api": "gcra:60/1m,burst=10", "search": "sliding-log:10/1m"}},
			"premium":    {Extends: "free", Limits: map[string]Spec{"api": "gcra:600/1m,burst=100"}},
			"enterprise": {Extends: "premium", Limits: map[string]Spec{"api": "token-bucket:6000/1m,burst=1000"}, Algorithms: []string{"gcra", "token-bucket"}},
		},
		Rules: []Rule{
			{ID: "login", Match: Match{Endpoints: []string{"POST /login"}}, Key: []string{"ip"}, Limit: LimitRef{Spec: "sliding-log:5/15m"}, OnFailure: FailClosed},
			{ID: "api", Match: Match{Endpoints: []string{"/api/"}}, Key: []string{"org", "api_key"}, Limit: LimitRef{Tier: "api"},
				Cost: Cost{Attribute: "units", Default: 1, Max: 1000}, OnMissing: SkipMissing},
			{ID: "orders", Key: []string{"user"}, Endpoints: map[string]LimitRef{
				"POST /api/orders": {Spec: "gcra:10/1m"}, "GET /api/orders/{id}": {Spec: "gcra:300/1m"},
			}},
			{ID: "org-total", Key: []string{"org"}, Limits: map[string]LimitRef{"minute": {Spec: "gcra:10000/1m"}, "day": {Spec: "fixed-window:1000000/24h"}}, Mode: Shadow},
			{ID: "partners", Match: Match{Attributes: Conditions{"org": {"acme", "globex"}}}, Key: []string{"org"}, Limit: LimitRef{Spec: "gcra:50000/1m"}, Replaces: []string{"org-total"}},
		},
		Subjects:  []Subject{{Match: Conditions{"org": {"acme"}}, Tier: "enterprise", Limits: map[string]Spec{"api": "gcra:9000/1m"}}},
		Overrides: []Override{{Rule: "api", Match: Conditions{"org": {"initech"}}, Limit: "gcra:2000/1m", Until: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC), Reason: "migration"}},
		Lists: Lists{
			Deny:  []Entry{{Match: Conditions{"ip": {"203.0.113.0/24"}}, Until: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Reason: "scan"}},
			Allow: []Entry{{Match: Conditions{"ip": {"10.0.0.0/8"}}}},
		},
	}
}

func compile(t testing.TB, p Policy) *Compiled {
	t.Helper()
	c, err := Compile(p, &CompileOptions{SecretKey: secretKey})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// line shows a plan in one line.
func line(p *Plan) string {
	if p.List != None {
		return fmt.Sprintf("list %d: %s", p.List, p.Entry.Reason)
	}
	var parts []string
	for _, l := range p.Limits {
		mode := ""
		if !l.Enforced {
			mode = " shadow"
		}
		what := string(l.Spec)
		if l.Action != ActionAsk {
			what = l.Action.String()
		}
		parts = append(parts, fmt.Sprintf("%s=%s from %s for %s x%d%s", l.Limit.Name, what, l.Source, l.Key, l.Cost, mode))
	}
	return strings.Join(parts, "; ")
}

func TestExamplePolicyResolves(t *testing.T) {
	c := compile(t, example())
	hashed := newSecrets(secretKey).replace("k1")
	for _, test := range []struct {
		name string
		r    Request
		at   time.Time
		want string
	}{
		{"nothing", Request{}, noon, ""},
		{"login by address", Request{Method: "POST", Path: "/login", Attributes: Attributes{"ip": "192.0.2.1:4711"}}, noon,
			"login=sliding-log:5/15m from rule for ip=192.0.2.1 x1"},
		{"login from IPv6", Request{Method: "POST", Path: "/login", Attributes: Attributes{"ip": "[2001:db8:1:2::9]:4711"}}, noon,
			"login=sliding-log:5/15m from rule for ip=2001:db8:1:2::/64 x1"},
		{"free tier", Request{Method: "GET", Path: "/api/x", Attributes: Attributes{"org": "o", "api_key": "k1"}}, noon,
			"api=gcra:60/1m,burst=10 from tier for api_key=" + hashed + "&org=o x1; org-total/day=fixed-window:1000000/24h from rule for org=o x1 shadow; org-total/minute=gcra:10000/1m from rule for org=o x1 shadow"},
		{"tier by attribute, and a cost", Request{Method: "GET", Path: "/api/x", Attributes: Attributes{"org": "o", "api_key": "k1", "tier": "premium", "units": "7"}}, noon,
			"api=gcra:600/1m,burst=100 from tier for api_key=" + hashed + "&org=o x7; org-total/day=fixed-window:1000000/24h from rule for org=o x1 shadow; org-total/minute=gcra:10000/1m from rule for org=o x1 shadow"},
		{"subject, and a replaced shadow", Request{Method: "GET", Path: "/api/x", Attributes: Attributes{"org": "acme", "api_key": "k1"}}, noon,
			"api=gcra:9000/1m from subject for api_key=" + hashed + "&org=acme x1; partners=gcra:50000/1m from rule for org=acme x1"},
		{"override", Request{Method: "GET", Path: "/api/x", Attributes: Attributes{"org": "initech", "api_key": "k1"}}, noon,
			"api=gcra:2000/1m from override for api_key=" + hashed + "&org=initech x1; org-total/day=fixed-window:1000000/24h from rule for org=initech x1 shadow; org-total/minute=gcra:10000/1m from rule for org=initech x1 shadow"},
		{"most specific endpoint", Request{Method: "GET", Path: "/api/orders/7", Attributes: Attributes{"user": "42"}}, noon,
			"orders GET /api/orders/{id}=gcra:300/1m from rule for user=42 x1"},
		{"deny list", Request{Method: "GET", Path: "/api/x", Attributes: Attributes{"ip": "::ffff:203.0.113.9"}}, noon, "list 1: scan"},
		{"deny list has ended", Request{Method: "GET", Path: "/", Attributes: Attributes{"ip": "203.0.113.9"}}, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), ""},
		{"allow list", Request{Method: "POST", Path: "/login", Attributes: Attributes{"ip": "10.1.2.3"}}, noon, "list 2: "},
	} {
		var p Plan
		c.Resolve(&p, test.r, instantOf(test.at))
		if got := line(&p); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestPlanKeepsNoLookup: a Plan lives longer than the request that a look-up of tiers holds.
func TestPlanKeepsNoLookup(t *testing.T) {
	c, err := Compile(Policy{Version: 1, Lists: Lists{Deny: []Entry{{Match: Conditions{"org": {"bad"}}}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, org := range []string{"bad", "good"} {
		var p Plan
		c.resolve(&p, &Request{Attributes: Attributes{"org": org}}, 1, func() *terms { return &terms{} })
		if p.lookup != nil || p.terms != nil {
			t.Errorf("the look-up is kept for org %s", org)
		}
	}
}
