package sim

// Result is what happened in one run. All numbers are whole and follow from the scenario
// alone. Times are µs since the start where they are called so, and lengths otherwise.
type Result struct {
	// Scenario, Seed and Limit say what was run: Limit is the name of the limit, or
	// all of them joined with + where they were taken together.
	Scenario string `json:"scenario"`
	About    string `json:"about,omitempty"`
	Seed     uint64 `json:"seed"`
	Limit    string `json:"limit"`
	// DurationMicros is the length of the scenario, and EndMicros when the last
	// check after it was made.
	DurationMicros int64 `json:"duration_micros"`
	EndMicros      int64 `json:"end_micros"`
	// Digest is of every event, in 16 hexadecimal digits; Events is how many.
	Digest string `json:"digest"`
	Events int64  `json:"events"`

	Totals     Counts          `json:"totals"`
	Limits     []LimitResult   `json:"limits"`
	Traffic    []TrafficResult `json:"traffic"`
	Faults     []FaultResult   `json:"faults,omitempty"`
	Series     Series          `json:"series"`
	Waits      []WaitBucket    `json:"waits,omitempty"`
	Fairness   Fairness        `json:"fairness"`
	RetryAfter RetryAfter      `json:"retry_after"`
	Goals      []Goal          `json:"goals"`
	Expected   []Expected      `json:"expected,omitempty"`
	// Failure is the first violation of a rule, which ended the run; nil where there
	// was none.
	Failure *Failure `json:"failure,omitempty"`
}

// OK says that no rule was violated and every expectation was met.
func (r *Result) OK() bool {
	for _, e := range r.Expected {
		if !e.Met {
			return false
		}
	}
	return r.Failure == nil
}

// Counts are of requests, but for the two that end in Units. Every attempt ends in one
// of Admitted, Denied, Errors, Unknown and Throttled; Open of them are still under way
// where a run ended early. Sums of units stay at 2^63 − 1 where they would pass it.
type Counts struct {
	Arrivals      int64 `json:"arrivals"`       // without repeats
	Attempts      int64 `json:"attempts"`       // with repeats
	OfferedUnits  int64 `json:"offered_units"`  // of attempts
	Admitted      int64 `json:"admitted"`       // told so
	AdmittedUnits int64 `json:"admitted_units"` // of them
	Denied        int64 `json:"denied"`
	Degraded      int64 `json:"degraded"`  // admitted or denied by a failure mode
	Errors        int64 `json:"errors"`    // no decision, and certainly nothing charged
	Unknown       int64 `json:"unknown"`   // no decision, and perhaps charged
	Throttled     int64 `json:"throttled"` // dropped by the client itself
	GaveUp        int64 `json:"gave_up"`   // arrivals that were never admitted
	Waiting       int64 `json:"waiting"`   // arrivals that would ask again after the end
	Open          int64 `json:"open"`
}

// LimitResult is about one limit of a run.
type LimitResult struct {
	Name string `json:"name"`
	Spec string `json:"spec"`
	// Executed counts decisions of the server for this limit, ExecutedAllowed
	// those that allowed; ExecutedUnits is what it charged, whether or not the
	// caller was told.
	Executed        int64 `json:"executed"`
	ExecutedAllowed int64 `json:"executed_allowed"`
	ExecutedUnits   int64 `json:"executed_units"`
	// Keys is how many slots were charged.
	Keys int64 `json:"keys"`
	// OverUnits is the most by which one slot exceeded its limit, in units, with
	// what was admitted without the server; OverBoundUnits is the most that the
	// faults up to then explain; OverMicros when it was, and OverKey where.
	OverUnits      int64  `json:"over_units"`
	OverBoundUnits int64  `json:"over_bound_units"`
	OverMicros     int64  `json:"over_micros"`
	OverKey        string `json:"over_key,omitempty"`
	// Worst is the most that was admitted in any half-open window of the period.
	Worst Worst `json:"worst"`
	// Curve is the most that was admitted to one slot within closed intervals of a
	// length. It is of CurveKeys slots, out of CurveOf that were admitted anything: of
	// the first 10,000 and of every one that was at some time that of Worst.Key or of
	// OverKey, so that those two have a part in it. CurveLate of them have a part in it
	// only from when they became that, with what they were admitted in the period
	// before: at lengths above the period the curve may then be too low. It is never
	// too high, and exact where CurveKeys is CurveOf and CurveLate is 0. A slot that
	// was idle for long and came back may count as two.
	Curve     []CurvePoint `json:"curve"`
	CurveKeys int64        `json:"curve_keys"`
	CurveOf   int64        `json:"curve_of"`
	CurveLate int64        `json:"curve_late,omitempty"`
	// FalseDenials are denials that would have been admissions, had nothing been
	// charged that its caller never heard of, or, for limits without windows, had the
	// clocks been right; FalselyDeniedUnits what they asked for.
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
	LimitUnits   int64  `json:"limit_units"` // what the limit is called
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

// TrafficResult is about one traffic.
type TrafficResult struct {
	Name string `json:"name"`
	// BadLines is how much of its trace was no request, and FirstBad what was wrong with
	// the first of it; up to where it was read, if the run ended early.
	BadLines int64  `json:"bad_lines,omitempty"`
	FirstBad string `json:"first_bad,omitempty"`
	// LeftOut is how many requests of its trace came after the end of the traffic; 0 if
	// the run ended early.
	LeftOut int64 `json:"left_out,omitempty"`
	Counts
}

// FaultResult is about the time from when a fault began until its effects were over: a
// time-to-full after its end, or the end of the scenario.
type FaultResult struct {
	Kind        string `json:"kind"`
	FromMicros  int64  `json:"from_micros"`
	ToMicros    int64  `json:"to_micros"`
	UntilMicros int64  `json:"until_micros"`
	Counts
	// OverUnits is the most by which a slot exceeded a limit in that time.
	OverUnits          int64 `json:"over_units"`
	FalseDenials       int64 `json:"false_denials"`
	FalselyDeniedUnits int64 `json:"falsely_denied_units"`
	ForgottenUnits     int64 `json:"forgotten_units"`
}

// Series is counts over time, in at most 300 buckets. Offered is attempts when they were
// made, the others answers when they came.
type Series struct {
	BucketMicros int64   `json:"bucket_micros"`
	Offered      []int64 `json:"offered"`
	Admitted     []int64 `json:"admitted"`
	Denied       []int64 `json:"denied"`
	Degraded     []int64 `json:"degraded"`
	Failed       []int64 `json:"failed"` // errors and unknown
}

// WaitBucket counts admitted requests by the time since they were first made.
type WaitBucket struct {
	UpToMicros int64 `json:"up_to_micros"` // −1 is no bound
	Count      int64 `json:"count"`
}

// Fairness compares what keys were admitted, in units.
type Fairness struct {
	// JainMillionths is (Σx)²/(n·Σx²): a million where all keys got the same, and a
	// million over n where one got all.
	JainMillionths int64 `json:"jain_millionths"`
	Keys           int64 `json:"keys"`
	// Partial says that there were too many keys to remember: one that was idle and
	// came back may count as two.
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

// RetryAfter says how good the waits were that denied callers were told.
type RetryAfter struct {
	// Told counts denials with a wait.
	Told int64 `json:"told"`
	// Kept counts requests that came when they were told to, or later, with nobody
	// in between, and were admitted; Exact those of them that came to the microsecond.
	Kept  int64 `json:"kept"`
	Exact int64 `json:"exact"`
	// Early counts requests that came before, and were denied; ByOne those of them
	// that came one microsecond before.
	Early int64 `json:"early"`
	ByOne int64 `json:"by_one"`
	// MaxErrorMicros is the most by which a wait differed from what the limit asks
	// for, with all that was admitted: above 0 only after a state was lost.
	MaxErrorMicros int64 `json:"max_error_micros"`
}

// Goal is something that ought to happen in some runs, and how often it did in this one.
type Goal struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// Expected is an expectation of the scenario and what came of it.
type Expected struct {
	// Limit is the name of the limit whose number it is; Result.Limit where it is one
	// of the run.
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
	// Micros is when it was, and Event which event, counted from 1.
	Micros int64 `json:"micros"`
	Event  int64 `json:"event"`
	// Columns is the heading of Last, and Last the last events in fixed columns; the
	// violating one comes last.
	Columns string   `json:"columns"`
	Last    []string `json:"last"`
}
