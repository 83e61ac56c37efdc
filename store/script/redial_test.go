package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/store"
)

// dialler is a Redialer whose every call gives the same error, and whose redials take
// as long as a test says, or until their context has ended.
type dialler struct {
	err     error
	takes   time.Duration
	redials []redialed
}

// redialed is when a redial began, and how long it took.
type redialed struct {
	at   time.Time
	took time.Duration
}

var _ Redialer = (*dialler)(nil)

func (d *dialler) Do(context.Context, *Command) (string, error) { return "+5 ", d.err }

func (d *dialler) Redial(ctx context.Context) {
	now := redialed{at: time.Now()}
	defer func() {
		now.took = time.Since(now.at)
		d.redials = append(d.redials, now)
	}()
	if d.takes == 0 {
		return
	}
	select {
	case <-time.After(d.takes):
	case <-ctx.Done():
	}
}

func answer(code string) error { return &ServerError{Message: code + " test"} }

// dialling runs a test in a bubble, with a store on a dialler.
func dialling(t *testing.T, d *dialler, opts *Options, f func(t *testing.T, s *Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, open(t, d, opts)) })
}

// fail makes a call that must fail, after so long.
func fail(t *testing.T, s *Store, after time.Duration) {
	t.Helper()
	begin := time.Now()
	if _, _, err := s.Apply(t.Context(), oneOp("k", windowOf10)); err == nil || time.Since(begin) != after {
		t.Errorf("%v after %v, want an error after %v", err, time.Since(begin), after)
	}
}

// TestWrongServersAreRedialled: the replies that say that the server is not the
// primary, or not yet, and no other; whatever was sent.
func TestWrongServersAreRedialled(t *testing.T) {
	wrong := map[string]bool{"READONLY": true, "MASTERDOWN": true, "LOADING": true}
	answers := map[error]bool{
		nil:                            false,
		io.ErrUnexpectedEOF:            false,
		context.DeadlineExceeded:       false,
		store.ErrUnavailable:           false,
		errors.New("READONLY no more"): false,
		answer("ERR READONLY"):         false,
		answer("READONLYX"):            false,
		answer("readonly"):             false,
		answer("CROSSSLOT"):            false,
		&ServerError{}:                 false,
	}
	for code := range refusals {
		answers[answer(code)] = wrong[code]
		answers[fmt.Errorf("wrapped: %w", answer(code))] = wrong[code]
	}
	d := new(dialler)
	dialling(t, d, nil, func(t *testing.T, s *Store) {
		all := calls(s)
		all["check of permissions"] = func() error { return s.checkPermissions(t.Context()) }
		all["check of the server"] = func() error { return s.checkServer(t.Context(), new(Report)) }
		for err, want := range answers {
			for name, call := range all {
				time.Sleep(redialPause) // of the bubble
				d.err, d.redials = err, nil
				_ = call() // what it means is tested elsewhere
				if got := len(d.redials) == 1; got != want || len(d.redials) > 1 {
					t.Errorf("%s after %v: %d redials, want one: %v", name, err, len(d.redials), want)
				}
			}
		}
	})
}

// TestRedialsPause: a server that is loading for a minute is not dialled for each call.
// The pause begins with the end of a redial, and holds for calls of all sorts together.
func TestRedialsPause(t *testing.T) {
	d := &dialler{err: answer("LOADING"), takes: 30 * time.Millisecond}
	dialling(t, d, nil, func(t *testing.T, s *Store) {
		want := func(after time.Duration, redials int) {
			t.Helper()
			time.Sleep(after)
			for name, call := range calls(s) {
				if err := call(); err == nil {
					t.Errorf("%s: no error", name)
				}
			}
			if len(d.redials) != redials {
				t.Errorf("%d redials, want %d", len(d.redials), redials)
			}
		}
		want(0, 1)
		want(redialPause-1, 1)
		want(1, 2)
		want(redialPause-1, 2)
		want(time.Hour, 3)
	})
}

// TestOneRedialsAtATime: the others have their errors at once.
func TestOneRedialsAtATime(t *testing.T) {
	d := &dialler{err: answer("MASTERDOWN"), takes: 500 * time.Millisecond}
	dialling(t, d, &Options{Share: 1}, func(t *testing.T, s *Store) {
		first := make(chan struct{})
		go func() {
			defer close(first)
			fail(t, s, d.takes)
		}()
		synctest.Wait()
		for range 10 {
			fail(t, s, 0)
			time.Sleep(40 * time.Millisecond)
		}
		<-first
		fail(t, s, 0) // in the pause
		if len(d.redials) != 1 {
			t.Errorf("%d redials, want 1", len(d.redials))
		}
	})
}

// TestRedialIsBounded: by a second, and by what is left of the time of the call. Then
// its context has ended, which is what a Redialer looks at.
func TestRedialIsBounded(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		0: redialTime, time.Hour: redialTime, redialTime: redialTime, redialTime - 1: redialTime - 1, 300 * time.Millisecond: 300 * time.Millisecond,
	} {
		d := &dialler{err: answer("READONLY"), takes: time.Minute}
		dialling(t, d, &Options{Timeout: timeout}, func(t *testing.T, s *Store) {
			begin := time.Now()
			for range 2 { // one that is cut short is followed by a pause, too
				if _, _, err := s.Apply(context.Background(), oneOp("k", windowOf10)); !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("Timeout %v: %v", timeout, err)
				}
			}
			if took := time.Since(begin); took != want || len(d.redials) != 1 || d.redials[0].took != want {
				t.Errorf("Timeout %v: %v for redials of %v, want one of %v", timeout, took, d.redials, want)
			}
		})
	}
}

// TestCallersNeedNotWaitForARedial: a caller leaves at the end of its own context, and
// the redial goes on.
func TestCallersNeedNotWaitForARedial(t *testing.T) {
	d := &dialler{err: answer("READONLY"), takes: 500 * time.Millisecond}
	dialling(t, d, nil, func(t *testing.T, s *Store) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		begin := time.Now()
		_, _, err := s.Apply(ctx, oneOp("k", windowOf10))
		if took := time.Since(begin); took != 10*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %v", err, took)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(d.redials) != 1 || d.redials[0].took != d.takes {
			t.Errorf("redials of %v, want one of %v", d.redials, d.takes)
		}
	})
}
