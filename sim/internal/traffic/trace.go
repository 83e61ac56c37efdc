package traffic

import (
	"fmt"
	"io"
	"math/bits"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

// recorded is requests that really came, at other times: the first at time 0. It is
// whom they were for and what they cost, too.
type recorded struct {
	read        func() (Arrival, error)
	file        string
	speed       uint64 // millionths
	first, last int64  // instants of the trace, in µs since the Unix epoch
	count       int64
	named       bool // its keys are used
	key         string
	cost        int64
	err         error
}

func newRecorded(p scenario.Process, e env) (process, error) {
	if e.trace == nil {
		return nil, refuse("file", p.File, "absent: no traces may be read here")
	}
	return &recorded{read: e.trace, file: p.File, speed: uint64(p.Speed)}, nil
}

func (r *recorded) next() (at, client int64, ok bool) {
	a, err := r.read()
	switch {
	case err == io.EOF && r.count == 0:
		r.err = refuse("file", r.file, "a trace of at least one request")
	case err == io.EOF:
	case err != nil:
		r.err = &scenario.Error{Path: "file", Cause: fmt.Errorf("%s: %w", r.file, err)}
	case a.At < r.last || a.At > maxAt:
		r.err = r.refuse(a.At, "at", a.At, fmt.Sprintf("from %d, where the record before it is, to %d", r.last, maxAt))
	case a.Key == "" && r.named:
		r.err = r.refuse(a.At, "key", `""`, "at least one byte")
	case a.Cost < 0 || a.Cost > algorithm.MaxUnits:
		r.err = r.refuse(a.At, "cost", a.Cost, fmt.Sprintf("from 0 to %d", algorithm.MaxUnits))
	default:
		if r.count == 0 {
			r.first = a.At
		}
		r.count++
		r.last, r.key, r.cost = a.At, a.Key, a.Cost
		at = r.since(a.At)
		return at, 0, at <= maxAt
	}
	return 0, 0, false
}

// since is the time from the first record to one at an instant, at the speed of the
// replay and rounded down.
func (r *recorded) since(at int64) int64 {
	high, low := bits.Mul64(uint64(at-r.first), uint64(random.Million))
	micros, _ := bits.Div64(high, low, r.speed) // high < 2^53·10^6/2^64 < 1000, the slowest speed
	return int64(micros)
}

// refuse names a record by its number and its time: it may have another place in the file.
func (r *recorded) refuse(at int64, field string, value any, allowed string) error {
	return &scenario.Error{Path: "file", Cause: fmt.Errorf("%s: record %d, of %s: %s %v is not allowed: must be %s",
		r.file, r.count+1, time.UnixMicro(at).UTC().Format("2006-01-02T15:04:05.000000Z"), field, value, allowed)}
}

// Key implements Keys.
func (r *recorded) Key(int64) string { return r.key }

// Cost implements Costs.
func (r *recorded) Cost() int64 { return r.cost }
