package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// lints are policies with findings. A line that has one says so at its end: the column,
// the kind, and what the text holds.
var lints = []struct{ name, text string }{
	{"clean", `version: 1
rules:
  - {id: all, limit: gcra:100/1s}
  - {id: user, key: [user], match: {endpoints: ["GET /a"]}, limit: gcra:10/1s, mode: shadow}
  - {id: post, key: [org], match: {endpoints: ["POST /a"]}, limit: gcra:10/1s, mode: shadow}
`},
	{"unreachable", `version: 1
tiers: {a: {limits: {x: unlimited}}}
rules:
  - {id: everything, limit: gcra:100/1s, replaces: [b]}
  - {id: b, limit: gcra:100/1s}                                              # 5 unreachable everything replaces it
  - {id: c, limit: gcra:100/1s, match: {attributes: {org: [x, "!x"]}}}       # 5 unreachable no value of org
  - {id: d, limit: gcra:100/1s, match: {attributes: {org: [x, y, "!x"]}}}
  - {id: e, limit: gcra:100/1s, active: {until: 2026-11-01T00:00:00Z}}       # 5 unreachable the rule ended at 2026-11-01T00:00:00Z
  - {id: f, key: [org], limit: gcra:1/1s, match: {attributes: {org: ""}}}    # 5 unreachable without org, and skips
  - {id: g, key: [org], limit: gcra:1/1s, match: {attributes: {org: ""}}, on_missing: shared, mode: shadow}
  - {id: off, mode: off, limit: gcra:1/1s, match: {attributes: {org: [x, "!x"]}}}
subjects:
  - {match: {org: x}, tier: a}
  - {match: {org: x}, tier: a}                                               # 5 unreachable subjects[0] matches the same
  - {match: {org: x}, limits: {c: gcra:1/1s}}
overrides:
  - {rule: c, match: {org: x}, limit: 0, until: 2026-11-01T00:00:00Z}        # 5 unreachable the override ended
  - {rule: c, match: {org: x}, limit: 0, until: 2027-11-01T00:00:00Z}
  - {rule: c, match: {org: x}, limit: 0, until: 2027-10-01T00:00:00Z}        # 5 unreachable overrides[1] is about the same
  - {rule: c, match: {org: x}, limit: 0, until: 2027-12-01T00:00:00Z}
lists:
  deny:
    - {match: {org: [x, "!x"]}}                                              # 7 unreachable no value of org
    - {match: {org: x}, until: 2026-11-28T00:00:00Z}                         # 7 unreachable the entry ended
    - {match: {org: x}, until: 2026-11-28T00:00:01Z}
`},
	{"cost", `version: 1
default_tier: a
tiers: {a: {limits: {x: "gcra:60/1m,burst=10"}}}
rules:
  - {id: all, limit: gcra:100/1s, cost: {default: 101}}                      # 35 cost a cost of 101 is above the 100 that gcra:100/1s
  - {id: fits, limit: gcra:100/1s, cost: {default: 100}}
  - {id: up, limit: {tier: x}, cost: {attribute: n, default: 1, max: 50}}    # 32 cost a cost of up to 50 is above the 10
  - {id: open, limit: {tier: x}, cost: {attribute: n, default: 1}}
`},
	{"unmatched", `version: 1
rules:                                                                       # 1 unmatched no enforced rule applies to every request
  - {id: a, limit: gcra:1/1s, match: {endpoints: ["GET /"]}}
  - {id: b, limit: gcra:1/1s, key: [user]}
  - {id: c, limit: gcra:1/1s, mode: shadow}
  - {id: d, limit: gcra:1/1s, active: {until: 2030-01-01T00:00:00Z}}
`},
	{"matched", "version: 1\nrules:\n  - {id: a, limit: gcra:1/1s, key: [user], on_missing: deny}\n"},
	{"budget and burst", `version: 1
default_tier: a
tiers:
  a: {limits: {x: gcra:1000/24h}}                                            # 19 budget gcra:1000/24h refills all the time
rules:
  - {id: all, limits: {day: "token-bucket:1000/24h", hour: "gcra:1000/1h"}}  # 29 budget token-bucket:1000/24h
  - {id: day, limit: fixed-window:100/24h}
  - {id: min, limit: fixed-window:101/1m}                                    # 22 doubled-burst up to 202
  - {id: ends, endpoints: {"GET /": fixed-window:500/1m}}                    # 37 doubled-burst up to 1000
  - {id: tier, limit: {tier: x}}
`},
	{"ipv6", `version: 1
attributes:
  peer: {type: address, ipv6_prefix: 128}                                    # 38 ipv6 2^64 addresses
  ok: {type: address}
  client_ip: {}                                                              # 3 ipv6 read as a text
  address: {type: text}                                                      # 3 ipv6 read as a text
rules:
  - {id: all, limit: gcra:1/1s}
`},
	{"keys", `version: 1
rules:
  - {id: all, limit: gcra:1/1s}
  - {id: ip, mode: shadow, key: [ip], limit: gcra:1/1s}                      # 28 unbounded-keys each ip
  - {id: org, mode: shadow, key: [org], limit: gcra:1/1s}
`},
	{"cluster", `version: 1
rules:
  - {id: all, limit: gcra:1/1s}
  - {id: user, key: [user], limit: gcra:1/1s}                                # 5 cluster this rule and all
  - {id: post, key: [user], limit: gcra:1/1s, match: {endpoints: ["POST /a"]}}  # 5 cluster this rule and all
  - {id: shadow, key: [org], mode: shadow, limit: gcra:1/1s}
`},
	{"colocated", `version: 1
rules:
  - {id: all, key: [org], colocate: org, limit: gcra:1/1s, on_missing: deny}
  - {id: user, key: [user], colocate: org, limit: gcra:1/1s}
`},
	{"shards", `version: 1
rules:
  - {id: all, limit: gcra:1000/1s, shards: 16}
  - {id: few, mode: shadow, limit: gcra:10/1s, shards: 16}                   # 56 shards gcra:10/1s has room for 10 shards, and not for 16
  - {id: burst, mode: shadow, limit: "gcra:100/1s,burst=3", shards: 16}      # 69 shards has room for 3 shards
  - {id: org, mode: shadow, key: [org], colocate: org, limit: gcra:1000/1s, shards: 4} # 85 shards colocate: org keeps all shards
  - {id: cost, mode: shadow, limit: gcra:1000/1s, shards: 16, cost: {default: 63}}     # 63 cost a cost of 63 is above the 62 that one of 16 shards of gcra:1000/1s
`},
	{"leases", `version: 1
rules:
  - {id: all, limit: gcra:1000/1s, lease: true}
  - {id: closed, mode: shadow, on_failure: closed, limit: gcra:1000/1s, lease: true} # 80 lease on_failure: closed denies
  - {id: log, mode: shadow, limit: sliding-log:1000/1s, lease: true}         # 64 lease sliding-log:1000/1s is never leased
  - {id: small, mode: shadow, limit: gcra:39/1s, lease: true}                # 57 lease its 39 units are fewer than the 40
  - {id: two, mode: shadow, limits: {a: gcra:100/1s, b: gcra:50/1s}, lease: true} # 77 lease the rule has 2 limits
  - {id: off, mode: off, limit: gcra:1/1s, lease: true}
`},
	{"lease beside another rule", `version: 1
rules:
  - {id: all, limit: gcra:1000/1s}
  - {id: user, key: [user], colocate: user, limit: gcra:1000/1s, lease: true} # 73 lease all applies to every request
`},
	{"apart", `version: 1
rules:
  - {id: all, limit: gcra:1/1s, mode: enforce 10%, match: {attributes: {tier: gold}}, replaces: [up]}
  - {id: a, key: [org], limit: gcra:1/1s, match: {attributes: {tier: [silver, ""]}, endpoints: ["GET /a/{x}", "/b/"]}}
  - {id: b, key: [user], limit: gcra:1/1s, match: {attributes: {tier: silver}, endpoints: ["POST /a/{x}", "/c/"]}}
  - {id: c, key: [tenant], limit: gcra:1/1s, match: {attributes: {tier: "!gold"}, endpoints: ["HEAD /a/b"]}} # 5 cluster this rule and a,
  - {id: up, key: [tenant], limit: gcra:1/1s, match: {attributes: {tier: gold}}}                             # 5 cluster this rule and all
`},
}

func TestLintFindsWhatIsProbablyNotMeant(t *testing.T) {
	for _, c := range lints {
		t.Run(c.name, func(t *testing.T) {
			file, err := Parse([]byte(c.text), nil)
			if err != nil {
				t.Fatal(err)
			}
			found := map[int]string{}
			for _, f := range file.Lint(&LintOptions{At: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)}) {
				kinds := map[string][]string{"unreachable": {lintUnreachable}, "cost": {lintCost}, "unmatched": {lintUnmatched}, "matched": {lintUnmatched},
					"budget and burst": {lintBudget, lintDoubledBurst}, "ipv6": {lintIPv6}, "keys": {lintUnboundedKeys},
					"cluster": {lintCluster}, "colocated": {lintCluster}, "apart": {lintCluster}, "shards": {lintShards, lintCost}, "leases": {lintLease}, "lease beside another rule": {lintLease}, "clean": LintKinds()}[c.name]
				if slices.Contains(kinds, f.Kind) {
					found[f.Line] += fmt.Sprintf("%d %s %s\n", f.Column, f.Kind, f.Text)
				}
			}
			for i, line := range strings.Split(c.text, "\n") {
				_, comment, has := strings.Cut(line, "# ")
				got := found[i+1]
				switch want := strings.SplitN(comment, " ", 3); {
				case !has && got != "":
					t.Errorf("line %d: %s", i+1, got)
				case has && (!strings.HasPrefix(got, want[0]+" "+want[1]+" ") || !strings.Contains(got, want[2]) || strings.Count(got, "\n") != 1):
					t.Errorf("line %d: got %q, want %q", i+1, got, comment)
				}
			}
		})
	}
}

// Without an instant nothing has ended, so that a check has one answer for ever.
func TestLintWithoutAnInstantFindsNothingEnded(t *testing.T) {
	for _, c := range lints {
		file, err := Parse([]byte(c.text), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range file.Lint(nil) {
			if strings.Contains(f.Text, " ended at ") {
				t.Errorf("%+v", f)
			}
		}
	}
}

func TestLintFindsAttributesThatNothingGives(t *testing.T) {
	file, err := Parse([]byte(whole), &CompileOptions{SecretKey: make([]byte, 16)})
	if err != nil {
		t.Fatal(err)
	}
	names := func(given ...string) (all []string) {
		for _, f := range file.Lint(&LintOptions{Attributes: given}) {
			if f.Kind == lintAttribute {
				all = append(all, f.Text[strings.LastIndexByte(f.Text, ' ')+1:])
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	if got := fmt.Sprint(names("ip", "org")); got != "[api_key tier units user]" {
		t.Error(got)
	}
	if got := names("ip", "org", "api_key", "tier", "units", "user"); got != nil {
		t.Error(got)
	}
	if got := names(); got != nil {
		t.Errorf("with nothing known: %q", got)
	}
}
