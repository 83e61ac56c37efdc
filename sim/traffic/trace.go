package traffic

import (
	"fmt"
	"io"

	"github.com/weirgo/weir/algorithm"
)

// Trace is recorded requests as a source. Ask Err after its end.
type Trace struct {
	next func() (Arrival, error)
	last int64
	err  error // io.EOF at a good end
	line int64
}

// NewTrace returns the arrivals that next returns, one a call, until it returns
// io.EOF. Any other error ends the trace, and so does a record that is not
// possible: an instant before the last one or before 0, a cost below 0 or above
// algorithm.MaxUnits. Next is not called again after an error.
func NewTrace(next func() (Arrival, error)) *Trace { return &Trace{next: next} }

// Next implements Source.
func (t *Trace) Next() (Arrival, bool) {
	if t.err != nil {
		return Arrival{}, false
	}
	a, err := t.next()
	t.line++
	switch {
	case err == io.EOF:
		t.err = err
	case err != nil:
		t.err = fmt.Errorf("traffic: trace: record %d: %w", t.line, err)
	case a.At < t.last || a.At > maxAt:
		t.err = t.refuse("at", a.At, fmt.Sprintf("from %d, where the record before it is, to %d", t.last, maxAt))
	case a.Cost < 0 || a.Cost > algorithm.MaxUnits:
		t.err = t.refuse("cost", a.Cost, fmt.Sprintf("from 0 to %d", algorithm.MaxUnits))
	default:
		t.last = a.At
		return a, true
	}
	return Arrival{}, false
}

func (t *Trace) refuse(field string, value int64, allowed string) error {
	return refuse(fmt.Sprintf("trace: record %d", t.line), field, fmt.Sprint(value), allowed)
}

// Err returns why the trace ended, or nil where it came to its end or has not yet.
func (t *Trace) Err() error {
	if t.err == io.EOF {
		return nil
	}
	return t.err
}
