package client_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/api/client"
	"github.com/weirgo/weir/api/weirv1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestDecisionHasTheNumbersOfTheService(t *testing.T) {
	s := newService(t)
	c, _ := start(t, s, client.Options{})
	for _, test := range []struct {
		name string
		ask  func() (client.Decision, error)
		want client.Decision
	}{
		{"Allow", func() (client.Decision, error) { return c.Allow(t.Context(), "api", "a") },
			client.Decision{Decision: weir.Decision{Allowed: true, Limit: 10, Remaining: 9, ResetAfter: time.Minute, At: fixed{}.Now().UTC()}}},
		{"AllowN", func() (client.Decision, error) { return c.AllowN(t.Context(), "api", "a", 9) },
			client.Decision{Decision: weir.Decision{Allowed: true, Limit: 10, ResetAfter: time.Minute, At: fixed{}.Now().UTC()}}},
		{"denied", func() (client.Decision, error) { return c.Allow(t.Context(), "api", "a") },
			client.Decision{Decision: weir.Decision{Limit: 10, RetryAfter: time.Minute, ResetAfter: time.Minute, At: fixed{}.Now().UTC()}}},
		{"never", func() (client.Decision, error) { return c.AllowN(t.Context(), "api", "b", 11) },
			client.Decision{Decision: weir.Decision{Limit: 10, Remaining: 10, RetryAfter: weir.Never, At: fixed{}.Now().UTC()}}},
		{"look", func() (client.Decision, error) { return c.AllowN(t.Context(), "api", "b", 0) },
			client.Decision{Decision: weir.Decision{Allowed: true, Limit: 10, Remaining: 10, At: fixed{}.Now().UTC()}}},
	} {
		if got, err := test.ask(); err != nil || got != test.want {
			t.Errorf("%s: %+v, %v, want %+v", test.name, got, err, test.want)
		}
	}
}

func TestCheckSendsAllOfTheRequest(t *testing.T) {
	s := newService(t)
	c, _ := start(t, s, client.Options{})
	r := client.Request{Identifier: "me", Dimension: weirv1.Dimension_USER, Endpoint: "/x", Method: "GET", Attributes: map[string]string{"org": "acme"}, Cost: new(int64(3)), Timestamp: time.UnixMicro(1_764_288_000_000_001)}
	v, err := c.Check(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	at := fixed{}.Now().UTC()
	want := client.Verdict{
		Decision: client.Decision{Decision: weir.Decision{Allowed: true, Limit: 10, Remaining: 9, ResetAfter: time.Minute, At: at}},
		Rule:     "rule", Standing: weirv1.Standing_STANDING_WARNING, PolicyVersion: "v1",
		Rules: []client.RuleDecision{
			{Decision: weir.Decision{Allowed: true, Limit: 10, Remaining: 9, At: at}, Rule: "rule"},
			{Decision: weir.Decision{Allowed: true, Limit: 5, RetryAfter: weir.Never, At: at}, Rule: "other"},
		},
	}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("%+v, want %+v", v, want)
	}
	sent := s.seen()[0].request.(*weirv1.CheckRequest)
	if sent.GetIdentifier() != "me" || sent.GetDimension() != weirv1.Dimension_USER || sent.GetEndpoint() != "/x" || sent.GetMethod() != "GET" ||
		sent.GetAttributes()["org"] != "acme" || sent.GetCost() != 3 || sent.GetTimestamp() != 1_764_288_000_000_001 {
		t.Errorf("sent %v", sent)
	}

	r = client.Request{Identifier: "me", Dimension: weirv1.Dimension_IP, Endpoint: "/x", Method: "DEGRADED"}
	if v, err = c.Check(t.Context(), r); err != nil || !v.Degraded || v.Cause != nil || !v.Rules[0].Degraded {
		t.Errorf("the service has degraded: %+v, %v", v, err)
	}
	if sent := s.seen()[1].request.(*weirv1.CheckRequest); sent.Cost != nil || sent.GetTimestamp() != 0 {
		t.Errorf("sent %v, want no cost and no timestamp", sent)
	}
}

func TestQuotaAndReset(t *testing.T) {
	s := newService(t)
	c, _ := start(t, s, client.Options{})
	r := client.Request{Identifier: "me", Dimension: weirv1.Dimension_ORG, Endpoint: "/x", Method: "GET", Attributes: map[string]string{"a": "b"}}
	if v, err := c.Quota(t.Context(), r); err != nil || v.Remaining != 10 || v.Rule != "rule" {
		t.Errorf("%+v, %v", v, err)
	}
	if q := s.seen()[0].request.(*weirv1.QuotaRequest); q.GetIdentifier() != "me" || q.GetDimension() != weirv1.Dimension_ORG || q.GetEndpoint() != "/x" || q.GetMethod() != "GET" || q.GetAttributes()["a"] != "b" {
		t.Errorf("sent %v", q)
	}
	for name, reset := range map[string]func() error{
		"Reset": func() error { return c.Reset(t.Context(), "api", "me") },
		"ResetLimit": func() error {
			rules, err := c.ResetLimit(t.Context(), r)
			if len(rules) != 1 || rules[0] != "rule" {
				t.Errorf("ResetLimit: rules %q", rules)
			}
			return err
		},
	} {
		if _, err := c.AllowN(t.Context(), "api", "me", 4); err != nil {
			t.Fatal(err)
		}
		if err := reset(); err != nil || s.used(t, "me") != 0 {
			t.Errorf("%s: %v, %d units are used", name, err, s.used(t, "me"))
		}
	}
}

func TestErrorNamesCodeAndFields(t *testing.T) {
	s := newService(t)
	c, _ := start(t, s, client.Options{})
	with := func(code codes.Code, details ...protoadapt.MessageV1) error {
		return weir.Must(status.New(code, "no").WithDetails(details...)).Err()
	}
	for _, test := range []struct {
		name   string
		answer error
		want   client.Error
		text   string
	}{
		{"fields", with(codes.InvalidArgument, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "n", Description: "0 or more"}, {Field: "key", Description: "1 to 1024 bytes"}}}),
			client.Error{Code: codes.InvalidArgument, Message: "no", Fields: []client.FieldError{{"n", "0 or more"}, {"key", "1 to 1024 bytes"}}}, "client: InvalidArgument: no: n: 0 or more, key: 1 to 1024 bytes"},
		{"self-limit", with(codes.ResourceExhausted, &errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)}),
			client.Error{Code: codes.ResourceExhausted, Message: "no", RetryAfter: 1500 * time.Millisecond}, "client: ResourceExhausted: no"},
		{"no role", status.Error(codes.PermissionDenied, "no"), client.Error{Code: codes.PermissionDenied, Message: "no"}, "client: PermissionDenied: no"},
		{"internal", status.Error(codes.Internal, "no"), client.Error{Code: codes.Internal, Message: "no", MayHaveCounted: true}, "client: Internal: no"},
		{"store down", status.Error(codes.Unavailable, "no"), client.Error{Code: codes.Unavailable, Message: "no", MayHaveCounted: true}, "client: Unavailable: no"},
	} {
		s.answer = func(string) error { return test.answer }
		_, err := c.Allow(t.Context(), "api", "a")
		var e *client.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", test.name, err)
		}
		if e.Code != test.want.Code || e.Message != test.want.Message || e.RetryAfter != test.want.RetryAfter || e.MayHaveCounted != test.want.MayHaveCounted || e.Attempts != 1 ||
			!reflect.DeepEqual(e.Fields, test.want.Fields) || e.Error() != test.text || status.Code(err) != test.want.Code {
			t.Errorf("%s: %+v %v, want %+v", test.name, e, e, test.want)
		}
	}
}

func TestTheCallersContextEnds(t *testing.T) {
	s := newService(t)
	entered := make(chan struct{}, 1)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	s.answer = func(string) error { entered <- struct{}{}; <-release; return nil }
	c, _ := start(t, s, client.Options{OnFailure: weir.FailOpen})
	ctx, cancel := context.WithCancel(client.WithIdempotencyKey(t.Context(), "once"))
	go func() { <-entered; cancel() }()
	d, err := c.Allow(ctx, "api", "a")
	var e *client.Error
	if !errors.Is(err, context.Canceled) || !errors.As(err, &e) || e.Code != codes.Canceled || !e.MayHaveCounted || d.Allowed {
		t.Errorf("%+v, %v, want the error of the context, also with FailOpen", d, err)
	}
	if n := len(s.seen()); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

func TestACloseEndsTheClient(t *testing.T) {
	s := newService(t)
	c, _ := start(t, s, client.Options{OnFailure: weir.FailOpen})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err := c.Allow(t.Context(), "api", "a"); err == nil || d.Allowed {
		t.Errorf("%+v, %v, want an error, also with FailOpen", d, err)
	}
}

func TestACloseEndsCallsThatAreUnderWay(t *testing.T) {
	for _, keys := range []bool{false, true} {
		s := newService(t)
		entered := make(chan struct{}, 10)
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		s.answer = func(string) error { entered <- struct{}{}; <-release; return nil }
		c, _ := start(t, s, client.Options{OnFailure: weir.FailOpen, IdempotencyKeys: keys})
		go func() { <-entered; c.Close() }()
		if d, err := c.Allow(t.Context(), "api", "a"); err == nil || d.Allowed {
			t.Errorf("with keys %v: %+v, %v, want an error, also with FailOpen", keys, d, err)
		}
	}
}

func TestTokenGoesOverTLS(t *testing.T) {
	certificate, pool := certificateOf(t, "service")
	s := newService(t)
	c, _ := start(t, s, client.Options{Token: "secret", TLS: &tls.Config{RootCAs: pool, ServerName: "service"}}, withTLS(certificate))
	if _, err := c.Allow(t.Context(), "api", "a"); err != nil {
		t.Fatal(err)
	}
	if got := s.seen()[0].token; got != "Bearer secret" {
		t.Errorf("authorization %q", got)
	}

	// Another certificate than the one that is trusted.
	other, _ := certificateOf(t, "service")
	c, _ = start(t, s, client.Options{Token: "secret", TLS: &tls.Config{RootCAs: pool, ServerName: "service"}}, withTLS(other))
	_, err := c.Allow(t.Context(), "api", "a")
	if status.Code(err) != codes.Unavailable || len(s.seen()) != 1 {
		t.Errorf("%v and %d calls, want a connection that is refused", err, len(s.seen()))
	}
}

func TestTokenGoesOverPlaintextWhereAskedFor(t *testing.T) {
	s := newService(t)
	c, _ := start(t, s, client.Options{Token: "secret"})
	if _, err := c.Allow(t.Context(), "api", "a"); err != nil {
		t.Fatal(err)
	}
	if got := s.seen()[0].token; got != "Bearer secret" {
		t.Errorf("authorization %q", got)
	}
}

func certificateOf(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestOptionsOutsideTheirBoundsAreRefused(t *testing.T) {
	store := weir.Must(memory())
	defer store.Close()
	api := weir.Must(weir.ParseLimit("api", "gcra:1/1s"))
	for field, o := range map[string]client.Options{
		"Options.Timeout":   {Timeout: -1},
		"Options.Timeout ":  {Timeout: 3 * time.Minute, Attempts: 2},
		"Options.Timeout  ": {Timeout: time.Microsecond},
		"Options.Attempts":  {Attempts: -1},
		"Options.TLS":       {Plaintext: true, TLS: &tls.Config{}},
		"Options.OnFailure": {OnFailure: 3},
		"Options.Local":     {OnFailure: weir.FailLocal},
		"Options.Local ":    {OnFailure: weir.FailOpen, Local: &client.Local{Store: store}},
		"store":             {OnFailure: weir.FailLocal, Local: &client.Local{}},
		"Local.Limits":      {OnFailure: weir.FailLocal, Local: &client.Local{Store: store, Limits: []weir.Limit{api, api}}},
		"Local.Limits ":     {OnFailure: weir.FailLocal, Local: &client.Local{Store: store, Limits: []weir.Limit{{Name: "api"}}}},
		"Local.Check":       {OnFailure: weir.FailLocal, Local: &client.Local{Store: store, Check: weir.Limit{Name: "check"}}},
	} {
		c, err := client.New("service", &o)
		if c != nil || !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), strings.TrimSpace(field)) {
			t.Errorf("%s: %v, %v", field, c, err)
		}
	}
	if c, err := client.New("service", nil); err != nil {
		t.Error(err)
	} else if err := c.Close(); err != nil {
		t.Error(err)
	}
}
