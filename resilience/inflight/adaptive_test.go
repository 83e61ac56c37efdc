package inflight

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

var start = time.Unix(1_800_000_000, 0)

// run feeds a gradient one window after the other, each of 10 equal latencies.
func run(g *gradient, now *time.Time, inUse int64, latencies ...time.Duration) (limits []int64) {
	for _, latency := range latencies {
		for range 10 {
			*now = now.Add(100 * time.Millisecond)
			g.done(*now, now.Add(-latency), inUse)
		}
		limits = append(limits, g.limit.Load())
	}
	return limits
}

func newTestGradient(t *testing.T, a Adaptive, most int64) (*gradient, *time.Time) {
	t.Helper()
	now := start
	g, err := newGradient(a, most, now)
	if err != nil {
		t.Fatal(err)
	}
	return g, &now
}

const ms = time.Millisecond

func TestAdaptiveLimitByHand(t *testing.T) {
	g, now := newTestGradient(t, Adaptive{Min: 2, Probe: 9 * time.Second}, 100)
	if g.limit.Load() != 2 {
		t.Fatalf("it starts with a limit of %d, not with a probe", g.limit.Load())
	}
	for _, step := range []struct {
		latency time.Duration
		inUse   int64
		limit   int64
	}{
		{10 * ms, 2, 20},  // the probe: 10 ms without waiting
		{10 * ms, 20, 29}, // 20·12.5/10 + √20
		{10 * ms, 14, 29}, // half of it is in use
		{10 * ms, 15, 41}, // 29·12.5/10 + √29 = 36 + 5
		{20 * ms, 41, 31}, // 41·12.5/20 + √41 = 25 + 6
		{90 * ms, 31, 20}, // half of 31 + √31
		{90 * ms, 20, 14},
		{90 * ms, 14, 10},
		{8 * ms, 10, 15}, // 10·10/8 + √10, and the base is 8 ms
		{10 * ms, 15, 2}, // 15·10/10 + √15 = 18, after the probe that is due
		{20 * ms, 2, 18}, // the service has become slower: 20 ms without waiting
		{20 * ms, 18, 26},
	} {
		if limit := run(g, now, step.inUse, step.latency)[0]; limit != step.limit {
			t.Fatalf("%+v: a limit of %d", step, limit)
		}
	}
}

func TestAdaptiveLimitStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(1, MaxUnits).Draw(t, "most")
		least := rapid.Int64Range(1, most).Draw(t, "min")
		now := start
		g, err := newGradient(Adaptive{Min: least, Window: time.Second, Probe: 3 * time.Second}, most, now)
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			now = now.Add(time.Duration(rapid.Int64Range(-int64(time.Second), int64(time.Second)).Draw(t, "step")))
			latency := time.Duration(rapid.Int64Range(-1, math.MaxInt64/2).Draw(t, "latency"))
			g.done(now, now.Add(-latency), rapid.Int64Range(0, most).Draw(t, "in use"))
			if limit := g.limit.Load(); limit < least || limit > most {
				t.Fatalf("a limit of %d", limit)
			}
		}
	})
}

func TestAdaptiveProbeIgnoresWhatBeganBefore(t *testing.T) {
	g, now := newTestGradient(t, Adaptive{Probe: time.Second}, 100)
	run(g, now, 1, 10*ms, 10*ms) // a probe, and a window after which the next probe begins
	if !g.probing {
		t.Fatal("no probe")
	}
	for range 20 {
		g.done(*now, now.Add(-time.Second), 50)
	}
	if !g.probing || g.count != 0 {
		t.Error("the latency of a request from before the probe counts")
	}
}

func TestAdaptiveProbeEndsWithFewRequests(t *testing.T) {
	g, now := newTestGradient(t, Adaptive{}, 100)
	for range 3 {
		*now = now.Add(500 * ms)
		g.done(*now, now.Add(-10*ms), 1)
	}
	if g.probing || g.base != 10_000 {
		t.Errorf("probing %v, base %d", g.probing, g.base)
	}
}

func TestAdaptiveProbeThatOnlyRefusesEnds(t *testing.T) {
	g, now := newTestGradient(t, Adaptive{}, 100)
	*now = now.Add(time.Hour) // without a request
	g.refused(*now)
	*now = now.Add(defaultProbe - 1)
	g.refused(*now)
	if !g.probing || g.limit.Load() != 1 {
		t.Fatalf("probing %v, a limit of %d", g.probing, g.limit.Load())
	}
	*now = now.Add(1)
	g.refused(*now)
	if g.probing || g.limit.Load() != firstLimit {
		t.Fatalf("probing %v, a limit of %d", g.probing, g.limit.Load())
	}
	// 20·12.5/10 + √20, with the latency of the window as the base.
	if limit := run(g, now, 20, 10*ms)[0]; limit != 29 || g.base != 10_000 {
		t.Errorf("a limit of %d, base %d", limit, g.base)
	}
}

func TestAdaptiveProbeWithASampleEndsByARefusal(t *testing.T) {
	g, now := newTestGradient(t, Adaptive{}, 100)
	*now = now.Add(500 * ms)
	g.done(*now, now.Add(-10*ms), 1)
	g.refused(*now)
	if !g.probing {
		t.Fatal("the window is not over")
	}
	*now = now.Add(500 * ms)
	g.refused(*now)
	if g.probing || g.base != 10_000 {
		t.Errorf("probing %v, base %d", g.probing, g.base)
	}
}

func TestAdaptiveRefuses(t *testing.T) {
	for _, a := range []Adaptive{{Min: -1}, {Min: 101}, {Window: -1}, {Window: 2 * time.Minute}, {Probe: ms}, {Probe: 25 * time.Hour}} {
		if _, err := newGradient(a, 100, start); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

func TestRoot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, MaxUnits).Draw(t, "n")
		if r := root(n); r*r > n || (r+1)*(r+1) <= n {
			t.Fatalf("the root of %d is not %d", n, r)
		}
	})
}
