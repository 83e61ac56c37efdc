package client_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir/api/client"
	"github.com/weirgo/weir/api/weirv1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// lose answers the first n calls with an error, behind what they have counted.
func lose(n int64) func(string) error {
	var lost atomic.Int64
	return func(string) error {
		if lost.Add(1) <= n {
			return status.Error(codes.Unavailable, "the reply is lost")
		}
		return nil
	}
}

func TestLostReplyWithAKeyIsChargedOnce(t *testing.T) {
	s := newService(t)
	s.reply = lose(2)
	c, _ := start(t, s, client.Options{})
	d, err := c.AllowN(client.WithIdempotencyKey(t.Context(), "once"), "api", "a", 3)
	if err != nil || !d.Allowed || !d.Replayed || d.Remaining != 7 {
		t.Errorf("%+v, %v, want the first answer again", d, err)
	}
	if n := s.used(t, "a"); n != 3 {
		t.Errorf("%d units were charged, want 3", n)
	}
	calls := s.seen()
	if len(calls) != 3 {
		t.Fatalf("%d attempts, want 3", len(calls))
	}
	for _, call := range calls {
		if call.key != "once" {
			t.Errorf("an attempt with the key %q", call.key)
		}
	}
}

func TestLostReplyWithoutAKeyIsNotSentAgain(t *testing.T) {
	s := newService(t)
	s.reply = lose(1)
	c, _ := start(t, s, client.Options{})
	d, err := c.AllowN(t.Context(), "api", "a", 3)
	var e *client.Error
	if !errors.As(err, &e) || e.Code != codes.Unavailable || !e.MayHaveCounted || d.Allowed {
		t.Errorf("%+v, %v, want an error that may have counted", d, err)
	}
	if n := len(s.seen()); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
	if n := s.used(t, "a"); n != 3 {
		t.Errorf("%d units were charged, want the 3 of the one attempt", n)
	}
}

// TestCutConnectionWithAKeyIsChargedOnce cuts the connection between decision and reply.
func TestCutConnectionWithAKeyIsChargedOnce(t *testing.T) {
	s := newService(t)
	var conns *connections
	var lost atomic.Bool
	s.reply = func(string) error {
		if lost.CompareAndSwap(false, true) {
			conns.cut()
		}
		return nil
	}
	c, cs := start(t, s, client.Options{Attempts: 4})
	conns = cs
	d, err := c.Allow(client.WithIdempotencyKey(t.Context(), "once"), "api", "a")
	if err != nil || !d.Allowed || !d.Replayed {
		t.Errorf("%+v, %v", d, err)
	}
	if n := s.used(t, "a"); n != 1 {
		t.Errorf("%d units were charged, want 1", n)
	}
}

func TestClientMakesAKeyForEachCall(t *testing.T) {
	s := newService(t)
	s.reply = lose(1)
	c, _ := start(t, s, client.Options{IdempotencyKeys: true})
	for range 2 {
		if d, err := c.Allow(t.Context(), "api", "a"); err != nil || !d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	if _, err := c.Allow(client.WithIdempotencyKey(t.Context(), "mine"), "api", "a"); err != nil {
		t.Fatal(err)
	}
	calls := s.seen()
	if len(calls) != 4 {
		t.Fatalf("%d attempts, want 4", len(calls))
	}
	if calls[0].key != calls[1].key || len(calls[0].key) < 20 {
		t.Errorf("the keys of one call are %q and %q", calls[0].key, calls[1].key)
	}
	if calls[1].key == calls[2].key || calls[3].key != "mine" {
		t.Errorf("the keys of other calls are %q and %q", calls[2].key, calls[3].key)
	}
	if n := s.used(t, "a"); n != 3 {
		t.Errorf("%d units were charged, want 3", n)
	}
}

func TestAnswersOfTheServiceAreNotAskedForAgain(t *testing.T) {
	s := newService(t)
	c, _ := start(t, s, client.Options{IdempotencyKeys: true})
	for _, code := range []codes.Code{codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.ResourceExhausted, codes.PermissionDenied, codes.Unauthenticated, codes.Internal, codes.Unimplemented} {
		before := len(s.seen())
		s.answer = func(string) error { return status.Error(code, "no") }
		if _, err := c.Allow(t.Context(), "api", "a"); status.Code(err) != code {
			t.Errorf("%s: %v", code, err)
		}
		if n := len(s.seen()) - before; n != 1 {
			t.Errorf("%s: %d attempts, want 1", code, n)
		}
	}
}

func TestHungServiceEndsWithTheTimeout(t *testing.T) {
	for _, test := range []struct {
		name     string
		opts     client.Options
		attempts int
	}{
		{"without a key", client.Options{}, 1},
		{"with a key", client.Options{IdempotencyKeys: true}, 3},
		{"with a key and two attempts", client.Options{IdempotencyKeys: true, Attempts: 2}, 2},
	} {
		s := newService(t)
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		s.answer = func(string) error { <-release; return nil }
		test.opts.Timeout = 20 * time.Millisecond
		c, _ := start(t, s, test.opts)
		_, err := c.Allow(t.Context(), "api", "a")
		var e *client.Error
		if !errors.As(err, &e) || e.Code != codes.DeadlineExceeded || !e.MayHaveCounted || e.Attempts != test.attempts {
			t.Errorf("%s: %+v, want DeadlineExceeded after %d attempts", test.name, e, test.attempts)
		}
	}
}

// TestOneKeyOfManyCallersIsChargedOnce asks concurrently, with replies lost all the time.
func TestOneKeyOfManyCallersIsChargedOnce(t *testing.T) {
	const callers, keys = 40, 5
	s := newService(t)
	var n atomic.Int64
	s.reply = func(string) error {
		if n.Add(1)%3 == 0 {
			return status.Error(codes.Unavailable, "the reply is lost")
		}
		return nil
	}
	c, _ := start(t, s, client.Options{Attempts: 100, Timeout: 2 * time.Second})
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			ctx := client.WithIdempotencyKey(t.Context(), fmt.Sprint("key", i%keys))
			v, err := c.Check(ctx, client.Request{Identifier: "a", Dimension: weirv1.Dimension_USER, Endpoint: "/"})
			if err != nil || !v.Allowed {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
	wg.Wait()
	if used := s.used(t, "a"); used != keys {
		t.Errorf("%d units were charged for %d keys", used, keys)
	}
}
