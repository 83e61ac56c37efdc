package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
)

// hash is what a table has of a token.
func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// table is a table of callers, each as name:role:tenant, whose token is token-NAME.
func table(t testing.TB, callers ...string) *Table {
	t.Helper()
	text := "version: 1\ncallers:\n"
	for _, c := range callers {
		part := strings.Split(c, ":")
		text += fmt.Sprintf("  - {name: %s, token_sha256: %s, role: %s, tenant: %q}\n", part[0], hash("token-"+part[0]), part[1], part[2])
	}
	made, err := ParseTable([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func guard(t testing.TB, of *Table, opts *Options) *Guard {
	t.Helper()
	g, err := New(of, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func bearer(name string) []string { return []string{"Bearer token-" + name} }

// reason is why a request is refused; 0 where it is not.
func reason(t testing.TB, g *Guard, r Request) Reason {
	t.Helper()
	_, err := g.Authorize(context.Background(), r)
	if err == nil {
		return 0
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *Error", err)
	}
	return e.Reason
}

// TestRolesTenantsAndActions: every role, with every kind of tenant, for every action.
func TestRolesTenantsAndActions(t *testing.T) {
	g := guard(t, table(t, "check:check:a", "read:read:a", "write:write:a", "trusted:write:*"), &Options{Tenants: []string{"a", "b"}})
	may := map[string]string{"check": "check look", "read": "look read", "write": "check look read write"}
	tenants := []struct {
		header []string
		own    bool
	}{{nil, true}, {[]string{"a"}, true}, {[]string{"b"}, false}, {[]string{"c"}, false}, {[]string{""}, false}, {[]string{"*"}, false}, {[]string{"a", "a"}, false}}
	for role, allowed := range may {
		for a := Check; a <= Write; a++ {
			for _, tenant := range tenants {
				r := Request{Authorization: bearer(role), Tenant: tenant.header, Action: a}
				want := Forbidden
				if tenant.own && strings.Contains(" "+allowed+" ", " "+a.String()+" ") {
					want = 0
				}
				if got := reason(t, g, r); got != want {
					t.Errorf("role %s, %s, tenant %q: reason %d, want %d", role, a, tenant.header, got, want)
				}
				for name, none := range map[string][]string{"none": nil, "wrong": {"Bearer token"}, "basic": {"Basic token-" + role}, "empty": {"Bearer "},
					"twice": append(bearer(role), bearer(role)...), "long": {"Bearer " + strings.Repeat("x", maxToken+1)}, "hash": {"Bearer " + hash("token-"+role)}} {
					r.Authorization = none
					if got := reason(t, g, r); got != Unauthenticated {
						t.Errorf("token %s, %s, tenant %q: reason %d, want unauthenticated", name, a, tenant.header, got)
					}
				}
			}
		}
	}
	for header, want := range map[string]string{"a": "a", "b": "b", "c": "", "*": "", "": ""} {
		c, err := g.Authorize(context.Background(), Request{Authorization: bearer("trusted"), Tenant: []string{header}, Action: Check})
		if c.Tenant != want || (err == nil) != (want != "") {
			t.Errorf("a trusted caller for %q: tenant %q, %v", header, c.Tenant, err)
		}
	}
	if got := reason(t, g, Request{Authorization: bearer("trusted"), Action: Check}); got != Forbidden {
		t.Errorf("a trusted caller without a tenant: %d", got)
	}
	if got := reason(t, g, Request{Action: Open}); got != 0 {
		t.Errorf("health asks for a caller: %d", got)
	}
	if got := reason(t, g, Request{Authorization: bearer("write")}); got != Forbidden {
		t.Errorf("an action that does not exist: %d", got)
	}
}

// TestTokensAreComparedWithAllCallers: how many comparisons there are says nothing of the
// token, and each is one of crypto/subtle.
func TestTokensAreComparedWithAllCallers(t *testing.T) {
	made := table(t, "first:check:a", "second:check:a", "last:check:a")
	made.callers = append(made.callers, entry{Caller: Caller{Name: "by-subject"}})
	compared := 0
	made.equal = func(a, b []byte) int {
		if len(a) != sha256.Size || len(b) != sha256.Size {
			t.Errorf("%d and %d bytes are compared", len(a), len(b))
		}
		compared++
		return subtle.ConstantTimeCompare(a, b)
	}
	for _, token := range []string{"token-first", "token-second", "token-last", "token", "", strings.Repeat("x", maxToken)} {
		compared = 0
		c, found := made.byToken(token)
		if compared != 3 {
			t.Errorf("%q: %d comparisons, want 3", token, compared)
		}
		if want := strings.TrimPrefix(token, "token-"); found && c.Name != want || found != (strings.HasPrefix(token, "token-")) {
			t.Errorf("%q is the token of %q, %t", token, c.Name, found)
		}
	}
}

// TestCertificatesAreFoundBySubject: only where no token is sent.
func TestCertificatesAreFoundBySubject(t *testing.T) {
	made, err := ParseTable([]byte("version: 1\ncallers:\n- {name: ops, subject: \"CN=ops,O=Acme\", role: write}\n- {name: app, token_sha256: " + hash("token-app") + ", role: check}\n"))
	if err != nil {
		t.Fatal(err)
	}
	g := guard(t, made, nil)
	c, err := g.Authorize(context.Background(), Request{Subject: "CN=ops,O=Acme", Action: Write})
	if err != nil || c.Name != "ops" || c.Tenant != DefaultTenant {
		t.Errorf("%+v, %v", c, err)
	}
	for name, r := range map[string]Request{
		"another subject":                 {Subject: "CN=ops", Action: Write},
		"no subject":                      {Action: Check},
		"a wrong token and a certificate": {Authorization: []string{"Bearer x"}, Subject: "CN=ops,O=Acme", Action: Check},
	} {
		if got := reason(t, g, r); got != Unauthenticated {
			t.Errorf("%s: reason %d", name, got)
		}
	}
}

// TestSelfLimitsAreOfEachCallerOrTenant: one that uses up its own stops no other.
func TestSelfLimitsAreOfEachCallerOrTenant(t *testing.T) {
	now := clock.NewMock()
	now.Set(time.Unix(1_800_000_000, 0))
	g := guard(t, table(t, "one:write:a", "two:write:a", "other:write:b"), &Options{
		Tenants: []string{"a", "b"}, Clock: now,
		Limits:       Limits{Checks: "fixed-window:3/1s", Reads: "fixed-window:2/1m"},
		TenantLimits: map[string]Limits{"b": {Checks: "unlimited"}},
	})
	passed := func(name string, a Action) (n int) {
		for range 200 {
			if reason(t, g, Request{Authorization: bearer(name), Action: a}) == 0 {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		name string
		a    Action
		want int
	}{
		{"one", Check, 3}, {"two", Check, 0}, {"two", Look, 0}, // checks are of the tenant
		{"one", Read, 2}, {"two", Read, 2}, {"one", Write, 100}, {"two", Write, 100}, // by default 100 a minute
		{"other", Check, 200}, {"other", Look, 200}, {"other", Read, 2}, {"other", Write, 100},
	} {
		if got := passed(c.name, c.a); got != c.want {
			t.Errorf("%s may %s %d times, want %d", c.name, c.a, got, c.want)
		}
	}
	_, err := g.Authorize(context.Background(), Request{Authorization: bearer("one"), Action: Write})
	var e *Error
	if !errors.As(err, &e) || e.Reason != Limited || e.RetryAfter <= 0 || e.RetryAfter > time.Minute {
		t.Errorf("%+v", err)
	}
	now.Add(e.RetryAfter)
	if got := passed("one", Write); got != 100 {
		t.Errorf("after RetryAfter %d writes pass", got)
	}
	if n := g.Limited(Look); n != 200 {
		t.Errorf("%d looks are counted as limited, want 200", n)
	}
}

// TestRefusalsAreReported: those of callers, not those of limits.
func TestRefusalsAreReported(t *testing.T) {
	var mu sync.Mutex
	var all []Refusal
	g := guard(t, table(t, "app:check:a"), &Options{Tenants: []string{"a"}, Limits: Limits{Checks: "fixed-window:1/1h"},
		Refused: func(_ context.Context, r Refusal) { mu.Lock(); defer mu.Unlock(); all = append(all, r) }})
	for _, r := range []Request{
		{Authorization: []string{"Bearer x"}, Action: Check, Remote: "192.0.2.1:5", Target: "POST /api/v1/check"},
		{Authorization: bearer("app"), Action: Write, Target: "PUT /x"},
		{Authorization: bearer("app"), Action: Check}, {Authorization: bearer("app"), Action: Check},
	} {
		_, _ = g.Authorize(context.Background(), r)
	}
	if len(all) != 2 || all[0].Err.Reason != Unauthenticated || all[0].Caller.Name != "" || all[0].Remote != "192.0.2.1:5" ||
		all[1].Err.Reason != Forbidden || all[1].Caller.Name != "app" || all[1].Target != "PUT /x" {
		t.Errorf("%+v", all)
	}
}

// TestRefusalsAreReportedWithinABound: those who guess tokens write no disk full.
func TestRefusalsAreReportedWithinABound(t *testing.T) {
	now := clock.NewMock()
	var reported, missed int64
	g := guard(t, table(t, "app:check:a"), &Options{Tenants: []string{"a"}, Clock: now,
		Refused: func(_ context.Context, r Refusal) { reported, missed = reported+1, missed+r.Missed }})
	guess := func(n int) {
		for range n {
			_, _ = g.Authorize(context.Background(), Request{Authorization: []string{"Bearer guess"}, Action: Check})
		}
	}
	guess(1000)
	if reported != 100 || missed != 0 {
		t.Errorf("%d were reported and %d counted", reported, missed)
	}
	now.Add(time.Second)
	guess(20)
	if reported != 110 || missed != 900 {
		t.Errorf("a second later %d were reported and %d counted, want 110 and 900", reported, missed)
	}
}

// TestTablesAreSwapped: a table that does not fit changes nothing.
func TestTablesAreSwapped(t *testing.T) {
	g := guard(t, table(t, "old:check:a"), &Options{Tenants: []string{"a"}})
	if err := g.Swap(table(t, "new:check:elsewhere")); err == nil || !strings.Contains(err.Error(), `unknown tenant "elsewhere"`) {
		t.Error(err)
	}
	if err := g.Swap(nil); err == nil {
		t.Error("no table is a table")
	}
	if got := reason(t, g, Request{Authorization: bearer("old"), Action: Check}); got != 0 {
		t.Errorf("after a table that does not fit the old caller is refused: %d", got)
	}
	if err := g.Swap(table(t, "new:check:a")); err != nil {
		t.Fatal(err)
	}
	if got := reason(t, g, Request{Authorization: bearer("old"), Action: Check}); got != Unauthenticated {
		t.Errorf("a caller who was removed: %d", got)
	}
	if got := reason(t, g, Request{Authorization: bearer("new"), Action: Check}); got != 0 {
		t.Errorf("a new caller: %d", got)
	}
}

func TestWithoutATableEverybodyIsAnonymous(t *testing.T) {
	g := guard(t, nil, nil)
	c, err := g.Authorize(context.Background(), Request{Action: Write})
	if err != nil || c != (Caller{"anonymous", RoleWrite, DefaultTenant}) {
		t.Errorf("%+v, %v", c, err)
	}
	if got := reason(t, g, Request{Action: Write, Tenant: []string{"other"}}); got != Forbidden {
		t.Errorf("another tenant: %d", got)
	}
	g.Close()
	if got := reason(t, g, Request{Action: Write}); got != Unavailable {
		t.Errorf("after Close: %d", got)
	}
}

func TestWrongTablesAndOptionsAreRefused(t *testing.T) {
	ok := "{name: a, token_sha256: " + hash("x") + ", role: check}"
	for name, c := range map[string]struct{ text, want string }{
		"unknown field": {"version: 1\ncallers:\n- {name: a, token: x, role: check}", "unknown field"},
		"version":       {"version: 2\ncallers: [" + ok + "]", "version 2"},
		"none":          {"version: 1", "0 callers"},
		"role":          {"version: 1\ncallers: [{name: a, token_sha256: " + hash("x") + ", role: admin}]", `callers[0].role "admin"`},
		"name":          {"version: 1\ncallers: [{name: a b, subject: CN=a, role: check}]", `callers[0].name "a b"`},
		"tenant":        {"version: 1\ncallers: [{name: a, subject: CN=a, role: check, tenant: \"a/b\"}]", `callers[0].tenant "a/b"`},
		"hash":          {"version: 1\ncallers: [{name: a, token_sha256: abc, role: check}]", "64 hex digits"},
		"both":          {"version: 1\ncallers: [{name: a, token_sha256: " + hash("x") + ", subject: CN=a, role: check}]", "exactly one"},
		"neither":       {"version: 1\ncallers: [{name: a, role: check}]", "exactly one"},
		"name twice":    {"version: 1\ncallers: [" + ok + ", {name: a, subject: CN=a, role: check}]", "given twice"},
		"token twice":   {"version: 1\ncallers: [" + ok + ", {name: b, token_sha256: " + hash("x") + ", role: write}]", "callers[1].token_sha256 is given twice"},
		"subject twice": {"version: 1\ncallers: [{name: a, subject: CN=a, role: check}, {name: b, subject: CN=a, role: write}]", "given twice"},
		"syntax":        {"version: [", "auth: "},
		"large":         {strings.Repeat("#", maxTableBytes+1), "must be fewer"},
	} {
		if _, err := ParseTable([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for name, opts := range map[string]*Options{
		"tenant":        {Tenants: []string{"a/b"}},
		"no default":    {Tenants: []string{"a"}},
		"limits":        {Limits: Limits{Checks: "gcra:x"}},
		"tenant limits": {TenantLimits: map[string]Limits{"x": {}}},
		"reads":         {TenantLimits: map[string]Limits{DefaultTenant: {Reads: "0"}}},
	} {
		if _, err := New(nil, opts); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := LoadTable(t.TempDir() + "/none"); err == nil {
		t.Error("a file that is not there is a table")
	}
}
