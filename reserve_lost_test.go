package weir_test

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

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// losing is a store that loses requests and replies of steps with an ID, at random.
type losing struct {
	requests, replies atomic.Int64
}

func (l *losing) wrap(inner store.Store, share float64) store.Store {
	return store.Wrap(inner, store.Hooks{Once: func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
		switch p := rand.Float64(); {
		case p < share:
			l.requests.Add(1)
			return 0, false, fmt.Errorf("lost request: %w", store.ErrOutcomeUnknown)
		case p < 2*share:
			if _, _, err := next(ctx, o, slices.Clone(ops)); err != nil {
				return 0, false, err
			}
			l.replies.Add(1)
			return 0, false, fmt.Errorf("lost reply: %w", store.ErrOutcomeUnknown)
		}
		return next(ctx, o, ops)
	}})
}

// TestLostRepliesAreNotChargedTwice: concurrent callers reserve and settle over a store that
// loses a third of what is said. In the end the actual costs are charged, once.
func TestLostRepliesAreNotChargedTwice(t *testing.T) {
	for _, spec := range []string{"gcra:100000/24h", "token-bucket:100000/24h", "fixed-window:100000/24h", "sliding-log:100000/24h"} {
		for name, opts := range map[string]weir.Options{"by itself": {SettleIntoDebt: true, ResolveWithin: 30 * time.Second}, "by the caller": {SettleIntoDebt: true}} {
			t.Run(spec+"/"+name, func(t *testing.T) {
				var lossy losing
				inner, _ := onMock(t)
				m := weir.Must(weir.NewMultiLimiter(lossy.wrap(inner, 0.15), &opts))
				limit := weir.Must(weir.ParseLimit("tokens", spec))
				ctx := context.Background()
				var total atomic.Int64
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						for range 10 {
							n, actual := rand.Int64N(10), rand.Int64N(15)
							var r *weir.Reservation
							asks := weir.Once(weir.NewID(), limit.ForN("a", n+1))
							err := weir.Resolve(ctx, func(ctx context.Context) (err error) { r, err = m.Reserve(ctx, asks...); return err })
							if err != nil || !r.Allowed() {
								t.Error(r, err)
								return
							}
							var got weir.Settlement
							err = weir.Resolve(ctx, func(ctx context.Context) (err error) { got, err = r.Settle(ctx, actual); return err })
							if err != nil || got.Charged[0] != actual {
								t.Error(got, err)
							}
							total.Add(actual)
						}
					})
				}
				all.Wait()
				look, err := weir.Must(weir.NewMultiLimiter(inner, nil)).Peek(ctx, limit.ForN("a", 0))
				if err != nil || 100_000-look.Decisions[0].Remaining != total.Load() {
					t.Errorf("%d are charged, %v; want %d", 100_000-look.Decisions[0].Remaining, err, total.Load())
				}
				if lossy.requests.Load() == 0 || lossy.replies.Load() == 0 {
					t.Error("nothing was lost")
				}
			})
		}
	}
}

// TestSettleAfterALostReplyGoesOnWithWhatItTried: also where the limits stand otherwise
// by then, and where other costs are told.
func TestSettleAfterALostReplyGoesOnWithWhatItTried(t *testing.T) {
	ctx := context.Background()
	inner, _ := onMock(t)
	lose := false
	lossy := store.Wrap(inner, store.Hooks{Once: func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
		at, committed, err := next(ctx, o, ops)
		if lose {
			lose = false
			return 0, false, store.ErrOutcomeUnknown
		}
		return at, committed, err
	}})
	l := weir.Must(weir.New(lossy, weir.Must(weir.ParseLimit("tokens", "gcra:10/1h")), nil))
	lose = true
	r, err := l.Reserve(ctx, "a", 4)
	if !errors.Is(err, store.ErrOutcomeUnknown) || r == nil || r.Allowed() {
		t.Fatal(r, err)
	}
	if _, err := r.MarshalText(); !errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("the text of what is not known: %v", err)
	}
	lose = true // the take is asked for again and lost again
	if _, err := r.Settle(ctx, 7); !errors.Is(err, store.ErrOutcomeUnknown) || remaining(t, l, "a") != 6 {
		t.Fatal(err, remaining(t, l, "a"))
	}
	if got, err := r.Settle(ctx, 7); err != nil || got.Charged[0] != 7 || remaining(t, l, "a") != 3 {
		t.Fatal(got, err)
	}

	r = weir.Must(l.Reserve(ctx, "b", 4))
	if d, err := l.AllowN(ctx, "b", 4); err != nil || !d.Allowed {
		t.Fatal(d, err)
	}
	lose = true // the first attempt is denied, since 2 are left
	if _, err := r.Settle(ctx, 9); !errors.Is(err, store.ErrOutcomeUnknown) {
		t.Fatal(err)
	}
	if got, err := r.Settle(ctx, 9); err != nil || got.Charged[0] != 6 || !got.Clamped || remaining(t, l, "b") != 0 {
		t.Fatal(got, err)
	}

	r = weir.Must(l.Reserve(ctx, "c", 4))
	lose = true
	if _, err := r.Settle(ctx, 1); !errors.Is(err, store.ErrOutcomeUnknown) || remaining(t, l, "c") != 9 {
		t.Fatal(err)
	}
	if _, err := r.Settle(ctx, 2); !errors.Is(err, weir.ErrSettled) {
		t.Errorf("another cost than the one that was settled: %v", err)
	}
	if got, err := r.Settle(ctx, 1); err != nil || got.Charged[0] != 1 || remaining(t, l, "c") != 9 {
		t.Fatal(got, err)
	}
}
