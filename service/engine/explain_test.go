package engine

import (
	"context"
	"testing"
	"time"

	"github.com/weirgo/weir/policy"
)

// lookedUp is a bench of which the user alice has an override of another algorithm.
func lookedUp(t *testing.T) *bench {
	return newBench(t, &Options{Tenant: "acme", Policy: compile(t, testPolicy), Enforcer: &policy.EnforcerOptions{Subjects: &policy.SubjectLookup{
		Attributes: []string{"user"}, Timeout: time.Minute,
		Lookup: func(_ context.Context, who policy.Attributes) (policy.Terms, error) {
			if who["user"] != "alice" {
				return policy.Terms{}, nil
			}
			return policy.Terms{Overrides: []policy.Override{{Rule: "user", Limit: "fixed-window:2/1h", Until: time.Now().AddDate(1, 0, 0)}}}, nil
		},
	}}})
}

// TestAResetIsOfTheLimitThatCounts: the state of an override of another algorithm, too.
func TestAResetIsOfTheLimitThatCounts(t *testing.T) {
	b := lookedUp(t)
	s := Subject{Identifier: "alice", Dimension: User, Endpoint: "/"}
	ask := func() int64 {
		t.Helper()
		a, err := b.Check(context.Background(), Request{Subject: s})
		if err != nil {
			t.Fatal(err)
		}
		return a.Remaining
	}
	if got := ask(); got != 1 {
		t.Fatalf("remaining %d", got)
	}
	if _, err := b.ResetSubject(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	if got := ask(); got != 1 {
		t.Errorf("after a reset %d remain, want 1", got)
	}
}

func TestExplainAndSurvey(t *testing.T) {
	b := lookedUp(t)
	ctx := context.Background()
	e, err := b.Explain(ctx, Subject{Identifier: "alice", Dimension: User, Endpoint: "/orders", Method: "POST"})
	if err != nil || len(e.Rules) != 3 || e.Rules[0].Limits[0].Spec != "fixed-window:2/1h" || e.Rules[1].Limits[0].Spec != "gcra:3/1h" {
		t.Errorf("%+v, %v", e, err)
	}
	v, err := b.Survey(ctx, "alice")
	if err != nil || len(v.Rules) != 3 || v.Rules[0].Source != policy.FromOverride || v.Rules[1].Decision.Remaining != 3 {
		t.Errorf("%+v, %v", v.Rules, err)
	}
	for name, err := range map[string]error{
		"explain": func() error { _, err := b.Explain(ctx, Subject{}); return err }(),
		"survey":  func() error { _, err := b.Survey(ctx, ""); return err }(),
	} {
		if CodeOf(err) != Invalid {
			t.Errorf("%s of nobody: %v", name, err)
		}
	}
}

// TestAResetIsOfAllShards: and a survey shows the sum of them.
func TestAResetIsOfAllShards(t *testing.T) {
	b := newBench(t, &Options{Policy: compile(t, "version: 1\nrules:\n- {id: hot, key: [user], limit: \"gcra:8/1h\", shards: 4}\n")})
	s := Subject{Identifier: "alice", Dimension: User, Endpoint: "/"}
	remaining := func() (limit, left int64) {
		t.Helper()
		v, err := b.Survey(t.Context(), "alice")
		if err != nil || len(v.Rules) != 1 {
			t.Fatal(v, err)
		}
		return v.Rules[0].Decision.Limit, v.Rules[0].Decision.Remaining
	}
	admitted := int64(0)
	for range 100 {
		if a := b.check(t, Request{Subject: s}); a.Allowed {
			admitted++
		}
	}
	if limit, left := remaining(); admitted < 2 || limit != 8 || left != 8-admitted {
		t.Errorf("%d of %d remain after %d", left, limit, admitted)
	}
	if _, err := b.ResetSubject(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, left := remaining(); left != 8 {
		t.Errorf("%d remain after a reset, want 8", left)
	}
}
