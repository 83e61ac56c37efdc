package traffic_test

import (
	"fmt"
	"io"
	"time"

	"github.com/weirgo/weir/sim/random"
	"github.com/weirgo/weir/sim/traffic"
)

// Users that come as they like, and one that sends on the dot.
func Example() {
	streams := random.New(1)
	users, err := traffic.NewSource(traffic.Load{
		Process: traffic.Process{Kind: "poisson", Rate: traffic.Rate{Units: 5, Per: time.Second}},
		Keys:    traffic.Keys{Kind: "hot", N: 100, Name: "user"},
	}, traffic.Env{Streams: streams.Under("users")})
	if err != nil {
		fmt.Println(err)
		return
	}
	robot, err := traffic.NewSource(traffic.Load{
		Process: traffic.Process{Kind: "drip", Gap: 200 * time.Millisecond},
		Keys:    traffic.Keys{Name: "robot"},
		Costs:   traffic.Costs{Cost: 3},
		Stop:    time.Second,
	}, traffic.Env{Streams: streams.Under("robot")})
	if err != nil {
		fmt.Println(err)
		return
	}
	all := traffic.Merge(traffic.Until(users, 1_000_000), robot)
	for a, ok := all.Next(); ok; a, ok = all.Next() {
		fmt.Printf("%7d µs  %-8s %d\n", a.At, a.Key, a.Cost)
	}
	// Output:
	// 0 µs  robot    3
	//   64684 µs  user-hot 1
	//  200000 µs  robot    3
	//  299885 µs  user-hot 1
	//  307271 µs  user-76  1
	//  400000 µs  robot    3
	//  404943 µs  user-hot 1
	//  406076 µs  user-hot 1
	//  546277 µs  user-hot 1
	//  556844 µs  user-80  1
	//  574963 µs  user-hot 1
	//  600000 µs  robot    3
	//  700315 µs  user-hot 1
	//  800000 µs  robot    3
	//  815914 µs  user-hot 1
	//  856774 µs  user-hot 1
	//  992066 µs  user-hot 1
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

func ExampleTake() {
	s, err := traffic.NewSource(traffic.Load{Process: traffic.Process{Kind: "constant", Rate: traffic.Rate{Units: 3, Per: time.Second}}}, traffic.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s = traffic.Take(s, 4)
	for a, ok := s.Next(); ok; a, ok = s.Next() {
		fmt.Println(a.At, a.Key, a.Cost)
	}
	// Output:
	// 0 key 1
	// 333333 key 1
	// 666666 key 1
	// 1000000 key 1
}

func ExampleNewTrace() {
	records := []traffic.Arrival{{At: 0, Key: "a", Cost: 1}, {At: 9, Key: "b", Cost: 1}, {At: 5, Key: "c", Cost: 1}}
	trace := traffic.NewTrace(func() (a traffic.Arrival, err error) {
		if len(records) == 0 {
			return a, io.EOF
		}
		a, records = records[0], records[1:]
		return a, nil
	})
	for a, ok := trace.Next(); ok; a, ok = trace.Next() {
		fmt.Println(a.At, a.Key)
	}
	fmt.Println(traffic.Err(trace))
	// Output:
	// 0 a
	// 9 b
	// traffic: trace: record 3: at 5 is not allowed: must be from 9, where the record before it is, to 9007199254740991
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
