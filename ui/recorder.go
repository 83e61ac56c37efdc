package ui

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/observed"
	"github.com/weirgo/weir/internal/topk"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
)

// RecorderOptions are the optional settings of a Recorder. nil means all defaults.
type RecorderOptions struct {
	// Rules is how many rules are told apart, in the order in which they are met; further ones
	// count as "other". 0 is 1,000. A rule takes about 1.3 KB.
	Rules int

	manual bool // no goroutine turns the seconds over: tests do
}

const defaultRules = 1000

// Recorder keeps what a page shows of the last hour, in bounded memory: about 0.6 MB, and
// 1.3 KB for each rule. It is the Observer of Limiters and MultiLimiters, and of Enforcers for
// what is shown by rule; and it reads the counts of stores and decorators that are added to it
// whenever a page is shown. It counts what package promobserver counts, so the numbers are
// equal.
//
// A decision costs it two atomic additions, and a lock and a look at 16 numbers for the
// subject; a denial that twice. It allocates nothing but for a subject that is new. It keeps
// the keys of about 1,000 subjects that occur most, and of as many that are denied most, for
// 5 to 10 minutes: the first 1,024 bytes of each. It is safe for concurrent use.
type Recorder struct {
	results  [len(observed.ResultNames)]atomic.Int64
	failed   atomic.Int64
	degraded atomic.Int64
	latency  latency
	busiest  *topk.Sketch
	denied   *topk.Sketch
	rules    rules
	lists    [2]atomic.Int64 // denied and exempt by an entry of a list

	mu      sync.Mutex
	errors  map[string]int64 // by their class
	ring    ring
	first   int64 // the minute of the first second
	minute  int64 // that the rules were last turned over in
	period  int64 // that the subjects were last turned over in
	sources map[string]source
	ticks   int64
	ticked  chan struct{} // closed with the next second
	closed  chan struct{}
	once    sync.Once
	done    sync.WaitGroup
}

var (
	_ weir.Observer   = (*Recorder)(nil)
	_ policy.Observer = (*Recorder)(nil)
)

// NewRecorder returns a Recorder. A goroutine turns its seconds over until Close. An option
// outside its bounds gives an error that matches store.ErrInvalid.
func NewRecorder(opts *RecorderOptions) (*Recorder, error) {
	if opts == nil {
		opts = &RecorderOptions{}
	}
	if opts.Rules < 0 {
		return nil, &store.InputError{Op: -1, Field: "RecorderOptions.Rules", Value: fmt.Sprint(opts.Rules), Allowed: "0 (1,000) or more"}
	}
	r := &Recorder{
		busiest: topk.New(), denied: topk.New(), errors: map[string]int64{}, sources: map[string]source{},
		ticked: make(chan struct{}), closed: make(chan struct{}),
	}
	r.rules.most = opts.Rules
	if r.rules.most == 0 {
		r.rules.most = defaultRules
	}
	r.ring.last = r.totals()
	if !opts.manual {
		r.done.Go(r.run)
	}
	return r, nil
}

// Close ends the goroutine of the Recorder, and the streams of its pages. What is observed
// afterwards is counted, and is in no second. It returns nil.
func (r *Recorder) Close() error {
	r.once.Do(func() { close(r.closed) })
	r.done.Wait()
	return nil
}

func (r *Recorder) run() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-r.closed:
			return
		case now := <-tick.C:
			r.tick(now)
		}
	}
}

// Observe implements weir.Observer. Takes and waits are counted; looks and resets are counted
// where they fail.
func (r *Recorder) Observe(_ context.Context, o weir.Observation) {
	if o.Err != nil && !observed.IsDenial(o.Err) {
		r.fail(observed.ClassOf(o.Err))
		return
	}
	if o.Took > 0 && o.Kind != weir.KindWait {
		r.latency.add(o.Took)
	}
	if o.Kind != weir.KindTake && o.Kind != weir.KindWait {
		return
	}
	if o.Decision.Degraded {
		r.degraded.Add(1)
	}
	if o.Verb != algorithm.Take {
		return
	}
	r.results[observed.ResultOf(o.Decision.Allowed, o.Shadow)].Add(1)
	r.busiest.Add(o.Limit, o.Key)
	if !o.Decision.Allowed {
		r.denied.Add(o.Limit, o.Key)
	}
}

func (r *Recorder) fail(class string) {
	r.failed.Add(1)
	r.mu.Lock()
	r.errors[class]++
	r.mu.Unlock()
}

// ObserveVerdict implements policy.Observer.
func (r *Recorder) ObserveVerdict(_ context.Context, v *policy.Verdict, err error) {
	switch v.List {
	case policy.Denied:
		r.lists[0].Add(1)
	case policy.Exempt:
		r.lists[1].Add(1)
	}
	if v.Degraded {
		r.degraded.Add(1)
	}
	for first := 0; first < len(v.Rules); {
		id, after := v.Rules[first].Rule, first+1
		for after < len(v.Rules) && v.Rules[after].Rule == id {
			after++
		}
		r.rules.of(id).observe(v.Rules[first:after], err)
		first = after
	}
}

const subjectsPeriod = 5 * time.Minute

// tick ends a second.
func (r *Recorder) tick(now time.Time) {
	totals := r.totals()
	now = time.Unix(max(now.Unix(), 60), 0) // a clock that was never set may begin at 0 or before
	minute, period := now.Unix()/60, now.Unix()/int64(subjectsPeriod/time.Second)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring.push(now, totals)
	switch {
	case r.first == 0:
		r.first = minute
	case minute < r.minute: // the clock went back: what was seen is as long ago as it was
		r.first -= r.minute - minute
	}
	if minute != r.minute {
		r.rules.turn(minute)
		r.minute = minute
	}
	if r.period != 0 && period != r.period {
		r.busiest.Turn()
		r.denied.Turn()
		if period > r.period+1 { // the process stood still: nobody asked in the period before, either
			r.busiest.Turn()
			r.denied.Turn()
		}
	}
	r.period = period
	r.ticks++
	close(r.ticked)
	r.ticked = make(chan struct{})
}

// next returns how many seconds there were, and a channel that is closed with the next one.
func (r *Recorder) next() (ticks int64, ticked <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ticks, r.ticked
}

// minutes is how many minutes of the last hour were seen, the one that is not over among them.
func (r *Recorder) minutes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int(max(min(r.minute-r.first+1, minutes), 1))
}

// totals are the counts since the start.
func (r *Recorder) totals() (t totals) {
	for i := range r.results {
		t.results[i] = r.results[i].Load()
	}
	t.failed, t.degraded = r.failed.Load(), r.degraded.Load()
	for i := range r.latency.buckets {
		t.latency[i] = r.latency.buckets[i].Load()
	}
	return t
}
