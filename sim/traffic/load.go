package traffic

import (
	"cmp"
	"io/fs"
	"math"
	"reflect"
	"time"

	"github.com/weirgo/weir/sim/random"
)

// Load is an open stream of requests, as data: when, for whom and at what cost.
// They come whether earlier ones were answered or not.
type Load struct {
	Process Process `yaml:"process"`
	// Keys and Costs, where they are left out, are those of a trace; of every other
	// process their zero values are used.
	Keys  Keys  `yaml:"keys,omitempty"`
	Costs Costs `yaml:"costs,omitempty"`
	// Start is when the process begins [0s]: its time 0.
	Start time.Duration `yaml:"start,omitempty"`
	// Stop is when it ends, later than Start; the arrivals are before it. Left out
	// it does not end by itself.
	Stop time.Duration `yaml:"stop,omitempty"`
	// Count is the largest number of arrivals. Left out there is no bound.
	Count int64 `yaml:"count,omitempty"`
}

// Env is the world that a load comes to.
type Env struct {
	// Streams are the load's own: give each load another name with Under. It
	// draws from gaps, keys and costs.
	Streams random.Streams
	// Epoch is the instant of time 0 in µs since the Unix epoch, to which windows
	// are aligned; from 0.
	Epoch int64
	// Client is the number of the load's first client, from 0, for keys of the
	// kind client. Only pareto has more clients than one: its sources.
	Client int64
	// Files holds the files of counts that a process may name. Nil means that none
	// may.
	Files fs.FS
	// Trace returns one record after the other of the trace that a process names,
	// until it returns io.EOF; it is not called after an error. At is the instant in
	// µs since the Unix epoch: from 0 to 2^53 − 1, and never before that of the
	// record before. Key is not empty, unless the load names other keys. Nil means
	// that no trace may be named.
	Trace func() (Arrival, error)
}

// NewSource returns the arrivals of a load. The error is an
// *algorithm.ParameterError that names the field, or that of reading a file. A Next
// takes about a tenth of a microsecond, and allocates only where it makes a new key.
//
// A trace is read by Next, one record a call, and so it may end early: see [Err].
func NewSource(l Load, env Env) (Source, error) {
	if err := cmp.Or(span("load", "start", l.Start, 0, longest),
		between("load", "count", l.Count, 0, math.MaxInt64),
		between("load", "epoch", env.Epoch, 0, maxAt),
		between("load", "client", env.Client, 0, maxAt)); err != nil {
		return nil, err
	}
	if l.Stop != 0 {
		if err := span("load", "stop", l.Stop, l.Start+time.Microsecond, 2*longest); err != nil {
			return nil, err
		}
	}
	start := micros(l.Start)
	process, err := newProcess(l.Process, processEnv{gaps: env.Streams.Stream("gaps"), epoch: env.Epoch + start, files: env.Files, trace: env.Trace})
	if err != nil {
		return nil, err
	}
	trace, _ := process.(*recorded) // nil where it is none
	keys, err := l.keys(trace, env)
	if err != nil {
		return nil, err
	}
	costs, err := l.costs(trace, env)
	if err != nil {
		return nil, err
	}
	s := &load{process: process, trace: trace, keys: keys, costs: costs, start: start, stop: maxAt, left: cmp.Or(l.Count, math.MaxInt64), client: env.Client}
	if l.Stop != 0 {
		s.stop = micros(l.Stop)
	}
	return s, nil
}

// keys returns who names the keys: the trace, where there is one and the load names none.
func (l Load) keys(trace *recorded, env Env) (KeyPicker, error) {
	switch {
	case trace == nil || l.Keys.Kind != "":
		return NewKeys(l.Keys, env.Streams.Stream("keys"))
	case l.Keys != Keys{}:
		return nil, refuse("keys", "kind", `""`, "given where the process is a trace")
	}
	trace.named = true
	return trace, nil
}

// costs is the same for costs.
func (l Load) costs(trace *recorded, env Env) (CostPicker, error) {
	switch {
	case trace == nil || l.Costs.Kind != "":
		return NewCosts(l.Costs, env.Streams.Stream("costs"))
	case !reflect.ValueOf(l.Costs).IsZero():
		return nil, refuse("costs", "kind", `""`, "given where the process is a trace")
	}
	return trace, nil
}

// load is a process with keys and costs, within bounds.
type load struct {
	process     process
	trace       *recorded // process, where it is one; else nil
	keys        KeyPicker
	costs       CostPicker
	start, stop int64
	left        int64
	client      int64
}

func (l *load) Next() (Arrival, bool) {
	if l.left == 0 {
		return Arrival{}, false
	}
	at, client, ok := l.process.next()
	if at += l.start; !ok || at >= l.stop {
		l.left = 0
		return Arrival{}, false
	}
	l.left--
	return Arrival{At: at, Key: l.keys.Key(l.client + client), Cost: l.costs.Cost()}, true
}

// Err returns why a trace ended early.
func (l *load) Err() error {
	if l.trace == nil {
		return nil
	}
	return l.trace.err
}
