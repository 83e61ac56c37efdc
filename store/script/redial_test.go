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

// fail makes a call that must fail at once.
func fail(t *testing.T, s *Store) {
	t.Helper()
	begin := time.Now()
	if _, _, err := s.Apply(t.Context(), oneOp("k", windowOf10)); !errors.Is(err, store.ErrUnavailable) || time.Since(begin) != 0 {
		t.Errorf("%v after %v, want ErrUnavailable at once", err, time.Since(begin))
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
				synctest.Wait()
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
			time.Sleep(d.takes)
			synctest.Wait()
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

// TestCallersDoNotWaitForARedial: they have their errors at once, those who come
// meanwhile too, and one redials at a time.
func TestCallersDoNotWaitForARedial(t *testing.T) {
	for _, share := range []int{0, 1} {
		d := &dialler{err: answer("MASTERDOWN"), takes: 500 * time.Millisecond}
		dialling(t, d, &Options{Share: share}, func(t *testing.T, s *Store) {
			for range 12 {
				fail(t, s)
				time.Sleep(40 * time.Millisecond)
			}
			time.Sleep(redialPause)
			fail(t, s) // in the pause
			synctest.Wait()
			if len(d.redials) != 1 {
				t.Errorf("%d redials, want 1", len(d.redials))
			}
		})
	}
}

// TestRedialIsBounded: by a second, whatever the time of a call. Then its context has
// ended, which is what a Redialer looks at. One that was cut short is followed by a
// pause, too.
func TestRedialIsBounded(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Hour, 300 * time.Millisecond} {
		d := &dialler{err: answer("READONLY"), takes: time.Minute}
		dialling(t, d, &Options{Timeout: timeout}, func(t *testing.T, s *Store) {
			fail(t, s)
			time.Sleep(redialTime)
			synctest.Wait()
			fail(t, s)
			time.Sleep(redialPause - 1)
			if len(d.redials) != 1 || d.redials[0].took != redialTime {
				t.Errorf("Timeout %v: redials of %v, want one of %v", timeout, d.redials, redialTime)
			}
		})
	}
}

// TestCloseWaitsForARedial: nothing of the store runs when it is closed.
func TestCloseWaitsForARedial(t *testing.T) {
	d := &dialler{err: answer("LOADING"), takes: 500 * time.Millisecond}
	dialling(t, d, nil, func(t *testing.T, s *Store) {
		begin := time.Now()
		fail(t, s)
		if err := s.Close(); err != nil || time.Since(begin) != d.takes {
			t.Errorf("closed after %v (%v), want after %v", time.Since(begin), err, d.takes)
		}
	})
}
