package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// entries is how long the logs are that are measured.
const entries = 1000

// logDenied is work on a log that is full.
func logDenied(tb testing.TB, server *servertest.Server) work {
	spec := fmt.Sprintf("sliding-log:%d/9600h", entries)
	limiter := limiterOf(tb, separate(tb, server), spec)
	for range entries {
		if d, err := limiter.Allow(context.Background(), "log denied"); err != nil || !d.Allowed {
			tb.Fatalf("%+v, %v", d, err)
		}
	}
	return allow(tb, server, "log denied", spec, false)
}

// steadyLog is a sliding log whose state is the same whatever its period.
type steadyLog struct{ *algorithm.SlidingLog }

func (l steadyLog) Spec() algorithm.Spec {
	spec := l.SlidingLog.Spec()
	spec.Identity = "steady"
	return spec
}

// logAdmitted is work on a log in a steady state: with each entry that is added one
// expires. So the period is the time since the request a thousand before.
func logAdmitted(tb testing.TB, server *servertest.Server) work {
	var mu sync.Mutex
	var last [entries]time.Time // when the last requests were made
	requests, held := 0, int64(0)
	s := separate(tb, server)
	period := func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		now, before := time.Now(), last[requests%entries]
		last[requests%entries] = now
		requests++
		if before.IsZero() {
			return time.Hour
		}
		return now.Sub(before).Round(time.Microsecond)
	}
	w := each(func() error {
		a, err := algorithm.NewSlidingLog(algorithm.Rate{Units: algorithm.MaxUnits, Per: period()})
		if err != nil {
			return err
		}
		ops := [1]store.Op{{Slot: store.Slot{Key: "log admitted", Algorithm: steadyLog{a}}, Request: algorithm.Request{Cost: 1}}}
		_, _, err = s.Apply(context.Background(), ops[:])
		mu.Lock()
		defer mu.Unlock()
		held = ops[0].Outcome.Limit - ops[0].Outcome.Remaining
		return err
	})
	w(tb, entries)
	tb.Cleanup(func() {
		if testing.Testing() { // where nothing is measured, and a call that a busy machine delays drops entries
			return
		}
		if held < entries/2 || held > entries*3/2 {
			tb.Errorf("at the end the log has %d entries instead of about %d", held, entries)
		}
	})
	return w
}
