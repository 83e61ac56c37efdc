package deadline

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/store"
)

// wait returns when ctx has ended, and why.
func wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestTimeoutMeansUnavailableUnlessTheOutcomeIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := Call(t.Context(), 50*time.Millisecond, wait)
		var exceeded Exceeded
		if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &exceeded) ||
			time.Since(start) != 50*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		err = Call(t.Context(), time.Millisecond, func(ctx context.Context) error {
			return fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, wait(ctx))
		})
		if errors.Is(err, store.ErrUnavailable) || !errors.Is(err, store.ErrOutcomeUnknown) {
			t.Error(err)
		}
	})
}

func TestEndOfTheCallerStaysItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		ended, end := context.WithCancel(t.Context())
		end()
		for _, ctx := range []context.Context{short, ended} {
			for _, timeout := range []time.Duration{0, time.Hour} {
				if err := Call(ctx, timeout, wait); err != ctx.Err() {
					t.Errorf("%v, want %v", err, ctx.Err())
				}
			}
		}
	})
}

func TestOtherErrorsStayWhatTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := errors.New("other")
		late := func(ctx context.Context) error { _ = wait(ctx); return other }
		for _, err := range []error{
			Call(t.Context(), time.Millisecond, late),
			Call(t.Context(), time.Hour, func(context.Context) error { return other }),
		} {
			if err != other {
				t.Error(err)
			}
		}
		if err := Call(t.Context(), 0, func(ctx context.Context) error {
			if _, has := ctx.Deadline(); has {
				t.Error("a timeout of 0 is one")
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
}

func TestDeadlineIsOverBeforeItsTimerFires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(time.Second)
		ctx := withDeadline{context.Background(), until}
		if err := Over(ctx); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := Over(ctx); err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

// withDeadline is a context whose timer never fires.
type withDeadline struct {
	context.Context
	until time.Time
}

func (w withDeadline) Deadline() (time.Time, bool) { return w.until, true }

func TestSleepEndsWithTheTimeTheContextOrTheCloser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		closed := make(chan struct{})
		time.AfterFunc(2*time.Second, func() { close(closed) })
		for _, test := range []struct {
			ctx    context.Context
			d      time.Duration
			closed chan struct{}
			err    error
			took   time.Duration
		}{
			{t.Context(), 0, nil, nil, 0},
			{t.Context(), -time.Second, closed, nil, 0},
			{short, time.Minute, closed, context.DeadlineExceeded, time.Second},
			{t.Context(), time.Minute, closed, store.ErrClosed, time.Second},
			{t.Context(), time.Minute, nil, nil, time.Minute},
		} {
			start := time.Now()
			if err := Sleep(test.ctx, test.d, test.closed); err != test.err || time.Since(start) != test.took {
				t.Errorf("%v: %v after %v, want %v after %v", test.d, err, time.Since(start), test.err, test.took)
			}
		}
	})
}
