package traffic

import (
	"cmp"
	"io/fs"
	"math"
	"time"

	"github.com/weirgo/weir/sim/random"
)

// Load is an open stream of requests, as data: when, for whom and at what cost.
// They come whether earlier ones were answered or not.
type Load struct {
	Process Process `yaml:"process"`
	Keys    Keys    `yaml:"keys,omitempty"`
	Costs   Costs   `yaml:"costs,omitempty"`
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
	// Files holds the files that a process may name. Nil means that none may.
	Files fs.FS
}

// NewSource returns the arrivals of a load. The error is an
// *algorithm.ParameterError that names the field, or that of reading a file. A Next
// takes about a tenth of a microsecond, and allocates only where it makes a new key.
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
	process, err := newProcess(l.Process, processEnv{gaps: env.Streams.Stream("gaps"), epoch: env.Epoch + start, files: env.Files})
	if err != nil {
		return nil, err
	}
	keys, err := NewKeys(l.Keys, env.Streams.Stream("keys"))
	if err != nil {
		return nil, err
	}
	costs, err := NewCosts(l.Costs, env.Streams.Stream("costs"))
	if err != nil {
		return nil, err
	}
	s := &load{process: process, keys: keys, costs: costs, start: start, stop: maxAt, left: cmp.Or(l.Count, math.MaxInt64), client: env.Client}
	if l.Stop != 0 {
		s.stop = micros(l.Stop)
	}
	return s, nil
}

// load is a process with keys and costs, within bounds.
type load struct {
	process     process
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
