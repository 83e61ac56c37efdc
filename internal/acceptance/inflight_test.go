package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirgo/weir"
)

// inFlight is how many decisions a process has under way at once.
const inFlight = 10_000

// TestManyDecisionsInFlightAllEnd: a process starts so many decisions at once, and
// each of them is decided. Half of them ask for one key, the others for a key of
// their own. Where calls are not shared there are fewer, for the time it takes.
func TestManyDecisionsInFlightAllEnd(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		for share := range 2 {
			t.Run(fmt.Sprintf("share %d", share), func(t *testing.T) {
				inFlight := inFlight
				if share == 1 {
					inFlight /= 5
				}
				s := e.dial(t, dial{addr: e.server.Addr(), plain: true}, &storeOptions{Share: share})
				hot := limiter(t, s, longest("gcra", int64(inFlight/4)), "hot")
				own := limiter(t, s, longest("fixed-window", 1), "own")
				ctx := patient(t)
				var admitted, admittedOwn, failed atomic.Int64
				var all sync.WaitGroup
				start := make(chan struct{})
				for i := range inFlight {
					all.Go(func() {
						<-start
						l, key, sum := own, fmt.Sprint(t.Name(), i), &admittedOwn
						if i%2 == 0 {
							l, key, sum = hot, t.Name(), &admitted
						}
						d, err := l.Allow(ctx, key)
						if err != nil && failed.Add(1) <= 3 {
							t.Errorf("decision %d: %v", i, err)
						} else if d.Allowed {
							sum.Add(1)
						}
					})
				}
				close(start)
				all.Wait()
				if n := failed.Load(); n > 0 {
					t.Errorf("%d decisions failed", n)
				}
				if admitted.Load() != int64(inFlight/4) || admittedOwn.Load() != int64(inFlight/2) {
					t.Errorf("%d of %d units of one key and %d of %d keys were admitted",
						admitted.Load(), inFlight/4, admittedOwn.Load(), inFlight/2)
				}
			})
		}
	})
}

// TestWorkersDecideWithoutBlockingTheirCaller is how a program asks for many
// decisions without waiting for any: a bounded number of workers wait in its place.
func TestWorkersDecideWithoutBlockingTheirCaller(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		const workers, limit = 500, inFlight / 5
		s := e.dial(t, dial{addr: e.server.Addr(), plain: true}, nil)
		l := limiter(t, s, longest("token-bucket", limit), "")
		ctx := patient(t)

		type answer struct {
			id       int
			decision weir.Decision
			err      error
		}
		requests, answers := make(chan int, inFlight), make(chan answer, inFlight)
		var pool sync.WaitGroup
		for range workers {
			pool.Go(func() {
				for id := range requests {
					d, err := l.Allow(ctx, "all")
					answers <- answer{id, d, err}
				}
			})
		}
		for id := range inFlight {
			select {
			case requests <- id:
			default:
				t.Fatalf("request %d would have had to wait", id)
			}
		}
		close(requests)
		pool.Wait()
		close(answers)

		seen, admitted := make(map[int]bool), 0
		for a := range answers {
			if a.err != nil {
				t.Fatal(a.err)
			}
			seen[a.id] = true
			if a.decision.Allowed {
				admitted++
			}
		}
		if len(seen) != inFlight || admitted != limit {
			t.Errorf("%d of %d decided, %d of %d admitted", len(seen), inFlight, admitted, limit)
		}
	})
}

// TestEndedContextLeavesTheQueue: of many decisions in flight, those whose callers
// have gone before their turn are not charged, and the others are.
func TestEndedContextLeavesTheQueue(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		const share = 10
		s := e.store(t, &storeOptions{InFlight: 1, Share: share})
		a := longest("gcra", inFlight)
		l := limiter(t, s, a, "")
		mustApply(t, s, op("all", "", a, 0)) // the scripts are known, and the client is connected
		ctx := patient(t)
		leaving, leave := context.WithCancel(ctx)
		var staying, going sync.WaitGroup
		var admitted, unknown atomic.Int64
		e.server.Freeze()
		for i := range 2000 {
			if i%2 == 0 {
				staying.Go(func() {
					if d, err := l.Allow(ctx, "all"); err != nil || !d.Allowed {
						t.Errorf("%+v, %v", d, err)
					} else {
						admitted.Add(1)
					}
				})
				continue
			}
			going.Go(func() {
				d, err := l.Allow(leaving, "all")
				if kind(err) == "unknown" {
					unknown.Add(1) // in a call that was under way
				} else if !errors.Is(err, context.Canceled) || kind(err) != "other" {
					t.Errorf("%+v, %v", d, err)
				}
			})
		}
		leave()
		going.Wait()
		e.server.Thaw()
		staying.Wait()
		taken := inFlight - remaining(t, s, slotOf("all", a))
		if taken < admitted.Load() || taken > admitted.Load()+unknown.Load() || unknown.Load() > 5*share { // one call in flight, and four that all have left
			t.Errorf("%d charged; %d admitted, %d unknown", taken, admitted.Load(), unknown.Load())
		}
	})
}
