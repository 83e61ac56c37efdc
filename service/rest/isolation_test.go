package rest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weirgo/weir/service/auth"
)

// calls is how many calls tenant a makes; make long asks for 10,000.
var calls = flag.Int("rest.calls", 500, "random calls of TestOneTenantTouchesNoOther")

// TestOneTenantTouchesNoOther: random calls of tenant a, with whatever names b in
// bodies, paths, headers and attributes, leave b as it was: its rules, users, quotas and
// audit, what it may ask of the service, and what it reads.
func TestOneTenantTouchesNoOther(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s := newServer(t, setup{limits: auth.Limits{Checks: "gcra:50/1s", Reads: "unlimited", Writes: "unlimited"}})
	made := s.call("write-b", "POST", "/api/v1/users/shared/override", `{"rule_id":"api","limit":"gcra:77/1h","expires_at":"2026-12-01T00:00:00Z","reason":"secret of b"}`).is(201)
	override := made.field("id").(string)
	s.call("write-b", "POST", "/api/v1/rules", `{"id":"only-b","key":["user"],"limit":"gcra:1000/1h","mode":"shadow"}`).is(201)
	s.call("check-b", "POST", "/api/v1/check", strings.Replace(me, "me", "shared", 1)).is(200)
	stored, err := s.tenants["b"].Rules.File(t.Context())
	s.must(err)
	s.await("b", stored.Compiled.Version())
	snapshot := func() string {
		var all []string
		for _, target := range []string{
			"/api/v1/rules", "/api/v1/users/shared/limits", "/api/v1/audit",
			"/api/v1/quota?identifier=shared&dimension=USER&endpoint=/login&method=POST&attribute=org%3Dacme&attribute=ip%3D192.0.2.1",
		} {
			a := s.call("read-b", "GET", target, "").is(200)
			all = append(all, string(a.body))
		}
		return strings.Join(all, "\n")
	}
	before := snapshot()
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	limited := 0
	for range *calls {
		user := pick("shared", "shared", "me", "b", "../b/shared", "b:shared")
		rule := pick("only-b", "api", "n1", "n2")
		role := pick("check", "read", "write", "write")
		method, target, body := pick("GET", "PUT", "POST", "DELETE"), "", ""
		header := []string{"If-Match", pick("*", `"x"`), "Idempotency-Key", pick("k1", "k2")}
		switch r.IntN(10) {
		case 0, 1, 2:
			method, target = "POST", "/api/v1/check"
			body = fmt.Sprintf(`{"identifier":%q,"dimension":%q,"endpoint":%q,"method":"POST","cost":%d,"attributes":{%q:"b"}}`,
				user, pick("USER", "ORG", "IP"), pick("/", "/login", "*"), r.IntN(5), pick("tenant", "Tenant", "x"))
		case 3:
			target, method = "/api/v1/quota?identifier="+strings.ReplaceAll(user, "/", "%2F")+"&dimension=USER&endpoint=/"+pick("", "&attribute=tenant%3Db"), "GET"
		case 4, 5:
			target = "/api/v1/rules/" + rule
			body = fmt.Sprintf(`{"id":%q,"limit":"gcra:1/1h","tenant":"b"}`, rule)
			if r.IntN(2) == 0 {
				body = fmt.Sprintf(`{"id":%q,"key":["user"],"limit":"gcra:%d/1h"}`, rule, 1+r.IntN(5))
			}
			if r.IntN(3) == 0 {
				method, target = "POST", "/api/v1/rules"
			}
		case 6, 7:
			target = "/api/v1/users/" + strings.ReplaceAll(user, "/", "%2F") + pick("/limits", "/tier", "/override", "/override/"+override)
			body = pick(`{"tier":"paid"}`, `{"rule_id":"api","limit":0,"expires_at":"2026-12-01T00:00:00Z","reason":"r"}`)
		case 8:
			target, method = "/api/v1/audit?"+pick("", "user=shared", "cursor=1"), "GET"
		case 9:
			target, method = pick("/api/v1/policy:explain", "/api/v1/policy:validate"), "POST"
			body = strings.Replace(me, "me", user, 1)
		}
		if method == "GET" {
			body = ""
		}
		if r.IntN(4) == 0 {
			header = append(header, auth.TenantHeader, pick("b", "a", "*"))
		}
		a := s.call(role+"-a", method, target, body, header...)
		for _, secret := range []string{"secret of b", override, `"tenant":"b"`, "gcra:77"} {
			if strings.Contains(string(a.body), secret) {
				t.Fatalf("%s %s as %s-a reads %q of b: %s", method, target, role, secret, a.body)
			}
		}
		if a.status == 429 && a.header.Get("Content-Type") == "application/problem+json" {
			limited++
		}
	}
	if limited == 0 {
		t.Error("the self-limit of a was never reached: whether a can use up that of b was not tried")
	}
	if after := snapshot(); after != before {
		t.Errorf("b has changed:\nbefore %s\nafter  %s", before, after)
	}
	if a := s.call("check-b", "POST", "/api/v1/check", me); a.status != 200 {
		t.Errorf("b cannot check: %d %s", a.status, a.body)
	}
}
