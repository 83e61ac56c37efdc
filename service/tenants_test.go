package service

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weirgo/weir/api/weirv1"
)

var tenantCalls = flag.Int("tenants.calls", 1000, "how many random calls TestATenantCannotHarmAnother makes")

// TestATenantCannotHarmAnother makes random calls as one tenant, with the keys, the names
// and the reservations of another one, whose limits stay as they were.
func TestATenantCannotHarmAnother(t *testing.T) {
	s := run(t, load(t, files(t, "weir.yaml", free+twoTenants+"secret_file: secret\n", "policy.yaml", userPolicy, "globex.yaml", userPolicy,
		"secret", "0123456789abcdef", "callers.yaml", callers("a write acme", "b write globex"))), nil)
	victim := withToken(t.Context(), "b")
	users := []string{"u", "v"}
	for _, name := range users {
		if _, err := s.CheckRateLimit(victim, user(name)); err != nil {
			t.Fatal(err)
		}
	}
	reserved, err := s.Reserve(victim, &weirv1.ReserveRequest{LimitName: "api", Key: "k", N: 2})
	if err != nil || !reserved.Decision.Allowed {
		t.Fatalf("%v, %v", reserved, err)
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	one := func(words ...string) string { return words[random.IntN(len(words))] }
	attacker := func() context.Context {
		if random.IntN(10) == 0 { // refused as a whole
			return withToken(t.Context(), "a", "weir-tenant", "globex")
		}
		return withToken(t.Context(), "a", "idempotency-key", fmt.Sprint(random.IntN(100)))
	}
	answers := map[codes.Code]int{}
	for i := range *tenantCalls {
		var err error
		subject := &weirv1.Subject{Identifier: one("u", "v", "globex", "globex:u"), Dimension: weirv1.Dimension_USER, Endpoint: "/"}
		if random.IntN(5) == 0 {
			subject.Attributes = map[string]string{"tenant": "globex"}
		}
		switch ctx := attacker(); random.IntN(7) {
		case 0:
			n := random.Int64N(12)
			_, err = s.CheckRateLimit(ctx, &weirv1.CheckRequest{Identifier: subject.Identifier, Dimension: subject.Dimension, Endpoint: "/", Attributes: subject.Attributes, Cost: &n})
		case 1:
			_, err = s.AllowN(ctx, &weirv1.AllowNRequest{LimitName: one("api", "user", "globex/api"), Key: one("k", "{k}", "globex:k"), N: random.Int64N(12)})
		case 2:
			_, err = s.ResetLimit(ctx, &weirv1.ResetRequest{Target: &weirv1.ResetRequest_Subject{Subject: subject}})
		case 3:
			_, err = s.Reset(ctx, &weirv1.ResetRequest{Target: &weirv1.ResetRequest_Limit{Limit: &weirv1.LimitKey{LimitName: "api", Key: one("k", "globex:k")}}})
		case 4:
			if _, err = s.Settle(ctx, &weirv1.SettleRequest{Reservation: reserved.Reservation, Actual: random.Int64N(3)}); err == nil {
				t.Fatalf("call %d (seed %d): a reservation of another tenant was settled", i, seed)
			}
		case 5:
			if _, err = s.Cancel(ctx, &weirv1.CancelRequest{Reservation: reserved.Reservation}); err == nil {
				t.Fatalf("call %d (seed %d): a reservation of another tenant was cancelled", i, seed)
			}
		case 6:
			_, err = s.GetRemainingQuota(ctx, &weirv1.QuotaRequest{Identifier: subject.Identifier, Dimension: subject.Dimension, Endpoint: "/", Attributes: subject.Attributes})
		}
		answers[status.Code(err)]++
	}
	for code := range answers {
		switch code {
		case codes.OK, codes.InvalidArgument, codes.NotFound, codes.PermissionDenied:
		case codes.ResourceExhausted: // the self-limit of writes
		default:
			t.Errorf("%d answers are %s (seed %d)", answers[code], code, seed)
		}
	}
	if answers[codes.OK] == 0 || answers[codes.PermissionDenied] == 0 {
		t.Errorf("the calls were %v: want some that pass and some that do not", answers)
	}
	for _, name := range users {
		q, err := s.GetRemainingQuota(victim, &weirv1.QuotaRequest{Identifier: name, Dimension: weirv1.Dimension_USER, Endpoint: "/"})
		if err != nil || q.CurrentCount != 1 {
			t.Errorf("seed %d: %v, %v: want 1 unit of %s as before", seed, q, err, name)
		}
	}
	if a, err := s.AllowN(victim, &weirv1.AllowNRequest{LimitName: "api", Key: "k", N: 0}); err != nil || a.CurrentCount != 2 {
		t.Errorf("seed %d: %v, %v: want the 2 units that are reserved", seed, a, err)
	}
	if settled, err := s.Settle(victim, &weirv1.SettleRequest{Reservation: reserved.Reservation, Actual: 1}); err != nil || settled.Charged != 1 {
		t.Errorf("seed %d: %v, %v: want the reservation to settle", seed, settled, err)
	}
}
