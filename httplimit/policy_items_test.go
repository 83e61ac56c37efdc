package httplimit

import (
	"strconv"
	"testing"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
)

// TestPolicyItemsAreBounded: also where policies that differ are given one version.
func TestPolicyItemsAreBounded(t *testing.T) {
	limit := weir.Must(weir.ParseLimit("api", "gcra:3/1s"))
	items := &policyItems{texts: map[policyItem]string{}}
	for i := range maxPolicyItems + 10 {
		rule := &policy.RuleVerdict{PlannedLimit: policy.PlannedLimit{Limit: limit, Spec: policy.Spec(strconv.Itoa(i))}}
		if text := items.of(rule); text != `"api";q=3;w=1` || len(items.texts) > maxPolicyItems {
			t.Fatalf("%d: %s, %d items", i, text, len(items.texts))
		}
	}
}
