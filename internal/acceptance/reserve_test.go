package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// TestReservationsOverCutConnectionsAddUp (I6, D1): 64 callers on four stores, with a client
// each, reserve, settle and cancel at random, while connections are cut and replies lost. In the end
// exactly the actual costs are charged: nothing twice, and nothing given back twice.
func TestReservationsOverCutConnectionsAddUp(t *testing.T) {
	t.Parallel()
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		const units = 1_000_000
		var proxies []*servertest.Proxy
		var multis []*weir.MultiLimiter
		for range 4 {
			p := servertest.NewProxy(t, e.server.Addr())
			m, err := weir.NewMultiLimiter(e.dial(t, dial{addr: p.Addr()}, nil), &weir.Options{SettleIntoDebt: true, Timeout: patience})
			if err != nil {
				t.Fatal(err)
			}
			proxies, multis = append(proxies, p), append(multis, m)
		}
		var limits []weir.Limit
		for _, name := range kindNames {
			limits = append(limits, weir.Limit{Name: name, Algorithm: longest(name, units)})
		}
		charged := make([]atomic.Int64, len(limits))
		inParallel(64, func(caller int) {
			m, p := multis[caller%4], proxies[caller%4]
			for round := range 2 * rounds() {
				first, n := rand.IntN(len(limits)), 1+rand.IntN(2)
				var asks []weir.Ask
				var actual []int64
				for i := range n {
					asks = append(asks, limits[(first+i)%len(limits)].ForN("user", 1+rand.Int64N(20)))
					actual = append(actual, rand.Int64N(30))
				}
				if (caller/4+round)%4 == 0 {
					p.DropReplies(true)
				}
				r, err := reserveAndSettle(t, m, p, weir.Once(weir.NewID(), asks...), actual)
				if err != nil || !r.Allowed() {
					t.Errorf("%+v, %v", r, err)
					continue
				}
				for i := range n {
					charged[(first+i)%len(limits)].Add(actual[i])
				}
			}
		})
		dropped := 0
		for _, p := range proxies {
			dropped += p.Dropped()
		}
		t.Logf("%d connections lost a reply", dropped)
		if dropped == 0 {
			t.Error("no reply was lost: this test shows nothing")
		}
		s := e.store(t, nil)
		for i, l := range limits {
			left := remaining(t, s, store.Slot{Key: "user", Limit: l.Name, Algorithm: l.Algorithm})
			if units-left != charged[i].Load() {
				t.Errorf("%s: %d are charged, want %d", l.Name, units-left, charged[i].Load())
			}
		}
	})
}

// reserveAndSettle makes a Reservation and settles it, and asks again until both are known.
// The connections of p get well as soon as something was lost.
func reserveAndSettle(t *testing.T, m *weir.MultiLimiter, p *servertest.Proxy, asks []weir.Ask, actual []int64) (r *weir.Reservation, err error) {
	known := func(ask func(ctx context.Context) error) error {
		for {
			err := weir.Resolve(patient(t), func(ctx context.Context) error {
				err := ask(ctx)
				if err != nil {
					p.DropReplies(false)
				}
				return err
			})
			if !errors.Is(err, store.ErrUnavailable) {
				return err
			}
		}
	}
	if err := known(func(ctx context.Context) (err error) { r, err = m.Reserve(ctx, asks...); return err }); err != nil {
		return r, err
	}
	if rand.IntN(2) == 0 {
		p.Cut()
	}
	if rand.IntN(4) == 0 {
		clear(actual)
		return r, known(r.Cancel)
	}
	return r, known(func(ctx context.Context) error {
		s, err := r.Settle(ctx, actual...)
		if err == nil && fmt.Sprint(s.Charged) != fmt.Sprint(actual) {
			t.Errorf("%v are charged, want %v", s.Charged, actual)
		}
		return err
	})
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
