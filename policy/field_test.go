package policy

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestFieldReports runs the reports on policies with the numbers that they were published with.
func TestFieldReports(t *testing.T) {
	t.Run("b47 ipv6 clients share their prefix", func(t *testing.T) {
		b := newBench(t, one(Rule{ID: "r", Key: []string{"ip"}, Limit: specOf("gcra:5/1m")}), nil)
		passed := 0
		for i := 1; i <= 100; i++ {
			passed += b.admitted(1, of("ip", fmt.Sprintf("2001:db8:1:2::%x", i)))
		}
		if passed != 5 {
			t.Errorf("%d of 100 pass from one /64, want 5", passed)
		}
		if b.admitted(1, of("ip", "2001:db8:1:3::1")) != 1 || b.admitted(6, of("ip", "203.0.113.7")) != 5 || b.admitted(1, of("ip", "203.0.113.8")) != 1 {
			t.Error("other clients are not limited on their own")
		}
	})
	t.Run("b49 port is no part of the key", func(t *testing.T) {
		b := newBench(t, one(Rule{ID: "r", Key: []string{"ip"}, Limit: specOf("gcra:2/1m")}), nil)
		passed := 0
		for i := range 10 {
			passed += b.admitted(1, of("ip", fmt.Sprintf("127.0.0.1:%d", 4000+i)))
			passed += b.admitted(1, of("ip", fmt.Sprintf("[::1]:%d", 4000+i)))
			passed += b.admitted(1, of("ip", fmt.Sprintf("@/run/%d.sock", i)))
		}
		if passed != 6 {
			t.Errorf("%d pass, want 2 for each of IPv4, IPv6 and what is no address", passed)
		}
	})
	t.Run("b50 joined parts do not collide", func(t *testing.T) {
		p := one(Rule{ID: "r", Key: []string{"type", "type_example"}, Limit: specOf("gcra:1/1m"), OnMissing: SkipMissing},
			Rule{ID: "s", Match: Match{Attributes: Conditions{"type": {"example"}}}, Key: []string{"type"}, Limit: specOf("gcra:1/1m")},
			Rule{ID: "u", Match: Match{Attributes: Conditions{"type_example": {"*"}}}, Key: []string{"type_example"}, Limit: specOf("gcra:1/1m")})
		p.Attributes = map[string]Attribute{"type": {}, "type_example": {}}
		b := newBench(t, p, nil)
		for _, r := range []Request{of("type", "example"), of("type_example", "example")} {
			if got := b.admitted(2, r); got != 1 {
				t.Errorf("%d of 2 pass, want 1", got)
			}
		}
	})
	t.Run("b51 overlapping rules count apart", func(t *testing.T) {
		p := one(Rule{ID: "all", Key: []string{"method"}, Limit: specOf("gcra:1000/1m")},
			Rule{ID: "call", Match: Match{Attributes: Conditions{"method": {"eth_call"}}}, Key: []string{"method"}, Limit: specOf("gcra:10/1m")},
			Rule{ID: "twice", Match: Match{Attributes: Conditions{"method": {"eth_call"}}}, Key: []string{"method"}, Limit: specOf("gcra:20/1m")})
		p.Attributes = map[string]Attribute{"method": {}}
		if got := newBench(t, p, nil).admitted(12, of("method", "eth_call")); got != 10 {
			t.Errorf("%d of 12 pass, want 10", got)
		}
	})
	t.Run("b52 missing, respelled and misspelled", func(t *testing.T) {
		for missing, want := range map[OnMissing]int{SkipMissing: 10, DenyMissing: 0, ShareMissing: 3} {
			b := newBench(t, one(Rule{ID: "r", Key: []string{"api_key"}, Limit: specOf("gcra:3/1m"), OnMissing: missing}), nil)
			got := b.admitted(5, of("ip", "192.0.2.1")) + b.admitted(5, of("ip", "192.0.2.2", "api_key", " \t"))
			if got != want {
				t.Errorf("%s: %d of 10 pass without a key, want %d", missing, got, want)
			}
		}
		b := newBench(t, one(Rule{ID: "r", Key: []string{"api_key"}, Limit: specOf("gcra:1/1m")}), nil)
		if got := b.admitted(1, of("api_key", " abc")) + b.admitted(1, of("api_key", "abc ")) + b.admitted(1, of("api_key", "ABC")); got != 2 {
			t.Errorf("%d pass, want 2: spaces around a key do not count, case does", got)
		}
		_, err := Compile(one(Rule{ID: "r", Key: []string{"usr"}, Limit: specOf("gcra:3/1m")}), nil)
		if e := (*FieldError)(nil); !errors.As(err, &e) || e.Path.String() != "rules[0].key[0]" || e.Suggestion != "user" {
			t.Errorf("a misspelled attribute gives %v", err)
		}
	})
	t.Run("b53 a respelled path has no budget of its own", func(t *testing.T) {
		b := newBench(t, one(Rule{ID: "r", Match: Match{Endpoints: []string{"/api/users/validate"}}, Limit: specOf("gcra:2/1m")}), nil)
		passed := 0
		for _, path := range []string{"/api/users/validate", "/api//users/validate", "//api/users/validate", "/api/users//validate"} {
			passed += b.admitted(1, on("GET", path))
		}
		if passed != 2 {
			t.Errorf("%d pass, want 2", passed)
		}
	})
	t.Run("b54 a prefix ends at a slash", func(t *testing.T) {
		b := newBench(t, one(
			Rule{ID: "a", Match: Match{Endpoints: []string{"/multiple"}}, Limit: specOf("gcra:1/1m")},
			Rule{ID: "b", Match: Match{Endpoints: []string{"/multiple_custom"}}, Limit: specOf("gcra:5/1m")},
			Rule{ID: "c", Match: Match{Endpoints: []string{"/v1/pets", "/v1/pets/"}}, Limit: specOf("gcra:2/1m")}), nil)
		for _, test := range []struct {
			path    string
			n, want int
		}{{"/multiple_custom", 5, 5}, {"/multiple", 2, 1}, {"/v1/pets", 1, 1}, {"/v1/pets/7", 1, 1}, {"/v1/petshop", 1, 1}, {"/v1/pets/8", 1, 0}} {
			if got := b.admitted(test.n, on("GET", test.path)); got != test.want {
				t.Errorf("%d of %d pass to %s, want %d", got, test.n, test.path, test.want)
			}
		}
	})
	for name, order := range map[string][]string{"short first": {"a-minute", "b-half-hour"}, "long first": {"b-minute", "a-half-hour"}} {
		t.Run("b55 a denied request is charged nowhere/"+name, func(t *testing.T) {
			b := newBench(t, one(Rule{ID: "r", Key: []string{"user"}, Limits: map[string]LimitRef{
				order[0]: specOf("fixed-window:10/1m"), order[1]: specOf("fixed-window:30/30m")}}), nil)
			for minute, want := range []int{10, 10, 10, 0} {
				b.at(float64(60 * minute))
				if got := b.admitted([]int{16, 15, 15, 5}[minute], of("user", "u")); got != want {
					t.Errorf("minute %d: %d pass, want %d", minute, got, want)
				}
			}
		})
	}
	t.Run("b56 the longest wait is the answer", func(t *testing.T) {
		b := newBench(t, one(Rule{ID: "hour", Key: []string{"user"}, Limit: specOf("fixed-window:10/1h")},
			Rule{ID: "day", Key: []string{"user"}, Limit: specOf("fixed-window:20/24h")}), nil)
		midnight := noon.Add(12 * time.Hour)
		b.clock.Set(midnight)
		b.admitted(10, of("user", "u"))
		b.clock.Set(midnight.Add(time.Hour))
		b.admitted(10, of("user", "u"))
		b.clock.Set(midnight.Add(7260 * time.Second))
		for range 15 {
			v := b.decide(of("user", "u"))
			if v.Allowed || v.Rules[v.Binding].Rule != "day" || v.RetryAfter != 79140*time.Second || v.Rules[0].Decision.Remaining != 10 {
				t.Fatalf("allowed %t, binding %s, retry after %s, hour has %d left", v.Allowed, v.Rules[v.Binding].Rule, v.RetryAfter, v.Rules[0].Decision.Remaining)
			}
		}
	})
	t.Run("b20 a lowered limit counts at once", func(t *testing.T) {
		policy := func(spec Spec) Policy {
			return one(Rule{ID: "r", Key: []string{"user"}, Limit: specOf(spec)})
		}
		b := newBench(t, policy("token-bucket:100/1m,burst=100"), nil)
		b.decide(of("user", "u"))
		b.Swap(compile(t, policy("token-bucket:10/1m,burst=10")))
		if v := b.decide(of("user", "u")); v.Rules[0].Decision.Limit != 10 || v.Rules[0].Decision.Remaining != 9 {
			t.Errorf("limit %d, remaining %d: want 10 and 9", v.Rules[0].Decision.Limit, v.Rules[0].Decision.Remaining)
		}
		if got := b.admitted(10, of("user", "u")); got != 9 {
			t.Errorf("%d more pass, want 9", got)
		}
	})
	t.Run("b22 a reload refills nothing", func(t *testing.T) {
		policy := one(Rule{ID: "r", Key: []string{"user"}, Limit: specOf("token-bucket:1/1s,burst=10")})
		b := newBench(t, policy, nil)
		if got := b.admitted(10, of("user", "u")); got != 10 {
			t.Fatal(got)
		}
		for range 100 {
			b.Swap(compile(t, policy))
			if b.decide(of("user", "u")).Allowed {
				t.Fatal("a reload has refilled a bucket")
			}
		}
	})
}
