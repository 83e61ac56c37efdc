package script

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/store"
)

// punctualClient is a poolClient whose calls end with their deadline.
type punctualClient struct {
	*poolClient
	lax    bool     // does not honor it now
	direct []bool   // of each call
	closed []string // keys of CloseIdle
}

var (
	_ Punctual   = (*punctualClient)(nil)
	_ IdleCloser = (*punctualClient)(nil)
)

func (p *punctualClient) HonorsDeadline() bool { return !p.lax }

func (p *punctualClient) CloseIdle(_ context.Context, key string) { p.closed = append(p.closed, key) }

func (p *punctualClient) Do(ctx context.Context, c *Command) (string, error) {
	p.direct = append(p.direct, c.Direct)
	if !c.Direct {
		return p.poolClient.Do(ctx, c)
	}
	select {
	case <-p.connections:
	case <-ctx.Done():
		return "", fmt.Errorf("pool: %w: %w", store.ErrUnavailable, ctx.Err())
	}
	if !c.Send() {
		return "", fmt.Errorf("pool: %w: withdrawn", store.ErrUnavailable)
	}
	call := &manualCall{ctx, append([]string(nil), c.Args...), groupsOf(c.Args), make(chan func() (string, error))}
	p.calls <- call
	until, _ := ctx.Deadline()
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	select {
	case answer := <-call.answer:
		return answer()
	case <-late.C:
		return "", errors.New("i/o timeout")
	}
}

// withPunctual is withPool, with a punctualClient.
func withPunctual(t *testing.T, f func(t *testing.T, s *Store, p *punctualClient)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &punctualClient{poolClient: &poolClient{manualClient: newManual(), connections: make(chan struct{})}}
		s := open(t, p, &Options{InFlight: 1, Timeout: 2 * time.Second})
		f(t, s, p)
		p.none(t)
		wantNothingLeft(t, s)
	})
}

// forever makes an Apply or a Peek with a context that does not end, and returns while it runs.
func forever(s store.Store, take bool, key string) *caller {
	c := &caller{ops: oneOp(key, windowOf10), done: make(chan struct{}), cancel: func() {}}
	go func() {
		defer close(c.done)
		if take {
			c.at, c.committed, c.err = s.Apply(context.Background(), c.ops)
		} else {
			c.at, c.err = s.Peek(context.Background(), c.ops)
		}
	}()
	synctest.Wait()
	return c
}

// TestSingleCallerWithATimeOutMakesItsCallItself: where the client is punctual, and the caller
// could not leave earlier.
func TestSingleCallerWithATimeOutMakesItsCallItself(t *testing.T) {
	withPunctual(t, func(t *testing.T, s *Store, p *punctualClient) {
		in := store.FeaturesOf(s).Within(time.Second)
		for _, test := range []struct {
			name  string
			start func() *caller
			lax   bool
			want  bool
		}{
			{"time-out", func() *caller { return forever(in, true, "k") }, false, true},
			{"peek", func() *caller { return forever(in, false, "k") }, false, true},
			{"bound", func() *caller { return forever(bounds{in}, true, "k") }, false, true},
			{"not punctual", func() *caller { return forever(in, true, "k") }, true, false},
			{"context that may end", func() *caller { return start(in, true, "k") }, false, false},
			{"later than the store", func() *caller { return forever(store.FeaturesOf(s).Within(3*time.Second), true, "k") }, false, false},
			{"no time-out", func() *caller { return forever(s, true, "k") }, false, false},
		} {
			p.lax, p.direct = test.lax, nil
			c := test.start()
			p.connect()
			p.next(t).admit()
			c.wantAdmitted(t, test.name)
			synctest.Wait() // the next caller is alone when the call has given its place back
			if len(p.direct) != 1 || p.direct[0] != test.want {
				t.Errorf("%s: direct %v, want %v", test.name, p.direct, test.want)
			}
		}
		// Who comes meanwhile waits for the call, and goes with others.
		p.lax, p.direct = false, nil
		first := forever(in, true, "first")
		a, b := forever(in, true, "a"), forever(in, true, "b")
		p.connect()
		p.next(t).admit()
		first.wantAdmitted(t, "first")
		p.connect()
		p.next(t).admit()
		a.wantAdmitted(t, "a")
		b.wantAdmitted(t, "b")
		if fmt.Sprint(p.direct) != "[true false]" {
			t.Errorf("direct %v", p.direct)
		}
	})
}

// TestDirectCallEndsWithItsTimeOut: with the error of a caller who left, and it gives its
// place to the next call.
func TestDirectCallEndsWithItsTimeOut(t *testing.T) {
	for _, take := range []bool{true, false} {
		withPunctual(t, func(t *testing.T, s *Store, p *punctualClient) {
			in := store.FeaturesOf(s).Within(time.Second)
			for _, sent := range []bool{true, false} {
				want := store.ErrUnavailable
				if sent && take {
					want = store.ErrOutcomeUnknown
				}
				began := time.Now()
				hangs := forever(in, take, "hangs")
				waits := start(s, take, "waits")
				if sent {
					p.connect()
					p.next(t)
				}
				if time.Sleep(time.Second - 1); !hangs.waiting() {
					t.Errorf("sent %v: given up too early", sent)
				}
				hangs.wantError(t, fmt.Sprint("sent ", sent), want, context.DeadlineExceeded)
				if took := time.Since(began); took != time.Second {
					t.Errorf("sent %v: given up after %v", sent, took)
				}
				p.connect()
				p.next(t).admit()
				waits.wantAdmitted(t, "waits")
				// The timer of an earlier call ends no later one.
				for range 3 {
					c := forever(in, take, "again")
					p.connect()
					time.Sleep(time.Second - 1)
					p.next(t).admit()
					c.wantAdmitted(t, "again")
				}
			}
		})
	}
}

// TestDirectCallPassesErrorsOn: an error that comes in time is what the client says.
func TestDirectCallPassesErrorsOn(t *testing.T) {
	withPunctual(t, func(t *testing.T, s *Store, p *punctualClient) {
		in, broken := store.FeaturesOf(s).Within(time.Second), errors.New("broken")
		c := forever(in, true, "k")
		p.connect()
		p.next(t).fail(broken)
		c.wantError(t, "broken", store.ErrOutcomeUnknown, broken)
		if errors.Is(c.err, context.DeadlineExceeded) {
			t.Error(c.err)
		}
		c = forever(in, true, "k")
		p.connect()
		p.next(t).fail(&ServerError{Message: "READONLY You can't write against a read only replica."})
		c.wantError(t, "refused", store.ErrUnavailable, nil)
	})
}

// TestDirectCallClosesIdleConnectionsOfASilentServer: as a caller who leaves does.
func TestDirectCallClosesIdleConnectionsOfASilentServer(t *testing.T) {
	withPunctual(t, func(t *testing.T, s *Store, p *punctualClient) {
		for _, timeout := range []time.Duration{time.Millisecond, 100 * time.Millisecond} {
			c := forever(store.FeaturesOf(s).Within(timeout), true, "silent")
			p.connect()
			p.next(t)
			<-c.done
			synctest.Wait()
			if want := timeout >= silence; (len(p.closed) == 1) != want {
				t.Errorf("%v: closed for %q", timeout, p.closed)
			}
		}
		if p.closed[0] != s.name(&oneOp("silent", windowOf10)[0].Slot) {
			t.Errorf("closed for %q", p.closed)
		}
	})
}

// TestCallWithTheLongestTimeOutsWaits: that of the caller and that of the store may be as long
// as a Duration can be.
func TestCallWithTheLongestTimeOutsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &punctualClient{poolClient: &poolClient{manualClient: newManual(), connections: make(chan struct{})}}
		s := open(t, p, &Options{Timeout: math.MaxInt64})
		time.Sleep(time.Second)
		c := forever(store.FeaturesOf(s).Within(math.MaxInt64), true, "k")
		p.connect()
		call := p.next(t)
		if time.Sleep(time.Hour); !c.waiting() {
			t.Fatalf("given up: %v", c.err)
		}
		call.admit()
		c.wantAdmitted(t, "k")
		wantNothingLeft(t, s)
	})
}
