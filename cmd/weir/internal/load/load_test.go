package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// frozen is a target that answers in 1 ms, and stands still for a time: whatever comes then
// is answered behind it.
type frozen struct {
	start       time.Time
	from, until time.Duration

	mu    sync.Mutex
	asked map[string]int
	most  int // of requests under way at the same time
	now   int
	fails func(n int) string
	n     int
}

func (f *frozen) Ask(_ context.Context, key string) Answer {
	f.mu.Lock()
	f.asked[key]++
	f.now++
	f.most = max(f.most, f.now)
	f.n++
	n := f.n
	f.mu.Unlock()
	if at := time.Since(f.start); at >= f.from && at < f.until {
		time.Sleep(f.until - at)
	}
	time.Sleep(time.Millisecond)
	f.mu.Lock()
	f.now--
	f.mu.Unlock()
	a := Answer{Allowed: n%4 != 0}
	if f.fails != nil {
		a.Failure = f.fails(n)
	}
	return a
}

// put puts a load on a target that is frozen from 4 s to 5 s, in a world with its own time.
func put(t *testing.T, o Options) (r *Result, on *frozen) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		on = &frozen{start: time.Now(), from: 4 * time.Second, until: 5 * time.Second, asked: map[string]int{}}
		var err error
		if r, err = Run(t.Context(), on, o); err != nil {
			t.Fatal(err)
		}
	})
	return r, on
}

func keys(t *testing.T, text string) *Keys {
	t.Helper()
	k, err := ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// wantNear wants a time within 2 %.
func wantNear(t *testing.T, what string, got int64, want time.Duration) {
	t.Helper()
	if diff := time.Duration(got) - want; diff < -want/50 || diff > want/50 {
		t.Errorf("%s is %s, want %s", what, time.Duration(got), want)
	}
}

// TestATargetThatIsFrozenForASecondShowsInTheTail: of 10,000 requests in 10 s, those of one
// second are late by 0 to 1 s, evenly. So 5 % take longer than half a second, and one of a
// thousand longer than 0.99 s, however few callers wait.
func TestATargetThatIsFrozenForASecondShowsInTheTail(t *testing.T) {
	for _, callers := range []int{10, 100, 2000} {
		r, on := put(t, Options{Rate: 1000, Callers: callers, Duration: 10 * time.Second, Grace: 5 * time.Second, Keys: keys(t, "uniform:100"), Seed: 1})
		if r.Requests != 10_000 || r.Admitted != 7500 || r.Denied != 2500 || r.Errors != 0 || on.most > callers {
			t.Fatalf("%d callers: %+v, at most %d at the same time", callers, r, on.most)
		}
		wantNear(t, "p50", r.Latency.P50, time.Millisecond)
		if callers < 100 {
			continue // the backlog takes a while
		}
		wantNear(t, "p95", r.Latency.P95, 500*time.Millisecond)
		wantNear(t, "p99", r.Latency.P99, 900*time.Millisecond)
		wantNear(t, "p99.9", r.Latency.P999, 990*time.Millisecond)
		wantNear(t, "max", r.Latency.Max, time.Second)
		if worst := slices.MaxFunc(r.Parts, func(a, b Part) int { return int(a.Max - b.Max) }); worst.At != int64(4*time.Second) {
			t.Errorf("the worst part begins at %s, want 4s", time.Duration(worst.At))
		}
	}
}

// TestFewCallersDoNotHideWhatATargetDoes: 10 callers cannot send what is due while the target
// stands still, and what they measure from when they have sent says so little of it. The
// latency counts from when a request was due.
func TestFewCallersDoNotHideWhatATargetDoes(t *testing.T) {
	r, _ := put(t, Options{Rate: 1000, Callers: 10, Duration: 10 * time.Second, Grace: 5 * time.Second, Keys: keys(t, "uniform:100"), Seed: 1})
	wantNear(t, "p99 from when sent", r.Service.P99, time.Millisecond)
	if p99 := time.Duration(r.Latency.P99); p99 < 900*time.Millisecond {
		t.Errorf("p99 is %s, want 900ms or more", p99)
	}
	if r.Own != (Lateness{}) || r.Busy.Requests < 980 || time.Duration(r.Busy.Most) < 980*time.Millisecond {
		t.Errorf("late: %+v with and %+v without a free caller", r.Own, r.Busy)
	}
	closed, _ := put(t, Options{Callers: 10, Duration: 10 * time.Second, Keys: keys(t, "uniform:100"), Seed: 1})
	wantNear(t, "p99 of a closed loop", closed.Latency.P99, time.Millisecond)
	wantNear(t, "p99.9 of a closed loop", closed.Latency.P999, time.Millisecond)
	wantNear(t, "max of a closed loop", closed.Latency.Max, 1001*time.Millisecond)
	if closed.Requests != 9*1000*10 {
		t.Errorf("%d requests: want what 10 callers can ask in 9 s", closed.Requests)
	}
}

// TestASleepThatEndsLateIsThatOfTheGenerator: it is not laid to the target, and counts.
func TestASleepThatEndsLateIsThatOfTheGenerator(t *testing.T) {
	late := func(d time.Duration) { time.Sleep(d + 5*time.Millisecond) }
	r, _ := put(t, Options{Rate: 100, Callers: 100, Duration: 3 * time.Second, Grace: time.Second, Keys: keys(t, "uniform:100"), Sleep: late})
	if r.Busy != (Lateness{}) || r.Own.Requests < 290 {
		t.Errorf("late: %+v with and %+v without a free caller", r.Own, r.Busy)
	}
	wantNear(t, "most", r.Own.Most, 5*time.Millisecond)
	wantNear(t, "p50", r.Latency.P50, 6*time.Millisecond)
	wantNear(t, "p50 from when sent", r.Service.P50, time.Millisecond)
}

// TestWhatCannotBeSentIsCounted: a target that never answers in time gets no request behind
// the end, and each that was due is an error.
func TestWhatCannotBeSentIsCounted(t *testing.T) {
	var r *Result
	synctest.Test(t, func(t *testing.T) {
		on := &frozen{start: time.Now(), until: 12 * time.Second, asked: map[string]int{}}
		var err error
		if r, err = Run(t.Context(), on, Options{Rate: 100, Callers: 7, Duration: 10 * time.Second, Grace: time.Second, Keys: keys(t, "uniform:100")}); err != nil {
			t.Fatal(err)
		}
	})
	if r.Requests != 1000 || r.Failures[NotSent] != 993 || r.Errors != 993 || r.Admitted+r.Denied != 7 {
		t.Errorf("%+v", r)
	}
	wantNear(t, "max", r.Latency.Max, 12001*time.Millisecond)
}

func TestErrorsAreCountedByKind(t *testing.T) {
	var r *Result
	synctest.Test(t, func(t *testing.T) {
		on := &frozen{start: time.Now(), asked: map[string]int{}, fails: func(n int) string {
			return []string{"", "broken", "time-out", "", ""}[n%5]
		}}
		var err error
		if r, err = Run(t.Context(), on, Options{Rate: 100, Callers: 7, Duration: 10 * time.Second, Grace: time.Second, Keys: keys(t, "uniform:100")}); err != nil {
			t.Fatal(err)
		}
	})
	if want := map[string]int64{"broken": 200, "time-out": 200}; r.Errors != 400 || !maps.Equal(r.Failures, want) || r.Admitted+r.Denied != 600 {
		t.Errorf("%+v", r)
	}
}

// TestTheRampIsNotMeasured: the rate grows evenly, half of the requests are due in a ramp,
// and the freeze in it does not show.
func TestTheRampIsNotMeasured(t *testing.T) {
	r, _ := put(t, Options{Rate: 1000, Callers: 5000, Ramp: 6 * time.Second, Duration: 2 * time.Second, Grace: time.Second, Keys: keys(t, "uniform:100")})
	if r.RampRequests != 3000 || r.Requests != 2000 || r.RampErrors != 0 {
		t.Errorf("%d in the ramp, %d behind it: want 3,000 and 2,000", r.RampRequests, r.Requests)
	}
	wantNear(t, "max", r.Latency.Max, time.Millisecond)
}

// TestOneCallerAtATimeSleeps: a sleep may have one timer, so two callers that shared it would
// wait for ever. In a closed loop all of them wait in the ramp.
func TestOneCallerAtATimeSleeps(t *testing.T) {
	for _, rate := range []int{0, 2000} {
		var asleep, most atomic.Int64
		sleep := func(d time.Duration) {
			if n := asleep.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(d)
			asleep.Add(-1)
		}
		r, _ := put(t, Options{Rate: rate, Callers: 20, Ramp: 10 * time.Millisecond, Duration: time.Second, Keys: keys(t, "uniform:3"), Sleep: sleep})
		if most.Load() > 1 || r.Requests == 0 {
			t.Errorf("rate %d: %d callers slept at the same time, %d requests", rate, most.Load(), r.Requests)
		}
	}
}

// TestPoissonHasItsRate: and distances of which the share e^-1 is longer than the mean.
func TestPoissonHasItsRate(t *testing.T) {
	s := newSchedule(&Options{Rate: 1000, Arrivals: Poisson, Duration: 100 * time.Second, Seed: 5})
	n, long, last := 0, 0, time.Duration(0)
	for {
		at, more := s.next()
		if !more {
			break
		}
		if at < last {
			t.Fatalf("%s is due behind %s", at, last)
		}
		if at-last > time.Millisecond {
			long++
		}
		n, last = n+1, at
	}
	if n < 99_000 || n > 101_000 { // three deviations
		t.Errorf("%d requests in 100 s at 1,000 a second", n)
	}
	if share := float64(long) / float64(n); share < 0.36 || share > 0.376 {
		t.Errorf("%g of the distances are longer than the mean, want 0.368", share)
	}
}

// TestTheSameSeedAsksForTheSameKeys: whoever sends them.
func TestTheSameSeedAsksForTheSameKeys(t *testing.T) {
	o := Options{Rate: 1000, Callers: 20, Duration: 3 * time.Second, Grace: time.Second, Keys: keys(t, "zipf:1.1:1000"), Seed: 9}
	_, first := put(t, o)
	o.Callers = 3
	_, second := put(t, o)
	o.Seed = 10
	_, other := put(t, o)
	if !maps.Equal(first.asked, second.asked) {
		t.Error("the keys differ")
	}
	if maps.Equal(first.asked, other.asked) {
		t.Error("another seed asks for the same keys")
	}
	// The first of 1,000 keys has the share 1/Σi^-1.1 = 0.1795 by Zipf's law.
	if n := first.asked["1"]; n < 470 || n > 610 {
		t.Errorf("%d of 3,000 requests are for the first key, want about 539", n)
	}
}

func TestKeysAreReadStrictly(t *testing.T) {
	for text, allowed := range map[string]bool{
		"zipf:1.1:100000": true, "zipf:0.7:1": true, "uniform:1": true, "uniform:10000000": true, "one:a:b": true,
		"": false, "zipf": false, "zipf:1.1": false, "zipf:0:5": false, "zipf:NaN:5": false, "zipf:Inf:5": false, "zipf:1:0": false, "zipf:1:10000001": false,
		"uniform:0": false, "uniform:-1": false, "uniform:1:2": false, "uniform:": false, "one:": false, "two:a": false,
	} {
		k, err := ParseKeys(text)
		if (err == nil) != allowed {
			t.Errorf("%q: %v", text, err)
		}
		if allowed && text != "one:a:b" && k.String() != text {
			t.Errorf("%q is shown as %q", text, k)
		}
	}
	if k := keys(t, "one:secret"); k.String() != "one" {
		t.Errorf("the key is shown: %q", k)
	}
}

// TestAnInterruptEndsALoad: also one that waits for its first request, and in both loops.
func TestAnInterruptEndsALoad(t *testing.T) {
	for _, rate := range []int{0, 1, 1000} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				defer cancel()
				on := &frozen{start: time.Now(), asked: map[string]int{}}
				start := time.Now()
				_, err := Run(ctx, on, Options{Rate: rate, Callers: 4, Duration: time.Hour, Grace: time.Second, Keys: keys(t, "uniform:3")})
				if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 2*time.Second {
					t.Errorf("%v after %s", err, took)
				}
			})
		})
	}
}

func TestOptionsOutsideTheirBounds(t *testing.T) {
	good := Options{Rate: 1, Callers: 1, Duration: time.Second, Keys: keys(t, "uniform:3")}
	for name, change := range map[string]func(*Options){
		"--rate: -1": func(o *Options) { o.Rate = -1 }, "--rate: 10000001": func(o *Options) { o.Rate = MaxRate + 1 },
		"--callers: 0": func(o *Options) { o.Callers = 0 }, "--duration: 0s": func(o *Options) { o.Duration = 0 },
		"--ramp: -1s":               func(o *Options) { o.Ramp = -time.Second },
		"--rate: 100000 in 24h0m0s": func(o *Options) { o.Rate, o.Duration = 100_000, 24*time.Hour },
	} {
		o := good
		change(&o)
		if err := o.Check(); err == nil || len(err.Error()) < len(name) || err.Error()[:len(name)] != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}

// TestSleepEndsNotBeforeItsTime: how much later depends on the machine.
func TestSleepEndsNotBeforeItsTime(t *testing.T) {
	sleep, release, err := NewSleep()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, d := range []time.Duration{-1, 0, 1, 50 * time.Microsecond, 3 * time.Millisecond} {
		start := time.Now()
		sleep(d)
		if took := time.Since(start); took < d {
			t.Errorf("%s took %s", d, took)
		}
	}
}
