package users

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service/document"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

var (
	ctx  = context.Background()
	noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

func at(when time.Time) *clock.Mock {
	m := clock.NewMock()
	m.Set(when)
	return m
}

// TestARecordHasTierLimitsAndOverrides: each changed without the others.
func TestARecordHasTierLimitsAndOverrides(t *testing.T) {
	now := at(noon)
	u := New(new(document.Memory).Document, now)
	if r, err := u.Get(ctx, "alice"); err != nil || !reflect.DeepEqual(r, Record{}) {
		t.Fatalf("%+v, %v", r, err)
	}
	limits := map[string]policy.Spec{"api": "gcra:5/1h"}
	made, err := u.SetTier(ctx, "alice", "premium", limits)
	if err != nil || made.Before.Tier != "" || made.After.Tier != "premium" {
		t.Fatalf("%+v, %v", made, err)
	}
	first, _, err := u.AddOverride(ctx, "alice", Override{Rule: "api", Limit: "0", ExpiresAt: noon.Add(time.Hour), Reason: "r"})
	if err != nil || first.ID == "" || !first.CreatedAt.Equal(noon) {
		t.Fatalf("%+v, %v", first, err)
	}
	second, made, err := u.AddOverride(ctx, "alice", Override{Rule: "api", Limit: "gcra:1/1s", ExpiresAt: noon.Add(2 * time.Hour)})
	if err != nil || second.ID == first.ID || len(made.After.Overrides) != 2 || made.After.Overrides[0].ID != second.ID {
		t.Fatalf("the newest does not come first: %+v, %v", made, err)
	}
	r, err := u.Get(ctx, "alice")
	if err != nil || r.Tier != "premium" || !reflect.DeepEqual(r.Limits, limits) || len(r.Overrides) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if other, _ := u.Get(ctx, "bob"); !reflect.DeepEqual(other, Record{}) {
		t.Errorf("another user has %+v", other)
	}
	now.Add(time.Hour) // the first has ended, to the microsecond
	if r, _ = u.Get(ctx, "alice"); len(r.Overrides) != 1 || r.Overrides[0].ID != second.ID {
		t.Errorf("an override that has ended is there: %+v", r)
	}
	if _, err := u.DeleteOverride(ctx, "alice", first.ID); err != ErrNotFound {
		t.Errorf("deleting an override that has ended: %v", err)
	}
	if made, err = u.DeleteOverride(ctx, "alice", second.ID); err != nil || len(made.Before.Overrides) != 1 || len(made.After.Overrides) != 0 {
		t.Errorf("%+v, %v", made, err)
	}
	if _, err := u.SetTier(ctx, "alice", "", nil); err != nil {
		t.Fatal(err)
	}
	if r, err := u.Get(ctx, "alice"); err != nil || !reflect.DeepEqual(r, Record{}) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestOverridesAreBoundedAndConcurrentChangesAreAllMade(t *testing.T) {
	u := New(new(document.Memory).Document, at(noon))
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range MaxOverrides / 4 {
				if _, _, err := u.AddOverride(ctx, "u", Override{Rule: "r", Limit: "0", ExpiresAt: noon.Add(time.Hour)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	r, err := u.Get(ctx, "u")
	if err != nil || len(r.Overrides) != MaxOverrides {
		t.Fatalf("%d overrides, %v", len(r.Overrides), err)
	}
	seen := map[string]bool{}
	for _, o := range r.Overrides {
		seen[o.ID] = true
	}
	if len(seen) != MaxOverrides {
		t.Errorf("%d ids of %d overrides", len(seen), MaxOverrides)
	}
	if _, _, err := u.AddOverride(ctx, "u", Override{}); err != ErrTooMany {
		t.Errorf("one more: %v", err)
	}
}

// TestDocumentsOfUsersHaveNoNames: and a damaged one is an error, not a user without limits.
func TestDocumentsOfUsersHaveNoNames(t *testing.T) {
	var names []string
	memory := new(document.Memory)
	u := New(func(name string) (document.Document, error) {
		names = append(names, name)
		return memory.Document(name)
	}, at(noon))
	for _, user := range []string{"alice@example.com", strings.Repeat("ü", 500), "/"} {
		if _, err := u.SetTier(ctx, user, "t", nil); err != nil {
			t.Error(err)
		}
	}
	if len(names) != 3 || names[0] == names[1] || strings.Contains(fmt.Sprint(names), "alice") {
		t.Errorf("%q", names)
	}
	doc, _ := memory.Document(names[0])
	if _, err := doc.Write(ctx, []byte("{"), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Get(ctx, "alice@example.com"); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a damaged record: %v", err)
	}
	if _, err := u.SetTier(ctx, "alice@example.com", "", nil); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a change of a damaged record: %v", err)
	}
}

// TestAnEnforcerDecidesByTheRecord: as soon as it was forgotten, or after 60 s.
func TestAnEnforcerDecidesByTheRecord(t *testing.T) {
	now := at(noon)
	u := New(new(document.Memory).Document, now)
	s := weir.Must(memorystore.New(&memorystore.Options{Clock: now}))
	defer s.Close()
	compiled := weir.Must(policy.Compile(policy.Policy{Version: 1, Rules: []policy.Rule{{ID: "r", Key: []string{"user"}, Limit: policy.LimitRef{Spec: "gcra:10/1h"}}}}, nil))
	lookup := u.Lookup()
	lookup.Timeout = time.Minute // of the wall clock
	e := weir.Must(policy.NewEnforcer(weir.Must(weir.NewMultiLimiter(s, nil)), compiled, &policy.EnforcerOptions{Subjects: lookup, Clock: now}))
	limit := func() int64 {
		v, err := e.Peek(ctx, policy.Request{Attributes: Who("u")})
		if err != nil {
			t.Fatal(err)
		}
		return v.Rules[0].Decision.Limit
	}
	if got := limit(); got != 10 {
		t.Fatal(got)
	}
	if _, _, err := u.AddOverride(ctx, "u", Override{Rule: "r", Limit: "gcra:20/1h", ExpiresAt: noon.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if got := limit(); got != 10 {
		t.Errorf("the limit is %d before it is looked up again", got)
	}
	e.Forget(Who("u"))
	if got := limit(); got != 20 {
		t.Errorf("the limit is %d after Forget", got)
	}
	if _, err := u.SetTier(ctx, "u", "", map[string]policy.Spec{"r": "gcra:30/1h"}); err != nil {
		t.Fatal(err)
	}
	now.Add(time.Hour) // the override has ended, and the cached answer is old
	deadline := time.Now().Add(30 * time.Second)
	for limit() != 30 && time.Now().Before(deadline) {
	}
	if got := limit(); got != 30 {
		t.Errorf("the limit is %d after the override", got)
	}
}

// TestAnotherNodeKnowsAChangeAfterAMinute: it remembers what a user had for 60 s, and the node
// that has made the change forgets it immediately.
func TestAnotherNodeKnowsAChangeAfterAMinute(t *testing.T) {
	now := at(noon)
	documents, s := new(document.Memory), weir.Must(memorystore.New(&memorystore.Options{Clock: now}))
	defer s.Close()
	compiled := weir.Must(policy.Compile(policy.Policy{Version: 1, Rules: []policy.Rule{{ID: "r", Key: []string{"user"}, Limit: policy.LimitRef{Spec: "gcra:10/1h"}}}}, nil))
	node := func() (*Users, *policy.Enforcer) {
		u := New(documents.Document, now)
		lookup := u.Lookup()
		lookup.Timeout = time.Minute // of the wall clock
		return u, weir.Must(policy.NewEnforcer(weir.Must(weir.NewMultiLimiter(s, nil)), compiled, &policy.EnforcerOptions{Subjects: lookup, Clock: now}))
	}
	limit := func(e *policy.Enforcer) int64 {
		v, err := e.Peek(ctx, policy.Request{Attributes: Who("u")})
		if err != nil {
			t.Fatal(err)
		}
		return v.Rules[0].Decision.Limit
	}
	u, here := node()
	_, there := node()
	if a, b := limit(here), limit(there); a != 10 || b != 10 {
		t.Fatal(a, b)
	}
	if _, _, err := u.AddOverride(ctx, "u", Override{Rule: "r", Limit: "gcra:20/1h", ExpiresAt: noon.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	here.Forget(Who("u"))
	now.Add(time.Minute - time.Microsecond)
	if a, b := limit(here), limit(there); a != 20 || b != 10 {
		t.Errorf("before a minute is over: %d here, and %d there", a, b)
	}
	now.Add(time.Microsecond)
	servertest.Await(t, "the other node knows the limit of 20 after a minute", func() bool { return limit(there) == 20 })
}
