package acceptance_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/resilience"
)

// moved is a clock that a test moves.
type moved struct {
	mu sync.Mutex
	at time.Time
}

func (m *moved) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *moved) move(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = m.at.Add(d)
}

// TestBreakerOnAServerThatIsKilled: while the server is down no call reaches the client, but
// for one probe each time that the breaker asks again. Once it is back with its data the
// breaker closes by itself, and every unit that was admitted is charged, once.
func TestBreakerOnAServerThatIsKilled(t *testing.T) {
	t.Parallel()
	persistent := &servertest.Config{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}}
	each(t, allPairs(), persistent, func(t *testing.T, e *env) {
		const units, openFor = 10_000, 5 * time.Second
		s := e.dial(t, dial{addr: e.server.Addr()}, nil)
		clock := &moved{at: time.Unix(1_800_000_000, 0)}
		b := weir.Must(resilience.NewBreaker(s, &resilience.BreakerOptions{Clock: clock, OpenFor: openFor, SlowCall: time.Hour}))
		l := weir.Must(weir.New(b, weir.Limit{Name: "l", Algorithm: longest("gcra", units)}, &weir.Options{Timeout: patience}))
		t.Cleanup(func() { _ = l.Close() })
		ctx := context.Background()

		var acked, unknown int64
		allow := func() error {
			t.Helper()
			d, err := l.Allow(ctx, "k")
			switch k := kind(err); {
			case k == "none" && d.Allowed:
				acked++
			case k == "unknown":
				unknown++
			case k != "unavailable":
				t.Fatalf("%+v, %v", d, err)
			}
			return err
		}
		stats := func() resilience.BreakerStats {
			if all := b.Stats(); len(all) > 0 {
				return all[0]
			}
			return resilience.BreakerStats{}
		}
		servertest.Await(t, "the first decision", func() bool { return allow() == nil })
		clock.move(time.Minute) // whatever failed before it is forgotten
		for range 5 {
			if err := allow(); err != nil {
				t.Fatal(err)
			}
		}
		e.server.Kill()
		for calls := 0; stats().State != resilience.BreakerOpen; calls++ {
			if calls > 40 { // half of 5 answers and 20 failures or more
				t.Fatalf("not open after %d failures: %+v", calls, stats())
			}
			_ = allow()
		}
		refuses := func(calls int) {
			t.Helper()
			before := s.Stats().Commands
			for range calls {
				if err := allow(); !errors.Is(err, resilience.ErrOpen) {
					t.Fatalf("while it is open: %v", err)
				}
			}
			if sent := s.Stats().Commands - before; sent != 0 {
				t.Errorf("%d commands of %d calls while it is open", sent, calls)
			}
		}
		refuses(1000)
		for range 3 { // it asks again, and finds the server still gone
			clock.move(2 * openFor)
			probes := stats().Probes
			if err := allow(); err == nil || errors.Is(err, resilience.ErrOpen) {
				t.Errorf("a probe: %v", err)
			}
			refuses(100)
			if sent := stats().Probes - probes; sent != 1 {
				t.Errorf("%d probes", sent)
			}
		}
		e.server.Start()
		servertest.Await(t, "the breaker closes", func() bool {
			clock.move(2 * openFor)
			_ = allow()
			return stats().State == resilience.BreakerClosed
		})
		for range 5 {
			if err := allow(); err != nil {
				t.Errorf("after it has closed: %v", err)
			}
		}
		d, err := l.Peek(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if charged := units - d.Remaining; charged < acked || charged > acked+unknown {
			t.Errorf("%d units are charged, of %d admitted and %d unknown", charged, acked, unknown)
		}
	})
}
