package auth

import (
	"crypto/x509"
	"errors"
	"net/http"

	"github.com/weirgo/weir/service/problem"
)

// HTTP returns a handler that asks the Guard first. A request that may not go on gets a
// problem document: 401, 403, 429 with Retry-After, or 503. target names the route for the
// audit, such as "GET /api/v1/rules".
func (g *Guard) HTTP(a Action, target string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := g.Authorize(r.Context(), RequestOf(r, a, target))
		if err != nil {
			problemOf(err).Write(w)
			return
		}
		if a != Open {
			r = r.WithContext(WithCaller(r.Context(), c))
		}
		next.ServeHTTP(w, r)
	})
}

// RequestOf is what a Guard sees of a request over HTTP.
func RequestOf(r *http.Request, a Action, target string) Request {
	return Request{
		Authorization: r.Header.Values("Authorization"), Subject: subjectOf(r), Tenant: r.Header.Values(TenantHeader),
		Remote: r.RemoteAddr, Target: target, Action: a,
	}
}

func subjectOf(r *http.Request) string {
	if r.TLS == nil {
		return ""
	}
	return verified(r.TLS.VerifiedChains)
}

// verified returns the subject of a client certificate that was verified; "" where none was.
func verified(chains [][]*x509.Certificate) string {
	if len(chains) == 0 || len(chains[0]) == 0 {
		return ""
	}
	return chains[0][0].Subject.String()
}

func problemOf(err error) *problem.Problem {
	var e *Error
	if !errors.As(err, &e) {
		return problem.New(problem.Internal, "")
	}
	kind := problem.Unavailable
	switch e.Reason {
	case Unauthenticated:
		kind = problem.Unauthenticated
	case Forbidden:
		kind = problem.Forbidden
	case Limited:
		kind = problem.SelfLimited
	}
	p := problem.New(kind, e.Detail)
	if p.RetryAfter = e.RetryAfter; kind == problem.Unavailable {
		p.RetryAfter = retryUnavailable
	}
	return p
}
