package inflight

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/internal/exact"
)

// Adaptive are the settings of a limit that follows the latencies of its holds. The limit
// protects the service that the holds are for: where that has more requests than it can
// work on, they wait, latencies rise, and the limit falls until they do not.
//
// The rule is the gradient controller of Envoy's adaptive concurrency filter
// (https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/adaptive_concurrency_filter),
// in whole numbers. At the end of each Window with 10 samples or more,
//
//	limit' = limit · (base + base/4) / median + √limit
//
// with the median latency of the window, at least limit/2 before √limit is added, rounded
// down, and between Min and Limit.Units. base is the latency of requests that do not wait:
// the median while a probe keeps the limit at Min, at the start and then after each Probe,
// until 10 requests that began in the probe have ended, or one and a Window is over; or a
// lower median of a later window. The limit does not rise where no more than half of it was
// in use. A probe that refuses for longer than Probe, and in which no request ends, is over
// without a base: others on a shared store hold the units, or all holds are ignored. A cost
// above the limit, and not above Limit.Units, is admitted where nothing else is in flight.
//
// All keys of a Limiter share the limit and the latencies: use one Limiter for each service
// behind it, with one key.
type Adaptive struct {
	// Min is the lowest limit, and the one of a probe. 0 is 1; at most Limit.Units. As many
	// requests as the service surely works on at one time make a probe cheap.
	Min int64
	// Window is how often the limit changes. 0 is 1 s; below 1 ms and above 1 m are refused.
	Window time.Duration
	// Probe is the time from the end of a probe to the next. 0 is 1 m; below Window and
	// above 24 h are refused.
	Probe time.Duration
}

const (
	defaultWindow = time.Second
	defaultProbe  = time.Minute
	minSamples    = 10
	maxSamples    = 512 // the latest ones of a window count
	firstLimit    = 20  // after the first probe
)

// gradient is the controller. It reads no clock.
type gradient struct {
	limit         atomic.Int64
	min, max      int64
	window, probe time.Duration

	mu      sync.Mutex
	base    int64 // µs; the largest number before there is one
	probing bool
	kept    int64     // the limit after the probe
	stuck   time.Time // the first refusal of the probe, or zero
	probed  time.Time // the end of the last probe
	from    time.Time // the start of the window
	samples []int64   // latencies in µs
	count   int       // of the window; more than samples where those are full
	peak    int64     // units in use
}

func newGradient(a Adaptive, most int64, now time.Time) (*gradient, error) {
	if a.Min == 0 {
		a.Min = 1
	}
	if a.Window == 0 {
		a.Window = defaultWindow
	}
	if a.Probe == 0 {
		a.Probe = max(defaultProbe, a.Window)
	}
	switch {
	case a.Min < 1 || a.Min > most:
		return nil, refuse("Adaptive.Min", strconv.FormatInt(a.Min, 10), "0 (1) to Limit.Units")
	case a.Window < time.Millisecond || a.Window > time.Minute:
		return nil, refuse("Adaptive.Window", a.Window.String(), "0 (1s), or 1ms to 1m")
	case a.Probe < a.Window || a.Probe > 24*time.Hour:
		return nil, refuse("Adaptive.Probe", a.Probe.String(), "0 (1m), or Adaptive.Window to 24h")
	}
	g := &gradient{min: a.Min, max: most, window: a.Window, probe: a.Probe, base: math.MaxInt64}
	g.limit.Store(min(most, max(a.Min, firstLimit)))
	g.startProbe(now)
	return g, nil
}

// done adds the latency of a hold that began at since, with so many units in use.
func (g *gradient) done(now, since time.Time, inUse int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.probing && since.Before(g.from) {
		return // it has met more than the probe
	}
	g.add(max(1, now.Sub(since).Microseconds()), inUse)
	over := now.Sub(g.from) >= g.window
	switch {
	case g.probing && (g.count >= minSamples || over):
		g.base = g.median()
		g.endProbe(now)
	case !g.probing && over && g.count >= minSamples:
		g.adapt()
		g.startWindow(now)
		if now.Sub(g.probed) >= g.probe {
			g.startProbe(now)
		}
	}
}

// refused notes a refusal, and ends a probe that nothing else would end.
func (g *gradient) refused(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.probing:
	case g.count > 0 && now.Sub(g.from) >= g.window:
		g.base = g.median()
		g.endProbe(now)
	case g.stuck.IsZero():
		g.stuck = now
	case now.Sub(g.stuck) >= g.probe:
		g.endProbe(now)
	}
}

func (g *gradient) add(latency, inUse int64) {
	if len(g.samples) < maxSamples {
		g.samples = append(g.samples, latency)
	} else {
		g.samples[g.count%maxSamples] = latency
	}
	g.count++
	g.peak = max(g.peak, inUse)
}

// adapt sets the limit at the end of a window.
func (g *gradient) adapt() {
	median, limit := g.median(), g.limit.Load()
	g.base = min(g.base, median)
	next, _ := exact.MulDiv(limit, g.base+g.base/4, median)
	next = max(next, limit/2) + root(limit)
	if next > limit && g.peak <= limit/2 {
		return
	}
	g.limit.Store(min(max(next, g.min), g.max))
}

func (g *gradient) startWindow(now time.Time) {
	g.from, g.samples, g.count, g.peak = now, g.samples[:0], 0, 0
}

func (g *gradient) startProbe(now time.Time) {
	g.probing, g.kept, g.stuck = true, g.limit.Load(), time.Time{}
	g.limit.Store(g.min)
	g.startWindow(now)
}

func (g *gradient) endProbe(now time.Time) {
	g.probing, g.probed = false, now
	g.limit.Store(g.kept)
	g.startWindow(now)
}

// median is the lower of the two in the middle. It leaves the samples sorted.
func (g *gradient) median() int64 {
	slices.Sort(g.samples)
	return g.samples[(len(g.samples)-1)/2]
}

// root is the square root, rounded down, by Newton's method from above.
func root(n int64) int64 {
	r := n
	for next := (r + 1) / 2; next < r; next = (r + n/r) / 2 {
		r = next
	}
	return r
}
