package service

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
)

// readiness says whether calls should be sent here.
type readiness struct {
	started, draining atomic.Bool
	storeDown         atomic.Bool // and the failure mode of a tenant is closed
}

// why is why the service is not ready; "" where it is.
func (r *readiness) why() string {
	switch {
	case r.draining.Load():
		return "draining"
	case !r.started.Load():
		return "starting"
	case r.storeDown.Load():
		return "the store does not answer, and the failure mode is closed"
	}
	return ""
}

const (
	probeEvery   = time.Second
	probeTimeout = time.Second
)

// probe asks the stores whose failure mode is closed, again and again, and tells gRPC's
// health service.
func (s *Service) probe(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		s.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Service) look(ctx context.Context) {
	down := false
	for _, t := range s.tenants {
		if t.onFailure != policy.FailClosed {
			continue
		}
		down = !t.answers(ctx)
		break // all tenants have one server
	}
	if ctx.Err() != nil {
		return
	}
	if s.ready.storeDown.Swap(down) != down {
		s.log.Warn("readiness", "store_answers", !down)
	}
	s.setHealth()
}

var probed = algorithm.Must(algorithm.NewGCRA(algorithm.Rate{Units: 1, Per: time.Second}, 1))

// answers reports whether the store of a tenant answers a look.
func (t *tenant) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := t.stack.bare.Peek(ctx, []store.Op{{Slot: store.Slot{Key: "weir-readiness", Limit: "readiness", Algorithm: probed}}})
	return err == nil
}

// healthNames are the services that grpc.health.v1 knows.
var healthNames = []string{"", weirv1.RateLimiter_ServiceDesc.ServiceName, "ratelimit"}

// setHealth tells gRPC's health service. A server that drains has told it by Shutdown.
func (s *Service) setHealth() {
	status := healthpb.HealthCheckResponse_SERVING
	if s.ready.why() != "" {
		status = healthpb.HealthCheckResponse_NOT_SERVING
	}
	for _, name := range healthNames {
		s.grpcHealth.SetServingStatus(name, status)
	}
}

func (s *Service) healthz(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") }

func (s *Service) readyz(w http.ResponseWriter, _ *http.Request) {
	if why := s.ready.why(); why != "" {
		answer(w, http.StatusServiceUnavailable, why)
		return
	}
	answer(w, http.StatusOK, "ok")
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	w.Write([]byte(text + "\n")) // the client may be gone
}
