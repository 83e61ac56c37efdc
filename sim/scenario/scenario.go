package scenario

import (
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Scenario is a world to simulate, as data. A field that is left out takes the default
// in brackets. Lengths of time are Go durations in whole microseconds. Equal scenarios
// have equal results, byte for byte, on every platform.
//
// The tags of the fields of this package are its rules: Parse, Validate, Complete,
// Generate and Shrink read them. A rule holds "required", a range "1..1000" (of a
// number, a duration, the bytes of a text or the items of a list), the allowed texts
// "a|b" and a default "=1". The tag kinds holds the kinds that take a field, with "!"
// where the kind requires it and "=1" where the kind has a default of its own. The tag
// draw is the range from which Generate draws, or never.
type Scenario struct {
	// Name is what reports call it; required.
	Name string `yaml:"name" rule:"required 1..1000"`
	// About says in a few words what it shows.
	About string `yaml:"about,omitempty"`
	// Seed decides every draw.
	Seed uint64 `yaml:"seed,omitempty"`
	// Start is the true time at which it begins [2026-01-01T00:00:00Z].
	Start time.Time `yaml:"start,omitempty"`
	// Duration is how long requests come, up to 9600h; required. After it the requests
	// under way are answered, every fault is healed, and every key must become fresh.
	Duration time.Duration `yaml:"duration" rule:"required 1us..9600h"`
	// Limits are the limits that decide, 1 to 16. Each is run by itself on the same
	// traffic. Required where there is no policy, and absent where there is one.
	Limits []Limit `yaml:"limits,omitempty" rule:"1..16"`
	// Policy is the text of a policy that decides in place of Limits, as package policy
	// reads it: what applies to a request depends on Traffic.Request. It is one run, with
	// one server.
	Policy string `yaml:"policy,omitempty" rule:"1..4194304"`
	// PolicyFile is the name of a file that holds the policy, in place of Policy. The name
	// is one of package fs: with slashes, not absolute, and without "..".
	PolicyFile string `yaml:"policy_file,omitempty" rule:"1..4096"`
	// Together makes one run of all limits instead: a request has to pass all of
	// them, and is charged to all or to none.
	Together bool `yaml:"together,omitempty"`
	// Nodes are the processes that ask the server.
	Nodes Nodes `yaml:"nodes,omitempty"`
	// Network is between each node and the server.
	Network Network `yaml:"network,omitempty"`
	// Server keeps the states.
	Server Server `yaml:"server,omitempty"`
	// Traffic is the requests, 1 to 64 kinds of them.
	Traffic []Traffic `yaml:"traffic" rule:"required 1..64"`
	// Faults are the things that go wrong, with their time.
	Faults []Fault `yaml:"faults,omitempty" rule:"0..1000"`
	// Checks are the rules to check, by name; see Rules [all].
	Checks []string `yaml:"checks,omitempty,flow"`
	// Expect are bounds that the result should keep. A result outside them is no
	// violation of a rule.
	Expect []Expect `yaml:"expect,omitempty"`

	places map[string]place // of the fields in the text that Parse has read; else nil
}

// Limit is one limit.
type Limit struct {
	// Name is unlike the name of every other limit; required.
	Name string `yaml:"name" rule:"required 1..100"`
	// Spec is the algorithm, as algorithm.ParseSpec reads it; required.
	Spec string `yaml:"spec" rule:"required 1..1000"`
	// Groups makes keys share states: a hash spreads them over that many slots, 1 to
	// 1000000. Left out, each key has its own.
	Groups int64 `yaml:"groups,omitempty" rule:"1..1000000"`
}

// Nodes are the processes that ask the server. Each has a Limiter or a MultiLimiter, a
// batcher and a clock of its own. Requests go to one node after the other.
type Nodes struct {
	// Count is the number of nodes, up to 1000 [1].
	Count int64 `yaml:"count,omitempty" rule:"1..1000 =1" draw:"1..10"`
	// OnFailure is what a node answers when the server does not: closed, open or
	// local [closed]; of a policy where the rules do not say it. Local is a store in the memory of the node, with the same
	// limits and the clock of the node.
	OnFailure string `yaml:"on_failure,omitempty" rule:"closed|open|local =closed"`
	// Timeout is how long a caller waits, up to 1h [100ms].
	Timeout time.Duration `yaml:"timeout,omitempty" rule:"1us..1h =100ms" draw:"1ms..10s"`
	// CallTimeout is how long a call to the server may take, up to 1h [3s].
	CallTimeout time.Duration `yaml:"call_timeout,omitempty" rule:"1us..1h =3s" draw:"1ms..10s"`
	// Share is how many requests one call may carry, 1 to 1000 [128].
	Share int64 `yaml:"share,omitempty" rule:"1..1000 =128" draw:"1..100"`
	// InFlight is how many calls of a node may be in flight, 1 to 100 [2].
	InFlight int64 `yaml:"in_flight,omitempty" rule:"1..100 =2"`
	// Lease is a resilience.Lease at each node, between its limiter and the server [there is
	// none]. Then the clock of the server decides, no fault moves it, and duplicated
	// requests are dropped.
	Lease *Lease `yaml:"lease,omitempty" draw:"never"`
	// Skew is how far a node's clock may be off, to either side, up to 24h [0s]. Each
	// node draws its own.
	Skew time.Duration `yaml:"skew,omitempty" rule:"1us..24h" draw:"1us..1m"`
	// Drift is by how many µs a second a node's clock may be fast or slow, up to
	// 100000 [0].
	Drift int64 `yaml:"drift,omitempty" rule:"1..100000"`
	// Breaker puts a breaker before the server, with the settings that resilience.NewBreaker
	// has by itself. A call is slow from half of Timeout on.
	Breaker bool `yaml:"breaker,omitempty"`
	// DenyCache is how many denials a node remembers, up to 1000000 [none]. The cache is
	// before the breaker.
	DenyCache int64 `yaml:"deny_cache,omitempty" rule:"1..1000000" draw:"1..100"`
	// LocalShare gives each local store of OnFailure local a part of every limit: one of so
	// many, up to 1000 [1].
	LocalShare int64 `yaml:"local_share,omitempty" rule:"1..1000" draw:"1..10"`
	// IDTTL is how long the server remembers the IDs of reservations and of their settlements,
	// up to 24h [10m].
	IDTTL time.Duration `yaml:"id_ttl,omitempty" rule:"1ms..24h =10m" draw:"never"`
	// SettleIntoDebt lets a settlement take more than the limit has left. Without it, it takes
	// what there is.
	SettleIntoDebt bool `yaml:"settle_into_debt,omitempty" draw:"never"`
}

// Lease is the options of a resilience.Lease.
type Lease struct {
	// Units is the most units of one lease, 1 to 1000000 [10000].
	Units int64 `yaml:"units,omitempty" rule:"1..1000000 =10000"`
	// MaxShare is the largest part of a limit that one lease may hold, up to 0.5 [0.05].
	MaxShare Decimal `yaml:"max_share,omitempty" rule:"0..0.5 =0.05"`
	// Life is how long units may be held, 1ms to 1h [1s].
	Life time.Duration `yaml:"life,omitempty" rule:"1ms..1h =1s"`
}

// Network is the way between a node and the server. Messages of one direction arrive in
// the order in which they were sent, unless the fault reordering acts.
type Network struct {
	// Delay is how long a message takes one way [0s].
	Delay Distribution `yaml:"delay,omitempty"`
	// Reply is the same for answers, where it differs.
	Reply *Distribution `yaml:"reply,omitempty"`
	// Repeats makes the server execute a duplicated request twice. Left out, the
	// server drops the second.
	Repeats bool `yaml:"repeats,omitempty"`
}

// Server is the process that keeps the states. It executes one call after the other,
// each at one instant.
type Server struct {
	// Count is the number of servers, up to 16 [1]. A hash spreads the keys over them, and
	// only requests of one key share a call. With several, limits that are taken together
	// have no Groups.
	Count int64 `yaml:"count,omitempty" rule:"1..16 =1" draw:"1..4"`
	// Clock is the clock that decides: server or node [server]. With node each call
	// carries the time of the node that sends it.
	Clock string `yaml:"clock,omitempty" rule:"server|node =server"`
	// Service is how long a call takes [0s].
	Service Distribution `yaml:"service,omitempty"`
	// Lag is how far its replica is behind, up to 1h [0s].
	Lag time.Duration `yaml:"lag,omitempty" rule:"1us..1h" draw:"1us..5s"`
}

// Fault is something that goes wrong. A field that its kind does not take is refused.
type Fault struct {
	// Kind is one of
	//   - partition: messages of Direction between the server and Nodes are lost;
	//   - loss: each message is lost with a chance of Rate;
	//   - duplication: each request arrives twice with a chance of Rate;
	//   - reordering: each message is late by up to Delay with a chance of Rate, and
	//     does not hold up the messages behind it;
	//   - slow: each call takes Delay longer at the server;
	//   - down: the server refuses;
	//   - restart: it is down, and comes back with its Data kept or lost [kept];
	//   - failover: it is down, and its replica takes over: what is younger than the
	//     lag at the beginning is lost;
	//   - eviction: every Every one slot is forgotten;
	//   - clock: at its beginning the clock Of server or of nodes is moved by Step,
	//     and while it lasts it gains Drift µs a second, or loses where Drift is below
	//     0. It is not set right afterwards;
	//   - crash: Nodes are down, and lose their local states;
	//   - freeze: the server stands still: what reaches it waits until the end of the
	//     fault;
	//   - dead: at its beginning the connections between Nodes and the server die, without
	//     notice: messages are lost until the first call is given up.
	//
	// "The server" is each of Servers.
	Kind string `yaml:"kind" rule:"partition|loss|duplication|reordering|slow|down|restart|failover|eviction|clock|crash|freeze|dead"`
	// At is when it begins [0s], before the end of the scenario.
	At time.Duration `yaml:"at,omitempty" rule:"0s..9600h"`
	// For is how long it lasts [to the end; 0s for restart, failover and a clock without
	// Drift]. It is absent for dead.
	For time.Duration `yaml:"for,omitempty" rule:"0s..9600h"`
	// Nodes are the numbers of nodes, from 0 [all].
	Nodes []int64 `yaml:"nodes,omitempty,flow" kinds:"partition loss duplication reordering clock crash dead"`
	// Servers are the numbers of servers, from 0 [all].
	Servers []int64 `yaml:"servers,omitempty,flow" kinds:"partition loss duplication reordering slow down restart failover eviction clock freeze dead"`
	// Direction is requests, replies or both [both].
	Direction string `yaml:"direction,omitempty" rule:"requests|replies|both =both" kinds:"partition loss reordering"`
	// Rate is a chance from 0 to 1.
	Rate Decimal `yaml:"rate,omitempty" rule:"0..1" kinds:"loss duplication reordering"`
	// Delay is up to 1h.
	Delay time.Duration `yaml:"delay,omitempty" rule:"1us..1h" kinds:"reordering! slow!" draw:"1us..1s"`
	// Data is kept or lost.
	Data string `yaml:"data,omitempty" rule:"kept|lost =kept" kinds:"restart"`
	// Every is from 1µs.
	Every time.Duration `yaml:"every,omitempty" rule:"1us..9600h" kinds:"eviction!" draw:"10ms..10s"`
	// Of is server or nodes [server].
	Of string `yaml:"of,omitempty" rule:"server|nodes =server" kinds:"clock"`
	// Step is up to 24h to either side.
	Step time.Duration `yaml:"step,omitempty" rule:"-24h..24h" kinds:"clock" draw:"-1m..1m"`
	// Drift is up to 100000 µs a second to either side.
	Drift int64 `yaml:"drift,omitempty" rule:"-100000..100000" kinds:"clock"`
}

// Expect is a bound on one number of the result.
type Expect struct {
	// Limit is the name of the limit that it is about [each]. Where limits are taken
	// together, the numbers of the run are of all limits, whichever is named.
	Limit string `yaml:"limit,omitempty"`
	// Metric is the number; see Metrics.
	Metric string `yaml:"metric"`
	// Min and Max are the least and the most it may be; at least one is required.
	Min *int64 `yaml:"min,omitempty"`
	Max *int64 `yaml:"max,omitempty"`
}

// Rules returns the names of all rules that a run checks:
//
//   - admission: what the server charges to a slot keeps within the limit, on the clock
//     that it decides by, except for what the faults that happened explain: in a
//     fail-over the units that were lost, in a restart without data and an eviction the
//     units that counted then, and at most the capacity each time;
//   - denial: the server never denies what the limit has room for, with everything that
//     it has charged; not where it has lost a state and its clock goes back as well,
//     which may bring it back to a window that was full;
//   - outcome: Limit, Remaining and Delay are as the limit asks for;
//   - all-or-nothing: a call is committed where every op is allowed, and only there;
//   - retry-after: RetryAfter is the least wait; a request that comes then with no other
//     request in between is admitted, and one that comes before is not;
//   - reset-after: from ResetAfter on a slot acts as if it had never been used, and
//     until then ResetAfter names the same instant;
//   - true-time: admissions, also those of failure modes, keep within the limit in true
//     time, except for what the faults, the clocks and the failure mode explain;
//   - local: a node's local store keeps the limit;
//   - liveness: when all faults are healed and the traffic has ended, nothing is
//     outstanding, and every slot becomes fresh in time;
//   - isolation: with several servers, faults with Servers change no answer for a key of
//     another server: every request for it ends at the same time and in the same way as
//     without these faults. It is checked where nothing else couples keys of different
//     servers: no Throttle, no ClosedLoop whose callers have several keys each or share a
//     Count, no eviction of all servers, no Breaker and no DenyCache;
//   - leases: callers are admitted at most what the server has charged less what it was
//     given back; what they use is within the limit, of a window exactly, and of a rate with the units
//     that it gains in the Life of a lease and the Timeout; a node has at most one call under way for a slot that takes
//     units in advance or gives them back; in the end no node holds any;
//   - subject: of a policy, every rule that matches a request limits it, under the one key
//     that its subject always has and no other subject has;
//   - shadow: of a policy, the answer is what the enforced rules say: a rule in shadow is
//     asked apart from them, and changes nothing;
//   - list: of a policy, a live entry of the deny list denies, or else one of the allow list
//     exempts, and no limit is asked;
//   - breaker: while the breaker of a node is open none of its calls reaches the server, and
//     it is open for no longer than 6 s after the last call that failed;
//   - deny-cache: what a node denies without the server, the server would deny at that instant,
//     for no shorter a time; not where a state was lost or clocks run differently;
//   - local-sum: the local stores of all nodes together admit no more than the sum of their
//     limits, each with its LocalShare, since the first of them admitted; not where clocks run
//     differently;
//   - ids: a step with an ID that the server remembers is answered as before, and changes nothing,
//     or is refused where it asks for something else; any other is a step of its own;
//   - reservations: a settlement charges the actual cost, or says what it has charged; in the
//     end the server has charged a reservation just that, its estimate where it was never
//     settled, nothing where it was cancelled, and one of the two where its client does not know;
//     without IDs no more than that and the calls whose replies were lost. Once all reservations of a fixed
//     window, a sliding counter or a sliding log are settled, it stands as if each had cost at first what it costs
//     in the end, and the excess when it was settled. Not where the server has lost states or IDs, or an ID has ended.
//
// With a policy, admission and the rules after it are about each limit of each rule. Where
// a key gets another limit while a run goes on, what its state holds of the limit before
// may deny: it is compared with the limit again when it was fresh.
func Rules() []string {
	return []string{"admission", "denial", "outcome", "all-or-nothing", "retry-after", "reset-after", "true-time", "local", "liveness", "isolation", "leases",
		"subject", "shadow", "list", "breaker", "deny-cache", "local-sum", "ids", "reservations"}
}

// Metrics returns the names of the numbers that an Expect can be about. over_units,
// worst_units, false_denials and forgotten_units are of a limit, the others of a run.
func Metrics() []string {
	return []string{
		"arrivals", "attempts", "admitted", "admitted_units", "denied", "degraded", "errors", "unknown", "throttled", "gave_up",
		"over_units", "worst_units", "false_denials", "forgotten_units",
		"jain_millionths", "attempts_per_thousand_admitted", "max_retry_error_micros",
	}
}

// longest is the longest time that a field may hold: 400 days.
const longest = algorithm.MaxPeriod
