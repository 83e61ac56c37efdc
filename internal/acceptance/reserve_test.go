package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// TestReservationsOfFourProcessesAddUp (I6, D1): 64 callers in four processes, with a connection of
// its own each, reserve, settle, hand over and cancel at random, while connections are cut and replies lost. In the end exactly
// the actual costs are charged: nothing twice, and nothing given back twice.
func TestReservationsOfFourProcessesAddUp(t *testing.T) {
	t.Parallel()
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		var proxies []*servertest.Proxy
		var all processes
		for range 4 {
			p := servertest.NewProxy(t, e.server.Addr())
			proxies, all = append(proxies, p), append(all, startCallers(t, 1, e.library, p.Addr())...)
		}
		sum := all.do(t, e.server, job{Callers: 1, Reserve: 1}, nil) // connected, and the scripts are known
		for _, p := range proxies {
			p.DropReplies(true) // so each process loses a reply, however fast it is
		}
		done := make(chan struct{})
		var disturbing sync.WaitGroup
		disturbing.Go(func() { disturbAll(e.server, proxies, done) })
		sum.add(all.do(t, e.server, job{Callers: 16, Reserve: 3 * rounds()}, nil))
		close(done)
		disturbing.Wait()
		if sum.Other > 0 {
			t.Errorf("callers saw errors: %+v", sum)
		}
		dropped := 0
		for i, p := range proxies {
			if p.Dropped() == 0 {
				t.Errorf("process %d has lost no reply: this test shows nothing of it", i)
			}
			dropped += p.Dropped()
		}
		t.Logf("%d reservations, %d connections lost a reply", sum.Decided, dropped)
		s := e.store(t, nil)
		for _, l := range reservedLimits() {
			left := remaining(t, s, store.Slot{Key: "user", Limit: l.Name, Algorithm: l.Algorithm})
			if charged := reservedUnits - left; charged != sum.Charged[l.Name] || charged == 0 {
				t.Errorf("%s: %d are charged, want %d", l.Name, charged, sum.Charged[l.Name])
			}
		}
	})
}

// disturbAll cuts the connections of one process after the other, or lets its replies get lost until
// one is, each time that the server has run some scripts.
func disturbAll(s *servertest.Server, proxies []*servertest.Proxy, done <-chan struct{}) {
	const scripts, most = 10, 200
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	await := func(ready func(ran int) bool) (over bool) {
		for from := calls(s, "evalsha"); ; {
			select {
			case <-done:
				return true
			case <-tick.C:
			}
			if ready(calls(s, "evalsha") - from) {
				return false
			}
		}
	}
	lose := func(p *servertest.Proxy) (over bool) {
		before := p.Dropped()
		p.DropReplies(true)
		defer p.DropReplies(false)
		return await(func(ran int) bool { return p.Dropped() > before || ran > most }) // its process may be done
	}
	for _, p := range proxies {
		if await(func(int) bool { return p.Dropped() > 0 }) {
			return
		}
		p.DropReplies(false)
	}
	for n := 0; ; n++ {
		if await(func(ran int) bool { return ran >= scripts }) {
			return
		}
		if p := proxies[n/2%len(proxies)]; n%2 == 0 {
			p.Cut()
		} else if lose(p) {
			return
		}
	}
}

// reservedUnits are the units of each of reservedLimits: more than all callers reserve.
const reservedUnits = 1_000_000

func reservedLimits() (all []weir.Limit) {
	for _, name := range kindNames {
		all = append(all, weir.Limit{Name: name, Algorithm: longest(name, reservedUnits)})
	}
	return all
}

// reserveAll lets callers reserve and settle.
func (j job) reserveAll(s *serverStore) (all tally, err error) {
	m, err := weir.NewMultiLimiter(s, &weir.Options{SettleIntoDebt: true, Timeout: patience})
	if err != nil {
		return tally{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tallies := make([]tally, j.Callers)
	inParallel(j.Callers, func(i int) {
		random := rand.New(rand.NewPCG(j.Seed, uint64(i)))
		for range j.Reserve {
			tallies[i].reserve(ctx, m, random)
		}
	})
	for _, t := range tallies {
		all.add(t)
	}
	return all, nil
}

// reserve makes a reservation of one or two limits and settles it.
func (t *tally) reserve(ctx context.Context, m *weir.MultiLimiter, random *rand.Rand) {
	limits := reservedLimits()
	first, n := random.IntN(len(limits)), 1+random.IntN(2)
	var asks []weir.Ask
	var actual []int64
	for i := range n {
		asks = append(asks, limits[(first+i)%len(limits)].ForN("user", 1+random.Int64N(20)))
		actual = append(actual, random.Int64N(30))
	}
	wrong := func(format string, args ...any) {
		t.Other++
		t.Errors = append(t.Errors, fmt.Sprintf(format, args...))
	}
	var r *weir.Reservation
	asks = weir.Once(weir.NewID(), asks...)
	if err := known(ctx, func(ctx context.Context) (err error) { r, err = m.Reserve(ctx, asks...); return err }); err != nil || !r.Allowed() {
		wrong("reserve: %v", err)
		return
	}
	if random.IntN(4) == 0 { // as if by another process
		text, err := r.MarshalText()
		if err == nil {
			r, err = m.Resume(text, limits...)
		}
		if err != nil {
			wrong("hand over: %v", err)
			return
		}
	}
	if random.IntN(4) == 0 {
		clear(actual)
		if err := known(ctx, r.Cancel); err != nil {
			wrong("cancel: %v", err)
		}
	} else if err := known(ctx, func(ctx context.Context) error {
		s, err := r.Settle(ctx, actual...)
		if err == nil && !slices.Equal(s.Charged, actual) {
			wrong("%v are charged, want %v", s.Charged, actual)
		}
		return err
	}); err != nil {
		wrong("settle: %v", err)
	}
	t.Decided++
	for i, a := range asks {
		t.charge(a.Limit.Name, actual[i])
	}
}

func (t *tally) charge(kind string, units int64) {
	if t.Charged == nil {
		t.Charged = make(map[string]int64)
	}
	t.Charged[kind] += units
}

// known asks until the outcome is known.
func known(ctx context.Context, ask func(ctx context.Context) error) error {
	for {
		if err := weir.Resolve(ctx, ask); !errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
	}
}

// TestHistoriesWithLostRepliesHaveAnOrder (D1, H1): on servers whose connections are cut while
// the check runs, which loses replies by itself, too.
func TestHistoriesWithLostRepliesHaveAnOrder(t *testing.T) {
	t.Parallel()
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		var runs atomic.Int64
		p := servertest.NewProxy(t, e.server.Addr())
		cutting := func(inner store.Store) store.Store { // after each 40 calls
			var calls atomic.Int64
			return store.Wrap(inner, store.Hooks{IO: true, Once: func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
				if calls.Add(1)%40 == 0 {
					p.Cut()
				}
				return next(ctx, o, ops)
			}})
		}
		for _, c := range (&conformance.Config{OwnClock: true, Histories: 50 * rounds()}).Checks() {
			if c.Name != "linear/lost-replies" {
				continue
			}
			err := c.Verify(func(clock.Clock) store.Store {
				return cutting(e.dial(t, dial{addr: p.Addr()}, &storeOptions{Prefix: fmt.Sprintf("run %d:", runs.Add(1)), Timeout: patience}))
			})
			if err != nil {
				t.Error(err)
			}
		}
		if runs.Load() == 0 {
			t.Error("the check was not run")
		}
	})
}
