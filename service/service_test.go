package service

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/policy/watch"
	"github.com/weirgo/weir/service/audit"
	"github.com/weirgo/weir/service/config"
	"github.com/weirgo/weir/service/gubernator"
	gubernatorpb "github.com/weirgo/weir/service/gubernator/pb"
)

func TestServesAndStops(t *testing.T) {
	s := run(t, load(t, files(t, "weir.yaml", free+"policy: {file: policy.yaml}\nlimits: {api: 'gcra:5/1h'}\n", "policy.yaml", userPolicy)), nil)
	ctx := t.Context()
	if r, err := s.CheckRateLimit(ctx, user("u")); err != nil || !r.Allowed || r.Remaining != 9 || r.RuleId != "user" {
		t.Errorf("%v, %v", r, err)
	}
	if r, err := s.AllowN(ctx, &weirv1.AllowNRequest{LimitName: "api", Key: "k", N: 2}); err != nil || r.Remaining != 3 {
		t.Errorf("%v, %v", r, err)
	}
	eventually(t, "ready", func() bool { code, _ := s.get(t, "/readyz"); return code == http.StatusOK })
	if code, body := s.get(t, "/healthz"); code != http.StatusOK || body != "ok" {
		t.Errorf("healthz: %d %q", code, body)
	}
	health := healthpb.NewHealthClient(s.conn)
	for _, name := range healthNames {
		if r, err := health.Check(ctx, &healthpb.HealthCheckRequest{Service: name}); err != nil || r.Status != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", name, r, err)
		}
	}
	s.stop()
	if err := s.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := s.Run(ctx); err == nil {
		t.Error("a second Run is no error")
	}
}

func TestDrainSaysSoFirst(t *testing.T) {
	folder := files(t, "weir.yaml", strings.Replace(free, "drain: 0s", "drain: 10s", 1)+"policy: {file: policy.yaml}\n", "policy.yaml", userPolicy)
	drained := make(chan struct{})
	defer close(drained)
	s := run(t, load(t, folder), &Options{drain: func(d time.Duration) {
		if d != 10*time.Second {
			t.Errorf("drains for %s, want 10s", d)
		}
		<-drained
	}})
	eventually(t, "ready", func() bool { code, _ := s.get(t, "/readyz"); return code == http.StatusOK })
	s.stop()
	eventually(t, "not ready", func() bool {
		code, body := s.get(t, "/readyz")
		return code == http.StatusServiceUnavailable && body == "draining"
	})
	if r, err := healthpb.NewHealthClient(s.conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil || r.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("%v, %v: want NOT_SERVING", r, err)
	}
	if r, err := s.CheckRateLimit(t.Context(), user("u")); err != nil || !r.Allowed {
		t.Errorf("%v, %v: want an answer while it drains", r, err)
	}
}

// TestStoppingDoesNotWaitForWatchers: they are told that the service stops, and their calls
// end, which a graceful stop waits for.
func TestStoppingDoesNotWaitForWatchers(t *testing.T) {
	drained := make(chan struct{})
	s := run(t, load(t, files(t, "weir.yaml", strings.Replace(free, "timeout: 20s", "timeout: 1h", 1))), &Options{drain: func(time.Duration) { <-drained }})
	stream, err := healthpb.NewHealthClient(s.conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	next := func() healthpb.HealthCheckResponse_ServingStatus {
		r, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return r.GetStatus()
	}
	for next() != healthpb.HealthCheckResponse_SERVING {
	}
	s.stop()
	if got := next(); got != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("%s while it drains", got)
	}
	close(drained)
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("%v: want UNAVAILABLE", err)
	}
	if err := s.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// TestWatchersAreBounded: whoever asks needs no token.
func TestWatchersAreBounded(t *testing.T) {
	s := run(t, load(t, files(t, "weir.yaml", free)), nil)
	s.watches.n.Add(maxWatches - 1)
	client := healthpb.NewHealthClient(s.conn)
	first, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err == nil {
		_, err = first.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	second, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err == nil {
		_, err = second.Recv()
	}
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v: want RESOURCE_EXHAUSTED", err)
	}
}

// counter counts decisions.
type counter struct{ n atomic.Int64 }

func (c *counter) Observe(_ context.Context, o weir.Observation) {
	if o.Kind == weir.KindTake {
		c.n.Add(1)
	}
}

// TestStoppingLosesNothing: whatever was decided was answered.
func TestStoppingLosesNothing(t *testing.T) {
	decided := &counter{}
	folder := files(t, "weir.yaml", free+"limits: {api: 'gcra:1000000000/1h'}\n")
	s := run(t, load(t, folder), &Options{Observer: decided})
	var answered atomic.Int64
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for {
				_, err := s.Allow(context.Background(), &weirv1.AllowRequest{LimitName: "api", Key: fmt.Sprint(i)})
				if err != nil {
					return
				}
				answered.Add(1)
			}
		})
	}
	eventually(t, "load", func() bool { return answered.Load() > 500 })
	s.stop()
	if err := s.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}
	callers.Wait()
	if d, a := decided.n.Load(), answered.Load(); d != a {
		t.Errorf("%d decided, %d answered: want as many", d, a)
	}
}

// stuck is an observer that lets nothing go on.
type stuck struct{ reached, release chan struct{} }

func (s *stuck) Observe(context.Context, weir.Observation) {
	select {
	case s.reached <- struct{}{}:
	default:
	}
	<-s.release
}

func TestStopIsForcedAtTheTimeOut(t *testing.T) {
	observer := &stuck{make(chan struct{}, 1), make(chan struct{})}
	defer close(observer.release)
	folder := files(t, "weir.yaml", strings.Replace(free, "timeout: 20s", "timeout: 50ms", 1)+"limits: {api: 'gcra:1/1h'}\n")
	s := run(t, load(t, folder), &Options{Observer: observer})
	failed := make(chan error, 1)
	go func() {
		_, err := s.Allow(context.Background(), &weirv1.AllowRequest{LimitName: "api", Key: "k"})
		failed <- err
	}()
	<-observer.reached
	s.stop()
	if err := s.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := <-failed; status.Code(err) != codes.Unavailable {
		t.Errorf("%v: want UNAVAILABLE", err)
	}
}

func withToken(ctx context.Context, name string, pairs ...string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, append(pairs, "authorization", "Bearer token-"+name)...)
}

const twoTenants = `
auth: {file: callers.yaml}
policy: {file: policy.yaml}
limits: {api: "gcra:10/1h"}
tenants:
  acme: {limits: {api: "gcra:3/1h"}}
  globex: {policy: {file: globex.yaml}}
audit: {folder: audit}
`

func tenants(t *testing.T) (s *running, folder string) {
	folder = files(t, "weir.yaml", free+twoTenants, "policy.yaml", userPolicy, "globex.yaml", strings.Replace(userPolicy, "10/1h", "100/1h", 1),
		"callers.yaml", callers("a check acme", "b check globex", "w write acme"))
	return run(t, load(t, folder), nil), folder
}

func TestTenantsAreApart(t *testing.T) {
	s, _ := tenants(t)
	ctx := t.Context()
	if _, err := s.CheckRateLimit(ctx, user("u")); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without a token: %v", err)
	}
	reset := &weirv1.ResetRequest{Target: &weirv1.ResetRequest_Subject{Subject: &weirv1.Subject{Identifier: "u", Dimension: weirv1.Dimension_USER, Endpoint: "/"}}}
	if _, err := s.ResetLimit(withToken(ctx, "a"), reset); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a reset by a caller that checks: %v", err)
	}
	ten := int64(10)
	m := user("u")
	m.Cost = &ten
	if r, err := s.CheckRateLimit(withToken(ctx, "a"), m); err != nil || !r.Allowed || r.Limit != 10 || r.Remaining != 0 {
		t.Errorf("%v, %v", r, err)
	}
	// The other tenant has its own policy and its own keys.
	if r, err := s.CheckRateLimit(withToken(ctx, "b"), user("u")); err != nil || r.Limit != 100 || r.Remaining != 99 {
		t.Errorf("%v, %v", r, err)
	}
	for name, limit := range map[string]int64{"a": 3, "b": 10} {
		if r, err := s.Allow(withToken(ctx, name), &weirv1.AllowRequest{LimitName: "api", Key: "k"}); err != nil || r.Limit != limit {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	if _, err := s.CheckRateLimit(withToken(ctx, "a", "weir-tenant", "globex"), user("u")); status.Code(err) != codes.PermissionDenied {
		t.Errorf("another tenant in the metadata: %v", err)
	}
}

func TestResetsAreAudited(t *testing.T) {
	s, _ := tenants(t)
	reset := &weirv1.ResetRequest{Target: &weirv1.ResetRequest_Subject{Subject: &weirv1.Subject{Identifier: "somebody", Dimension: weirv1.Dimension_USER, Endpoint: "/"}}}
	if _, err := s.ResetLimit(withToken(t.Context(), "w"), reset); err != nil {
		t.Fatal(err)
	}
	page, err := s.audit.Read(audit.Query{Tenant: "acme", Limit: 10})
	if err != nil || len(page.Entries) != 2 || page.Entries[0].Result != audit.Begun || page.Entries[1].Result != audit.Done {
		t.Fatalf("%+v, %v: want two lines", page.Entries, err)
	}
	e := page.Entries[1]
	if e.Actor != "w" || e.Action != "reset" || e.Target != s.audit.UserTarget("acme", "somebody") || !strings.Contains(string(e.After), "user") || e.PolicyVersion == "" {
		t.Errorf("%+v", e)
	}
	// What is not valid is refused, and not repeated.
	for _, wrong := range []*weirv1.ResetRequest{
		{Target: &weirv1.ResetRequest_Limit{Limit: &weirv1.LimitKey{LimitName: "marked-4711", Key: "k"}}},
		{Target: &weirv1.ResetRequest_Subject{Subject: &weirv1.Subject{Identifier: "u", Attributes: map[string]string{"marked-4711": strings.Repeat("x", 2000)}}}},
		{},
	} {
		if _, err := s.ResetLimit(withToken(t.Context(), "w"), wrong); err == nil {
			t.Errorf("%v is reset", wrong)
		}
	}
	named := &weirv1.ResetRequest{Target: &weirv1.ResetRequest_Limit{Limit: &weirv1.LimitKey{LimitName: "api", Key: "k"}}}
	if _, err := s.Reset(withToken(t.Context(), "w"), named); err != nil {
		t.Error(err)
	}
	page, err = s.audit.Read(audit.Query{Tenant: "acme", Limit: 20})
	if err != nil || len(page.Entries) != 10 || page.Entries[9].Target != "limit:api" || page.Entries[3].Result != audit.Failed+"NotFound" {
		t.Errorf("%+v, %v: want ten lines", page.Entries, err)
	}
	for _, e := range page.Entries {
		if strings.Contains(fmt.Sprintf("%+v", e), "marked") {
			t.Errorf("what was sent is in the audit: %+v", e)
		}
	}
	s.audit.Close()
	if _, err := s.ResetLimit(withToken(t.Context(), "w"), reset); status.Code(err) != codes.Unavailable {
		t.Errorf("a reset that cannot be written down: %v: want UNAVAILABLE", err)
	}
}

func TestReloadTakesLimitsAndCallers(t *testing.T) {
	s, folder := tenants(t)
	again := func(weirYAML, table string) error {
		other := files(t, "weir.yaml", strings.ReplaceAll(weirYAML, "file: ", "file: "+folder+"/"), "callers.yaml", table)
		c := load(t, other)
		if c.Auth != nil {
			c.Auth.File = other + "/callers.yaml"
		}
		c.Audit = s.config.Load().Audit
		return s.Reload(c)
	}
	table := callers("c check acme")
	if err := again(free+strings.Replace(twoTenants, "gcra:3/1h", "gcra:4/1h", 1), table); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Allow(withToken(t.Context(), "c"), &weirv1.AllowRequest{LimitName: "api", Key: "k"}); err != nil || r.Limit != 4 {
		t.Errorf("%v, %v: want the new limit for the new caller", r, err)
	}
	if _, err := s.Allow(withToken(t.Context(), "a"), &weirv1.AllowRequest{LimitName: "api", Key: "k"}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("%v: want the caller that is gone to be unknown", err)
	}
	for _, c := range []struct{ name, text, table, want string }{
		{"store", free + twoTenants + "store: {prefix: 'x:'}\n", table, "store"},
		{"tenants", free + strings.Replace(twoTenants, "globex:", "initech:", 1), table, "tenants"},
		{"callers", free + twoTenants, "callers: nobody", "callers"},
		{"callers of an unknown tenant", free + twoTenants, callers("c check initech"), "initech"},
		{"auth", free + strings.Replace(twoTenants, "auth: {file: callers.yaml}", "", 1), table, "auth"},
	} {
		if err := again(c.text, c.table); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want an error that names %s", c.name, err, c.want)
		}
		if r, err := s.Allow(withToken(t.Context(), "c"), &weirv1.AllowRequest{LimitName: "api", Key: "k"}); err != nil || r.Limit != 4 {
			t.Errorf("after a bad reload (%s): %v, %v: want the limit from before", c.name, r, err)
		}
	}
}

// TestSecretsNeedARestart: what a file holds counts, and not its name alone.
func TestSecretsNeedARestart(t *testing.T) {
	signed := httptest.NewTLSServer(nil)
	signed.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed.Certificate().Raw})
	text := free + "store: {url: 'rediss-sentinel://127.0.0.1:1/m', password_file: p, sentinel_password_file: s, ca_file: ca}\non_failure: open\nsecret_file: k\n"
	folder := files(t, "weir.yaml", text, "p", "one", "s", "one", "ca", string(certificate), "k", "0123456789abcdef")
	before := load(t, folder)
	if changed := needRestart(before, load(t, folder)); len(changed) > 0 {
		t.Errorf("%q changed where nothing did", changed)
	}
	for _, c := range [][3]string{
		{"p", "two", "store.password_file"}, {"s", "two", "store.sentinel_password_file"},
		{"ca", string(certificate) + string(certificate), "store.ca_file"}, {"k", "0123456789abcdeg", "secret_file"},
	} {
		old, err := os.ReadFile(folder + "/" + c[0])
		if err != nil {
			t.Fatal(err)
		}
		replace(t, folder+"/"+c[0], c[1])
		if changed := needRestart(before, load(t, folder)); !slices.Equal(changed, []string{c[2]}) {
			t.Errorf("%s: %q changed, want %s", c[0], changed, c[2])
		}
		replace(t, folder+"/"+c[0], string(old))
	}
}

// TestAReloadWithoutAConfigurationIsCounted: the alert and the audit know of it.
func TestAReloadWithoutAConfigurationIsCounted(t *testing.T) {
	s := run(t, load(t, files(t, "weir.yaml", free+"audit: {folder: audit}\n")), nil)
	_, err := config.Load(config.Source{File: files(t, "weir.yaml", "version: 9") + "/weir.yaml"})
	s.ReloadFailed(err)
	if n := s.metric(t, failedReloads, ""); n != "1" {
		t.Errorf("%q reloads have failed, want 1", n)
	}
	page, err := s.audit.Read(audit.Query{Limit: 10})
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Action != "reload" || !strings.HasPrefix(page.Entries[0].Result, audit.Failed) {
		t.Errorf("%+v, %v: want a line of the reload", page.Entries, err)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	s := run(t, load(t, files(t, "weir.yaml", free)), nil)
	m := user("u")
	m.Endpoint = "/" + strings.Repeat("x", maxMessage)
	if _, err := s.CheckRateLimit(t.Context(), m); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v: want a message above 64 KiB to be refused", err)
	}
	s = run(t, load(t, files(t, "weir.yaml", free+"gubernator: {enabled: true}\nrls: {files: [rls.yaml]}\n", "rls.yaml", rls)), nil)
	if _, err := s.CheckRateLimit(t.Context(), m); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v: want a message above 64 KiB to be refused beside gubernator", err)
	}
	if _, err := pb.NewRateLimitServiceClient(s.conn).ShouldRateLimit(t.Context(), &pb.RateLimitRequest{Domain: m.Endpoint}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v: want a message above 64 KiB to be refused by rls", err)
	}
	batch := &gubernatorpb.GetRateLimitsReq{}
	for range gubernator.MaxItems {
		batch.Requests = append(batch.Requests, &gubernatorpb.RateLimitReq{Name: "requests_per_second", UniqueKey: strings.Repeat("k", 100), Limit: 1, Hits: 1, Duration: 1000})
	}
	if r, err := gubernatorpb.NewV1Client(s.conn).GetRateLimits(t.Context(), batch); err != nil || len(r.GetResponses()) != gubernator.MaxItems {
		t.Errorf("%v: want a batch of %d items to be answered", err, gubernator.MaxItems)
	}
	batch.Requests[0].UniqueKey = strings.Repeat("k", gubernator.MaxMessage)
	if _, err := gubernatorpb.NewV1Client(s.conn).GetRateLimits(t.Context(), batch); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v: want a batch above 1 MiB to be refused", err)
	}
	large := metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("x", maxHeader))
	if _, err := s.CheckRateLimit(large, user("u")); err == nil {
		t.Error("metadata above 32 KiB is accepted")
	}
}

func TestAPolicyFileIsFollowed(t *testing.T) {
	folder := files(t, "weir.yaml", free+"policy: {file: policy.yaml, refresh: 20ms}\n", "policy.yaml", userPolicy)
	s := run(t, load(t, folder), nil)
	replace(t, folder+"/policy.yaml", strings.Replace(userPolicy, "10/1h", "20/1h", 1))
	eventually(t, "the new policy", func() bool {
		r, err := s.CheckRateLimit(t.Context(), user("u"))
		return err == nil && r.Limit == 20
	})
	replace(t, folder+"/policy.yaml", "version: 1\nrules: nonsense\n")
	eventually(t, "the error", func() bool { return s.metric(t, failedReloads, "") != "0" })
	if r, err := s.CheckRateLimit(t.Context(), user("u")); err != nil || r.Limit != 20 {
		t.Errorf("%v, %v: want the last good policy", r, err)
	}
}

func TestExplainReadsEveryFile(t *testing.T) {
	folder := files(t, "weir.yaml", free+twoTenants, "policy.yaml", userPolicy, "globex.yaml", userPolicy, "callers.yaml", callers("a check acme"))
	text, err := Explain(t.Context(), load(t, folder), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"memory of this process", "tenant       acme: policy ", "1 rules", "limits by name: 1", "callers of", "audit"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	replace(t, folder+"/globex.yaml", "version: 3")
	if _, err := Explain(t.Context(), load(t, folder), nil); err == nil || !strings.Contains(err.Error(), "globex") {
		t.Errorf("%v: want the error of the policy", err)
	}
}

func TestAPortThatIsTakenIsAnError(t *testing.T) {
	s := run(t, load(t, files(t, "weir.yaml", free)), nil)
	at, _, _ := s.Addresses()
	c := load(t, files(t, "weir.yaml", strings.Replace(free, "127.0.0.1:0", at.String(), 1)))
	start := time.Now()
	if other, err := New(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), "listen.grpc") {
		t.Errorf("%v, %v: want an error of listen.grpc (after %s)", other, err, time.Since(start))
	}
}

// TestOnlyAReloadIsAudited: that changes are noticed no longer, or again, is none.
func TestOnlyAReloadIsAudited(t *testing.T) {
	s := run(t, load(t, files(t, "weir.yaml", free+"audit: {folder: audit}\n")), nil)
	own := s.tenants[config.DefaultTenant]
	s.stop()
	if err := s.wait(t); err != nil { // nobody else reports
		t.Fatal(err)
	}
	var err error
	if s.audit, err = audit.Open(t.TempDir(), nil); err != nil {
		t.Fatal(err)
	}
	defer s.audit.Close()
	report, now := s.report(own), own.watcher.Status()
	lost := errors.New("connection refused")
	for _, c := range []struct {
		change func(*watch.Status)
		result string // of the line; "" for none
	}{
		{func(st *watch.Status) { st.NotifyErr = lost }, ""},
		{func(st *watch.Status) { st.Err = lost }, audit.Failed + lost.Error()},
		{func(st *watch.Status) { st.Err = nil }, audit.Done},
		{func(st *watch.Status) { st.NotifyErr = nil }, ""},
		{func(st *watch.Status) { st.Version, st.Since = "2", time.Now() }, audit.Done},
	} {
		before, err := s.audit.Read(audit.Query{Tenant: config.DefaultTenant, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		c.change(&now)
		report(now)
		after, err := s.audit.Read(audit.Query{Tenant: config.DefaultTenant, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, e := range after.Entries[len(before.Entries):] {
			got += e.Result
		}
		if got != c.result {
			t.Errorf("%+v: the audit has %q, want %q", now, got, c.result)
		}
	}
}
