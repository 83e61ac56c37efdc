package algorithm_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
)

func ExampleMust() {
	limit := algorithm.Must(algorithm.NewGCRA(algorithm.PerMinute(100), 20))
	fmt.Println(limit)
	// Output: gcra:100/1m,burst=20
}

func ExampleParseSpec() {
	for _, text := range []string{
		"gcra:100/1m,burst=20", "token-bucket:5/24h", "leaky-bucket:10/1s,capacity=21",
		"fixed-window:1000/1h", "sliding-log:7/3s", "sliding-counter:60/60s",
	} {
		a, err := algorithm.ParseSpec(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(a, a.Spec().Kind, a.Spec().Params)
	}
	_, err := algorithm.ParseSpec("fixed-window:5/month")
	fmt.Println(err)
	// Output:
	// gcra:100/1m,burst=20 gcra/1 [100 60000000 20 0]
	// token-bucket:5/24h token-bucket/1 [5 86400000000 5 0]
	// leaky-bucket:10/1s,capacity=21 leaky-bucket/1 [10 1000000 21 0]
	// fixed-window:1000/1h fixed-window/1 [1000 3600000000 0 0]
	// sliding-log:7/3s sliding-log/1 [7 3000000 0 0]
	// sliding-counter:60/1m sliding-counter/1 [60 60000000 0 0]
	// spec: period "month" is not allowed: must be a duration with a unit, such as 500ms, 1m or 24h, of whole microseconds up to 9600h; only calendar-window has a month of the calendar
}

func ExampleParameterError() {
	_, err := algorithm.NewGCRA(algorithm.PerDay(1), 20_000)
	var refused *algorithm.ParameterError
	if errors.As(err, &refused) {
		fmt.Println(refused.Field, refused.Value)
		fmt.Println(refused.Allowed)
	}
	// Output:
	// burst 20000
	// 1 to 18250 at 1/24h, so that it fills within 438000h (18250 days)
}

func ExamplePerSecond() {
	fmt.Println(algorithm.PerSecond(10))
	// Output: 10/1s
}

func ExamplePerMinute() {
	fmt.Println(algorithm.PerMinute(10))
	// Output: 10/1m
}

func ExamplePerHour() {
	fmt.Println(algorithm.PerHour(10))
	// Output: 10/1h
}

func ExamplePerDay() {
	fmt.Println(algorithm.PerDay(10))
	// Output: 10/24h
}

func ExampleEvery() {
	fmt.Println(algorithm.Every(250 * time.Millisecond))
	// Output: 1/250ms
}

// A rate is a fraction: 7 per 3 s is not turned into a decimal.
func ExampleRate() {
	fmt.Println(algorithm.Rate{Units: 7, Per: 3 * time.Second})
	// Output: 7/3s
}

func ExampleInstantOf() {
	at, err := algorithm.InstantOf(time.Date(2025, 11, 27, 21, 0, 0, 123_456_789, time.UTC))
	fmt.Println(at, err)
	fmt.Println(at.Time().Format(time.RFC3339Nano))

	_, err = algorithm.InstantOf(time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC))
	fmt.Println(err)
	// Output:
	// 1764277200123456 <nil>
	// 2025-11-27T21:00:00.123456Z
	// instant: time 1969-12-31T23:59:59Z is not allowed: must be 1970-01-01T00:00:00Z to 2191-10-27T12:26:40Z
}

func ExampleNewState() {
	s := algorithm.NewState(1_764_277_200_123_457, 3)
	fmt.Println(s, s.Words(), s.Word(1), s.Fresh())
	fmt.Println(algorithm.NewState().Fresh(), algorithm.NewState(0).Fresh())
	// Output:
	// 1764277200123457 3 2 3 false
	// true false
}

func ExampleParseState() {
	s, err := algorithm.ParseState("1764277200123457 3")
	fmt.Println(s.Word(0), s.Word(1), err)
	_, err = algorithm.ParseState("1.7642772001235e+15")
	fmt.Println(err)
	// Output:
	// 1764277200123457 3 <nil>
	// state: word "1.7642772001235e+15" is not allowed: must be a decimal number without leading zeros, at most 2^53 - 1 in size
}

func ExampleState_AppendText() {
	log := algorithm.Must(algorithm.NewSlidingLog(algorithm.PerMinute(5)))
	s, _ := log.Step(algorithm.State{}, 1_000_000, algorithm.Request{Cost: 1})
	s, _ = log.Step(s, 2_000_000, algorithm.Request{Cost: 3})
	text, _ := s.AppendText([]byte("state: "))
	fmt.Printf("%s\n", text)
	// Output: state: +2 1000000 2000000:3
}

func ExampleState_Equal() {
	read, _ := algorithm.ParseState("1000000 2")
	fmt.Println(read.Equal(algorithm.NewState(1_000_000, 2)), read.Equal(algorithm.State{}))
	// Output: true false
}

// ask decides requests of the given cost, one at each instant, and prints the
// answers.
func ask(a algorithm.Algorithm, cost int64, at ...algorithm.Instant) {
	var s algorithm.State
	for _, now := range at {
		var o algorithm.Outcome
		s, o = a.Step(s, now, algorithm.Request{Cost: cost})
		if o.Allowed {
			fmt.Printf("%v: admitted, %d of %d left, fresh in %v; state %q\n", now, o.Remaining, o.Limit, o.ResetAfter, s)
		} else {
			fmt.Printf("%v: denied, retry after %v\n", now, o.RetryAfter)
		}
	}
}

// From idle it admits the burst immediately, then one unit each third of a second.
func ExampleNewGCRA() {
	limit, err := algorithm.NewGCRA(algorithm.PerSecond(3), 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(limit, 1, 0, 0, 0, 333_333, 333_334)
	// Output:
	// 0: admitted, 1 of 2 left, fresh in 333.334ms; state "333333 1 3"
	// 0: admitted, 0 of 2 left, fresh in 666.667ms; state "666666 2 3"
	// 0: denied, retry after 333.334ms
	// 333333: denied, retry after 1µs
	// 333334: admitted, 0 of 2 left, fresh in 666.666ms; state "1000000"
}

// It decides as a GCRA does, and keeps tokens instead of an arrival time.
func ExampleNewTokenBucket() {
	limit, err := algorithm.NewTokenBucket(algorithm.PerSecond(3), 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(limit, 1, 0, 0, 0, 333_333, 333_334)
	// Output:
	// 0: admitted, 1 of 2 left, fresh in 333.334ms; state "0 1"
	// 0: admitted, 0 of 2 left, fresh in 666.667ms; state "0 0"
	// 0: denied, retry after 333.334ms
	// 333333: denied, retry after 1µs
	// 333334: admitted, 0 of 2 left, fresh in 666.666ms; state "333334 0 2 1000000"
}

// Admitted callers wait for their turn; one who would wait too long is denied.
func ExampleNewLeakyBucket() {
	limit, err := algorithm.NewLeakyBucket(algorithm.PerSecond(10), 21)
	if err != nil {
		fmt.Println(err)
		return
	}
	var s algorithm.State
	var o algorithm.Outcome
	for range 4 {
		s, o = limit.Step(s, 0, algorithm.Request{Cost: 1, MaxDelay: 200 * time.Millisecond})
		fmt.Println(o.Allowed, o.Delay, o.RetryAfter)
	}
	// Output:
	// true 0s 0s
	// true 100ms 0s
	// true 200ms 0s
	// false 0s 100ms
}

// Windows are aligned to the epoch: this one ends at 20 s.
func ExampleNewFixedWindow() {
	limit, err := algorithm.NewFixedWindow(algorithm.Rate{Units: 2, Per: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(limit, 1, 17_000_000, 18_000_000, 19_000_000, 20_000_000)
	// Output:
	// 17000000: admitted, 1 of 2 left, fresh in 3s; state "10000000 1"
	// 18000000: admitted, 0 of 2 left, fresh in 2s; state "10000000 2"
	// 19000000: denied, retry after 1s
	// 20000000: admitted, 1 of 2 left, fresh in 10s; state "20000000 1"
}

// An entry that is exactly one period old has left.
func ExampleNewSlidingLog() {
	limit, err := algorithm.NewSlidingLog(algorithm.Rate{Units: 2, Per: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(limit, 1, 17_000_000, 18_000_000, 20_000_000, 27_000_000)
	// Output:
	// 17000000: admitted, 1 of 2 left, fresh in 10s; state "17000000"
	// 18000000: admitted, 0 of 2 left, fresh in 10s; state "17000000 18000000"
	// 20000000: denied, retry after 7s
	// 27000000: admitted, 0 of 2 left, fresh in 10s; state "18000000 27000000"
}

// At 22 s, 8 of 10 s of the window before still count: ⌈4 · 8/10⌉ = 4 of its
// units.
func ExampleNewSlidingCounter() {
	limit, err := algorithm.NewSlidingCounter(algorithm.Rate{Units: 4, Per: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(limit, 2, 17_000_000, 18_000_000, 22_000_000, 25_000_000)
	// Output:
	// 17000000: admitted, 2 of 4 left, fresh in 13s; state "10000000 2"
	// 18000000: admitted, 0 of 4 left, fresh in 12s; state "10000000 4"
	// 22000000: denied, retry after 3s
	// 25000000: admitted, 0 of 4 left, fresh in 15s; state "20000000 2 4"
}

// Step returns the next state and leaves the one it was given as it was, so a
// look into the future is a Step whose state is dropped.
func ExampleGCRA_Step() {
	limit := algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 5))
	s, _ := limit.Step(algorithm.State{}, 0, algorithm.Request{Cost: 5})

	for _, n := range []int64{0, 2, 6} {
		_, o := limit.Step(s, 1_000_000, algorithm.Request{Cost: n})
		never := o.RetryAfter == algorithm.Never
		fmt.Printf("cost %d: allowed %t, %d left, never %t\n", n, o.Allowed, o.Remaining, never)
	}
	// Output:
	// cost 0: allowed true, 1 left, never false
	// cost 2: allowed false, 1 left, never false
	// cost 6: allowed false, 1 left, never true
}

// A clock that goes back never gives tokens, and takes none.
func ExampleTokenBucket_Step() {
	limit := algorithm.Must(algorithm.NewTokenBucket(algorithm.PerSecond(1), 5))
	ask(limit, 1, 100_000_000, 89_000_000)
	// Output:
	// 100000000: admitted, 4 of 5 left, fresh in 1s; state "100000000 4"
	// 89000000: admitted, 3 of 5 left, fresh in 13s; state "100000000 3"
}

// A look reports the Delay that a unit would have now.
func ExampleLeakyBucket_Step() {
	limit := algorithm.Must(algorithm.NewLeakyBucket(algorithm.PerSecond(1), 3))
	s, _ := limit.Step(algorithm.State{}, 0, algorithm.Request{Cost: 2})
	_, o := limit.Step(s, 500_000, algorithm.Request{})
	fmt.Println(o.Delay, o.Remaining)
	// Output: 1.5s 1
}

// A state outlives a change of its limit: the count is carried while the new
// window reaches back to where it started.
func ExampleFixedWindow_Step() {
	minute := algorithm.Must(algorithm.NewFixedWindow(algorithm.PerMinute(5)))
	hour := algorithm.Must(algorithm.NewFixedWindow(algorithm.PerHour(5)))
	s, _ := minute.Step(algorithm.State{}, 60_000_000, algorithm.Request{Cost: 5})
	_, o := hour.Step(s, 61_000_000, algorithm.Request{Cost: 1})
	fmt.Println(o.Allowed, o.RetryAfter)
	// Output: false 58m59s
}

// Requests of one instant are one entry of the text, with their cost; the sum of
// all cost - 1 comes first.
func ExampleSlidingLog_Step() {
	limit := algorithm.Must(algorithm.NewSlidingLog(algorithm.PerMinute(5)))
	ask(limit, 2, 7_000_000, 7_000_000)
	// Output:
	// 7000000: admitted, 3 of 5 left, fresh in 1m0s; state "+1 7000000:2"
	// 7000000: admitted, 1 of 5 left, fresh in 1m0s; state "+3 7000000:4"
}

// With limit 1 the unit of one window blocks all of the next.
func ExampleSlidingCounter_Step() {
	limit := algorithm.Must(algorithm.NewSlidingCounter(algorithm.PerSecond(1)))
	ask(limit, 1, 500_000, 1_999_999, 2_000_000)
	// Output:
	// 500000: admitted, 0 of 1 left, fresh in 1.5s; state "0 1"
	// 1999999: denied, retry after 1µs
	// 2000000: admitted, 0 of 1 left, fresh in 2s; state "2000000 1"
}

// A store in memory updates states where they lie, if the algorithm can.
func ExampleInPlace() {
	var limit algorithm.InPlace = algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 5))
	var s algorithm.State
	var o algorithm.Outcome
	limit.StepInPlace(&s, 0, algorithm.Request{Cost: 2}, &o)
	fmt.Println(o.Allowed, o.Remaining, s)
	// Output: true 3 2000000
}

// A store that reads states from elsewhere asks whether they can be right.
func ExampleStateChecker() {
	var limit algorithm.StateChecker = algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 5))
	fmt.Println(limit.CheckState(algorithm.NewState(2_000_000)))
	fmt.Println(limit.CheckState(algorithm.NewState(2_000_000, 7)))
	// Output:
	// <nil>
	// state: layout 2 words is not allowed: must be as this kind writes it
}
