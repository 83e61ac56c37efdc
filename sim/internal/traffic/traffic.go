// Package traffic makes the requests of a simulation: when they come, for which key, at
// what cost, and what a refused caller does next. It builds them from the data of
// package scenario, which must be valid.
//
// The same data and the same seed give the same arrivals, byte for byte, on every
// platform: see package random.
package traffic

import (
	"fmt"
	"io/fs"
	"math"
	"time"

	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

// Arrival is one request before a decision on it.
type Arrival struct {
	At   int64  // µs since the start of the simulation
	Key  string // what is limited
	Cost int64  // units, from 0
}

// Env is the world that a stream comes to.
type Env struct {
	// Streams are where the stream gets its draws: from gaps, keys and costs.
	Streams random.Streams
	// Epoch is the instant of time 0, in µs since the Unix epoch. Windows are aligned
	// to it.
	Epoch int64
	// Client is the number of the stream's first client.
	Client int64
	// End is the time before which the arrivals are, in µs.
	End int64
	// Files holds the file of a counts process. nil means that no file may be read.
	Files fs.FS
	// Trace reads the next request of a trace, and io.EOF after the last. nil means
	// that no trace may be read.
	Trace func() (Arrival, error)
}

// Stream is an open stream of requests: it yields one arrival after the other, and At
// never goes back.
type Stream struct {
	process     process
	trace       *recorded // process, where it is one; else nil
	keys        Keys
	costs       Costs
	start, stop int64
	left        int64
	client      int64
}

// process yields the instants of arrivals in order, in µs since its beginning, and the
// numbers of their clients. After false it is not called again.
type process interface {
	next() (at, client int64, ok bool)
}

// maxAt is the latest instant of an arrival, 2^53 − 1 µs. A process ends before it
// would pass it.
const maxAt int64 = 1<<53 - 1

// env is what a process is built from besides its fields.
type env struct {
	gaps  *random.Stream
	epoch int64 // of its time 0, in µs since the Unix epoch
	files fs.FS
	trace func() (Arrival, error)
}

// processes builds the process of each kind. An error is about a file.
var processes = map[string]func(scenario.Process, env) (process, error){
	"constant": plain(newConstant),
	"poisson":  plain(newPoisson),
	"mmpp":     plain(newMMPP),
	"pareto":   plain(newPareto),
	"batch":    plain(newBatch),
	"flash":    plain(newFlash),
	"diurnal":  plain(newDiurnal),
	"counts":   newCounts,
	"trace":    newRecorded,
	"boundary": plain(newBoundary),
	"counter":  plain(newCounter),
	"drip":     plain(newDrip),
}

// plain is a builder that reads no file.
func plain[P process](build func(scenario.Process, env) P) func(scenario.Process, env) (process, error) {
	return func(p scenario.Process, e env) (process, error) { return build(p, e), nil }
}

// NewStream returns the open stream of a traffic. Its error is about a file.
func NewStream(t *scenario.Traffic, e Env) (*Stream, error) {
	build := processes[t.Process.Kind]
	if build == nil {
		panic("traffic: no process " + t.Process.Kind)
	}
	start := micros(t.Start)
	p, err := build(scenario.Complete(t.Process), env{e.Streams.Stream("gaps"), e.Epoch + start, e.Files, e.Trace})
	if err != nil {
		return nil, err
	}
	s := &Stream{process: p, start: start, stop: min(e.End, maxAt), left: math.MaxInt64, client: e.Client}
	if t.Stop != 0 {
		s.stop = min(s.stop, micros(t.Stop))
	}
	if t.Count != 0 {
		s.left = t.Count
	}
	s.trace, _ = p.(*recorded)
	if s.trace == nil || t.Keys.Kind != "" {
		s.keys = NewKeys(t.Keys, e.Streams.Stream("keys"))
	} else {
		s.keys, s.trace.named = s.trace, true
	}
	if s.trace == nil || t.Costs.Kind != "" {
		s.costs = NewCosts(t.Costs, e.Streams.Stream("costs"))
	} else {
		s.costs = s.trace
	}
	return s, nil
}

// Next returns the next arrival, and false when there are no more, and from then on.
func (s *Stream) Next() (Arrival, bool) {
	if s.left == 0 {
		return Arrival{}, false
	}
	at, client, ok := s.process.next()
	if at += s.start; !ok || at >= s.stop {
		s.left = 0
		return Arrival{}, false
	}
	s.left--
	return Arrival{At: at, Key: s.keys.Key(s.client + client), Cost: s.costs.Cost()}, true
}

// Clients returns the number of clients that send: the sources of pareto, and 1 of every
// other process.
func (s *Stream) Clients() int64 {
	if p, is := s.process.(*pareto); is {
		return int64(len(p.sources))
	}
	return 1
}

// Err returns why a trace ended early, and nil where it did not.
func (s *Stream) Err() error {
	if s.trace == nil {
		return nil
	}
	return s.trace.err
}

func micros(d time.Duration) int64 { return int64(d / time.Microsecond) }

// float is a decimal as a number, for draws.
func float(d scenario.Decimal) float64 { return float64(d) / float64(random.Million) }

// perMicro is a rate as a number, for draws.
func perMicro(r scenario.Rate) float64 { return float64(r.Units) / float64(micros(r.Per)) }

// refuse returns the error of a file: the field that names it, its value and what is
// allowed.
func refuse(field string, value any, allowed string) error {
	return &scenario.Error{Path: field, Value: fmt.Sprint(value), Allowed: allowed}
}
