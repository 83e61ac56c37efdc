package inflightserver_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/inflighttest"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/resilience/inflight"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// A caller that did not hear that it holds a unit asks again under its ID, and holds one.
func TestLostReplyNeverTakesTwoUnits(t *testing.T) {
	each(t, nil, func(t *testing.T, server *servertest.Server, open library) {
		p := servertest.NewProxy(t, server.Addr())
		s := holdersOf(open(t, p.Addr(), "", nil))
		direct := holdersOf(open(t, server.Addr(), "", nil))
		acquire(t, s, holder("before"), 2)
		lost := func(f func(ctx context.Context) error, arrived func(inUse int64) bool) {
			t.Helper()
			p.DropReplies(true)
			ctx, cancel := context.WithCancel(background)
			defer cancel()
			answered := make(chan error, 1)
			go func() { answered <- f(ctx) }()
			servertest.Await(t, "the call arrives", func() bool {
				got, err := direct.Peek(background, holder("a").Slot)
				return err == nil && arrived(got.InUse)
			})
			cancel()
			if err := <-answered; !errors.Is(err, store.ErrOutcomeUnknown) {
				t.Errorf("a call without an answer: %v", err)
			}
			p.DropReplies(false)
			p.Cut()
		}
		again := func(f func() (inflight.Standing, error)) inflight.Standing {
			t.Helper()
			var got inflight.Standing
			var err error
			servertest.Await(t, "the connection is made anew", func() bool { got, err = f(); return err == nil })
			return got
		}
		lost(func(ctx context.Context) error { _, err := s.Acquire(ctx, holder("a"), 2); return err }, func(n int64) bool { return n == 2 })
		got := again(func() (inflight.Standing, error) { return s.Acquire(background, holder("a"), 2) })
		if !got.Held || got.InUse != 2 {
			t.Errorf("asked again: %+v", got)
		}
		lost(func(ctx context.Context) error { _, err := s.Release(ctx, holder("a")); return err }, func(n int64) bool { return n == 1 })
		got = again(func() (inflight.Standing, error) { return s.Release(background, holder("a")) })
		if got.Held || got.InUse != 1 {
			t.Errorf("released again: %+v", got)
		}
	})
}

// TestHolderProcess is the process that the next test kills. It holds two units of 30 s. Its clock
// stands still, as that of the test begins.
func TestHolderProcess(t *testing.T) {
	addr := os.Getenv("WEIR_INFLIGHT_SERVER")
	if addr == "" {
		t.Skip("only for TestUnitsOfAKilledProcessComeBackWithinTheirLife")
	}
	s := holdersOf(goRedis(t, addr, "", &script.Options{Clock: inflighttest.NewClock()}))
	limiter := weir.Must(inflight.New(s, inflight.Limit{Name: "api", Units: 2}, &inflight.Options{Timeout: time.Minute}))
	for range 2 {
		hold, err := limiter.Acquire(background, "user:42")
		if err != nil || !hold.Allowed() {
			t.Fatal(err)
		}
	}
	fmt.Println("holding")
	select {} // until it is killed
}

func TestUnitsOfAKilledProcessComeBackWithinTheirLife(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		cmd := exec.Command(self, "-test.run=^TestHolderProcess$")
		cmd.Env = append(os.Environ(), "WEIR_INFLIGHT_SERVER="+server.Addr())
		output := &bytes.Buffer{}
		cmd.Stderr = output
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		if line, err := bufio.NewReader(pipe).ReadString('\n'); err != nil || line != "holding\n" {
			t.Fatalf("%q, %v\n%s", line, err, output)
		}
		clock := inflighttest.NewClock()
		s := holdersOf(goRedis(t, server.Addr(), "", &script.Options{Clock: clock}))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		clock.Move(30*time.Second - time.Microsecond)
		if got := acquire(t, s, holder("x"), 2); got.Held || got.InUse != 2 {
			t.Errorf("1 µs before the end of the life: %+v", got)
		}
		clock.Move(time.Microsecond)
		if got := acquire(t, s, holder("x"), 2); !got.Held || got.InUse != 1 {
			t.Errorf("at the end of the life: %+v", got)
		}
	})
}

// TestServersClock: who does not renew is live before the end of its life by the clock of the
// server, and not after it.
func TestServersClock(t *testing.T) {
	each(t, nil, func(t *testing.T, server *servertest.Server, open library) {
		s := holdersOf(open(t, server.Addr(), "", nil))
		h := holder("a")
		h.Life = 20 * time.Millisecond
		a := acquire(t, s, h, 1)
		if a.Until != a.At+20_000 {
			t.Errorf("%+v", a)
		}
		servertest.Await(t, "the hold expires", func() bool {
			got, err := s.Peek(background, h.Slot)
			if err != nil || (got.InUse == 1) != (got.At < a.Until) {
				t.Fatalf("%+v of a hold until %v (%v)", got, a.Until, err)
			}
			return got.InUse == 0
		})
	})
}

func TestServerThatRestarts(t *testing.T) {
	servertest.Each(t, &servertest.Config{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}}, func(t *testing.T, server *servertest.Server) {
		s := holdersOf(goRedis(t, server.Addr(), "", nil))
		settled := func(f func() (inflight.Standing, error)) (got inflight.Standing) {
			servertest.Await(t, "the connection is made anew", func() bool {
				var err error
				got, err = f()
				return err == nil
			})
			return got
		}
		acquire(t, s, holder("a"), 1)
		server.RestartWithData()
		got := settled(func() (inflight.Standing, error) { return s.Acquire(background, holder("b"), 1) })
		if got.Held || got.InUse != 1 {
			t.Errorf("after a restart with its data: %+v", got)
		}
	})
}

// TestServerThatLosesItsData: who is in flight is counted again by its renewal, and releases
// its unit afterwards.
func TestServerThatLosesItsData(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		s := holdersOf(goRedis(t, server.Addr(), "", nil))
		limiter := weir.Must(inflight.New(s, inflight.Limit{Name: "api", Units: 2}, &inflight.Options{Life: time.Second, Timeout: time.Minute}))
		var holds []*inflight.Hold
		for range 2 {
			hold, err := limiter.Acquire(background, "user:42")
			if err != nil || !hold.Allowed() {
				t.Fatal(err)
			}
			holds = append(holds, hold)
		}
		server.Kill()
		server.Start() // without persistence
		inUse := func(units int64) func() bool {
			return func() bool {
				got, err := s.Peek(background, holder("x").Slot)
				return err == nil && got.InUse == units
			}
		}
		servertest.Await(t, "both are counted again", inUse(2))
		for _, hold := range holds {
			if err := hold.Release(background); err != nil && !errors.Is(err, inflight.ErrExpired) { // on a machine that stood still
				t.Error(err)
			}
		}
		servertest.Await(t, "both are free", inUse(0))
	})
}
