// Package result holds what happened in a simulation: the data that package sim returns,
// for reports and for programs.
package result

// Result is what happened in one run. All numbers are whole and follow from the scenario
// alone. Times are µs since the start where they are called so, and lengths otherwise.
type Result struct {
	// Scenario, Seed and Limit name the run: Limit is the name of the limit, or all
	// names joined with + where the limits were taken together.
	Scenario string `json:"scenario"`
	About    string `json:"about,omitempty"`
	Seed     uint64 `json:"seed"`
	Limit    string `json:"limit"`
	// DurationMicros is the length of the scenario, and EndMicros the time of the last
	// check after it.
	DurationMicros int64 `json:"duration_micros"`
	EndMicros      int64 `json:"end_micros"`
	// Digest is the digest of all events, in 16 hexadecimal digits; Events is their
	// number.
	Digest string `json:"digest"`
	Events int64  `json:"events"`

	Totals Counts `json:"totals"`
	// Policy is what the rules did, where a policy decided.
	Policy  *Policy   `json:"policy,omitempty"`
	Limits  []Limit   `json:"limits"`
	Traffic []Traffic `json:"traffic"`
	// Servers are the requests for keys of each server, where there are several.
	Servers []Counts `json:"servers,omitempty"`
	// Clocks are those of the nodes, where they differ from the start on.
	Clocks     []Clock      `json:"clocks,omitempty"`
	Faults     []Fault      `json:"faults,omitempty"`
	Series     Series       `json:"series"`
	Wait       Wait         `json:"wait"`
	Waits      []WaitBucket `json:"waits,omitempty"`
	Fairness   Fairness     `json:"fairness"`
	RetryAfter RetryAfter   `json:"retry_after"`
	Goals      []Goal       `json:"goals"`
	Expected   []Expected   `json:"expected,omitempty"`
	// Failure is the first violation of a rule, which ended the run; nil without one.
	Failure *Failure `json:"failure,omitempty"`
}

// OK reports whether no rule was violated and every expectation was met.
func (r *Result) OK() bool {
	for _, e := range r.Expected {
		if !e.Met {
			return false
		}
	}
	return r.Failure == nil
}

// Counts are numbers of requests; the two that end in Units are sums of their costs.
// Every attempt ends in one of Admitted, Denied, Errors, Unknown and Throttled; Open
// attempts were not answered when a run ended early. Sums of units stay at 2^63 − 1
// where they would pass it.
type Counts struct {
	Arrivals      int64 `json:"arrivals"`       // without repeats
	Attempts      int64 `json:"attempts"`       // with repeats
	OfferedUnits  int64 `json:"offered_units"`  // of attempts
	Admitted      int64 `json:"admitted"`       // answered so
	AdmittedUnits int64 `json:"admitted_units"` // of admissions
	Denied        int64 `json:"denied"`
	Degraded      int64 `json:"degraded"`  // admitted or denied by a failure mode
	Errors        int64 `json:"errors"`    // no decision, and certainly nothing charged
	Unknown       int64 `json:"unknown"`   // no decision, and perhaps charged
	Throttled     int64 `json:"throttled"` // dropped by the client itself
	GaveUp        int64 `json:"gave_up"`   // arrivals that were never admitted
	Waiting       int64 `json:"waiting"`   // arrivals that would ask again after the end
	Open          int64 `json:"open"`
}

// Limit is about one limit of a run.
type Limit struct {
	Name string `json:"name"`
	Spec string `json:"spec"`
	// Executed counts decisions of the server for this limit, and ExecutedAllowed the
	// admissions among them; ExecutedUnits is the sum that it charged, whether or not
	// the answer reached its caller.
	Executed        int64 `json:"executed"`
	ExecutedAllowed int64 `json:"executed_allowed"`
	ExecutedUnits   int64 `json:"executed_units"`
	// Keys is the number of slots that were charged.
	Keys int64 `json:"keys"`
	// OverUnits is the most by which one slot exceeded its limit, in units that callers were
	// told to use, by the server or without it, each once; OverBoundUnits is the most that the faults
	// until then explain; OverMicros is its time, and OverKey its key.
	OverUnits      int64  `json:"over_units"`
	OverBoundUnits int64  `json:"over_bound_units"`
	OverMicros     int64  `json:"over_micros"`
	OverKey        string `json:"over_key,omitempty"`
	// Worst is the most that callers were told to use in any half-open window of the period. What the
	// server charged although its caller was denied, got no decision or was admitted without it does not count.
	Worst Worst `json:"worst"`
	// Curve is the most that was admitted to one slot within closed intervals of a
	// length. It follows CurveKeys slots, out of CurveOf that had an admission: the
	// first 10,000, and every slot that was Worst.Key or OverKey at some time. It
	// follows CurveLate of them only from that time on, and knows their admissions of
	// the period before: at lengths above the period the curve may then be too low. It
	// is never too high, and exact where CurveKeys is CurveOf and CurveLate is 0. A slot
	// that was idle for long and came back may count as two.
	Curve     []CurvePoint `json:"curve"`
	CurveKeys int64        `json:"curve_keys"`
	CurveOf   int64        `json:"curve_of"`
	CurveLate int64        `json:"curve_late,omitempty"`
	// FalseDenials are denials that would have been admissions without the charges
	// whose answer never reached a caller and, for limits without aligned windows, with
	// clocks that are right; FalselyDeniedUnits is the sum of their costs.
	FalseDenials       int64 `json:"false_denials"`
	FalselyDeniedUnits int64 `json:"falsely_denied_units"`
	// ForgottenUnits were charged and then lost by the server: in a fail-over, a
	// restart without data or an eviction.
	ForgottenUnits int64 `json:"forgotten_units"`
}

// Worst is the worst window of one limit.
type Worst struct {
	WindowMicros int64  `json:"window_micros"`
	Units        int64  `json:"units"`
	LimitUnits   int64  `json:"limit_units"` // the units of the rate
	BoundUnits   int64  `json:"bound_units"` // the most without faults
	AtMicros     int64  `json:"at_micros"`   // when the window ended
	Key          string `json:"key,omitempty"`
}

// CurvePoint is the most that was admitted to one slot within a closed interval.
type CurvePoint struct {
	Micros     int64 `json:"micros"`
	Units      int64 `json:"units"`
	BoundUnits int64 `json:"bound_units"` // without faults
}

// Traffic is about one traffic.
type Traffic struct {
	Name string `json:"name"`
	// BadLines is the number of lines of its trace that are no request, and FirstBad
	// says what is wrong with the first; up to where it was read, if the run ended
	// early.
	BadLines int64  `json:"bad_lines,omitempty"`
	FirstBad string `json:"first_bad,omitempty"`
	// LeftOut is the number of requests of its trace after the end of the traffic; 0 if
	// the run ended early.
	LeftOut int64 `json:"left_out,omitempty"`
	// Reservations is nil where its costs are no estimates, and where none was admitted.
	Reservations *Reservations `json:"reservations,omitempty"`
	Counts
}

// Reservations is about the requests of a traffic that were admitted with an estimate of their cost.
type Reservations struct {
	Made      int64 `json:"made"`
	Settled   int64 `json:"settled"`   // with an answer; those cancelled too
	Cancelled int64 `json:"cancelled"` // of those settled
	Clamped   int64 `json:"clamped"`   // of those settled: they cost more than was left
	Never     int64 `json:"never"`     // they keep their estimate: the client has crashed
	Unsure    int64 `json:"unsure"`    // the client has given up, or another one has settled it
	Resumed   int64 `json:"resumed"`   // tries to settle from a text
	// EstimatedUnits is the sum of the estimates, and ActualUnits that of the actual costs of those settled.
	EstimatedUnits int64 `json:"estimated_units"`
	ActualUnits    int64 `json:"actual_units"`
}

// Clock is about the clock of a node.
type Clock struct {
	// AheadMicros is by how many µs it is ahead at the start; below 0 it is behind. DriftMicros is how many it gains a second.
	AheadMicros int64 `json:"ahead_micros"`
	DriftMicros int64 `json:"drift_micros"`
}

// Fault is about the time from when a fault began until its effects were over: a
// time-to-full after its end, after the calls that outlive it, and after each breaker that it opened has closed
// again, or the end of the scenario.
type Fault struct {
	Kind string `json:"kind"`
	// Servers are the numbers of the servers that it acts on; nil is all.
	Servers     []int64 `json:"servers,omitempty"`
	FromMicros  int64   `json:"from_micros"`
	ToMicros    int64   `json:"to_micros"`
	UntilMicros int64   `json:"until_micros"`
	Counts
	// OverUnits is the most by which a slot exceeded a limit in that time.
	OverUnits          int64 `json:"over_units"`
	FalseDenials       int64 `json:"false_denials"`
	FalselyDeniedUnits int64 `json:"falsely_denied_units"`
	ForgottenUnits     int64 `json:"forgotten_units"`
}

// Series is counts over time, in at most 300 buckets. Offered counts attempts when they
// were made, the others count answers when they came.
type Series struct {
	BucketMicros int64   `json:"bucket_micros"`
	Offered      []int64 `json:"offered"`
	Admitted     []int64 `json:"admitted"`
	Denied       []int64 `json:"denied"`
	Degraded     []int64 `json:"degraded"`
	Failed       []int64 `json:"failed"` // errors and unknown
	// DegradedAdmitted counts those of Degraded that were admitted. JSON leaves it out.
	DegradedAdmitted []int64 `json:"-"`
}

// Wait is how long admitted requests waited, from when they were first made until their
// turn: with repeats, and with the Delay of a leaky bucket. Percentiles are at most 1 %
// too large.
type Wait struct {
	MeanMicros int64 `json:"mean_micros"`
	P50Micros  int64 `json:"p50_micros"`
	P90Micros  int64 `json:"p90_micros"`
	P99Micros  int64 `json:"p99_micros"`
	P999Micros int64 `json:"p999_micros"`
	MaxMicros  int64 `json:"max_micros"`
}

// WaitBucket counts admitted requests by how long they waited; see Wait.
type WaitBucket struct {
	UpToMicros int64 `json:"up_to_micros"` // −1 is no bound
	Count      int64 `json:"count"`
}

// Fairness compares what keys were admitted, in units.
type Fairness struct {
	// JainMillionths is (Σx)²/(n·Σx²): a million where all n keys got the same, and a
	// million over n where one key got everything.
	JainMillionths int64 `json:"jain_millionths"`
	Keys           int64 `json:"keys"`
	// Partial reports whether there were too many keys to remember all of them: a key
	// that was idle and came back may count as two.
	Partial bool     `json:"partial,omitempty"`
	Top     []Client `json:"top"`
}

// Client is one key.
type Client struct {
	Key           string `json:"key"`
	Attempts      int64  `json:"attempts"`
	OfferedUnits  int64  `json:"offered_units"`
	AdmittedUnits int64  `json:"admitted_units"`
}

// RetryAfter compares the waits that denials named with what happened then.
type RetryAfter struct {
	// Denied counts denials with a wait.
	Denied int64 `json:"denied"`
	// Kept counts requests that came after the wait, with no other request in between,
	// and were admitted; Exact counts those that came to the microsecond.
	Kept  int64 `json:"kept"`
	Exact int64 `json:"exact"`
	// Early counts requests that came before, and were denied; ByOne counts those that
	// came one microsecond before.
	Early int64 `json:"early"`
	ByOne int64 `json:"by_one"`
	// MaxErrorMicros is the most by which a wait differed from what the limit asks
	// for, with everything that was admitted: above 0 only after a state was lost.
	MaxErrorMicros int64 `json:"max_error_micros"`
}

// Goal is a corner case that some runs should meet, and how often this one met it: so
// that checks which never apply are not taken for code that never fails.
type Goal struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// Expected is an expectation of the scenario and its outcome.
type Expected struct {
	// Limit is the name of the limit whose number it is; Result.Limit where the number
	// is about the run.
	Limit  string `json:"limit"`
	Metric string `json:"metric"`
	Min    *int64 `json:"min,omitempty"`
	Max    *int64 `json:"max,omitempty"`
	Value  int64  `json:"value"`
	Met    bool   `json:"met"`
}

// Failure is the violation of a rule.
type Failure struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	Limit    string `json:"limit"`
	Rule     string `json:"rule"`
	// Text says what was wrong, in one sentence.
	Text string `json:"text"`
	// Micros is its time, and Event the number of the event, from 1.
	Micros int64 `json:"micros"`
	Event  int64 `json:"event"`
	// Columns is the heading of Last, and Last the last events in fixed columns; the
	// violating one comes last.
	Columns string   `json:"columns"`
	Last    []string `json:"last"`
}
