package algorithm

import (
	"strings"
	"time"
)

// window holds the parameters that the three window algorithms share.
type window struct {
	kind          string
	limit, period int64 // units; µs
	identity      string
}

func newWindow(kind string, r Rate) (window, error) {
	if err := r.check(nameOf(kind)); err != nil {
		return window{}, err
	}
	identity := strings.Replace(formatPeriod(r.Per), "µ", "u", 1)
	return window{kind, r.Units, int64(r.Per / time.Microsecond), identity}, nil
}

// Spec implements Algorithm. The parameters are limit and period in µs; the period is
// the identity, such as "1m" or "250us".
func (w window) Spec() Spec {
	return Spec{Kind: w.kind, Params: [4]int64{w.limit, w.period}, Identity: w.identity}
}

// String returns the spec as ParseSpec reads it: the name, ":" and the rate, such
// as "100/1m".
func (w window) String() string {
	return nameOf(w.kind) + ":" + Rate{w.limit, micros(w.period)}.String()
}

// start returns where the window around the instant at starts. Windows are
// half-open and aligned to the Unix epoch.
func (w window) start(at int64) int64 { return at - at%w.period }

// raised returns the window by which a charge is decided: with a limit that is larger
// by the largest debt.
func (w window) raised() window {
	w.limit += MaxUnits
	return w
}

// left writes what remains of the limit where so much is used.
func (w window) left(used int64, o *Outcome) {
	if used <= w.limit {
		o.Remaining = w.limit - used
	} else {
		o.Debt = min(used-w.limit, MaxUnits)
	}
}

// checkCounts refuses a state that does not have least to most words, the first
// an instant and the others counts, or that has a last word of 0 that would have
// been left out.
func checkCounts(s State, least, most int) error {
	n := s.Words()
	if s.Fresh() {
		return nil
	}
	if s.isLog() || n < least || n > most {
		return refuseShape(s)
	}
	if s.w0 < 0 || s.w0 > int64(MaxInstant) {
		return refuseState(Instant(s.w0).String())
	}
	for i := 1; i < n; i++ {
		if w := s.Word(i); w < 0 || w > MaxWord || w == 0 && i >= least {
			return refuseState(Instant(w).String())
		}
	}
	return nil
}
