package resilience_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
)

// outage is a store behind a connection that is cut from one time to another: calls hang
// until their context ends. It counts the calls that reach it in each second.
type outage struct {
	from, to time.Time
	mu       sync.Mutex
	seconds  map[int]int // calls, by second since the start
	start    time.Time
}

func (o *outage) wrap(inner store.Store) store.Store {
	return store.Wrap(inner, store.Hooks{IO: true, Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
		now := time.Now()
		o.mu.Lock()
		o.seconds[int(now.Sub(o.start)/time.Second)]++
		o.mu.Unlock()
		if !now.Before(o.from) && now.Before(o.to) {
			<-ctx.Done()
			return 0, false, store.ErrOutcomeUnknown
		}
		time.Sleep(time.Millisecond)
		return next(ctx, ops)
	}})
}

// TestOutageOf30Seconds: 256 callers of a limiter with a local store behind it, in virtual
// time. While the breaker is open they are answered without waiting, the server meets a
// few probes, and no herd when it is back. Without a breaker the time-out bounds each
// call.
func TestOutageOf30Seconds(t *testing.T) {
	const callers, every = 256, 500 * time.Millisecond
	for _, c := range []struct {
		name    string
		breaker bool
	}{{"with a breaker", true}, {"without", false}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				o := &outage{start: start, from: start.Add(10 * time.Second), to: start.Add(40 * time.Second), seconds: make(map[int]int)}
				memory, local := newMemory(t, realTime{}), newMemory(t, realTime{})
				states := o.wrap(memory)
				var opened, closed []time.Duration
				if c.breaker {
					random := rand.New(rand.NewPCG(1, 2))
					b, err := resilience.NewBreaker(states, &resilience.BreakerOptions{
						Random: random.Int64N,
						OnTransition: func(tr resilience.BreakerTransition) {
							switch tr.To {
							case resilience.BreakerOpen:
								opened = append(opened, tr.At.Sub(start))
							case resilience.BreakerClosed:
								closed = append(closed, tr.At.Sub(start))
							}
						},
					})
					if err != nil {
						t.Fatal(err)
					}
					states = b
				}
				limit := weir.Must(weir.ParseLimit("l", "gcra:1000000/1s"))
				l, err := weir.New(states, limit, &weir.Options{OnFailure: weir.FailLocal, Local: local})
				if err != nil {
					t.Fatal(err)
				}
				var mu sync.Mutex
				var waits []time.Duration // of calls in the outage, from when half of the window has failed
				var group sync.WaitGroup
				for i := range callers {
					group.Go(func() {
						time.Sleep(time.Duration(i) * every / callers)
						for range int(60 * time.Second / every) {
							began := time.Now()
							if d, err := l.Allow(background, "k"); err != nil || !d.Allowed {
								t.Errorf("%+v, %v", d, err)
							}
							if s := began.Sub(start); s > 16*time.Second && s < 40*time.Second {
								mu.Lock()
								waits = append(waits, time.Since(began))
								mu.Unlock()
							}
							time.Sleep(every - time.Since(began))
						}
					})
				}
				group.Wait()
				slices.Sort(waits)
				p99, longest := waits[len(waits)*99/100], waits[len(waits)-1]
				if longest > 100*time.Millisecond {
					t.Errorf("a call took %v, with a time-out of 100 ms", longest)
				}
				steady := o.seconds[5]
				if !c.breaker {
					if p99 != 100*time.Millisecond {
						t.Errorf("without a breaker the 99th percentile is %v", p99)
					}
					return
				}
				if p99 != 0 {
					t.Errorf("the 99th percentile of a decision in the outage is %v in virtual time", p99)
				}
				probes := 0
				for second := 16; second < 40; second++ {
					probes += o.seconds[second]
				}
				if probes < 4 || probes > 6 {
					t.Errorf("%d probes in 24 s", probes)
				}
				if len(closed) != 1 || closed[0] > 46100*time.Millisecond || opened[0] > 15100*time.Millisecond {
					t.Fatalf("opened at %v, closed at %v", opened, closed)
				}
				for second := int(closed[0] / time.Second); second < 60; second++ {
					if n := o.seconds[second]; n > 2*steady {
						t.Errorf("%d calls in second %d, steady are %d", n, second, steady)
					}
				}
				t.Logf("opened %d times, closed at %v, %d probes, steady %d calls a second, %d in the first second of recovery", len(opened), closed[0], probes, steady, o.seconds[int(closed[0]/time.Second)+1])
			})
		})
	}
}

// realTime is the clock of the bubble; a store in memory then starts no goroutine.
type realTime struct{}

func (realTime) Now() time.Time { return time.Now() }

// TestBreakerUnderConcurrentCallers: for the race detector. The clock of the store stands still, so that
// no window ends between the first call and the last.
func TestBreakerUnderConcurrentCallers(t *testing.T) {
	memory := newMemory(t, newHand())
	var mu sync.Mutex
	n := 0
	flaky := store.Wrap(memory, store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
		mu.Lock()
		n++
		fails := n/64%2 == 0
		mu.Unlock()
		if fails {
			return 0, false, store.ErrUnavailable
		}
		return next(ctx, ops)
	}})
	b, err := resilience.NewBreaker(flaky, &resilience.BreakerOptions{OpenFor: 10 * time.Millisecond, Window: 10 * time.Millisecond, OnTransition: func(resilience.BreakerTransition) {}})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var admitted, refused, failed [256]int64
	for i := range 256 {
		group.Go(func() {
			for range 100 {
				_, committed, err := b.Apply(background, opOf(t, "fixed-window:1000000/24h", "k", 1))
				switch {
				case err == resilience.ErrOpen:
					refused[i]++
				case err != nil:
					failed[i]++
				case committed:
					admitted[i]++
				}
				_ = b.Stats()
			}
		})
	}
	group.Wait()
	sum := func(counts [256]int64) (total int64) {
		for _, c := range counts {
			total += c
		}
		return total
	}
	ops := opOf(t, "fixed-window:1000000/24h", "k", 0)
	if _, err := memory.Peek(background, ops); err != nil || ops[0].Outcome.Remaining != 1_000_000-sum(admitted) {
		t.Errorf("%d admitted, %d remain: %v", sum(admitted), ops[0].Outcome.Remaining, err)
	}
	if s := b.Stats()[0]; s.Refused != sum(refused) || sum(admitted)+sum(refused)+sum(failed) != 25600 {
		t.Errorf("%+v; %d refused, %d failed, %d admitted", s, sum(refused), sum(failed), sum(admitted))
	}
}
