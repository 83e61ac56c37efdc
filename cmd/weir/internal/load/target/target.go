// Package target asks stores and services, for a load.
package target

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/weirgo/weir/cmd/weir/internal/load"
)

// Target is a load.Target that can be looked at first, and is closed behind the load.
type Target interface {
	load.Target
	// Probe asks for nothing, and says why the target cannot be asked.
	Probe(ctx context.Context) error
	Close() error
}

// Refused is what Probe returns where the target was reached and refuses such requests.
type Refused struct{ Reason string }

func (e *Refused) Error() string { return e.Reason }

// Service is how a service is asked.
type Service struct {
	Endpoint, Dimension, Token string
	Timeout                    time.Duration
	// Callers is how many requests are under way at most. Over HTTP/1.1 each has a connection.
	Callers int
	// Connections are those over gRPC, which take turns. 0 is one.
	Connections int
}

// ServiceForms are the URLs of services, for messages.
const ServiceForms = "http://HOST[:PORT][/PATH], https://…, grpc://HOST:PORT, or grpcs://… with TLS"

// IsService reports whether a URL has the scheme of a service.
func IsService(text string) bool {
	scheme, _, _ := strings.Cut(text, "://")
	switch scheme {
	case "http", "https", "grpc", "grpcs":
		return true
	}
	return false
}

// ParseService reads the URL of a service. Its error does not hold the URL, which may have
// a password.
func ParseService(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("the URL of the service cannot be read: must be %s", ServiceForms)
	case u.User != nil:
		return nil, fmt.Errorf("the URL of the service has a user: must be %s, with a token in a file", ServiceForms)
	case strings.HasPrefix(u.Scheme, "grpc") && (u.Port() == "" || u.Path != ""):
		return nil, fmt.Errorf("%q is not allowed: must be %s", text, ServiceForms)
	}
	return u, nil
}

// Open returns the target of the URL of a service. It connects with nothing yet.
func (s *Service) Open(u *url.URL) (Target, error) {
	if strings.HasPrefix(u.Scheme, "grpc") {
		return s.openGRPC(u)
	}
	return s.openHTTP(u), nil
}
