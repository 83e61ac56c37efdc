package rest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/store"
)

const me = `{"identifier":"me","dimension":"USER","endpoint":"/"}`

// TestACheckChargesUntilItDenies: with the numbers and the headers of the limit.
func TestACheckChargesUntilItDenies(t *testing.T) {
	s := newServer(t, setup{})
	for i := range 3 {
		a := s.call("check-a", "POST", "/api/v1/check", me).is(200)
		if a.field("remaining") != float64(2-i) || a.field("rule_id") != "api" || a.field("standing") == "throttled" || a.field("replayed") != false {
			t.Errorf("check %d: %s", i+1, a.body)
		}
		standing := map[int]string{2: ";weir-standing=warning"}[i]
		if got := a.header.Get("RateLimit"); got != fmt.Sprintf(`"api";r=%d;t=1200%s`, 2-i, standing) || a.header.Get("RateLimit-Policy") != `"api";q=3;w=3600` || a.header.Get("Retry-After") != "" {
			t.Errorf("check %d: %v", i+1, a.header)
		}
	}
	a := s.call("check-a", "POST", "/api/v1/check", me).is(429)
	want := `{"allowed":false,"current_count":3,"limit":3,"remaining":0,"reset_at":1795957200,"retry_after":1200,"retry_after_exact":"1200s","reset_after_exact":"3600s","delay":"0s","at":"2026-11-29T12:00:00Z","rule_id":"api","decisions":[{"allowed":false,"current_count":3,"limit":3,"remaining":0,"reset_at":1795957200,"retry_after":1200,"retry_after_exact":"1200s","reset_after_exact":"3600s","delay":"0s","rule_id":"api"}],"standing":"throttled","degraded":false,"policy_version":"` +
		s.tenants["a"].Engine.PolicyVersion() + `","replayed":false}`
	if string(a.body) != want || a.header.Get("Retry-After") != "1200" || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("\n got %s\nwant %s\n%v", a.body, want, a.header)
	}
	s.clock.Add(1200 * time.Second)
	s.call("check-a", "POST", "/api/v1/check", me).is(200)
}

// TestAnswersOfListsAndUnmatchedRequests: denied by a list, and allowed by no rule.
func TestAnswersOfListsAndUnmatchedRequests(t *testing.T) {
	s := newServer(t, setup{})
	a := s.call("check-a", "POST", "/api/v1/check", strings.Replace(me, "me", "villain", 1)).is(429)
	if len(a.field("decisions").([]any)) != 0 || a.header.Get("Retry-After") != "129600" { // until the entry ends
		t.Errorf("%s %v", a.body, a.header)
	}
	a = s.call("check-a", "POST", "/api/v1/check", `{"identifier":"k","dimension":"API_KEY","endpoint":"*"}`).is(200)
	if a.field("rule_id") != "" || a.field("allowed") != true || a.header.Get("RateLimit") != "" {
		t.Errorf("%s %v", a.body, a.header)
	}
	// curl -d calls everything a form.
	s.call("check-a", "POST", "/api/v1/check", me, "Content-Type", "application/x-www-form-urlencoded").is(200)
	s.call("check-a", "POST", "/api/v1/check", me, "Content-Type", "application/json; charset=utf-8").is(200)
	if a = s.call("check-a", "POST", "/api/v1/check", `{"identifier":"i","dimension":"ORG","endpoint":"/x","method":"GET","cost":6,"attributes":{"user":"u"},"timestamp":null}`).is(429); a.field("retry_after") != float64(-1) || a.header.Get("Retry-After") != "" {
		t.Errorf("a cost that never fits: %s %v", a.body, a.header)
	}
}

// TestWrongChecks: each with its status and the pointers of what is wrong, and nothing is
// charged.
func TestWrongChecks(t *testing.T) {
	s := newServer(t, setup{})
	big := strings.Repeat("x", 1025)
	many := `"a0":""`
	for i := range 32 {
		many += fmt.Sprintf(`,"a%d":""`, i+1)
	}
	with := func(field string) string { return strings.TrimSuffix(me, "}") + "," + field + "}" }
	for name, c := range map[string]struct {
		body     string
		status   int
		anchor   string
		pointers []string
	}{
		"empty":              {" ", 400, "malformed", nil},
		"no object":          {`[]`, 400, "malformed", nil},
		"cut off":            {`{"identifier":"me"`, 400, "malformed", nil},
		"comma":              {`{"identifier":"me",}`, 400, "malformed", nil},
		"behind":             {me + "{}", 400, "malformed", nil},
		"not UTF-8":          {"{\"identifier\":\"\xff\",\"dimension\":\"USER\",\"endpoint\":\"/\"}", 400, "malformed", nil},
		"unknown field":      {with(`"costs":1`), 400, "malformed", []string{"/costs"}},
		"field in capitals":  {strings.Replace(me, "identifier", "Identifier", 1), 400, "malformed", []string{"/Identifier"}},
		"escaped name":       {with(`"a~/b":1`), 400, "malformed", []string{"/a~0~1b"}},
		"twice":              {with(`"identifier":"you"`), 400, "malformed", []string{"/identifier"}},
		"twice within":       {with(`"attributes":{"ip":"192.0.2.1","ip":"192.0.2.2"}`), 400, "malformed", []string{"/attributes/ip"}},
		"twice deep within":  {with(`"attributes":[1e999,{"a":[{"b":1,"b":2}]}]`), 400, "malformed", []string{"/attributes/1/a/0/b"}},
		"nothing":            {`{}`, 422, "invalid", []string{"/identifier", "/dimension", "/endpoint"}},
		"null":               {`{"identifier":null,"dimension":"USER","endpoint":"/"}`, 422, "invalid", []string{"/identifier"}},
		"other types":        {`{"identifier":1,"dimension":[],"endpoint":{}}`, 422, "invalid", []string{"/identifier", "/dimension", "/endpoint"}},
		"dimension":          {strings.Replace(me, "USER", "user", 1), 422, "invalid", []string{"/dimension"}},
		"long identifier":    {strings.Replace(me, "me", big, 1), 422, "invalid", []string{"/identifier"}},
		"endpoint":           {strings.Replace(me, `"/"`, `"x"`, 1), 422, "invalid", []string{"/endpoint"}},
		"cost below 0":       {with(`"cost":-1`), 422, "invalid", []string{"/cost"}},
		"cost too large":     {with(`"cost":1000000000001`), 422, "invalid", []string{"/cost"}},
		"cost above int64":   {with(`"cost":1e30`), 422, "invalid", []string{"/cost"}},
		"cost with a part":   {with(`"cost":1.5`), 422, "invalid", []string{"/cost"}},
		"timestamp":          {with(`"timestamp":"now"`), 422, "invalid", []string{"/timestamp"}},
		"33 attributes":      {with(`"attributes":{` + many + `}`), 422, "invalid", []string{"/attributes"}},
		"long attribute":     {with(`"attributes":{"a.b/c":"` + big + `"}`), 422, "invalid", []string{"/attributes/a.b~1c"}},
		"tenant":             {with(`"attributes":{"tenant":"b"}`), 422, "invalid", []string{"/attributes/tenant"}},
		"attributes no text": {with(`"attributes":{"a":1}`), 422, "invalid", []string{"/attributes"}},
		"key":                {with(`"idempotency_key":"a b"`), 422, "invalid", []string{"Idempotency-Key"}},
		"too large":          {with(`"method":"` + strings.Repeat("x", MaxBody) + `"`), 413, "too-large", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.call("check-a", "POST", "/api/v1/check", c.body)
			a.t = t
			a.is(c.status).has(c.anchor, c.pointers...)
		})
	}
	for _, media := range []string{"text/plain", "application/xml", "", "application/json; =", "multipart/form-data; boundary=x"} {
		s.call("check-a", "POST", "/api/v1/check", me, "Content-Type", media).is(415).has("media-type")
	}
	if a := s.call("check-a", "GET", "/api/v1/quota?identifier=me&dimension=USER&endpoint=/", "").is(200); a.field("remaining") != 3.0 {
		t.Errorf("something was charged: %s", a.body)
	}
}

// TestAnIdempotencyKeyChargesOnce: in a header, its alias or the body; also concurrently.
func TestAnIdempotencyKeyChargesOnce(t *testing.T) {
	s := newServer(t, setup{})
	first := s.call("check-a", "POST", "/api/v1/check", me, "Idempotency-Key", "k1").is(200)
	s.clock.Add(time.Millisecond)
	for name, a := range map[string]*answer{
		"again": s.call("check-a", "POST", "/api/v1/check", me, "Idempotency-Key", "k1"),
		"alias": s.call("check-a", "POST", "/api/v1/check", me, "X-Idempotency-Key", "k1"),
		"body":  s.call("check-a", "POST", "/api/v1/check", strings.TrimSuffix(me, "}")+`,"idempotency_key":"k1"}`),
		"all":   s.call("check-a", "POST", "/api/v1/check", strings.TrimSuffix(me, "}")+`,"idempotency_key":"k1"}`, "Idempotency-Key", "k1", "X-Idempotency-Key", "k1"),
	} {
		if a.is(200); a.field("replayed") != true || a.field("remaining") != first.field("remaining") {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	s.call("check-a", "POST", "/api/v1/check", strings.Replace(me, "me", "you", 1), "Idempotency-Key", "k1").is(422).has("idempotency-reuse", "Idempotency-Key")
	s.call("check-a", "POST", "/api/v1/check", me, "Idempotency-Key", "k1", "X-Idempotency-Key", "k2").is(422).has("invalid", "Idempotency-Key")
	s.call("check-a", "POST", "/api/v1/check", me, "Idempotency-Key", strings.Repeat("k", 129)).is(422).has("invalid", "Idempotency-Key")
	// Another caller, and another tenant, have keys of their own.
	if a := s.call("write-a", "POST", "/api/v1/check", me, "Idempotency-Key", "k1").is(200); a.field("replayed") != false {
		t.Errorf("another caller: %s", a.body)
	}
	if a := s.call("check-b", "POST", "/api/v1/check", me, "Idempotency-Key", "k1").is(200); a.field("replayed") != false || a.field("remaining") != 2.0 {
		t.Errorf("another tenant: %s", a.body)
	}
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			s.call("check-a", "POST", "/api/v1/check", strings.Replace(me, "me", "they", 1), "Idempotency-Key", "k3").is(200)
		})
	}
	callers.Wait()
	a := s.call("check-a", "GET", "/api/v1/quota?identifier=they&dimension=USER&endpoint=/", "").is(200)
	if a.field("remaining") != 2.0 {
		t.Errorf("8 calls with one key were not charged once: %s", a.body)
	}
}

func TestAQuotaChangesNothing(t *testing.T) {
	s := newServer(t, setup{})
	for range 5 {
		a := s.call("read-a", "GET", "/api/v1/quota?identifier=me&dimension=USER&endpoint=/x&method=GET&attribute=org%3Dacme&attribute=ip%3D192.0.2.1", "").is(200)
		if len(a.field("decisions").([]any)) != 3 || a.field("remaining") != 3.0 || a.header.Get("Retry-After") != "" {
			t.Errorf("%s", a.body)
		}
	}
	for range 3 {
		s.call("check-a", "POST", "/api/v1/check", me).is(200)
	}
	if a := s.call("check-a", "GET", "/api/v1/quota?identifier=me&dimension=USER&endpoint=/", "").is(200); a.field("allowed") != false || a.field("retry_after") != 1200.0 || a.header.Get("Retry-After") != "" {
		t.Errorf("%s %v", a.body, a.header)
	}
	const ok = "/api/v1/quota?identifier=me&dimension=USER&endpoint=/"
	for _, c := range []struct {
		target   string
		status   int
		anchor   string
		pointers []string
	}{
		{"/api/v1/quota", 422, "invalid", []string{"identifier", "dimension", "endpoint"}},
		{ok + "&x=1", 400, "malformed", []string{"x"}},
		{ok + "&identifier=you", 400, "malformed", []string{"identifier"}},
		{ok + "&attribute=x", 422, "invalid", []string{"attribute"}},
		{ok + "&attribute=x=1&attribute=x=2", 422, "invalid", []string{"attribute"}},
		{ok + "&attribute=tenant=b", 422, "invalid", []string{"attribute"}},
		{ok + "&attribute=a=" + strings.Repeat("x", 1025), 422, "invalid", []string{"attribute"}},
		{"/api/v1/quota?identifier=%zz", 400, "malformed", nil},
		{"/api/v1/quota?identifier=%ff&dimension=USER&endpoint=/", 400, "malformed", []string{"identifier"}},
	} {
		s.call("check-a", "GET", c.target, "").is(c.status).has(c.anchor, c.pointers...)
	}
	if a := s.call("check-a", "HEAD", ok, ""); a.status != 200 {
		t.Errorf("HEAD: %d", a.status)
	}
}

// TestAStoreThatFailsIsUnavailable: 503 with Retry-After, and nothing of the cause.
func TestAStoreThatFailsIsUnavailable(t *testing.T) {
	s := newServer(t, setup{})
	failure := fmt.Errorf("dial 10.0.0.1: %w", store.ErrUnavailable)
	s.fail.Store(&failure)
	for _, a := range []*answer{
		s.call("check-a", "POST", "/api/v1/check", me),
		s.call("check-a", "GET", "/api/v1/quota?identifier=me&dimension=USER&endpoint=/", ""),
		s.call("read-a", "GET", "/api/v1/users/me/limits", ""),
	} {
		a.is(503).has("unavailable")
		if a.header.Get("Retry-After") != "1" || strings.Contains(string(a.body), "10.0.0.1") {
			t.Errorf("%v %s", a.header, a.body)
		}
	}
	broken := store.ErrCorrupt
	s.fail.Store(&broken)
	s.call("check-a", "POST", "/api/v1/check", me).is(500).has("internal")
}

func TestTheClockOfTheCallerIsMeasured(t *testing.T) {
	var got []time.Duration
	s := newServer(t, setup{skew: func(d time.Duration) { got = append(got, d) }})
	s.call("check-a", "POST", "/api/v1/check", strings.TrimSuffix(me, "}")+fmt.Sprintf(`,"timestamp":%d}`, noon.Add(3*time.Second).UnixMicro())).is(200)
	s.call("check-a", "POST", "/api/v1/check", me).is(200)
	if len(got) != 1 || got[0] != 3*time.Second {
		t.Errorf("%v", got)
	}
}

// TestRequestsHaveANameOfTheirOwn: that of the caller where it is plain.
func TestRequestsHaveANameOfTheirOwn(t *testing.T) {
	s := newServer(t, setup{})
	if a := s.call("check-a", "POST", "/api/v1/check", me, "X-Request-Id", "r-1"); a.header.Get("X-Request-Id") != "r-1" {
		t.Error(a.header)
	}
	seen := map[string]bool{}
	for _, sent := range []string{"", "a b", strings.Repeat("x", 129), "ü"} {
		id := s.call("check-a", "POST", "/api/v1/check", me, "X-Request-Id", sent).header.Get("X-Request-Id")
		if seen[id] = true; id == sent || id == "" {
			t.Errorf("%q is called %q", sent, id)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d names of 4 requests", len(seen))
	}
}

func TestTheDescriptionIsServed(t *testing.T) {
	s := newServer(t, setup{})
	for _, role := range []string{"check", "read", "write"} {
		if a := s.call(role+"-a", "GET", "/api/v1/openapi.json", "").is(200); a.field("openapi") != "3.1.0" {
			t.Errorf("%.80s", a.body)
		}
	}
	w, r := httptest.NewRecorder(), s.request("check-a", "GET", "/api/v1/openapi.json", "")
	if s.public.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Errorf("on the other listener: %d", w.Code)
	}
}

func TestExactDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1: "0.000001s", time.Second: "1s", 1500 * time.Millisecond: "1.5s", 1200 * time.Second: "1200s", time.Second + 10*time.Microsecond: "1.00001s",
		-1: "",
	} {
		if got := exact(d); got != want {
			t.Errorf("%d is %s, want %s", d, got, want)
		}
	}
}
