package service

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	gubernatorpb "github.com/weirgo/weir/service/gubernator/pb"
)

const rls = `
domain: mongo_cps
descriptors:
  - key: database
    rate_limit: {unit: hour, requests_per_unit: 2}
`

func TestEnvoyIsServedBesideIt(t *testing.T) {
	folder := files(t, "weir.yaml", free+"rls: {files: [rls.yaml], charge: exact}\n", "rls.yaml", rls)
	c := load(t, folder)
	s := run(t, c, nil)
	client := pb.NewRateLimitServiceClient(s.conn)
	request := &pb.RateLimitRequest{Domain: "mongo_cps", Descriptors: []*common.RateLimitDescriptor{{Entries: []*common.RateLimitDescriptor_Entry{{Key: "database", Value: "users"}}}}}
	for i, want := range []pb.RateLimitResponse_Code{pb.RateLimitResponse_OK, pb.RateLimitResponse_OK, pb.RateLimitResponse_OVER_LIMIT} {
		if r, err := client.ShouldRateLimit(t.Context(), request); err != nil || r.OverallCode != want {
			t.Errorf("request %d: %v, %v: want %v", i, r, err, want)
		}
	}
	for result, want := range map[string]string{"allowed": "2", "denied": "1"} {
		if got := s.metric(t, `rate_limiter_requests_total{algorithm="fixed-window",error="",result="`+result+`"}`, ""); got != want {
			t.Errorf("%s descriptors %s, want %s", got, result, want)
		}
	}
	if got := s.metric(t, `rate_limiter_keys{store="rls"}`, ""); got != "1" {
		t.Errorf("%q states, want 1", got)
	}
	eventually(t, "healthy", func() bool { code, body := s.get(t, "/healthcheck"); return code == http.StatusOK && body == "OK" })
	replace(t, folder+"/rls.yaml", strings.Replace(rls, "2}", "3}", 1))
	eventually(t, "the limit of the new file", func() bool {
		r, err := client.ShouldRateLimit(t.Context(), request)
		return err == nil && r.OverallCode == pb.RateLimitResponse_OK
	})
	replace(t, folder+"/rls.yaml", "domain: ''\n")
	eventually(t, "an error of the file", func() bool { return s.metric(t, failedReloads, "") != "0" })
	if _, err := Explain(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), "rls.yaml") {
		t.Errorf("%v: want an error of the file", err)
	}
}

// descriptor is a descriptor with one entry.
func descriptor(key, value string) *common.RateLimitDescriptor {
	return &common.RateLimitDescriptor{Entries: []*common.RateLimitDescriptor_Entry{{Key: key, Value: value}}}
}

// TestEnvoyIsAnsweredAsConfigured: each setting of rls is seen over the wire.
func TestEnvoyIsAnsweredAsConfigured(t *testing.T) {
	const text = "domain: d\ndescriptors:\n- {key: one, metadata: {plan: {name: small}}, rate_limit: {unit: year, requests_per_unit: 1}}\n"
	const more = "domain: d\ndescriptors:\n- {key: two, rate_limit: {unit: year, requests_per_unit: 9}}\n"
	second := func(settings string) *pb.RateLimitResponse { // the first request used up what "one" has
		t.Helper()
		s := run(t, load(t, files(t, "weir.yaml", free+"rls: {files: [a.yaml, b.yaml]"+settings+"}\n", "a.yaml", text, "b.yaml", more)), nil)
		client := pb.NewRateLimitServiceClient(s.conn)
		request := &pb.RateLimitRequest{Domain: "d", Descriptors: []*common.RateLimitDescriptor{descriptor("one", "x"), descriptor("two", "x")}}
		if r, err := client.ShouldRateLimit(t.Context(), request); err != nil || r.GetOverallCode() != pb.RateLimitResponse_OK {
			t.Fatal(r, err)
		}
		r, err := client.ShouldRateLimit(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const merged = ", merge_domains: true"
	if r := second(merged); r.GetOverallCode() != pb.RateLimitResponse_OVER_LIMIT || r.GetResponseHeadersToAdd() != nil || r.GetDynamicMetadata() != nil {
		t.Errorf("%v: want a denial without headers and metadata", r)
	}
	for _, mode := range []string{", shadow: true", ", quota: true"} { // what is over in quota mode denies alone
		if r := second(merged + mode); r.GetOverallCode() != pb.RateLimitResponse_OK || r.GetStatuses()[0].GetCode() != pb.RateLimitResponse_OVER_LIMIT {
			t.Errorf("%s: %v: want OK, and a status that is over", mode, r)
		}
	}
	for names, want := range map[string]string{
		"{}": "RateLimit-Limit=1 RateLimit-Remaining=0", "{limit: X-Limit, remaining: X-Left}": "X-Limit=1 X-Left=0",
	} {
		h := second(merged + ", headers: " + names).GetResponseHeadersToAdd()
		if len(h) != 3 || h[0].GetKey()+"="+h[0].GetValue()+" "+h[1].GetKey()+"="+h[1].GetValue() != want || h[2].GetKey() != "RateLimit-Reset" || h[2].GetValue() == "0" {
			t.Errorf("headers: %s: %v, want %s", names, h, want)
		}
	}
	fields := second(merged + ", dynamic_metadata: true").GetDynamicMetadata().GetFields()
	if fields["domain"].GetStringValue() != "d" || len(fields["descriptors"].GetListValue().GetValues()) != 2 {
		t.Errorf("%v: want the domain and two descriptors", fields)
	}

	for name, c := range map[string]struct{ settings, b, want string }{
		"two files of a domain": {"", more, "b.yaml: duplicate domain 'd' in config file"},
		"strict":                {", strict: true", "domain: e\ndescriptors:\n- {key: k, rate_limit: {weir: {limit: 'gcra:1/1s'}}}\n", "b.yaml: config error, unknown key 'weir'"},
	} {
		loaded := load(t, files(t, "weir.yaml", free+"rls: {files: [a.yaml, b.yaml]"+c.settings+"}\n", "a.yaml", text, "b.yaml", c.b))
		_, explained := Explain(t.Context(), loaded, nil)
		s, err := New(t.Context(), loaded, nil)
		if err == nil {
			s.Close()
		}
		for _, err := range []error{explained, err} {
			if err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		}
	}
}

// TestGubernatorHasItsZone: a day ends at midnight there.
func TestGubernatorHasItsZone(t *testing.T) {
	zone, err := time.LoadLocation("Asia/Kathmandu") // +05:45, all year
	if err != nil {
		t.Fatal(err)
	}
	s := run(t, load(t, files(t, "weir.yaml", free+"gubernator: {enabled: true, zone: Asia/Kathmandu}\n")), nil)
	r, err := gubernatorpb.NewV1Client(s.conn).GetRateLimits(t.Context(), &gubernatorpb.GetRateLimitsReq{Requests: []*gubernatorpb.RateLimitReq{
		{Name: "n", UniqueKey: "k", Hits: 1, Limit: 1, Duration: 2, Behavior: gubernatorpb.Behavior_DURATION_IS_GREGORIAN},
	}})
	if err != nil || r.GetResponses()[0].GetError() != "" {
		t.Fatal(r, err)
	}
	if end := time.UnixMilli(r.GetResponses()[0].GetResetTime()).In(zone); end.Hour() != 0 || end.Minute() != 0 || end.Second() != 0 {
		t.Errorf("the day ends at %s", end)
	}
}

func TestGubernatorIsServedBesideIt(t *testing.T) {
	s := run(t, load(t, files(t, "weir.yaml", free+"gubernator: {enabled: true}\n")), nil)
	client := gubernatorpb.NewV1Client(s.conn)
	request := &gubernatorpb.GetRateLimitsReq{Requests: []*gubernatorpb.RateLimitReq{{Name: "n", UniqueKey: "k", Hits: 1, Limit: 1, Duration: 3600_000}}}
	for i, want := range []gubernatorpb.Status{gubernatorpb.Status_UNDER_LIMIT, gubernatorpb.Status_OVER_LIMIT} {
		if r, err := client.GetRateLimits(t.Context(), request); err != nil || r.GetResponses()[0].GetError() != "" || r.GetResponses()[0].GetStatus() != want {
			t.Errorf("request %d: %v, %v: want %v", i, r, err, want)
		}
	}
	for name, want := range map[string]string{
		`rate_limiter_requests_total{algorithm="gubernator-window",error="",result="allowed"}`: "1",
		`rate_limiter_requests_total{algorithm="gubernator-window",error="",result="denied"}`:  "1",
		`rate_limiter_latency_seconds_count{algorithm="gubernator-window"}`:                    "2",
	} {
		if got := s.metric(t, name, ""); got != want {
			t.Errorf("%s: %q, want %s", name, got, want)
		}
	}
	eventually(t, "healthy", func() bool {
		code, body := s.get(t, "/v1/HealthCheck")
		return code == http.StatusOK && strings.Contains(body, "healthy")
	})
	if r, err := client.LiveCheck(t.Context(), &gubernatorpb.LiveCheckReq{}); err != nil {
		t.Error(r, err)
	}
}

// send sends a body to a path of the listener http, or of that of operators.
func send(t *testing.T, at net.Addr, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+at.String()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

const someone = `{"identifier":"me","dimension":"USER","endpoint":"/"}`

// TestTheFirstMinute: without a configuration there is something to try, as with curl -d,
// which sends the type of a form.
func TestTheFirstMinute(t *testing.T) {
	s := run(t, load(t, files(t, "weir.yaml", free)), &Options{Policy: ExamplePolicy()})
	_, at, _ := s.Addresses()
	for left := 9; left >= 0; left-- {
		code, body := send(t, at, "POST", "/api/v1/check", someone, "Content-Type", "application/x-www-form-urlencoded")
		if code != http.StatusOK || !strings.Contains(body, fmt.Sprintf(`"remaining":%d,`, left)) {
			t.Fatalf("%d %s: want %d left", code, body, left)
		}
	}
	if code, body := send(t, at, "POST", "/api/v1/check", someone, "Content-Type", "application/json"); code != http.StatusTooManyRequests || !strings.Contains(body, `"allowed":false`) {
		t.Errorf("%d %s: want a denial", code, body)
	}
}

func TestOperatorsChangeRules(t *testing.T) {
	s := run(t, load(t, files(t, "weir.yaml", free+"policy: {refresh: 20ms}\n")), nil)
	_, at, admin := s.Addresses()
	code, body := send(t, admin, "POST", "/api/v1/rules", `{"id":"user","key":["user"],"limits":{"hour":"gcra:3/1h"}}`, "Content-Type", "application/json")
	if code != http.StatusCreated {
		t.Fatalf("%d %s", code, body)
	}
	eventually(t, "the new rule", func() bool {
		r, err := s.CheckRateLimit(t.Context(), user("u"))
		return err == nil && r.Limit == 3
	})
	if code, _ := send(t, at, "GET", "/api/v1/rules", ""); code != http.StatusNotFound {
		t.Errorf("rules on the listener for everybody: %d, want 404", code)
	}
	// With a file they are read-only here.
	folder := files(t, "weir.yaml", free+"policy: {file: policy.yaml}\n", "policy.yaml", userPolicy)
	s = run(t, load(t, folder), nil)
	_, _, admin = s.Addresses()
	if code, body := send(t, admin, "POST", "/api/v1/rules", `{"id":"x","limits":{"hour":"gcra:3/1h"}}`, "Content-Type", "application/json"); code != http.StatusConflict || !strings.Contains(body, "policy.yaml") {
		t.Errorf("%d %s: want 409 with the file", code, body)
	}
	if code, body := send(t, admin, "GET", "/api/v1/rules", ""); code != http.StatusOK || !strings.Contains(body, `"user"`) {
		t.Errorf("%d %s: want the rules of the file", code, body)
	}
}

// TestARuleThatNoNodeTakesIsRefused: a rule with a lease, stored where there are no leases,
// would stop all changes behind it, and the next start.
func TestARuleThatNoNodeTakesIsRefused(t *testing.T) {
	s := run(t, load(t, files(t, "weir.yaml", free+"policy: {refresh: 20ms}\n")), nil)
	_, _, admin := s.Addresses()
	const leased = `{"id":"a","key":["user"],"limit":"gcra:300/1h","lease":true}`
	if code, body := send(t, admin, "POST", "/api/v1/rules", leased, "Content-Type", "application/json"); code != http.StatusUnprocessableEntity || !strings.Contains(body, `"/lease"`) {
		t.Errorf("%d %s: want 422 for /lease", code, body)
	}
	if code, body := send(t, admin, "POST", "/api/v1/policy:validate", "version: 1\nrules: ["+leased+"]", "Content-Type", "application/yaml"); code != http.StatusOK || !strings.Contains(body, `"valid":false`) {
		t.Errorf("%d %s: want a policy that is not valid", code, body)
	}
	if code, body := send(t, admin, "POST", "/api/v1/rules", `{"id":"b","key":["user"],"limit":"gcra:3/1h"}`, "Content-Type", "application/json"); code != http.StatusCreated {
		t.Errorf("%d %s", code, body)
	}
	eventually(t, "the next rule", func() bool {
		r, err := s.CheckRateLimit(t.Context(), user("u"))
		return err == nil && r.Limit == 3
	})
	folder := files(t, "weir.yaml", free+"policy: {file: policy.yaml}\n", "policy.yaml", "version: 1\nrules: ["+leased+"]\n")
	if _, err := Explain(t.Context(), load(t, folder), nil); err == nil || !strings.Contains(err.Error(), "rules[0].lease") {
		t.Errorf("%v: want --check to say what a start would", err)
	}
}

// TestIDsOfUsersMayBeAnything: also what a mux would take for a path that is not clean.
func TestIDsOfUsersMayBeAnything(t *testing.T) {
	s := run(t, load(t, files(t, "weir.yaml", free)), nil)
	_, at, admin := s.Addresses()
	for _, id := range []string{"%2E%2E", ".", "a%2F%2Fb", "%2F", "a%2F..%2Fb"} {
		if code, body := send(t, admin, "GET", "/api/v1/users/"+id+"/limits", ""); code != http.StatusOK {
			t.Errorf("%s: %d %s", id, code, body)
		}
	}
	for _, path := range []string{"/api/v1//check", "/api/v1/../v1/check"} {
		if code, body := send(t, at, "POST", path, someone, "Content-Type", "application/json"); code != http.StatusNotFound {
			t.Errorf("%s: %d %s, want 404 and no redirect", path, code, body)
		}
	}
}
