package scenario

import "time"

// Traffic is requests of one kind: an open stream, whose requests come whether earlier
// ones were answered or not, or a closed loop of callers who wait.
type Traffic struct {
	// Name is unlike the name of every other traffic; required.
	Name string `yaml:"name" rule:"required 1..100"`
	// Process is when requests of an open stream come.
	Process Process `yaml:"process,omitempty"`
	// Closed is the callers of a closed loop; give it or Process.
	Closed *ClosedLoop `yaml:"closed,omitempty"`
	// Keys and Costs are for whom requests are and how much they cost. Left out, they
	// are the keys and costs of the trace, where the process is one. In a closed loop
	// each caller is a client; of the open streams only pareto has several.
	Keys  Keys  `yaml:"keys,omitempty"`
	Costs Costs `yaml:"costs,omitempty"`
	// Request is what a policy sees of the requests [a request with the attribute user,
	// which is the key]. Absent without a policy.
	Request *Request `yaml:"request,omitempty"`
	// Start is when it begins [0s], and Stop when it ends, later than Start [the end].
	Start time.Duration `yaml:"start,omitempty" rule:"0s..9600h"`
	Stop  time.Duration `yaml:"stop,omitempty" rule:"1us..19200h"`
	// Count is the largest number of requests, repeats not counted [no bound].
	Count int64 `yaml:"count,omitempty" rule:"1..9007199254740991"`
	// Retry is what a caller does who was not admitted [nothing].
	Retry Retries `yaml:"retry,omitempty"`
	// Throttle lets clients hold back some of their requests [they do not]. An open
	// stream is one client.
	Throttle *Throttle `yaml:"throttle,omitempty"`
	// Reserve makes Costs estimates, which are reserved, and settled when a request is
	// over [requests cost what they cost]. Then the clock of the server decides, which no fault moves, and nothing else decides in its
	// place: no policy, lease, breaker, deny cache and failure mode.
	Reserve *Reserve `yaml:"reserve,omitempty"`
}

// Reserve is requests whose cost is known when they are over. A client reserves the estimate, works,
// and settles; of several requests of one client each is a reservation. What one does
// is drawn for each.
type Reserve struct {
	// Actual is what requests cost in the end [the estimate].
	Actual Costs `yaml:"actual,omitempty"`
	// Work is the time from the admission to the settlement.
	Work Distribution `yaml:"work,omitempty"`
	// Cancel is the chance that a request is cancelled, and gives its estimate back, from 0 to 1 [0].
	Cancel Decimal `yaml:"cancel,omitempty" rule:"0..1"`
	// Crash is the chance that a client crashes before it settles, from 0 to 1 [0].
	Crash Decimal `yaml:"crash,omitempty" rule:"0..1"`
	// HandOver is the chance that a request is settled through other nodes, from its text, from 0 to
	// 1 [0]. The others are never settled where their node crashes.
	HandOver Decimal `yaml:"hand_over,omitempty" rule:"0..1"`
	// WithoutIDs makes clients take, give back and charge by calls that count each time they are
	// made.
	WithoutIDs bool `yaml:"without_ids,omitempty"`
	// ResolveWithin is how long a call with an ID is made again where its outcome is unknown, up to 1m [1s].
	ResolveWithin time.Duration `yaml:"resolve_within,omitempty" rule:"1us..1m =1s" draw:"1ms..2s"`
	// Attempts is how often a client tries to settle, up to 1000 [10], and Pause is the time from one try that has
	// failed to the next [100ms].
	Attempts int64         `yaml:"attempts,omitempty" rule:"1..1000 =10" draw:"1..20"`
	Pause    time.Duration `yaml:"pause,omitempty" rule:"1us..1h =100ms" draw:"1ms..2s"`
}

// Process is when requests come. The package comment describes each kind.
type Process struct {
	// Kind is the process. It says which of the other fields it takes.
	Kind string `yaml:"kind" rule:"constant|poisson|mmpp|pareto|batch|flash|diurnal|counts|trace|boundary|counter|drip"`
	// Rate is the mean rate; of a batch process the rate of the batches, and of a
	// flash crowd the rate before it. In mmpp it belongs to the fit.
	Rate Rate `yaml:"rate,omitempty" kinds:"constant! poisson! mmpp pareto! batch! flash! diurnal!"`
	// Jitter delays each arrival by up to this share of the gap to the next, from 0
	// to 1 [0].
	Jitter Decimal `yaml:"jitter,omitempty" rule:"0..1" kinds:"constant"`

	// OnRate and OffRate are the two rates of mmpp [OffRate: none], On and Off the mean
	// times in its two states.
	OnRate  Rate `yaml:"on_rate,omitempty" kinds:"mmpp"`
	OffRate Rate `yaml:"off_rate,omitempty" kinds:"mmpp"`
	// On and Off are also the mean times of the sources of pareto [1s, 5s].
	On  time.Duration `yaml:"on,omitempty" rule:"1us..9600h" kinds:"mmpp pareto=1s"`
	Off time.Duration `yaml:"off,omitempty" rule:"1us..9600h" kinds:"mmpp pareto=5s"`
	// CV2 and Lag fit an mmpp instead, together with Rate: the squared coefficient
	// of variation of the gaps, above 1 to 10000, and the correlation of
	// neighbouring gaps, from 0 to below (1 − 1/CV2)/2 [0].
	CV2 Decimal `yaml:"cv2,omitempty" rule:"1.001..10000" kinds:"mmpp" draw:"1.1..100"`
	Lag Decimal `yaml:"lag,omitempty" rule:"0..0.5" kinds:"mmpp"`

	// Sources is how many sources take turns, 1 to 100000 [100].
	Sources int64 `yaml:"sources,omitempty" rule:"1..100000" kinds:"pareto=100" draw:"1..100"`
	// Alpha is the tail of the on and off times, above 1 to 10 [1.4].
	Alpha Decimal `yaml:"alpha,omitempty" rule:"1.001..10" kinds:"pareto=1.4"`

	// Batch is the size of a batch, or its mean: 1 to 1000000 [4].
	Batch Decimal `yaml:"batch,omitempty" rule:"1..1000000" kinds:"batch=4" draw:"1..50"`
	// Sizes is geometric or fixed [geometric].
	Sizes string `yaml:"sizes,omitempty" rule:"geometric|fixed" kinds:"batch=geometric"`

	// At is when a flash crowd starts to come [0s]; Ramp how long its rate rises
	// [10s], Hold how long it stays at the peak [0s], Decay how long until its
	// excess has fallen to 1/e [2m]. Peak is how many times Rate it reaches, 1 to
	// 10000 [10].
	At    time.Duration `yaml:"at,omitempty" rule:"0s..9600h" kinds:"flash" draw:"1ms..1m"`
	Ramp  time.Duration `yaml:"ramp,omitempty" rule:"1us..9600h" kinds:"flash=10s"`
	Hold  time.Duration `yaml:"hold,omitempty" rule:"0s..9600h" kinds:"flash"`
	Decay time.Duration `yaml:"decay,omitempty" rule:"1us..9600h" kinds:"flash=2m"`
	Peak  Decimal       `yaml:"peak,omitempty" rule:"1..10000" kinds:"flash=10" draw:"1..30"`

	// Amplitude is how far the rate swings, as a share of Rate from above 0 to 1
	// [0.6]; Period is the length of the day [24h]; Phase is how far into that day
	// the process starts, where a quarter of the day is the peak [0s].
	Amplitude Decimal       `yaml:"amplitude,omitempty" rule:"0.000001..1" kinds:"diurnal=0.6"`
	Period    time.Duration `yaml:"period,omitempty" rule:"1us..9600h" kinds:"diurnal=24h" draw:"1s..1h"`
	Phase     time.Duration `yaml:"phase,omitempty" rule:"0s..9600h" kinds:"diurnal"`

	// Counts are requests per Step [1m], one after the other; File names a file
	// with one such number a line instead. Repeat makes them start again at the end.
	//
	// File of trace is the recorded requests. The name is one of package fs: with
	// slashes, not absolute, and without "..".
	Counts []int64       `yaml:"counts,omitempty,flow" rule:"1..1048576" each:"0..9007199254740991" kinds:"counts"`
	File   string        `yaml:"file,omitempty" rule:"1..4096" kinds:"counts trace!"`
	Step   time.Duration `yaml:"step,omitempty" rule:"1us..9600h" kinds:"counts=1m" draw:"10ms..10s"`
	Repeat bool          `yaml:"repeat,omitempty" kinds:"counts"`

	// Speed is how much faster than recorded a trace comes, 0.001 to 1000 [1].
	// Format, LogFormat, Envelope and the columns say how to read it, and Key which
	// field is the key; the opener of traces knows which are allowed.
	Speed      Decimal `yaml:"speed,omitempty" rule:"0.001..1000" kinds:"trace=1"`
	Format     string  `yaml:"format,omitempty" kinds:"trace"`
	LogFormat  string  `yaml:"log_format,omitempty" kinds:"trace"`
	Envelope   string  `yaml:"envelope,omitempty" kinds:"trace"`
	Key        string  `yaml:"key,omitempty" kinds:"trace"`
	TimeColumn string  `yaml:"time_column,omitempty" kinds:"trace"`
	TimeUnit   string  `yaml:"time_unit,omitempty" kinds:"trace"`
	CostColumn string  `yaml:"cost_column,omitempty" kinds:"trace"`

	// Limit is the limit under attack: units, and the length of the window.
	Limit Rate `yaml:"limit,omitempty" kinds:"boundary! counter!"`
	// Delta is how much of each side of the window's edge boundary uses, from 1µs
	// to half the window [1ms, or half the window where that is shorter]. Every says
	// which edges: each, each second and so on [2]. At 1 the windows are used up.
	Delta time.Duration `yaml:"delta,omitempty" rule:"1us..9600h" kinds:"boundary"`
	Every int64         `yaml:"every,omitempty" rule:"1..1000" kinds:"boundary=2" draw:"1..3"`

	// Gap is the time between two arrivals of drip. Offset is added to it, and may
	// be negative [0s].
	Gap    time.Duration `yaml:"gap,omitempty" rule:"1us..9600h" kinds:"drip!" draw:"1ms..1s"`
	Offset time.Duration `yaml:"offset,omitempty" rule:"-9600h..9600h" kinds:"drip" draw:"-1ms..1ms"`
}

// ClosedLoop is clients that wait for an answer and then think before they ask again:
// with C callers there are never more than C requests at one time.
type ClosedLoop struct {
	// Callers is the number of clients, from 1 to 1000000; required.
	Callers int64 `yaml:"callers" rule:"required 1..1000000" draw:"1..20"`
	// Think is the time from an answer, or from giving up, to the next request.
	Think Distribution `yaml:"think,omitempty"`
}

// Distribution is a random length of time.
type Distribution struct {
	// Kind is one of
	//   - fixed: always Mean [0s];
	//   - uniform: evenly from Low [0s] to High [0s];
	//   - exponential: with that Mean;
	//   - pareto: with that Mean and the tail Alpha, above 1 to 10 [1.4];
	//   - log-normal: around Median, spread by Sigma, above 0 to 10 [1].
	// Left out it is fixed.
	Kind   string        `yaml:"kind,omitempty" rule:"fixed|uniform|exponential|pareto|log-normal =fixed"`
	Mean   time.Duration `yaml:"mean,omitempty" rule:"0s..9600h" kinds:"fixed exponential! pareto!" draw:"1us..100ms"`
	Low    time.Duration `yaml:"low,omitempty" rule:"0s..9600h" kinds:"uniform" draw:"1us..1ms"`
	High   time.Duration `yaml:"high,omitempty" rule:"0s..9600h" kinds:"uniform" draw:"1ms..100ms"`
	Median time.Duration `yaml:"median,omitempty" rule:"1us..9600h" kinds:"log-normal!" draw:"1us..100ms"`
	Alpha  Decimal       `yaml:"alpha,omitempty" rule:"1.001..10" kinds:"pareto=1.4"`
	Sigma  Decimal       `yaml:"sigma,omitempty" rule:"0.000001..10" kinds:"log-normal=1" draw:"0.1..2"`
	// Max cuts long draws off: a longer one counts as Max [9600h, the most that any
	// field may hold].
	Max time.Duration `yaml:"max,omitempty" rule:"1us..9600h =9600h" kinds:"exponential pareto log-normal" draw:"1ms..1s"`
}

// Keys is for whom requests are.
type Keys struct {
	// Kind is one of
	//   - one: every request is for the key Name [key];
	//   - hot: one key takes Share [0.9], the other N evenly share the rest;
	//   - zipf: of N keys, the i-th is chosen with a weight of 1/i^Alpha;
	//   - uniform: of N keys, each equally likely;
	//   - spray: a new key each time;
	//   - client: each client has its own.
	// Left out it is one.
	Kind string `yaml:"kind,omitempty" rule:"one|hot|zipf|uniform|spray|client =one"`
	// Name is what the key is called, or what the names of all keys begin with
	// [key]: "key-0" is the first. The hot key is "key-hot".
	Name string `yaml:"name,omitempty" rule:"1..1000 =key" kinds:"one hot zipf uniform spray client"`
	// N is the number of keys, from 1 to 1000000.
	N int64 `yaml:"n,omitempty" rule:"1..1000000" kinds:"hot! zipf! uniform!" draw:"1..1000"`
	// Share is the part of the requests that the hot key takes, above 0 to 1.
	Share Decimal `yaml:"share,omitempty" rule:"0.000001..1" kinds:"hot=0.9"`
	// Alpha is the exponent of zipf, from 0 (all equal) to 2.
	Alpha *Decimal `yaml:"alpha,omitempty" rule:"0..2" kinds:"zipf!"`
}

// Costs is how much requests cost.
type Costs struct {
	// Kind is one of
	//   - fixed: each costs Cost [1]; for a cost of 0 use list;
	//   - geometric: 1 and up, with that Mean;
	//   - log-normal: around Median, spread by Sigma [1];
	//   - list: each of List, with the chance of its entry of Weights [all equal];
	//   - mix: Large for a Share [0.1] of the requests, Cost [1] for the others.
	// Left out it is fixed.
	Kind string `yaml:"kind,omitempty" rule:"fixed|geometric|log-normal|list|mix =fixed"`
	// Cost is a number of units, from 1 to algorithm.MaxUnits.
	Cost int64 `yaml:"cost,omitempty" rule:"1..1000000000000" kinds:"fixed=1 mix=1" draw:"1..100"`
	// Mean is above 1, to 1000000.
	Mean Decimal `yaml:"mean,omitempty" rule:"1.000001..1000000" kinds:"geometric!" draw:"2..20"`
	// Median is a number of units, from 1.
	Median int64 `yaml:"median,omitempty" rule:"1..1000000000000" kinds:"log-normal!" draw:"1..1000"`
	// Sigma is the standard deviation of the logarithm, above 0 to 10.
	Sigma Decimal `yaml:"sigma,omitempty" rule:"0.000001..10" kinds:"log-normal=1" draw:"0.1..2"`
	// Max cuts geometric and log-normal costs off: a larger one counts as Max
	// [algorithm.MaxUnits].
	Max int64 `yaml:"max,omitempty" rule:"1..1000000000000 =1000000000000" kinds:"geometric log-normal" draw:"1..100000"`
	// List holds 1 to 100000 costs from 0; a cost of 0 takes nothing.
	List []int64 `yaml:"list,omitempty,flow" rule:"1..100000" each:"0..1000000000000" kinds:"list!" draw:"0..10000"`
	// Weights are from 0 to 10^12; not all may be 0.
	Weights []int64 `yaml:"weights,omitempty,flow" rule:"1..100000" each:"0..1000000000000" kinds:"list"`
	// Large is a number of units, from 1.
	Large int64 `yaml:"large,omitempty" rule:"1..1000000000000" kinds:"mix!" draw:"1..10000"`
	// Share is above 0 to 1.
	Share Decimal `yaml:"share,omitempty" rule:"0.000001..1" kinds:"mix=0.1"`
}

// Retries is what callers do after a refusal or an error.
type Retries struct {
	// Kind is one of
	//   - none: give up;
	//   - immediate: ask again immediately, Attempts times, 1 to 1000 (required);
	//   - fixed: wait Wait [1s];
	//   - exponential: wait c = min(Cap, Base·2^a), a from 0 [10s, 100ms];
	//   - full-jitter: wait 0 to c, evenly;
	//   - equal-jitter: wait c/2 to c, evenly;
	//   - decorrelated-jitter: wait min(Cap, a draw from Base to 3 × the last wait);
	//   - obey: wait RetryAfter + Offset [0s] + 0 to Jitter [0s], but 1 µs at least;
	//     where no RetryAfter is known, Wait [1s] + 0 to Jitter; give up where it is
	//     Never.
	// Left out it is none.
	Kind string `yaml:"kind,omitempty" rule:"none|immediate|fixed|exponential|full-jitter|equal-jitter|decorrelated-jitter|obey =none"`
	// Attempts is how many times a caller asks again at most. Left out there is no
	// bound, except for immediate.
	Attempts int64         `yaml:"attempts,omitempty" rule:"1..9007199254740991" kinds:"immediate! fixed exponential full-jitter equal-jitter decorrelated-jitter obey" draw:"1..5"`
	Wait     time.Duration `yaml:"wait,omitempty" rule:"1us..9600h =1s" kinds:"fixed obey" draw:"1ms..1m"`
	Base     time.Duration `yaml:"base,omitempty" rule:"1us..9600h =100ms" kinds:"exponential full-jitter equal-jitter decorrelated-jitter" draw:"1ms..1s"`
	Cap      time.Duration `yaml:"cap,omitempty" rule:"1us..9600h =10s" kinds:"exponential full-jitter equal-jitter decorrelated-jitter" draw:"1s..1m"`
	Offset   time.Duration `yaml:"offset,omitempty" rule:"-9600h..9600h" kinds:"obey" draw:"-1us..1ms"`
	Jitter   time.Duration `yaml:"jitter,omitempty" rule:"0s..9600h" kinds:"obey" draw:"1us..1s"`
}

// Throttle is a client that drops some of its own requests while a server refuses
// many: the adaptive throttling of Site Reliability Engineering (Beyer et al. 2016,
// chapter 21). It drops with a chance of (requests − Factor·accepts) / (requests + 1),
// both counted over Window.
type Throttle struct {
	// Factor is K, from 1 to 100 [2].
	Factor Decimal `yaml:"factor,omitempty" rule:"1..100 =2"`
	// Window is from 10µs to 24h [2m]. It moves in tenths.
	Window time.Duration `yaml:"window,omitempty" rule:"10us..24h =2m"`
}
