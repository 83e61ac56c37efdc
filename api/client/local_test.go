package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/api/client"
	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func memory() (store.Store, error) { return memorystore.New(&memorystore.Options{Clock: fixed{}}) }

// down lets the service answer that it is unavailable.
func down(s *service) {
	s.answer = func(string) error { return status.Error(codes.Unavailable, "down") }
}

var user = client.Request{Identifier: "me", Dimension: weirv1.Dimension_USER, Endpoint: "/"}

// isCauseOf reports whether a Decision is Degraded because of a failure of the service.
func isCauseOf(d client.Decision) bool {
	var e *client.Error
	return d.Degraded && errors.As(d.Cause, &e) && e.Code == codes.Unavailable
}

func TestFailClosedReturnsTheError(t *testing.T) {
	s := newService(t)
	down(s)
	c, _ := start(t, s, client.Options{})
	for name, ask := range map[string]func() (bool, error){
		"Allow":   func() (bool, error) { d, err := c.Allow(t.Context(), "api", "a"); return d.Allowed, err },
		"AllowN":  func() (bool, error) { d, err := c.AllowN(t.Context(), "api", "a", 2); return d.Allowed, err },
		"Check":   func() (bool, error) { v, err := c.Check(t.Context(), user); return v.Allowed, err },
		"Reserve": func() (bool, error) { r, err := c.Reserve(t.Context(), "api", "a", 2); return r != nil, err },
	} {
		if allowed, err := ask(); allowed || status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v, %v", name, allowed, err)
		}
	}
}

func TestFailOpenAdmitsWithoutCounting(t *testing.T) {
	s := newService(t)
	down(s)
	c, _ := start(t, s, client.Options{OnFailure: weir.FailOpen})
	for range 20 {
		if d, err := c.Allow(t.Context(), "api", "a"); err != nil || !d.Allowed || !isCauseOf(d) {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	if v, err := c.Check(t.Context(), user); err != nil || !v.Allowed || !isCauseOf(v.Decision) {
		t.Errorf("%+v, %v", v, err)
	}
	r, err := c.Reserve(t.Context(), "api", "a", 5)
	if err != nil || !r.Decision.Allowed || !isCauseOf(r.Decision) || r.Token() != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if settled, err := r.Settle(t.Context(), 9); err != nil || settled != (client.Settlement{Degraded: true}) {
		t.Errorf("%+v, %v, want a settlement of nothing", settled, err)
	}
	if err := r.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	// What is no decision has no failure mode.
	if _, err := c.Quota(t.Context(), user); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
	if err := c.Reset(t.Context(), "api", "a"); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
	if _, err := c.ResetLimit(t.Context(), user); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
}

func TestAnswersOfTheServiceHaveNoFailureMode(t *testing.T) {
	s := newService(t)
	c, _ := start(t, s, client.Options{OnFailure: weir.FailOpen})
	for _, code := range []codes.Code{codes.InvalidArgument, codes.NotFound, codes.ResourceExhausted, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition, codes.Internal} {
		s.answer = func(string) error { return status.Error(code, "no") }
		if d, err := c.Allow(t.Context(), "api", "a"); d.Allowed || status.Code(err) != code {
			t.Errorf("%s: %+v, %v", code, d, err)
		}
		if v, err := c.Check(t.Context(), user); v.Allowed || status.Code(err) != code {
			t.Errorf("%s: %+v, %v", code, v, err)
		}
	}
}

func TestHungServiceHasAFailureMode(t *testing.T) {
	s := newService(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	s.answer = func(string) error { <-release; return nil }
	c, _ := start(t, s, client.Options{OnFailure: weir.FailOpen, Timeout: 20 * time.Millisecond})
	if d, err := c.Allow(t.Context(), "api", "a"); err != nil || !d.Allowed || !d.Degraded {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestFailLocalAnswersFromAShare(t *testing.T) {
	s := newService(t)
	down(s)
	inner := weir.Must(memory())
	defer inner.Close()
	share := weir.Must(resilience.NewShare(inner, func() int64 { return 5 }, nil))
	c, _ := start(t, s, client.Options{OnFailure: weir.FailLocal, Local: &client.Local{
		Store:  share,
		Limits: []weir.Limit{weir.Must(weir.ParseLimit("api", "fixed-window:10/1m"))},
		Check:  weir.Must(weir.ParseLimit("check", "fixed-window:15/1m")),
	}})
	admitted := 0
	for range 10 {
		d, err := c.Allow(t.Context(), "api", "a")
		if err != nil || !isCauseOf(d) || d.Limit != 2 {
			t.Fatalf("%+v, %v", d, err)
		}
		if d.Allowed {
			admitted++
		}
	}
	if admitted != 2 {
		t.Errorf("%d were admitted, want 2 of 10: one of 5 shares", admitted)
	}
	for _, r := range []client.Request{user, {Identifier: "me", Dimension: weirv1.Dimension_ORG, Endpoint: "/"}} {
		admitted = 0
		for range 10 {
			v, err := c.Check(t.Context(), r)
			if err != nil || !isCauseOf(v.Decision) {
				t.Fatalf("%+v, %v", v, err)
			}
			if v.Allowed {
				admitted++
			}
		}
		if admitted != 3 {
			t.Errorf("%s: %d were admitted, want 3 of 15: one of 5 shares", r.Dimension, admitted)
		}
	}
	if v, err := c.Check(t.Context(), client.Request{Identifier: "you", Dimension: weirv1.Dimension_USER, Endpoint: "/", Cost: new(int64(4))}); err != nil || v.Allowed || v.RetryAfter != weir.Never {
		t.Errorf("%+v, %v, want a denial for good: 4 of a share of 3", v, err)
	}
	if d, err := c.Allow(t.Context(), "other", "a"); d.Allowed || status.Code(err) != codes.Unavailable {
		t.Errorf("%+v, %v, want a limit that is not known here to fail closed", d, err)
	}
	if d, err := c.AllowN(t.Context(), "api", "b", -1); d.Allowed || !errors.Is(err, store.ErrInvalid) || status.Code(err) != codes.Unavailable {
		t.Errorf("%+v, %v, want both errors", d, err)
	}
}

func TestFailLocalChargesAKeyOnce(t *testing.T) {
	s := newService(t)
	down(s)
	inner := weir.Must(memory())
	defer inner.Close()
	c, _ := start(t, s, client.Options{OnFailure: weir.FailLocal, Attempts: 1, Local: &client.Local{Store: inner, Limits: []weir.Limit{weir.Must(weir.ParseLimit("api", "fixed-window:10/1m"))}}})
	ctx := client.WithIdempotencyKey(t.Context(), "once")
	for range 3 {
		if d, err := c.AllowN(ctx, "api", "a", 4); err != nil || !d.Allowed || d.Remaining != 6 {
			t.Errorf("%+v, %v", d, err)
		}
	}
	if v, err := c.Check(t.Context(), user); v.Allowed || status.Code(err) != codes.Unavailable {
		t.Errorf("%+v, %v, want Check without a limit to fail closed", v, err)
	}
}

func TestReservationIsSettledWhereItWasTaken(t *testing.T) {
	for _, mode := range []string{"service", "local"} {
		s := newService(t)
		inner := weir.Must(memory())
		defer inner.Close()
		limit := weir.Must(weir.ParseLimit("api", "fixed-window:10/1m"))
		c, _ := start(t, s, client.Options{OnFailure: weir.FailLocal, Local: &client.Local{Store: inner, Limits: []weir.Limit{limit}}})
		if mode == "local" {
			down(s)
		}
		limiter := weir.Must(weir.New(inner, limit, nil))
		used := func() int64 {
			if mode == "service" {
				return s.used(t, "a")
			}
			d, err := limiter.Peek(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			return d.Limit - d.Remaining
		}
		reserve := func(n int64) *client.Reservation {
			t.Helper()
			r, err := c.Reserve(t.Context(), "api", "a", n)
			if err != nil {
				t.Fatal(err)
			}
			if r.Decision.Degraded != (mode == "local") || (r.Token() == "") != (mode == "local" || !r.Decision.Allowed) {
				t.Errorf("%s: %+v with the token %q", mode, r.Decision, r.Token())
			}
			return r
		}
		r := reserve(8)
		s.answer = nil // it is back: what was taken in this process is settled here all the same
		for range 2 {
			settled, err := r.Settle(t.Context(), 3)
			if err != nil || settled.Charged != 3 || settled.Clamped || settled.Degraded != (mode == "local") {
				t.Errorf("%s: %+v, %v", mode, settled, err)
			}
		}
		if err := r.Cancel(t.Context()); err != nil || used() != 3 {
			t.Errorf("%s: %v, %d units are used, want 3", mode, err, used())
		}
		if mode == "local" {
			if _, err := r.Settle(t.Context(), 4); !errors.Is(err, weir.ErrSettled) {
				t.Errorf("local: %v", err)
			}
			down(s)
		} else {
			if _, err := r.Settle(t.Context(), 4); status.Code(err) != codes.FailedPrecondition {
				t.Errorf("service: %v", err)
			}
			again := c.Resume(reserve(2).Token())
			if settled, err := again.Settle(t.Context(), 4); err != nil || settled.Charged != 4 || settled.Decision == nil || settled.Decision.Remaining != 3 || used() != 7 {
				t.Errorf("resumed: %+v, %v, %d units are used, want 7", settled, err, used())
			}
			if err := c.Reset(t.Context(), "api", "a"); err != nil {
				t.Fatal(err)
			}
			if _, err := c.AllowN(t.Context(), "api", "a", 3); err != nil {
				t.Fatal(err)
			}
		}
		r = reserve(4)
		if err := r.Cancel(t.Context()); err != nil || used() != 3 {
			t.Errorf("%s: %v, %d units are used, want 3", mode, err, used())
		}
		r = reserve(8)
		if settled, err := r.Settle(t.Context(), 8); r.Decision.Allowed || err != nil || settled.Charged != 0 || used() != 3 {
			t.Errorf("%s: denied: %+v, %+v, %v", mode, r.Decision, settled, err)
		}
	}
}
