package service

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/service/config"
)

// signer is an authority of certificates.
type signer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// sign makes a certificate for a name, in PEM and with its key; a nil authority signs
// itself.
func sign(t *testing.T, by *signer, name pkix.Name) (made *signer, certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: name, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: by == nil,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if by == nil {
		by = &signer{template, private}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, &private.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{parsed, private}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes})
}

// TestCertificatesNameCallers: over gRPC and HTTP, those of the authority alone; and a token
// counts over TLS as well.
func TestCertificatesNameCallers(t *testing.T) {
	authority, authorityPEM, _ := sign(t, nil, pkix.Name{CommonName: "authority"})
	stranger, _, _ := sign(t, nil, pkix.Name{CommonName: "authority"})
	_, certificate, key := sign(t, authority, pkix.Name{CommonName: "weir"})
	table := callers("app check default") + "  - {name: ops, subject: \"CN=ops,O=Acme\", role: check}\n  - {name: page, subject: CN=page, role: read}\n"
	s := run(t, load(t, files(t, "weir.yaml", free+"tls: {cert_file: weir.pem, key_file: weir.key, client_ca_file: ca.pem}\nauth: {file: callers.yaml}\n",
		"weir.pem", string(certificate), "weir.key", string(key), "ca.pem", string(authorityPEM), "callers.yaml", table)), nil)
	grpcAt, httpAt, _ := s.Addresses()
	known := x509.NewCertPool()
	known.AddCert(authority.certificate)
	ops := pkix.Name{CommonName: "ops", Organization: []string{"Acme"}}
	for _, c := range []struct {
		name  string
		by    *signer // of the certificate of the client; nil: it has none
		as    pkix.Name
		token string
		code  codes.Code
		http  int // 0: no connection
	}{
		{"a certificate", authority, ops, "", codes.OK, 200},
		{"another role", authority, pkix.Name{CommonName: "page"}, "", codes.PermissionDenied, 403},
		{"another subject", authority, pkix.Name{CommonName: "ops"}, "", codes.Unauthenticated, 401},
		{"another authority", stranger, ops, "", codes.Unavailable, 0},
		{"nothing", nil, ops, "", codes.Unauthenticated, 401},
		{"a token", nil, ops, "token-app", codes.OK, 200},
		{"a wrong token with a certificate", authority, ops, "token-no", codes.Unauthenticated, 401},
	} {
		config := &tls.Config{RootCAs: known}
		if c.by != nil {
			_, certificate, key := sign(t, c.by, c.as)
			pair, err := tls.X509KeyPair(certificate, key)
			if err != nil {
				t.Fatal(err)
			}
			// Also one of another authority than the server asks for.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		conn, err := grpc.NewClient(grpcAt.String(), grpc.WithTransportCredentials(credentials.NewTLS(config.Clone())))
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		if c.token != "" {
			ctx = withToken(ctx, strings.TrimPrefix(c.token, "token-"))
		}
		if _, err := weirv1.NewRateLimiterClient(conn).CheckRateLimit(ctx, user("u")); status.Code(err) != c.code {
			t.Errorf("%s: gRPC: %v, want %s", c.name, err, c.code)
		}
		conn.Close()

		transport := &http.Transport{TLSClientConfig: config}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+httpAt.String()+"/api/v1/check", strings.NewReader(someone))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		if c.token != "" {
			request.Header.Set("Authorization", "Bearer "+c.token)
		}
		got := 0
		if response, err := transport.RoundTrip(request); err == nil {
			got = response.StatusCode
			response.Body.Close()
		}
		transport.CloseIdleConnections()
		if got != c.http {
			t.Errorf("%s: HTTP: status %d, want %d", c.name, got, c.http)
		}
	}
}

// TestReloadTakesOverARenewedCertificate: on every listener, that of operators among them; and
// one that is not valid changes nothing.
func TestReloadTakesOverARenewedCertificate(t *testing.T) {
	authority, _, _ := sign(t, nil, pkix.Name{CommonName: "authority"})
	_, first, firstKey := sign(t, authority, pkix.Name{CommonName: "first"})
	_, second, secondKey := sign(t, authority, pkix.Name{CommonName: "second"})
	folder := files(t, "weir.yaml", free+"tls: {cert_file: weir.pem, key_file: weir.key}\n", "weir.pem", string(first), "weir.key", string(firstKey))
	s := run(t, load(t, folder), nil)
	known := x509.NewCertPool()
	known.AddCert(authority.certificate)
	expect := func(name string) {
		t.Helper()
		grpcAt, httpAt, adminAt := s.Addresses()
		for _, at := range []net.Addr{grpcAt, httpAt, adminAt} {
			conn, err := tls.Dial("tcp", at.String(), &tls.Config{RootCAs: known, ServerName: "127.0.0.1", NextProtos: []string{"h2"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := conn.ConnectionState().PeerCertificates[0].Subject.CommonName; got != name {
				t.Errorf("%s shows %q, want %q", at, got, name)
			}
			conn.Close()
		}
	}
	expect("first")
	replace(t, folder+"/weir.pem", string(second))
	replace(t, folder+"/weir.key", string(secondKey))
	if err := s.Reload(load(t, folder)); err != nil {
		t.Fatal(err)
	}
	expect("second")
	replace(t, folder+"/weir.key", string(firstKey)) // of another certificate
	c, err := config.Load(config.Source{File: folder + "/weir.yaml"})
	if err == nil {
		err = s.Reload(c)
	}
	if err == nil {
		t.Error("a key of another certificate was taken")
	}
	expect("second")
}
