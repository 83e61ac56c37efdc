package gubernator

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/service/gubernator/pb"
	"github.com/weirgo/weir/store"
)

// watched keeps what an Observer gets.
type watched struct{ all []weir.Observation }

func (w *watched) Observe(_ context.Context, o weir.Observation) { w.all = append(w.all, o) }

// brief is what of an Observation the tests compare.
func brief(o weir.Observation) string {
	algorithm := "none"
	if o.Algorithm != nil {
		algorithm = o.Algorithm.Spec().Kind
	}
	text := fmt.Sprintf("%s %s %s %d of %d by %s: %t, %d left", o.Kind, o.Limit, o.Verb, o.Cost, o.Decision.Limit, algorithm, o.Allowed, o.Decision.Remaining)
	if o.Err != nil {
		text += ", " + o.Err.Error()
	}
	return text
}

// TestEachAnswerIsObserved: an Observation an item, with its key, whatever it asks for.
func TestEachAnswerIsObserved(t *testing.T) {
	seen := &watched{}
	s := serviceOf(t, Options{Observer: seen})
	for _, c := range []struct {
		algorithm   pb.Algorithm
		hits, limit int64
		behavior    pb.Behavior
		want        string
	}{
		{token, 1, 2, 0, "take gubernator.test take 1 of 2 by gubernator-window/1: true, 1 left"},
		{token, 2, 2, 0, "take gubernator.test take 2 of 2 by gubernator-window/1: false, 1 left"},
		{token, 0, 2, 0, "peek gubernator.test take 0 of 2 by gubernator-window/1: true, 1 left"},
		{token, -1, 2, 0, "take gubernator.test refund 1 of 2 by gubernator-window/1: true, 2 left"},
		{token, 3, 2, pb.Behavior_DRAIN_OVER_LIMIT, "take gubernator.test take 3 of 2 by gubernator-window/1: false, 0 left"},
		{token, 1, 2, pb.Behavior_RESET_REMAINING, "reset gubernator.test take 1 of 0 by gubernator-window/1: false, 0 left"},
		{token, 1, 0, 0, "take gubernator.test take 1 of 0 by none: false, 0 left"},
		{leaky, 2, 2, 0, "take gubernator.test take 2 of 2 by token-bucket/1: true, 0 left"},
		{leaky, 1, 2, pb.Behavior_RESET_REMAINING, "take gubernator.test take 1 of 2 by token-bucket/1: true, 1 left"},
		{leaky, -1, 2, 0, "take gubernator.test refund 1 of 2 by token-bucket/1: true, 2 left"},
		{token, 1, -1, 0, ""}, // not valid: no limit was asked
	} {
		r := item(c.algorithm, time.Minute, c.limit, c.behavior)
		r.Hits = c.hits
		seen.all = nil
		if _, err := s.GetRateLimits(t.Context(), &pb.GetRateLimitsReq{Requests: []*pb.RateLimitReq{r}}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range seen.all {
			got = append(got, brief(o))
			if o.Key != r.GetUniqueKey() {
				t.Errorf("the key is %q", o.Key)
			}
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%v: got %q\nwant %q", c, got, c.want)
		}
	}
}

// TestErrorsOfTheStoreAreObserved: as what they are; and of a long name a part.
func TestErrorsOfTheStoreAreObserved(t *testing.T) {
	closed := inMemory(t, mockClock())
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	seen := &watched{}
	s, err := New(closed, &Options{Observer: seen})
	must(t, s, err)
	r := item(token, time.Minute, 10, 0)
	r.Name, r.Hits = strings.Repeat("n", 1000), 1
	if _, err := s.GetRateLimits(t.Context(), &pb.GetRateLimitsReq{Requests: []*pb.RateLimitReq{r}}); err != nil {
		t.Fatal(err)
	}
	if len(seen.all) != 1 || seen.all[0].Err != store.ErrClosed || seen.all[0].Allowed || len(seen.all[0].Limit) != len(limitPrefix)+maxShown {
		t.Errorf("%+v", seen.all)
	}
}

// panicking is an Observer with a fault.
type panicking struct{}

func (panicking) Observe(context.Context, weir.Observation) { panic("a fault") }

// TestPanicOfAnItemIsOneOfItsCall: whoever serves the call can recover from it, also where items
// are decided concurrently.
func TestPanicOfAnItemIsOneOfItsCall(t *testing.T) {
	for name, s := range map[string]store.Store{"memory": inMemory(t, mockClock()), "network": remote{inMemory(t, mockClock())}} {
		service, err := New(s, &Options{Observer: panicking{}})
		if err != nil {
			t.Fatal(err)
		}
		items := make([]*pb.RateLimitReq, 2*workers)
		for i := range items {
			items[i] = item(token, time.Minute, 1, 0)
			items[i].UniqueKey = fmt.Sprint(i)
		}
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "a fault") {
					t.Errorf("%s: the call recovers from %v", name, r)
				}
			}()
			_, _ = service.GetRateLimits(t.Context(), &pb.GetRateLimitsReq{Requests: items})
		}()
	}
}

// remote is a store that is asked concurrently.
type remote struct{ store.Store }
