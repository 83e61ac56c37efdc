package policy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestTiersAreLookedUp(t *testing.T) {
	p := example()
	p.Rules = p.Rules[1:2]
	p.Rules[0].Match, p.Rules[0].Key = Match{}, []string{"org"}
	p.Overrides = nil
	var calls atomic.Int64
	var failing atomic.Bool
	names := map[string]string{"prem": "premium", "odd": "gold"}
	b := newBench(t, p, &EnforcerOptions{Subjects: &SubjectLookup{
		Attributes: []string{"org"}, Entries: 4, Timeout: time.Minute,
		Lookup: func(_ context.Context, who Attributes) (Terms, error) {
			calls.Add(1)
			if failing.Load() {
				return Terms{}, errors.New("the directory is down")
			}
			return Terms{Tier: names[who["org"]]}, nil
		},
	}})
	tier := func(pairs ...string) string {
		v := b.decide(of(pairs...))
		return v.Tier + " from " + v.TierSource.String()
	}
	expect := func(want string, wantCalls int64, pairs ...string) {
		t.Helper()
		if got := tier(pairs...); got != want || calls.Load() != wantCalls {
			t.Errorf("%v: tier %s after %d calls, want %s after %d", pairs, got, calls.Load(), want, wantCalls)
		}
	}
	expect("premium from look-up", 1, "org", "prem")
	expect("premium from look-up", 1, "org", "prem")
	expect("enterprise from subject", 2, "org", "acme") // whose limits may be looked up
	expect("free from attribute", 2, "org", "prem", "tier", "free")
	expect("free from default", 3, "org", "other")
	expect("free from default", 4, "org", "odd")
	if n := b.Stats().UnknownTiers; n != 1 {
		t.Errorf("%d unknown tiers, want 1", n)
	}
	failing.Store(true)
	b.at(60)
	expect2 := func() string { return tier("org", "prem") } // stale, while a look-up runs and fails
	if got := expect2(); got != "premium from look-up" {
		t.Error(got)
	}
	deadline := time.Now().Add(10 * time.Second)
	for b.Stats().LookupErrors == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if got := expect2(); got != "premium from look-up" || b.Stats().LookupErrors != 1 {
		t.Errorf("after %d errors the tier is %s: an older answer counts", b.Stats().LookupErrors, got)
	}
	for i := range 10 {
		tier("org", fmt.Sprint(i))
	}
	b.subjects.mu.Lock()
	kept := len(b.subjects.answers)
	b.subjects.mu.Unlock()
	if kept > 4 {
		t.Errorf("%d answers are kept, want at most 4", kept)
	}
}

func TestLookupIsSharedAndNotWaitedForLong(t *testing.T) {
	p := example()
	p.Rules = p.Rules[1:2]
	p.Rules[0].Match, p.Rules[0].Key = Match{}, []string{"org"}
	release := make(chan struct{})
	var calls atomic.Int64
	b := newBench(t, p, &EnforcerOptions{Subjects: &SubjectLookup{Attributes: []string{"org"}, Timeout: time.Millisecond,
		Lookup: func(context.Context, Attributes) (Terms, error) {
			calls.Add(1)
			<-release
			return Terms{Tier: "premium"}, nil
		}}})
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			if v := b.decide(of("org", "o")); v.TierSource != TierFromDefault {
				t.Errorf("a tier from %s without an answer", v.TierSource)
			}
		})
	}
	callers.Wait()
	close(release)
	deadline := time.Now().Add(10 * time.Second)
	for b.decide(of("org", "o")).Tier != "premium" {
		if time.Now().After(deadline) {
			t.Fatal("the answer never counts")
		}
		time.Sleep(time.Millisecond)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("%d look-ups for one subject, want 1", n)
	}
}
