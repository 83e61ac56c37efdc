package traffic_test

import (
	"fmt"
	"io"
	"time"

	"github.com/weirgo/weir/sim/random"
	"github.com/weirgo/weir/sim/traffic"
)

// Users that come as they like: one of them asks more than all others.
func Example() {
	users, err := traffic.NewSource(traffic.Load{
		Process: traffic.Process{Kind: "poisson", Rate: traffic.Rate{Units: 5, Per: time.Second}},
		Keys:    traffic.Keys{Kind: "hot", N: 100, Name: "user"},
		Costs:   traffic.Costs{Cost: 3},
		Count:   4,
	}, traffic.Env{Streams: random.New(1).Under("users")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for a, ok := users.Next(); ok; a, ok = users.Next() {
		fmt.Printf("%7d µs  %-8s %d\n", a.At, a.Key, a.Cost)
	}
	// Output:
	// 64684 µs  user-hot 3
	//  299885 µs  user-hot 3
	//  307271 µs  user-76  3
	//  404943 µs  user-hot 3
}

// A field that the kind does not take is refused: it may be a slip.
func ExampleNewSource() {
	_, err := traffic.NewSource(traffic.Load{
		Process: traffic.Process{Kind: "poisson", Rate: traffic.Rate{Units: 5, Per: time.Second}, Jitter: 500_000},
	}, traffic.Env{})
	fmt.Println(err)
	// Output:
	// traffic: process poisson: jitter 0.5 is not allowed: must be absent: the kind takes rate
}

func ExampleParseRate() {
	r, err := traffic.ParseRate("100/1m")
	fmt.Println(r.Units, r.Per, err)
	// Output:
	// 100 1m0s <nil>
}

func ExampleParseDecimal() {
	share, err := traffic.ParseDecimal("12.5%")
	fmt.Println(int64(share), share, err)
	// Output:
	// 125000 0.125 <nil>
}

// The requests of a trace come as they were recorded, the first at once. What reads it
// is up to the caller; see cmd/weir for access logs.
func ExampleNewSource_trace() {
	records := []traffic.Arrival{
		{At: 1_700_000_000_000_000, Key: "a", Cost: 1},
		{At: 1_700_000_000_500_000, Key: "b", Cost: 7},
		{At: 1_700_000_000_400_000, Key: "c", Cost: 1},
	}
	next := func() (a traffic.Arrival, err error) {
		if len(records) == 0 {
			return a, io.EOF
		}
		a, records = records[0], records[1:]
		return a, nil
	}
	s, err := traffic.NewSource(traffic.Load{
		Process: traffic.Process{Kind: "trace", File: "access.log", Speed: 2_000_000},
	}, traffic.Env{Trace: next})
	if err != nil {
		fmt.Println(err)
		return
	}
	for a, ok := s.Next(); ok; a, ok = s.Next() {
		fmt.Println(a.At, a.Key, a.Cost)
	}
	fmt.Println(traffic.Err(s))
	// Output:
	// 0 a 1
	// 250000 b 7
	// traffic: process trace: file access.log: record 3, of 2023-11-14T22:13:20.400000Z: at 1700000000400000 is not allowed: must be from 1700000000500000, where the record before it is, to 9007199254740991
}

func ExampleNewKeys() {
	alpha := traffic.Decimal(800_000)
	keys, err := traffic.NewKeys(traffic.Keys{Kind: "zipf", N: 1000, Alpha: &alpha, Name: "page"}, random.New(1).Stream("pages"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		fmt.Println(keys.Key(0))
	}
	// Output:
	// page-471
	// page-89
	// page-10
	// page-1
	// page-16
}

func ExampleNewCosts() {
	costs, err := traffic.NewCosts(traffic.Costs{Kind: "log-normal", Median: 500, Max: 4000}, random.New(1).Stream("tokens"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(costs.Cost(), costs.Cost(), costs.Cost())
	// Output:
	// 319 900 1135
}

// A greedy caller comes 1 µs before it would be admitted.
func ExampleNewRetry() {
	greedy, err := traffic.NewRetry(traffic.Retries{Kind: "obey", Offset: -time.Microsecond, Attempts: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(greedy.Next(traffic.Failure{Attempt: 1, RetryAfter: 20 * time.Millisecond}, nil))
	fmt.Println(greedy.Next(traffic.Failure{Attempt: 2, RetryAfter: time.Microsecond}, nil))
	fmt.Println(greedy.Next(traffic.Failure{Attempt: 3, RetryAfter: time.Microsecond}, nil))
	// Output:
	// 19.999ms true
	// 1µs true
	// 0s false
}

func ExampleNewDelay() {
	think, err := traffic.NewDelay(traffic.Distribution{Kind: "exponential", Mean: 10 * time.Second, Max: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	draw := random.New(1).Stream("think")
	fmt.Println(think.Micros(draw), think.Micros(draw), think.Micros(draw))
	// Output:
	// 12661207 9823300 751921
}

// A server that accepts nothing is asked less and less.
func ExampleNewGate() {
	gate, err := traffic.NewGate(traffic.Throttle{})
	if err != nil {
		fmt.Println(err)
		return
	}
	draw := random.New(1).Stream("throttle")
	sent := 0
	for i := range int64(1000) {
		if gate.Pass(i*1000, draw) {
			sent++
		}
	}
	fmt.Println(sent, "of 1000 requests were sent")
	// Output:
	// 6 of 1000 requests were sent
}
