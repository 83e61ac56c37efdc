package deadline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPauseIsAboutAsLongAsItShould(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		differ := map[time.Duration]bool{}
		for range 100 {
			start := time.Now()
			err := Pause(t.Context(), time.Second)
			took := time.Since(start)
			if err != nil || took < time.Second/2 || took > 3*time.Second/2 {
				t.Fatalf("%v after %v", err, took)
			}
			differ[took] = true
		}
		if len(differ) < 90 {
			t.Errorf("%d of 100 pauses differ", len(differ))
		}
		short, cancel := Patience(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := Pause(short, time.Hour); err != context.DeadlineExceeded || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestPauserHasATimeOfItsOwn: no clock is read, and its error ends the pause.
func TestPauserHasATimeOfItsOwn(t *testing.T) {
	over := errors.New("over")
	var paused []time.Duration
	ctx := WithPauser(context.Background(), func(d time.Duration) error {
		if paused = append(paused, d); len(paused) == 2 {
			return over
		}
		return nil
	})
	within, cancel := Patience(ctx, time.Nanosecond)
	defer cancel()
	if err := Pause(within, time.Hour); err != nil {
		t.Error(err)
	}
	if err := Pause(within, time.Hour); err != over || paused[0] != time.Hour || within.Err() != nil {
		t.Errorf("%v, %v, %v", err, paused, within.Err())
	}
}
