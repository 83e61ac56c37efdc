package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// TestHTTPAsksTheGuardFirst: the handler sees the caller, and no request that is refused.
func TestHTTPAsksTheGuardFirst(t *testing.T) {
	g := guard(t, table(t, "app:check:a", "ops:write:a"), &Options{Tenants: []string{"a"}, Limits: Limits{Writes: "fixed-window:1/1h"}})
	served := 0
	handler := func(a Action) http.Handler {
		return g.HTTP(a, "ROUTE", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			served++
			if c, found := CallerOf(r.Context()); found != (a != Open) || found && c.Tenant != "a" {
				t.Errorf("%s: the caller is %+v, %t", a, c, found)
			}
		}))
	}
	for _, c := range []struct {
		name          string
		a             Action
		authorization string
		status        int
		header, value string
	}{
		{"health", Open, "", 200, "", ""},
		{"no token", Check, "", 401, "Www-Authenticate", `Bearer realm="weir"`},
		{"check", Check, "Bearer token-app", 200, "", ""},
		{"scheme in lower case", Check, "bearer token-app", 200, "", ""},
		{"role", Write, "Bearer token-app", 403, "Content-Type", "application/problem+json"},
		{"write", Write, "Bearer token-ops", 200, "", ""},
		{"self-limit", Write, "Bearer token-ops", 429, "Content-Type", "application/problem+json"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		if c.authorization != "" {
			r.Header.Set("Authorization", c.authorization)
		}
		w, before := httptest.NewRecorder(), served
		handler(c.a).ServeHTTP(w, r)
		if w.Code != c.status || (served > before) != (c.status == 200) || c.header != "" && w.Header().Get(c.header) != c.value {
			t.Errorf("%s: status %d, served %t, %v", c.name, w.Code, served > before, w.Header())
		}
		if c.status == 429 && w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", c.name)
		}
	}
}

// TestCertificatesCountOnlyWhereVerified: what a client sends without a chain is a claim.
func TestCertificatesCountOnlyWhereVerified(t *testing.T) {
	made, err := ParseTable([]byte("version: 1\ncallers:\n- {name: ops, subject: \"CN=ops\", role: check}\n"))
	if err != nil {
		t.Fatal(err)
	}
	g := guard(t, made, nil)
	certificate := &x509.Certificate{Subject: pkix.Name{CommonName: "ops"}}
	for name, c := range map[string]struct {
		state  *tls.ConnectionState
		status int
	}{
		"none":         {nil, 401},
		"not verified": {&tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}, 401},
		"verified":     {&tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{certificate}}}, 200},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.TLS = c.state
		w := httptest.NewRecorder()
		g.HTTP(Check, "ROUTE", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("HTTP, %s: status %d", name, w.Code)
		}
		p := &peer.Peer{Addr: &net.TCPAddr{}}
		if c.state != nil {
			p.AuthInfo = credentials.TLSInfo{State: *c.state}
		}
		_, err := g.Unary(Methods{"/m": Check})(peer.NewContext(context.Background(), p), nil, &grpc.UnaryServerInfo{FullMethod: "/m"},
			func(context.Context, any) (any, error) { return nil, nil })
		if want := map[int]codes.Code{200: codes.OK, 401: codes.Unauthenticated}[c.status]; status.Code(err) != want {
			t.Errorf("gRPC, %s: %v", name, err)
		}
	}
}

// TestGRPCAsksTheGuardFirst: also streams; a method that nobody has listed is refused.
func TestGRPCAsksTheGuardFirst(t *testing.T) {
	g := guard(t, table(t, "app:check:a", "sidecar:check:*"), &Options{Tenants: []string{"a", "b"}, TenantLimits: map[string]Limits{"b": {Checks: "fixed-window:2/1h"}}})
	methods := Methods{"/health": Open, "/check": Check, "/reset": Write}
	for _, c := range []struct {
		name, method string
		md           metadata.MD
		code         codes.Code
		tenant       string
	}{
		{"health", "/health", nil, codes.OK, ""},
		{"no token", "/check", nil, codes.Unauthenticated, ""},
		{"check", "/check", metadata.Pairs("authorization", "Bearer token-app"), codes.OK, "a"},
		{"role", "/reset", metadata.Pairs("authorization", "Bearer token-app"), codes.PermissionDenied, ""},
		{"not listed", "/other", metadata.Pairs("authorization", "Bearer token-app"), codes.PermissionDenied, ""},
		{"unknown tenant", "/check", metadata.Pairs("authorization", "Bearer token-sidecar", "weir-tenant", "c"), codes.PermissionDenied, ""},
		{"trusted", "/check", metadata.Pairs("authorization", "Bearer token-sidecar", "weir-tenant", "b"), codes.OK, "b"},
		{"self-limit", "/check", metadata.Pairs("authorization", "Bearer token-sidecar", "weir-tenant", "b"), codes.ResourceExhausted, ""},
	} {
		ctx := metadata.NewIncomingContext(context.Background(), c.md)
		tenant := ""
		see := func(ctx context.Context) {
			caller, _ := CallerOf(ctx)
			tenant = caller.Tenant
		}
		_, err := g.Unary(methods)(ctx, nil, &grpc.UnaryServerInfo{FullMethod: c.method}, func(ctx context.Context, _ any) (any, error) {
			see(ctx)
			return nil, nil
		})
		check := func(kind string, err error) {
			if status.Code(err) != c.code || tenant != c.tenant {
				t.Errorf("%s, %s: %v for tenant %q", kind, c.name, err, tenant)
			}
			if c.code == codes.ResourceExhausted {
				if d := status.Convert(err).Details(); len(d) != 1 || d[0].(*errdetails.RetryInfo).RetryDelay.AsDuration() <= 0 {
					t.Errorf("%s, %s: details %v", kind, c.name, d)
				}
			}
		}
		check("unary", err)
		tenant = ""
		check("stream", g.Stream(methods)(nil, &serverStream{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: c.method}, func(_ any, s grpc.ServerStream) error {
			see(s.Context())
			return nil
		}))
	}
}

type serverStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *serverStream) Context() context.Context { return s.ctx }
