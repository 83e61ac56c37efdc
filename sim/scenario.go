package sim

import (
	"time"

	"github.com/weirgo/weir/sim/traffic"
)

// Scenario is a world to simulate, as data. A field that is left out takes the default
// in brackets. Times are Go durations in whole microseconds. Equal scenarios have equal
// results, byte for byte, on every platform.
type Scenario struct {
	// Name is what reports call it; required.
	Name string `yaml:"name"`
	// About says in a few words what it shows.
	About string `yaml:"about,omitempty"`
	// Seed decides every draw.
	Seed uint64 `yaml:"seed,omitempty"`
	// Start is the true time at which it begins [2026-01-01T00:00:00Z].
	Start time.Time `yaml:"start,omitempty"`
	// Duration is how long requests come, above 0 to 9600h; required. After it what
	// is under way is answered, every fault is healed, and every key must become
	// fresh.
	Duration time.Duration `yaml:"duration"`
	// Limits are what decides, 1 to 16. Each is run by itself on the same traffic.
	Limits []Limit `yaml:"limits"`
	// Together makes one run of all limits instead: a request has to pass all of
	// them, and is charged to all or to none.
	Together bool `yaml:"together,omitempty"`
	// Nodes are the processes that ask the server.
	Nodes Nodes `yaml:"nodes,omitempty"`
	// Network is between each node and the server.
	Network Network `yaml:"network,omitempty"`
	// Server keeps the states.
	Server Server `yaml:"server,omitempty"`
	// Traffic is who asks, 1 to 64 of them.
	Traffic []Traffic `yaml:"traffic"`
	// Faults are what goes wrong, and when.
	Faults []Fault `yaml:"faults,omitempty"`
	// Checks are the rules to check, by name; see Rules [all].
	Checks []string `yaml:"checks,omitempty,flow"`
	// Expect are bounds that the result should keep. A result outside them is no
	// violation of a rule; see Expected.
	Expect []Expect `yaml:"expect,omitempty"`
}

// Limit is one limit.
type Limit struct {
	// Name is unlike that of every other limit; required.
	Name string `yaml:"name"`
	// Spec is the algorithm, as algorithm.ParseSpec reads it; required.
	Spec string `yaml:"spec"`
	// Groups makes keys share: they are spread over so many slots, 1 to 1000000, by
	// a hash. Left out each key has its own.
	Groups int64 `yaml:"groups,omitempty"`
}

// Nodes are the processes that ask the server. Each has a Limiter or a MultiLimiter, a Batcher
// and a clock of its own.
type Nodes struct {
	// Count is how many there are, 1 to 1000 [1]. Requests go to one after the other.
	Count int64 `yaml:"count,omitempty"`
	// OnFailure is what a node answers when the server does not: closed, open or
	// local [closed]. Local is a store in the memory of the node, with the same
	// limits and the clock of the node.
	OnFailure string `yaml:"on_failure,omitempty"`
	// Timeout is how long a caller waits, up to 1h [100ms].
	Timeout time.Duration `yaml:"timeout,omitempty"`
	// CallTimeout is how long a call to the server may be under way, up to 1h [3s].
	CallTimeout time.Duration `yaml:"call_timeout,omitempty"`
	// Share is how many requests one call may carry, 1 to 1000 [128].
	Share int64 `yaml:"share,omitempty"`
	// InFlight is how many calls of a node may be under way, 1 to 100 [2].
	InFlight int64 `yaml:"in_flight,omitempty"`
	// Skew is how far a node's clock may be off, to either side, up to 24h [0s]. Each
	// draws its own.
	Skew time.Duration `yaml:"skew,omitempty"`
	// Drift is by how many µs a second a node's clock may be fast or slow, up to
	// 100000 [0].
	Drift int64 `yaml:"drift,omitempty"`
}

// Network is the way between a node and the server. Messages of one direction arrive in
// the order in which they were sent, but for the fault reordering.
type Network struct {
	// Delay is how long a message takes one way [0s].
	Delay traffic.Distribution `yaml:"delay,omitempty"`
	// Reply is the same for answers, where it differs.
	Reply *traffic.Distribution `yaml:"reply,omitempty"`
	// Repeats says that a duplicated request is executed twice. Left out the server
	// drops the second.
	Repeats bool `yaml:"repeats,omitempty"`
}

// Server is the process that keeps the states. It executes one call after the other,
// each at one instant.
type Server struct {
	// Clock is whose clock decides: server or node [server]. With node each call
	// carries the time of the node that sends it.
	Clock string `yaml:"clock,omitempty"`
	// Service is how long a call takes [0s].
	Service traffic.Distribution `yaml:"service,omitempty"`
	// Lag is how much later its replica has what it has, up to 1h [0s].
	Lag time.Duration `yaml:"lag,omitempty"`
}

// Traffic is requests of one kind: an open stream, which comes whether earlier ones were
// answered or not, or a closed loop of callers who wait.
type Traffic struct {
	// Name is unlike that of every other traffic; required.
	Name string `yaml:"name"`
	// Process is when requests of an open stream come.
	Process traffic.Process `yaml:"process,omitempty"`
	// Closed is the callers of a closed loop; give it or Process.
	Closed *traffic.ClosedLoop `yaml:"closed,omitempty"`
	// Keys and Costs are for whom requests are and how much they cost; left out they
	// are those of the trace, where the process is one. In a closed loop each caller
	// is a client; in an open stream only pareto has several.
	Keys  traffic.Keys  `yaml:"keys,omitempty"`
	Costs traffic.Costs `yaml:"costs,omitempty"`
	// Start is when it begins [0s], and Stop when it ends [the end].
	Start time.Duration `yaml:"start,omitempty"`
	Stop  time.Duration `yaml:"stop,omitempty"`
	// Count is the largest number of requests, repeats not counted [no bound].
	Count int64 `yaml:"count,omitempty"`
	// Retry is what a caller does who was not admitted [nothing].
	Retry traffic.Retries `yaml:"retry,omitempty"`
	// Throttle lets clients hold themselves back [they do not]. An open stream is
	// one client.
	Throttle *traffic.Throttle `yaml:"throttle,omitempty"`
}

// Fault is something that goes wrong. A field that its kind does not take is refused.
type Fault struct {
	// Kind is one of
	//   - partition: messages of Direction between the server and Nodes are lost;
	//   - loss: each is lost with a chance of Rate;
	//   - duplication: each request arrives twice with a chance of Rate;
	//   - reordering: each is late by up to Delay with a chance of Rate, and does
	//     not hold up those behind it;
	//   - slow: each call takes Delay longer at the server;
	//   - down: the server refuses;
	//   - restart: it is down, and comes back with its Data, kept or lost [kept];
	//   - failover: it is down, and its replica takes over: what is younger than the
	//     lag at the beginning is lost;
	//   - eviction: every Every one slot is forgotten;
	//   - clock: at its beginning the clock Of server or of nodes is moved by Step,
	//     and while it lasts it gains Drift µs a second, or loses where below 0. It
	//     is not set right afterwards;
	//   - crash: Nodes are down, and lose their local states.
	Kind string `yaml:"kind"`
	// At is when it begins [0s], before the end of the scenario.
	At time.Duration `yaml:"at,omitempty"`
	// For is how long it lasts [to the end; 0s for restart, failover and a clock
	// without Drift].
	For time.Duration `yaml:"for,omitempty"`
	// Nodes are the numbers of nodes, from 0 [all].
	Nodes []int64 `yaml:"nodes,omitempty,flow"`
	// Direction is requests, replies or both [both].
	Direction string `yaml:"direction,omitempty"`
	// Rate is a chance from 0 to 1.
	Rate traffic.Decimal `yaml:"rate,omitempty"`
	// Delay is up to 1h.
	Delay time.Duration `yaml:"delay,omitempty"`
	// Data is kept or lost.
	Data string `yaml:"data,omitempty"`
	// Every is from 1µs.
	Every time.Duration `yaml:"every,omitempty"`
	// Of is server or nodes [server].
	Of string `yaml:"of,omitempty"`
	// Step is up to 24h to either side.
	Step time.Duration `yaml:"step,omitempty"`
	// Drift is up to 100000 to either side.
	Drift int64 `yaml:"drift,omitempty"`
}

// Expect is a bound on one number of the result.
type Expect struct {
	// Limit is the name of the limit it is about [each]. Where limits are taken
	// together, numbers of the run are of all of them, whichever is named.
	Limit string `yaml:"limit,omitempty"`
	// Metric is the number; see Metrics.
	Metric string `yaml:"metric"`
	// Min and Max are the least and the most it may be; one of them at least.
	Min *int64 `yaml:"min,omitempty"`
	Max *int64 `yaml:"max,omitempty"`
}
