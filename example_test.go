package weir_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// newExample returns a store whose clock is moved by hand, so that the examples
// always say the same.
func newExample() (*memorystore.Store, *clock.Mock) {
	mock := clock.NewMock()
	mock.Set(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	states, err := memorystore.New(&memorystore.Options{Clock: mock})
	if err != nil {
		log.Fatal(err)
	}
	return states, mock
}

func Example() {
	states, err := memorystore.New(nil) // the default clock
	if err != nil {
		log.Fatal(err)
	}
	defer states.Close()
	limit, err := weir.ParseLimit("api", "gcra:100/1m,burst=20")
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(states, limit, nil)
	if err != nil {
		log.Fatal(err)
	}

	d, err := limiter.Allow(context.Background(), "user:7")
	switch {
	case err != nil:
		log.Fatal(err) // no decision: whether to serve is up to you
	case d.Allowed:
		fmt.Println("served,", d.Remaining, "more at once")
	default:
		fmt.Println("come back in", d.RetryAfter)
	}
	// Output: served, 19 more at once
}

func ExampleNew() {
	states, _ := newExample()
	defer states.Close()
	perMinute := algorithm.Must(algorithm.NewFixedWindow(algorithm.PerMinute(2)))

	// Two limits for the same keys need two names.
	reads, err := weir.New(states, weir.Limit{Name: "reads", Algorithm: perMinute}, nil)
	if err != nil {
		log.Fatal(err)
	}
	writes, err := weir.New(states, weir.Limit{Name: "writes", Algorithm: perMinute}, nil)
	if err != nil {
		log.Fatal(err)
	}
	r, _ := reads.AllowN(context.Background(), "user:7", 2)
	w, _ := writes.Allow(context.Background(), "user:7")
	fmt.Println(r.Remaining, w.Remaining)

	_, err = weir.New(nil, weir.Limit{Name: "reads", Algorithm: perMinute}, nil)
	fmt.Println(err, errors.Is(err, store.ErrInvalid))
	// Output:
	// 0 1
	// store: invalid input: store nil is not allowed: must be a store true
}

func ExampleLimiter_Allow() {
	states, mock := newExample()
	defer states.Close()
	limiter, err := weir.New(states, weir.Limit{Name: "api", Algorithm: algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 3))}, nil)
	if err != nil {
		log.Fatal(err)
	}
	ask := func() {
		d, err := limiter.Allow(context.Background(), "user:7")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.Allowed, d.Remaining, d.RetryAfter, d.ResetAfter)
	}
	for range 4 {
		ask()
	}
	mock.Add(time.Second)
	ask()
	// Output:
	// true 2 0s 1s
	// true 1 0s 2s
	// true 0 0s 3s
	// false 0 1s 3s
	// true 0 0s 3s
}

func ExampleLimiter_AllowN() {
	states, _ := newExample()
	defer states.Close()
	// Tokens of a language model: 90,000 a minute, at most 40,000 at once.
	limiter, err := weir.New(states, weir.Limit{Name: "api", Algorithm: algorithm.Must(algorithm.NewTokenBucket(algorithm.PerMinute(90_000), 40_000))}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, tokens := range []int64{30_000, 25_000, 50_000} {
		d, err := limiter.AllowN(context.Background(), "org:3", tokens)
		if err != nil {
			log.Fatal(err)
		}
		switch {
		case d.Allowed:
			fmt.Println(tokens, "taken,", d.Remaining, "left")
		case d.RetryAfter == weir.Never:
			fmt.Println(tokens, "will never fit")
		default:
			fmt.Println(tokens, "after", d.RetryAfter)
		}
	}
	_, err = limiter.AllowN(context.Background(), "org:3", -1)
	fmt.Println(err)
	// Output:
	// 30000 taken, 10000 left
	// 25000 after 10s
	// 50000 will never fit
	// store: invalid input: op 0: Request.Cost -1 is not allowed: must be 0 or more
}

func ExampleLimiter_Peek() {
	states, _ := newExample()
	defer states.Close()
	limiter, err := weir.New(states, weir.Limit{Name: "api", Algorithm: algorithm.Must(algorithm.NewSlidingLog(algorithm.PerHour(100)))}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := limiter.AllowN(context.Background(), "user:7", 30); err != nil {
		log.Fatal(err)
	}
	for range 2 { // a look takes nothing
		d, err := limiter.Peek(context.Background(), "user:7")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.Remaining, "of", d.Limit, "until", d.At.Add(d.ResetAfter).Format(time.TimeOnly))
	}
	// Output:
	// 70 of 100 until 13:00:00
	// 70 of 100 until 13:00:00
}

func ExampleLimiter_PeekN() {
	states, _ := newExample()
	defer states.Close()
	// A queue: one start each 100 ms, at most 20 of them waiting or in service.
	limiter, err := weir.New(states, weir.Limit{Name: "api", Algorithm: algorithm.Must(algorithm.NewLeakyBucket(algorithm.PerSecond(10), 20))}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := limiter.AllowN(context.Background(), "mailer", 5); err != nil {
		log.Fatal(err)
	}
	d, err := limiter.PeekN(context.Background(), "mailer", 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ten more would fit:", d.Allowed, "and start after", d.Delay)
	// Output: ten more would fit: true and start after 500ms
}

func ExampleLimiter_Reset() {
	states, _ := newExample()
	defer states.Close()
	limiter, err := weir.New(states, weir.Limit{Name: "api", Algorithm: algorithm.Must(algorithm.NewFixedWindow(algorithm.PerDay(5)))}, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if _, err := limiter.AllowN(ctx, "user:7", 5); err != nil {
		log.Fatal(err)
	}
	if err := limiter.Reset(ctx, "user:7"); err != nil { // support has decided
		log.Fatal(err)
	}
	d, err := limiter.Allow(ctx, "user:7")
	fmt.Println(d.Allowed, d.Remaining, err)
	// Output: true 4 <nil>
}

func ExampleLimiter_Close() {
	states, _ := newExample()
	defer states.Close()
	limiter, err := weir.New(states, weir.Limit{Name: "api", Algorithm: algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 3))}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(limiter.Close())
	_, err = limiter.Allow(context.Background(), "user:7")
	fmt.Println(errors.Is(err, store.ErrClosed))
	// Output:
	// <nil>
	// true
}

// The limits of one request, for an address and for a user.
var (
	burst = weir.Must(weir.ParseLimit("burst", "gcra:10/1s,burst=20"))
	daily = weir.Must(weir.ParseLimit("daily", "fixed-window:2/24h"))
)

func ExampleLimit_For() {
	states, _ := newExample()
	defer states.Close()
	limiter := weir.Must(weir.NewMultiLimiter(states, nil))
	// One unit of the address, five of the user.
	r, err := limiter.Take(context.Background(), burst.For("203.0.113.7"), daily.ForN("user:7", 5))
	fmt.Println(r.Allowed, r.Decisions[1].RetryAfter == weir.Never, err)
	// Output: false true <nil>
}

func ExampleNewMultiLimiter() {
	states, _ := newExample()
	defer states.Close()
	limiter, err := weir.NewMultiLimiter(states, nil)
	if err != nil {
		log.Fatal(err)
	}
	r, err := limiter.Take(context.Background(), burst.For("203.0.113.7"), daily.For("user:7"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Allowed, r.Decisions[0].Remaining, r.Decisions[1].Remaining)
	// Output: true 19 1
}

func ExampleMultiLimiter_Take() {
	states, _ := newExample()
	defer states.Close()
	limiter := weir.Must(weir.NewMultiLimiter(states, nil))
	for range 3 {
		r, err := limiter.Take(context.Background(), burst.For("203.0.113.7"), daily.For("user:7"))
		if err != nil {
			log.Fatal(err)
		}
		// Denied by the day: the address is not charged for it.
		fmt.Println(r.Allowed, r.Decisions[0].Remaining, r.Decisions[1].Remaining, "binding:", r.Binding, r.RetryAfter)
	}
	// Output:
	// true 19 1 binding: 1 0s
	// true 18 0 binding: 1 0s
	// false 18 0 binding: 1 12h0m0s
}

func ExampleMultiLimiter_Peek() {
	states, _ := newExample()
	defer states.Close()
	limiter := weir.Must(weir.NewMultiLimiter(states, nil))
	for range 2 {
		r, err := limiter.Peek(context.Background(), burst.For("203.0.113.7"), daily.For("user:7"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Allowed, r.Decisions[r.Binding].Remaining)
	}
	// Output:
	// true 1
	// true 1
}

func ExampleMultiLimiter_Wait() {
	states, _ := newExample()
	defer states.Close()
	limiter := weir.Must(weir.NewMultiLimiter(states, nil))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	asks := []weir.Ask{burst.For("203.0.113.7"), daily.ForN("user:7", 2)}
	r, err := limiter.Wait(ctx, asks...)
	fmt.Println(r.Allowed, err)
	_, err = limiter.Wait(ctx, asks...) // the next day is too far away
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// true <nil>
	// true
}

func ExampleMultiLimiter_Reset() {
	states, _ := newExample()
	defer states.Close()
	limiter := weir.Must(weir.NewMultiLimiter(states, nil))
	today := daily.ForN("user:7", 2)
	r, _ := limiter.Take(context.Background(), today)
	fmt.Println(r.Decisions[0].Remaining)
	fmt.Println(limiter.Reset(context.Background(), today))
	r, _ = limiter.Peek(context.Background(), today)
	fmt.Println(r.Allowed)
	// Output:
	// 0
	// <nil>
	// true
}

func ExampleObservers() {
	states, _ := newExample()
	defer states.Close()
	quiet := slog.New(slog.DiscardHandler)
	limiter := weir.Must(weir.New(states, daily, &weir.Options{
		Observer: weir.Observers(weir.NewLogObserver(quiet, nil), printer{}),
	}))
	_, _ = limiter.AllowN(context.Background(), "user:7", 2)
	_, _ = limiter.Peek(context.Background(), "user:7")
	// Output:
	// take of daily: allowed true, remaining 0
	// peek of daily: allowed true, remaining 0
}

// printer is an Observer.
type printer struct{}

func (printer) Observe(_ context.Context, o weir.Observation) {
	fmt.Printf("%v of %s: allowed %t, remaining %d\n", o.Kind, o.Limit, o.Decision.Allowed, o.Decision.Remaining)
}

func ExampleDecision_RetryAt() {
	states, _ := newExample()
	defer states.Close()
	limiter := weir.Must(weir.New(states, daily, nil))
	for range 3 {
		d, _ := limiter.Allow(context.Background(), "user:7")
		fmt.Println(d.RetryAt().Format(time.DateTime), "fresh at", d.ResetAt().Format(time.DateTime))
	}
	// Output:
	// 2026-01-01 12:00:00 fresh at 2026-01-02 00:00:00
	// 2026-01-01 12:00:00 fresh at 2026-01-02 00:00:00
	// 2026-01-02 00:00:00 fresh at 2026-01-02 00:00:00
}

func ExampleLimiter_Charge() {
	states, mock := newExample()
	defer states.Close()
	tokens := weir.Must(weir.New(states, weir.Must(weir.ParseLimit("tokens", "token-bucket:100/1m")), nil))
	ctx := context.Background()

	// The answer has cost 130 tokens, which nobody knew before.
	d, _ := tokens.Charge(ctx, "user:7", 130)
	fmt.Println("debt:", d.Debt)

	d, _ = tokens.Allow(ctx, "user:7")
	fmt.Println("allowed:", d.Allowed, "retry after:", d.RetryAfter)
	mock.Add(d.RetryAfter)
	d, _ = tokens.Allow(ctx, "user:7")
	fmt.Println("allowed:", d.Allowed)
	// Output:
	// debt: 30
	// allowed: false retry after: 18.6s
	// allowed: true
}

func ExampleLimiter_Refund() {
	states, _ := newExample()
	defer states.Close()
	tokens := weir.Must(weir.New(states, weir.Must(weir.ParseLimit("tokens", "token-bucket:100/1m")), nil))
	ctx := context.Background()

	taken, _ := tokens.AllowN(ctx, "user:7", 80) // an estimate
	fmt.Println("remaining:", taken.Remaining)
	d, _ := tokens.Refund(ctx, "user:7", 80-25, taken.At) // it was 25
	fmt.Println("remaining:", d.Remaining)
	// Output:
	// remaining: 20
	// remaining: 75
}

func ExampleLimit_Charge() {
	states, _ := newExample()
	defer states.Close()
	limits := weir.Must(weir.NewMultiLimiter(states, nil))
	requests := weir.Must(weir.ParseLimit("requests", "gcra:10/1m"))
	tokens := weir.Must(weir.ParseLimit("tokens", "token-bucket:100/1m"))
	ctx := context.Background()

	r, _ := limits.Take(ctx, requests.For("user:7"), tokens.ForN("user:7", 50))
	fmt.Println("allowed:", r.Allowed)

	// The request has failed, and does not count; its 70 tokens do.
	r, _ = limits.Take(ctx, requests.Refund("user:7", 1, r.Decisions[0].At), tokens.Charge("user:7", 70-50))
	fmt.Println("requests:", r.Decisions[0].Remaining, "tokens:", r.Decisions[1].Remaining)
	// Output:
	// allowed: true
	// requests: 10 tokens: 30
}

// An estimate is taken now, and replaced with the actual cost when it is known.
func ExampleLimiter_Reserve() {
	states := weir.Must(memorystore.New(nil))
	defer states.Close()
	tokens := weir.Must(weir.New(states, weir.Must(weir.ParseLimit("tokens", "gcra:1000/24h")), nil))
	ctx := context.Background()

	r, err := tokens.Reserve(ctx, "user:7", 400)
	if err != nil || !r.Allowed() {
		log.Fatal(err)
	}
	defer r.Cancel(ctx) // does nothing after Settle
	s, err := r.Settle(ctx, 150)
	fmt.Println(s.Charged, s.Decisions[0].Remaining, err)
	// Output: [150] 850 <nil>
}

// The Reservation goes to another process, which knows the end of the request.
func ExampleLimiter_Resume() {
	states := weir.Must(memorystore.New(nil))
	defer states.Close()
	tokens := weir.Must(weir.New(states, weir.Must(weir.ParseLimit("tokens", "gcra:1000/24h")), nil))
	ctx := context.Background()

	text, err := weir.Must(tokens.Reserve(ctx, "user:7", 400)).MarshalText()
	if err != nil {
		log.Fatal(err)
	}
	r, err := tokens.Resume(text) // there
	if err != nil {
		log.Fatal(err)
	}
	s, err := r.Settle(ctx, 150)
	fmt.Println(s.Charged, err)
	_, err = r.Settle(ctx, 160)
	fmt.Println(err)
	// Output:
	// [150] <nil>
	// weir: the reservation is settled
}

// A request with an ID counts once, however often it is made.
func ExampleLimiter_AllowOnce() {
	states := weir.Must(memorystore.New(nil))
	defer states.Close()
	api := weir.Must(weir.New(states, weir.Must(weir.ParseLimit("api", "gcra:10/24h")), nil))
	for range 3 {
		d, err := api.AllowOnce(context.Background(), "user:7", 1, "request-17")
		fmt.Println(d.Allowed, d.Remaining, err)
	}
	// Output:
	// true 9 <nil>
	// true 9 <nil>
	// true 9 <nil>
}

// Where a reply was lost, the same Take is asked for again, and counts once.
func ExampleResolve() {
	states := weir.Must(memorystore.New(nil))
	defer states.Close()
	limits := weir.Must(weir.NewMultiLimiter(states, nil))
	user := weir.Must(weir.ParseLimit("user", "gcra:10/24h"))

	asks := weir.Once(weir.NewID(), user.For("user:7"))
	var r weir.Result
	err := weir.Resolve(context.Background(), func(ctx context.Context) (err error) {
		r, err = limits.Take(ctx, asks...)
		return err
	})
	fmt.Println(r.Allowed, err)
	// Output: true <nil>
}
