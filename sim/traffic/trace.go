package traffic

import (
	"cmp"
	"fmt"
	"io"
	"math/bits"
	"time"

	"github.com/weirgo/weir/algorithm"
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

// Speeds of a trace. The slowest keeps the latest instant of a trace within an int64.
const (
	slowest = one / 1000
	fastest = 1000 * one
)

func newRecorded(p Process, env processEnv) (process, error) {
	defaults(&p.Speed, one)
	err := between(env.of, "speed", p.Speed, slowest, fastest)
	switch {
	case p.File == "":
		err = cmp.Or(err, refuse(env.of, "file", `""`, "the name of a trace"))
	case env.trace == nil:
		err = cmp.Or(err, refuse(env.of, "file", p.File, "absent: no traces may be read here"))
	}
	return &recorded{read: env.trace, file: p.File, speed: uint64(p.Speed)}, err
}

func (r *recorded) next() (at, client int64, ok bool) {
	a, err := r.read()
	switch {
	case err == io.EOF && r.count == 0:
		r.err = refuse("process trace", "file", r.file, "a trace of at least one request")
	case err == io.EOF:
	case err != nil:
		r.err = fmt.Errorf("traffic: process trace: file %s: %w", r.file, err)
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
	high, low := bits.Mul64(uint64(at-r.first), uint64(one))
	micros, _ := bits.Div64(high, low, r.speed) // high < 2^53·10^6/2^64 < slowest
	return int64(micros)
}

// refuse names a record by its number and its time: it may have another place in the file.
func (r *recorded) refuse(at int64, field string, value any, allowed string) error {
	which := fmt.Sprintf("process trace: file %s: record %d, of %s", r.file, r.count+1, time.UnixMicro(at).UTC().Format("2006-01-02T15:04:05.000000Z"))
	return refuse(which, field, fmt.Sprint(value), allowed)
}

// Key implements KeyPicker.
func (r *recorded) Key(int64) string { return r.key }

// Cost implements CostPicker.
func (r *recorded) Cost() int64 { return r.cost }
