package traffic

import (
	"cmp"
	"io/fs"
	"time"

	"github.com/weirgo/weir/sim/random"
)

// Process is when requests come, as data. Kind says which process it is and which
// fields it takes; another field that is set is refused. A field left out takes the
// default in brackets. The package comment describes each kind.
type Process struct {
	// Kind is constant, poisson, mmpp, pareto, batch, flash, diurnal, counts, trace,
	// boundary, counter or drip.
	Kind string `yaml:"kind"`
	// Rate is the mean rate; for a batch process that of the batches, and for a
	// flash crowd the rate before it. It is required but for mmpp, where it
	// belongs to the fit, and for counts, trace, boundary, counter and drip, which
	// take none.
	Rate Rate `yaml:"rate,omitempty"`
	// Jitter, for constant, delays each arrival by up to this share of the gap to
	// the next, from 0 to 1 [0].
	Jitter Decimal `yaml:"jitter,omitempty"`

	// OnRate and OffRate are the two rates of mmpp, On and Off the mean times in
	// its two states. OffRate may be left out: then nothing comes while off.
	OnRate  Rate `yaml:"on_rate,omitempty"`
	OffRate Rate `yaml:"off_rate,omitempty"`
	// On and Off are also the mean times of the sources of pareto [1s, 5s].
	On  time.Duration `yaml:"on,omitempty"`
	Off time.Duration `yaml:"off,omitempty"`
	// CV2 and Lag fit an mmpp instead, together with Rate: the squared coefficient
	// of variation of the gaps, above 1 to 10000, and the correlation of
	// neighbouring gaps, from 0 to below (1 − 1/CV2)/2 [0].
	CV2 Decimal `yaml:"cv2,omitempty"`
	Lag Decimal `yaml:"lag,omitempty"`

	// Sources of pareto is how many take turns, 1 to 100000 [100].
	Sources int64 `yaml:"sources,omitempty"`
	// Alpha of pareto is the tail of its on and off times, above 1 to 10 [1.4].
	Alpha Decimal `yaml:"alpha,omitempty"`

	// Batch is the size of a batch, or its mean: 1 to 1000000 [4].
	Batch Decimal `yaml:"batch,omitempty"`
	// Sizes of a batch process is geometric or fixed [geometric].
	Sizes string `yaml:"sizes,omitempty"`

	// At is when a flash crowd starts to come [0s]; Ramp how long its rate rises
	// [10s], Hold how long it stays at the peak [0s], Decay how long until its
	// excess has fallen to 1/e [2m]. Peak is how many times Rate it reaches, 1 to
	// 10000 [10].
	At    time.Duration `yaml:"at,omitempty"`
	Ramp  time.Duration `yaml:"ramp,omitempty"`
	Hold  time.Duration `yaml:"hold,omitempty"`
	Decay time.Duration `yaml:"decay,omitempty"`
	Peak  Decimal       `yaml:"peak,omitempty"`

	// Amplitude of diurnal is how far its rate swings, as a share of Rate from
	// above 0 to 1 [0.6]; Period is the length of its day [24h]; Phase is how far
	// into that day it starts, where a quarter of the day is the peak [0s].
	Amplitude Decimal       `yaml:"amplitude,omitempty"`
	Period    time.Duration `yaml:"period,omitempty"`
	Phase     time.Duration `yaml:"phase,omitempty"`

	// Counts are requests per Step [1m], one after the other; File names a file
	// with one such number a line instead. Repeat says that they start again at
	// the end.
	//
	// File of trace is what was recorded; required. The name is one of package fs:
	// with slashes, not absolute, and without "..".
	Counts []int64       `yaml:"counts,omitempty,flow"`
	File   string        `yaml:"file,omitempty"`
	Step   time.Duration `yaml:"step,omitempty"`
	Repeat bool          `yaml:"repeat,omitempty"`

	// Speed of trace is how much faster than recorded it comes, 0.001 to 1000 [1].
	// Format and the columns say how to read it; whoever opens it knows what they
	// may be. Key is what of an access log line is the key.
	Speed      Decimal `yaml:"speed,omitempty"`
	Format     string  `yaml:"format,omitempty"`
	Key        string  `yaml:"key,omitempty"`
	TimeColumn string  `yaml:"time_column,omitempty"`
	TimeUnit   string  `yaml:"time_unit,omitempty"`
	KeyColumn  string  `yaml:"key_column,omitempty"`
	CostColumn string  `yaml:"cost_column,omitempty"`

	// Limit is the limit under attack of boundary and counter: units, and the
	// length of the window.
	Limit Rate `yaml:"limit,omitempty"`
	// Delta is how much of each side of the window's edge boundary uses, from 1µs
	// to half the window [1ms, or less where the window is short]. Every says which
	// edges: each, each second and so on [2]. At 1 the windows are used up.
	Delta time.Duration `yaml:"delta,omitempty"`
	Every int64         `yaml:"every,omitempty"`

	// Gap is the time between two arrivals of drip. Offset is added to it, and may
	// be negative [0s].
	Gap    time.Duration `yaml:"gap,omitempty"`
	Offset time.Duration `yaml:"offset,omitempty"`
}

// process yields the instants of arrivals in order, in µs since its beginning, and
// who sends them. After false it is not asked again.
type process interface {
	next() (at, client int64, ok bool)
}

// processEnv is what a process is built from besides its fields.
type processEnv struct {
	of    string // for errors: "process poisson"
	gaps  *random.Stream
	epoch int64 // of its time 0, in µs since the Unix epoch
	files fs.FS
	trace func() (Arrival, error)
}

var processes = []kind[func(Process, processEnv) (process, error)]{
	{"constant", "rate jitter", newConstant},
	{"poisson", "rate", newPoisson},
	{"mmpp", "on_rate off_rate on off rate cv2 lag", newMMPP},
	{"pareto", "rate sources alpha on off", newPareto},
	{"batch", "rate batch sizes", newBatch},
	{"flash", "rate at ramp hold decay peak", newFlash},
	{"diurnal", "rate amplitude period phase", newDiurnal},
	{"counts", "counts file step repeat", newCounts},
	{"trace", "file speed format key time_column time_unit key_column cost_column", newRecorded},
	{"boundary", "limit delta every", newBoundary},
	{"counter", "limit", newCounter},
	{"drip", "gap offset", newDrip},
}

func newProcess(p Process, env processEnv) (process, error) {
	k, err := choose("process", p.Kind, processes, p)
	if err != nil {
		return nil, err
	}
	env.of = "process " + p.Kind
	if p.File != "" && !fs.ValidPath(p.File) {
		return nil, refuse(env.of, "file", p.File, "the name of a file in the same folder or below it")
	}
	return k.build(p, env)
}

// Clients returns how many clients send: the sources of pareto, and 1 of every other
// kind.
func (p Process) Clients() int64 {
	if p.Kind != "pareto" {
		return 1
	}
	return cmp.Or(p.Sources, 100)
}
