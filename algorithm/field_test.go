package algorithm_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// The field tests replay what went wrong in other rate limiters, as public
// reports tell it, with the right answers. Each names the issue it comes from.
//
// A timeline is a text with one line for each call:
//
//	time  cost  verdict  expectations…
//
// The time is a duration since the start, "end" the last instant there is. The
// cost may be repeated, as in 5x1; the expectations then are for the last call.
// The verdict is ok or no, the expectations are remaining=, limit=, retry=
// (a duration or never), reset= and delay=. "limit SPEC" changes the limit in
// between, "max-delay D" bounds the Delay from then on.

// starts are where timelines begin: the epoch, and a midnight of 2025. Windows
// that do not fit a whole number of times into the second are played from the
// epoch only.
var starts = []algorithm.Instant{0, 1_764_201_600_000_000}

// play runs a timeline for each of the specs.
func play(t *testing.T, specs string, timeline string) {
	t.Helper()
	for spec := range strings.FieldsSeq(specs) {
		for _, start := range starts {
			a := mustSpec(t, spec)
			if period := a.Spec().Params[1]; strings.Contains(spec, "window") && int64(start)%period != 0 {
				continue
			}
			t.Run(spec+"/from "+start.String(), func(t *testing.T) {
				t.Helper()
				r := reel{a: a, start: start}
				for line := range strings.Lines(timeline) {
					r.play(t, strings.TrimSpace(line))
				}
			})
		}
	}
}

func mustSpec(t *testing.T, spec string) algorithm.Algorithm {
	t.Helper()
	a, err := algorithm.ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// reel is a timeline as it runs.
type reel struct {
	a        algorithm.Algorithm
	start    algorithm.Instant
	state    algorithm.State
	maxDelay time.Duration
}

func (r *reel) play(t *testing.T, line string) {
	t.Helper()
	f := strings.Fields(line)
	switch {
	case len(f) == 0:
	case f[0] == "limit":
		r.a = mustSpec(t, f[1])
	case f[0] == "max-delay":
		r.maxDelay = duration(t, line, f[1])
	case len(f) >= 3:
		r.call(t, line, f[0], f[1], f[2], f[3:])
	default:
		t.Fatalf("cannot read the line %q", line)
	}
}

func (r *reel) call(t *testing.T, line, at, cost, verdict string, expected []string) {
	t.Helper()
	now := algorithm.MaxInstant
	if at != "end" {
		now = r.start + algorithm.Instant(duration(t, line, at)/time.Microsecond)
	}
	times, one, repeated := strings.Cut(cost, "x")
	if !repeated {
		times, one = "1", cost
	}
	count, err := strconv.Atoi(times)
	n, err2 := strconv.ParseInt(one, 10, 64)
	if err != nil || err2 != nil {
		t.Fatalf("cannot read the cost in %q", line)
	}
	var o algorithm.Outcome
	for i := range count {
		r.state, o = r.a.Step(r.state, now, algorithm.Request{Cost: n, MaxDelay: r.maxDelay})
		if o.Allowed != (verdict == "ok") {
			t.Fatalf("%s\n  call %d: %+v, state %q", line, i+1, o, r.state)
		}
	}
	for _, e := range expected {
		name, want, _ := strings.Cut(e, "=")
		got := map[string]string{
			"remaining": strconv.FormatInt(o.Remaining, 10), "limit": strconv.FormatInt(o.Limit, 10),
			"retry": o.RetryAfter.String(), "reset": o.ResetAfter.String(), "delay": o.Delay.String(),
		}[name]
		switch name {
		case "retry", "reset", "delay":
			want = duration(t, line, want).String()
		}
		if got != want {
			t.Errorf("%s\n  %s is %s: %+v, state %q", line, name, got, o, r.state)
		}
	}
}

func duration(t *testing.T, line, text string) time.Duration {
	t.Helper()
	if text == "never" {
		return algorithm.Never
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("cannot read %q in %q", text, line)
	}
	return d
}

// admitted counts how much of one unit at each of the given times passes.
func admitted(a algorithm.Algorithm, at ...time.Duration) (n int, when []time.Duration) {
	var s algorithm.State
	for _, d := range at {
		var o algorithm.Outcome
		if s, o = a.Step(s, starts[1]+algorithm.Instant(d/time.Microsecond), take(1)); o.Allowed {
			n, when = n+1, append(when, d)
		}
	}
	return n, when
}

// every returns the times 0, gap, 2·gap … below end.
func every(gap, end time.Duration) (at []time.Duration) {
	for d := time.Duration(0); d < end; d += gap {
		at = append(at, d)
	}
	return at
}
