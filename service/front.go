package service

import (
	"errors"
	"net/http"

	"google.golang.org/grpc"

	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/config"
)

// front is a protocol that stands beside weir.v1.RateLimiter.
type front struct {
	// register adds services to the gRPC server; nil for none. methods says what its
	// methods do.
	register func(grpc.ServiceRegistrar)
	methods  auth.Methods
	// routes are what is served on the listener http, and admin on that of operators. They
	// bring their guard along.
	routes, admin map[string]http.Handler
	// reload reads its files again; nil for nothing to read.
	reload func(*config.Config) error
}

// openFronts makes the fronts that the configuration asks for.
func (s *Service) openFronts(c *config.Config) error {
	switch {
	case c.RLS != nil:
		return errors.New("service: rls: the service of Envoy is not built yet: must be left out")
	case c.Gubernator != nil:
		return errors.New("service: gubernator: is not built yet: must be left out")
	}
	return nil
}
