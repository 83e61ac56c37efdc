package sim

import (
	"fmt"
	"time"

	"github.com/weirgo/weir/sim/random"
	"github.com/weirgo/weir/sim/traffic"
)

// Generate returns a scenario that the seed has chosen: which kinds of traffic and of
// faults there are, each with a chance of ½, and every number from a wide range, absurd
// ones included. It is valid. A new version may choose another scenario for the same
// seed: keep the scenario.
func Generate(seed uint64) *Scenario {
	g := &generator{random.New(seed).Stream("swarm")}
	s := &Scenario{
		Name:     fmt.Sprintf("swarm-%d", seed),
		Seed:     seed,
		Duration: g.between(time.Second, 2*time.Minute).Truncate(time.Millisecond),
	}
	s.Limits = g.limits()
	s.Together = len(s.Limits) > 1 && g.half()
	s.Nodes = g.nodes()
	if g.half() {
		s.Network.Delay = g.delay(100 * time.Millisecond)
		if g.half() {
			reply := g.delay(100 * time.Millisecond)
			s.Network.Reply = &reply
		}
		s.Network.Repeats = g.half()
		if g.half() {
			s.Server.Service = g.delay(time.Millisecond)
		}
	}
	if g.oneIn(4) {
		s.Server.Clock = ofNode
	}
	if g.half() {
		s.Server.Lag = g.between(time.Microsecond, 5*time.Second)
	}
	s.Traffic = g.traffic(s)
	s.Faults = g.faults(s)
	if err := s.Validate(); err != nil {
		panic(fmt.Sprintf("sim: seed %d makes an invalid scenario: %v", seed, err))
	}
	return s
}

// generator draws the parts of a scenario.
type generator struct{ *random.Stream }

func (g *generator) half() bool         { return g.Chance(1, 2) }
func (g *generator) oneIn(n int64) bool { return g.Chance(1, n) }

// wide draws from lo to hi, from 1, each power of two as likely as another.
func (g *generator) wide(lo, hi int64) int64 {
	top := lo
	for top < hi && !g.oneIn(3) {
		top = min(hi, 2*top)
	}
	if g.oneIn(8) {
		top = hi
	}
	return g.Uniform(lo, top)
}

func (g *generator) between(lo, hi time.Duration) time.Duration {
	steps := int64(0)
	for d := lo; d < hi; d *= 2 {
		steps++
	}
	from := lo << g.Uniform(0, max(steps-1, 0))
	return time.Duration(g.Uniform(micros(from), micros(min(hi, 2*from)))) * time.Microsecond
}

func pick[T any](g *generator, all ...T) T { return all[g.N(int64(len(all)))] }

func (g *generator) limits() []Limit {
	var all []Limit
	for i := range g.Uniform(1, 3) {
		kind := pick(g, "gcra", "token-bucket", "leaky-bucket", "fixed-window", "sliding-log", "sliding-counter")
		period := g.between(time.Millisecond, time.Hour)
		if g.half() {
			period = pick(g, 100*time.Millisecond, time.Second, 10*time.Second, time.Minute, time.Hour)
		}
		spec := fmt.Sprintf("%s:%d/%v", kind, g.wide(1, 10_000), period)
		switch burst := g.wide(1, 10_000); {
		case (kind == "gcra" || kind == "token-bucket") && g.half():
			spec += fmt.Sprintf(",burst=%d", burst)
		case kind == "leaky-bucket" && g.half():
			spec += fmt.Sprintf(",capacity=%d", burst)
		}
		l := Limit{Name: fmt.Sprintf("limit-%d", i), Spec: spec}
		if g.oneIn(4) {
			l.Groups = g.wide(1, 10)
		}
		all = append(all, l)
	}
	return all
}

func (g *generator) nodes() Nodes {
	n := Nodes{Count: g.wide(1, 10), OnFailure: pick(g, failureModes...)}
	if g.half() {
		n.Timeout = g.between(time.Millisecond, 10*time.Second)
	}
	if g.half() {
		n.CallTimeout = g.between(time.Millisecond, 10*time.Second)
	}
	if g.half() {
		n.Share = g.wide(1, 100)
	}
	if g.half() {
		n.InFlight = g.wide(1, 100)
	}
	if g.half() {
		n.Skew = g.between(time.Microsecond, time.Minute)
	}
	if g.half() {
		n.Drift = g.wide(1, maxDrift)
	}
	return n
}

func (g *generator) delay(most time.Duration) traffic.Distribution {
	mean := g.between(time.Microsecond, most)
	switch g.N(4) {
	case 0:
		return traffic.Distribution{Kind: "fixed", Mean: mean}
	case 1:
		return traffic.Distribution{Kind: "uniform", High: mean}
	case 2:
		return traffic.Distribution{Kind: "exponential", Mean: mean}
	}
	return traffic.Distribution{Kind: "log-normal", Median: mean, Sigma: traffic.Decimal(g.Uniform(1, 2*random.Million)), Max: 10 * most}
}

// rate is so many requests in the whole of a scenario, on average.
func (g *generator) rate(s *Scenario, most int64) traffic.Rate {
	return traffic.Rate{Units: g.wide(1, most), Per: s.Duration}
}

func (g *generator) traffic(s *Scenario) []Traffic {
	var all []Traffic
	for _, kind := range []string{"constant", "poisson", "mmpp", "pareto", "batch", "flash", "boundary", "counter", "drip", "closed"} {
		if g.half() {
			all = append(all, g.load(s, kind))
		}
	}
	if len(all) == 0 {
		all = append(all, g.load(s, "poisson"))
	}
	return all
}

func (g *generator) load(s *Scenario, kind string) Traffic {
	t := Traffic{Name: kind, Keys: g.keys(), Costs: g.costs(), Retry: g.retry(s), Count: 2000}
	t.Process.Kind = kind
	p := &t.Process
	attacked := traffic.Rate{Units: g.wide(1, 1000), Per: pick(g, 100*time.Millisecond, time.Second, 10*time.Second, time.Minute)}
	switch kind {
	case "constant":
		p.Rate, p.Jitter = g.rate(s, 2000), traffic.Decimal(g.Uniform(0, random.Million))
	case "poisson":
		p.Rate = g.rate(s, 2000)
	case "mmpp":
		p.OnRate, p.On, p.Off = g.rate(s, 4000), s.Duration/20+1000, s.Duration/10+1000
		p.On, p.Off = p.On.Truncate(time.Microsecond), p.Off.Truncate(time.Microsecond)
	case "pareto":
		p.Rate, p.Sources = traffic.Rate{Units: g.Uniform(100, 2000), Per: s.Duration}, g.wide(1, 100)
	case "batch":
		p.Rate, p.Batch = g.rate(s, 200), traffic.Decimal(g.Uniform(1, 50)*random.Million)
	case "flash":
		p.Rate, p.Peak, p.At = g.rate(s, 500), traffic.Decimal(g.Uniform(1, 30)*random.Million), (s.Duration / 3).Truncate(time.Microsecond)
	case "boundary", "counter":
		p.Limit = attacked
	case "drip":
		p.Gap = g.between(time.Millisecond, time.Second)
	case "closed":
		t.Process.Kind = ""
		t.Closed = &traffic.ClosedLoop{Callers: g.wide(1, 20), Think: g.delay(10 * time.Second)}
	}
	if g.half() {
		t.Throttle = &traffic.Throttle{}
	}
	return t
}

func (g *generator) keys() traffic.Keys {
	alpha := traffic.Decimal(g.Uniform(0, 2*random.Million))
	switch g.N(6) {
	case 0:
		return traffic.Keys{Kind: "hot", N: g.wide(1, 100)}
	case 1:
		return traffic.Keys{Kind: "zipf", N: g.wide(1, 1000), Alpha: &alpha}
	case 2:
		return traffic.Keys{Kind: "uniform", N: g.wide(1, 100)}
	case 3:
		return traffic.Keys{Kind: "spray"}
	case 4:
		return traffic.Keys{Kind: "client"}
	}
	return traffic.Keys{Kind: "one"}
}

func (g *generator) costs() traffic.Costs {
	switch g.N(5) {
	case 0:
		return traffic.Costs{Kind: "geometric", Mean: traffic.Decimal(g.Uniform(2, 20) * random.Million)}
	case 1:
		return traffic.Costs{Kind: "log-normal", Median: g.wide(1, 1000), Max: 100_000}
	case 2:
		return traffic.Costs{Kind: "list", List: []int64{0, 1, g.wide(1, 10_000)}}
	case 3:
		return traffic.Costs{Kind: "mix", Large: g.wide(1, 10_000)}
	}
	return traffic.Costs{}
}

func (g *generator) retry(s *Scenario) traffic.Retries {
	attempts := g.Uniform(1, 5)
	switch g.N(7) {
	case 0:
		return traffic.Retries{Kind: "immediate", Attempts: attempts}
	case 1:
		return traffic.Retries{Kind: "fixed", Wait: g.between(time.Millisecond, time.Minute), Attempts: attempts}
	case 2:
		return traffic.Retries{Kind: pick(g, "exponential", "full-jitter", "equal-jitter", "decorrelated-jitter"), Attempts: attempts}
	case 3:
		return traffic.Retries{Kind: "obey", Attempts: attempts}
	case 4:
		return traffic.Retries{Kind: "obey", Offset: -time.Microsecond, Attempts: attempts}
	case 5:
		return traffic.Retries{Kind: "obey", Jitter: g.between(time.Microsecond, time.Second), Attempts: attempts}
	}
	return traffic.Retries{}
}

func (g *generator) faults(s *Scenario) []Fault {
	var all []Fault
	if g.oneIn(4) {
		return nil
	}
	for i := range faultKinds {
		if kind := faultKinds[i].name; g.half() {
			for range g.Uniform(1, 3) {
				all = append(all, g.fault(s, kind))
			}
		}
	}
	return all
}

func (g *generator) fault(s *Scenario, kind string) Fault {
	f := Fault{Kind: kind, At: time.Duration(g.N(micros(s.Duration))) * time.Microsecond}
	if g.half() {
		f.For = g.between(time.Microsecond, max(s.Duration, 2*time.Microsecond))
	}
	some := func() {
		if g.half() {
			f.Nodes = []int64{g.N(s.Nodes.Count)}
		}
	}
	chance := traffic.Decimal(g.wide(1, random.Million))
	switch kind {
	case faultPartition:
		f.Direction = pick(g, requests, replies, both)
		some()
	case faultLoss:
		f.Rate, f.Direction = chance, pick(g, requests, replies, both)
		some()
	case faultDuplication:
		f.Rate = chance
		some()
	case faultReordering:
		f.Rate, f.Delay = chance, g.between(time.Microsecond, time.Second)
	case faultSlow:
		f.Delay = g.between(time.Microsecond, time.Second)
	case faultRestart:
		f.Data = pick(g, kept, lost)
	case faultEviction:
		f.Every = g.between(10*time.Millisecond, 10*time.Second)
	case faultClock:
		f.Step = g.between(time.Microsecond, time.Minute)
		if g.half() {
			f.Step = -f.Step
		}
		if g.half() {
			f.Drift = g.Uniform(-maxDrift, maxDrift)
		}
		if f.Of = pick(g, ofServer, ofNodes); f.Of == ofNodes {
			some()
		}
	case faultCrash:
		some()
	}
	return f
}
