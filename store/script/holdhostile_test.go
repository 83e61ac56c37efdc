package script

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/store"
)

// lateClient answers after up to 3 ms, seldom after 5 s whatever its context says, and now and then with a panic, an error or
// nothing until its deadline.
type lateClient struct {
	mu  sync.Mutex
	rnd *rand.Rand
}

func (l *lateClient) Do(ctx context.Context, c *Command) (string, error) {
	l.mu.Lock()
	what, wait := l.rnd.IntN(40), time.Duration(l.rnd.IntN(3000))*time.Microsecond
	if l.rnd.IntN(100) == 0 {
		wait = 5 * time.Second // whatever ctx says
	}
	l.mu.Unlock()
	groups := groupsOf(c.Args)
	time.Sleep(wait)
	switch what {
	case 0:
		panic("the client")
	case 1:
		return "", errors.New("broken")
	case 2:
		return "", fmt.Errorf("%w", store.ErrUnavailable)
	case 3:
		return "", &ServerError{}
	case 4:
		until, _ := ctx.Deadline()
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Until(until)):
			return "", context.DeadlineExceeded
		}
	}
	if len(groups) == 1 {
		return "+5 ", nil
	}
	return "5" + strings.Repeat(";+", len(groups)), nil
}

// TestHoldHostile: whatever callers and the client do, no call that may leave waits for another event, no caller waits for ever,
// and nothing is left in the end.
func TestHoldHostile(t *testing.T) {
	for seed := uint64(30); seed < 40; seed++ { // a call that was not started was found with 38
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var client Client = &lateClient{rnd: rand.New(rand.NewPCG(seed, 2))}
			if seed%3 == 0 {
				client = shardedClient{client}
			}
			opts := &Options{Share: []int{0, 1, 3, 4, 5, 1000}[rnd.IntN(6)], InFlight: []int{0, 1, 2, 7}[rnd.IntN(4)], Timeout: 50 * time.Millisecond}
			s, err := New(client, opts)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			longest := time.Duration(0)
			var mu sync.Mutex
			stop := make(chan struct{})
			check := func() {
				synctest.Wait()
				for _, d := range []*dispatcher{&s.takes, &s.looks} {
					d.mu.Lock()
					if d.batcher.Ready() {
						t.Errorf("seed %d (%+v): a call may leave, and nobody lets it", seed, *opts)
					}
					d.mu.Unlock()
				}
			}
			for i := range 150 {
				take := i%2 == 0
				r := rand.New(rand.NewPCG(seed, uint64(i)+10))
				wg.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						ctx, cancel := context.WithCancel(context.Background())
						switch r.IntN(4) {
						case 0:
							ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(5000))*time.Microsecond)
						case 1:
							time.AfterFunc(time.Duration(r.IntN(5000))*time.Microsecond, cancel)
						}
						ops := oneOp("hot", windowOf10)
						if r.IntN(10) == 0 {
							ops = oneOp([]string{"far{1}", "lost", "other"}[r.IntN(3)], windowOf10)
						}
						if seed%3 != 0 && r.IntN(15) == 0 {
							ops = nil
							for k := range 1 + r.IntN(700) {
								ops = append(ops, oneOp(fmt.Sprint("k", k), windowOf10)...)
							}
						}
						begun := time.Now()
						func() {
							defer func() { _ = recover() }()
							if take {
								_, _, _ = s.Apply(ctx, ops)
							} else {
								_, _ = s.Peek(ctx, ops)
							}
						}()
						took := time.Since(begun)
						mu.Lock()
						longest = max(longest, took)
						mu.Unlock()
						cancel()
						if r.IntN(3) == 0 {
							time.Sleep(time.Duration(r.IntN(3000)) * time.Microsecond)
						}
						if r.IntN(30) == 0 {
							time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
						}
					}
				})
			}
			for range 400 {
				time.Sleep(time.Duration(50+rnd.IntN(400)) * time.Microsecond)
				check()
			}
			if seed%2 == 0 {
				close(stop)
				_ = s.Close()
				wg.Wait()
			} else {
				close(stop)
				wg.Wait()
				time.Sleep(10 * time.Second)
				wantNothingLeft(t, s)
				_ = s.Close()
			}
			if longest > 20*time.Second {
				t.Errorf("seed %d: %v", seed, longest)
			}
		})
	}
}
