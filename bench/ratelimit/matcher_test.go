package ratelimit

import (
	"context"
	"fmt"
	"strings"
	"testing"

	descriptors "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"github.com/envoyproxy/ratelimit/src/settings"
	"github.com/envoyproxy/ratelimit/src/stats"
	gostats "github.com/lyft/gostats"

	"github.com/weirgo/weir/policy"
)

// Each of n organisations has a limit for each of its users: in a policy a rule with a
// condition, and for envoyproxy/ratelimit a descriptor with a value below which another has
// none. A request meets one of them.
const domain = "api"

func ofPolicy(tb testing.TB, n int) *policy.Compiled {
	tb.Helper()
	p := policy.Policy{Version: policy.FormatVersion}
	for i := range n {
		p.Rules = append(p.Rules, policy.Rule{
			ID: fmt.Sprint("org", i), Match: policy.Match{Attributes: policy.Conditions{"org": {fmt.Sprint("org", i)}}},
			Key: []string{"org", "user"}, Limit: policy.LimitRef{Spec: policy.Spec(fmt.Sprintf("fixed-window:%d/1m", i+1))},
		})
	}
	c, err := policy.Compile(p, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func ofDescriptors(n int) config.RateLimitConfig {
	var text strings.Builder
	fmt.Fprintf(&text, "domain: %s\ndescriptors:\n", domain)
	for i := range n {
		fmt.Fprintf(&text, "  - key: org\n    value: org%d\n    descriptors:\n      - key: user\n        rate_limit: {unit: minute, requests_per_unit: %d}\n", i, i+1)
	}
	manager := stats.NewStatManager(gostats.NewStore(gostats.NewNullSink(), false), settings.Settings{})
	file := config.RateLimitConfigToLoad{Name: "limits", ConfigYaml: config.ConfigFileContentToYaml("limits", text.String())}
	return config.NewRateLimitConfigImpl([]config.RateLimitConfigToLoad{file}, manager, false)
}

func request(i int) policy.Request {
	return policy.Request{Attributes: policy.Attributes{"org": fmt.Sprint("org", i), "user": "ann"}}
}

func descriptor(i int) *descriptors.RateLimitDescriptor {
	return &descriptors.RateLimitDescriptor{Entries: []*descriptors.RateLimitDescriptor_Entry{
		{Key: "org", Value: fmt.Sprint("org", i)}, {Key: "user", Value: "ann"},
	}}
}

// TestBothFindTheSameLimit: what is measured is the same work.
func TestBothFindTheSameLimit(t *testing.T) {
	const n = 100
	c, d := ofPolicy(t, n), ofDescriptors(n)
	for i := range n + 1 {
		var p policy.Plan
		c.Resolve(&p, request(i), 1)
		limit := d.GetLimit(context.Background(), domain, descriptor(i))
		if i == n {
			if len(p.Limits) > 0 || limit != nil {
				t.Errorf("an organisation that has no limit: %v and %v", p.Limits, limit)
			}
			continue
		}
		if len(p.Limits) != 1 || limit == nil || string(p.Limits[0].Spec) != fmt.Sprintf("fixed-window:%d/1m", limit.Limit.RequestsPerUnit) {
			t.Fatalf("organisation %d: %v and %v", i, p.Limits, limit)
		}
	}
}

// BenchmarkMatcher finds the limit of a request among n. Resolve also makes the key of the
// state, which the service makes later, in its cache.
func BenchmarkMatcher(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("weir/%d", n), func(b *testing.B) {
			c, r := ofPolicy(b, n), request(n/2)
			var p policy.Plan
			b.ReportAllocs()
			for b.Loop() {
				c.Resolve(&p, r, 1)
			}
		})
		b.Run(fmt.Sprintf("envoyproxy/%d", n), func(b *testing.B) {
			c, d := ofDescriptors(n), descriptor(n/2)
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				c.GetLimit(ctx, domain, d)
			}
		})
	}
}
