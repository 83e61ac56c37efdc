package suggest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Form is a limit with a number left open, such as "gcra:?/1m,burst=20".
type Form string

// Check refuses a form that no number makes a limit.
func (f Form) Check() error {
	if !strings.Contains(string(f), "?") {
		return fmt.Errorf("%q has no ?: must have one in place of the number to find, such as gcra:?/1m", string(f))
	}
	one, err := f.With(1)
	if err != nil {
		return err
	}
	if two, err := f.With(2); err == nil && periodOf(one) != periodOf(two) {
		return fmt.Errorf("%q has the ? in its period: must have it in place of the limit or the burst", string(f))
	}
	return nil
}

// periodOf is the period of a limit; 0 of an algorithm of a user.
func periodOf(a algorithm.Algorithm) time.Duration {
	family, known := algorithm.FamilyOf(a.Spec().Kind)
	if !known {
		return 0
	}
	rate, _ := family.Parameters(a.Spec())
	return rate.Per
}

// With is the limit with a number.
func (f Form) With(number int64) (algorithm.Algorithm, error) {
	return algorithm.ParseSpec(strings.ReplaceAll(string(f), "?", strconv.FormatInt(number, 10)))
}

// Share is a part of a whole: Part of Of, such as 1 of 100.
type Share struct{ Part, Of int64 }

// of is the largest whole number that is no more than this share of n.
func (s Share) of(n int64) int64 { return n/s.Of*s.Part + n%s.Of*s.Part/s.Of }

// Target is what a limit may do to the traffic. A Share of which Of is 0 is not asked for.
type Target struct {
	Clients  Share // that are denied at least once
	Requests Share // that are denied
}

// Effect is what a limit does to the traffic.
type Effect struct {
	Clients  int   // that are denied at least once
	Requests int64 // that are denied
}

// Found is the smallest limit of a form.
type Found struct {
	Number    int64
	Algorithm algorithm.Algorithm
	Effect    Effect
	// Less is the effect of one unit less, which misses the target; nil where the Number is 1.
	Less *Effect
}

// Effect decides the traffic under a limit, each client as if it were alone.
func (t *Traffic) Effect(a algorithm.Algorithm) Effect {
	var e Effect
	step := stepOf(a)
	for _, requests := range t.clients {
		denied := int64(0)
		var state algorithm.State
		for _, r := range requests {
			if !step(&state, r) {
				denied++
			}
		}
		e.Requests += denied
		if denied > 0 {
			e.Clients++
		}
	}
	return e
}

// stepOf makes a step, in place where the algorithm can: a log is copied otherwise.
func stepOf(a algorithm.Algorithm) func(*algorithm.State, request) (allowed bool) {
	if inPlace, can := a.(algorithm.InPlace); can {
		var o algorithm.Outcome
		return func(s *algorithm.State, r request) bool {
			inPlace.StepInPlace(s, r.at, algorithm.Request{Cost: r.cost}, &o)
			return o.Allowed
		}
	}
	return func(s *algorithm.State, r request) bool {
		next, o := a.Step(*s, r.at, algorithm.Request{Cost: r.cost})
		*s = next
		return o.Allowed
	}
}

// meets reports whether an effect is within the target.
func (t *Traffic) meets(e Effect, target Target) bool {
	return (target.Clients.Of == 0 || int64(e.Clients) <= target.Clients.of(int64(len(t.clients)))) &&
		(target.Requests.Of == 0 || e.Requests <= target.Requests.of(t.requests))
}

// Smallest finds the smallest number of a form with which the traffic meets the target. found
// is false where none does, such as where the form has a burst that is too small. It decides
// the traffic about 2·log₂ of the number times.
//
// For costs of 1 a larger number never hits more. For other costs it can: there the number is
// one with which the target is met, and with one less it is not.
func (t *Traffic) Smallest(f Form, target Target) (result Found, found bool, err error) {
	if err := f.Check(); err != nil {
		return Found{}, false, err
	}
	var less *Effect                // of low
	low, high := int64(0), int64(1) // low misses the target; high meets it, or is no limit
	for {
		tried, isLimit := t.try(f, high)
		if !isLimit {
			break
		}
		if t.meets(tried.Effect, target) {
			result, found = tried, true
			break
		}
		if high == algorithm.MaxUnits {
			return Found{}, false, nil
		}
		less, low, high = &tried.Effect, high, min(high*2, algorithm.MaxUnits)
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		switch tried, isLimit := t.try(f, middle); {
		case !isLimit:
			high = middle
		case t.meets(tried.Effect, target):
			high, result, found = middle, tried, true
		default:
			low, less = middle, &tried.Effect
		}
	}
	if !found {
		return Found{}, false, nil
	}
	result.Less = less
	return result, true, nil
}

// try is the effect of a form with a number; isLimit is false where the number is more than
// the form allows, such as of a burst.
func (t *Traffic) try(f Form, number int64) (tried Found, isLimit bool) {
	a, err := f.With(number)
	if err != nil {
		return Found{}, false
	}
	return Found{Number: number, Algorithm: a, Effect: t.Effect(a)}, true
}

// Peak is a line of peaks of clients in windows of one length.
type Peak struct {
	Half       int64 `json:"p50"`
	Ninety     int64 `json:"p90"`
	NinetyNine int64 `json:"p99"`
	Most       int64 `json:"max"`
}

// PeakOf sums up what Peaks returns.
func PeakOf(peaks []int64) Peak {
	p := Peak{Half: Percentile(peaks, 50), Ninety: Percentile(peaks, 90), NinetyNine: Percentile(peaks, 99)}
	if len(peaks) > 0 {
		p.Most = slices.Max(peaks)
	}
	return p
}
