package traffic

import (
	"math"
	"testing"
	"time"

	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

func TestGatePassesAllWhileTheServerAccepts(t *testing.T) {
	g, draw := NewGate(scenario.Throttle{}), random.New(1).Stream("gate")
	for i := range int64(10_000) {
		if !g.Pass(i*1000, draw) {
			t.Fatalf("request %d is dropped", i)
		}
		if i%2 == 0 { // the half is enough with K = 2
			g.Accept(i * 1000)
		}
	}
}

// With a server that refuses more than one in 20 ms, the client sends K times what is
// accepted, whatever it is asked for.
func TestGateSendsKTimesWhatIsAccepted(t *testing.T) {
	for _, k := range []scenario.Decimal{1_100_000, 2 * one, 5 * one} {
		g, draw := NewGate(scenario.Throttle{Factor: k}), random.New(1).Stream("gate")
		var sent, accepted float64
		var next int64
		for i := range int64(2_000_000) { // 1000 a second
			now := i * 1000
			if g.Pass(now, draw) {
				sent++
				if now >= next {
					g.Accept(now)
					accepted++
					next = now + 20_000
				}
			}
		}
		if ratio := sent / accepted; math.Abs(ratio-float(k)) > 0.05*float(k) {
			t.Errorf("K %v: %v requests sent for each accepted", k, ratio)
		}
	}
}

func TestGateDropsWithTheChanceOfTheBook(t *testing.T) {
	draw := random.New(1).Stream("gate")
	var dropped int
	for range 10_000 {
		g := Gate{factor: int64(2 * one), width: 1e6, total: tally{requests: 99, accepts: 20}}
		if !g.Pass(0, draw) {
			dropped++
		}
	}
	if dropped < 5750 || dropped > 6050 { // (99 − 2·20)/100
		t.Errorf("%d of 10000 dropped, want 5900", dropped)
	}
}

func TestGateForgetsAfterTheWindow(t *testing.T) {
	g, draw := NewGate(scenario.Throttle{Window: 10 * time.Second}), random.New(1).Stream("gate")
	for range 1000 {
		g.Pass(500_000, draw)
	}
	if g.move(9_999_999); g.total.requests != 1000 {
		t.Errorf("%d requests within the window, want 1000", g.total.requests)
	}
	if g.move(10_000_000); g.total != (tally{}) {
		t.Errorf("%+v after the window", g.total)
	}
	g.Pass(10_000_000, draw)
	if g.Accept(3_000_000); g.total != (tally{1, 1}) || g.tenths[0] != (tally{1, 1}) {
		t.Errorf("a step back in time: %+v, %+v", g.total, g.tenths)
	}
	if g.move(math.MaxInt64); g.total != (tally{}) {
		t.Errorf("%+v after all time", g.total)
	}
	if !g.Pass(math.MaxInt64, draw) {
		t.Error("a fresh gate drops")
	}
}

func TestGateCountsItsTenths(t *testing.T) {
	g, draw := NewGate(scenario.Throttle{Window: 10 * time.Microsecond}), random.New(1).Stream("gate")
	for now := range int64(100_000) {
		if g.Pass(now*int64(draw.N(3)), draw) && now%3 == 0 {
			g.Accept(now)
		}
		var sum tally
		for _, x := range g.tenths {
			sum.requests += x.requests
			sum.accepts += x.accepts
		}
		if sum != g.total {
			t.Fatalf("at %d the tenths have %+v, the total is %+v", now, sum, g.total)
		}
	}
}
