package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/random"
)

// Generate returns a scenario that the seed has chosen: which kinds of traffic and of
// faults there are, each with a chance of ½, and every number from a wide range, absurd
// ones included. It is valid. A new version may choose another scenario for the same
// seed: keep the scenario.
func Generate(seed uint64) *Scenario {
	g := &generator{Stream: random.New(seed).Stream("generate")}
	s := &Scenario{
		Name:     fmt.Sprintf("seed-%d", seed),
		Seed:     seed,
		Duration: time.Duration(g.wide(1000, 120_000)) * time.Millisecond,
	}
	g.duration = s.Duration
	s.Limits = g.limits()
	s.Nodes = filled(g, Nodes{})
	s.Nodes.Count = max(s.Nodes.Count, 1)
	if g.half() {
		s.Network = filled(g, Network{})
	}
	s.Server = filled(g, Server{})
	if s.Together = len(s.Limits) > 1 && g.half(); s.Together && slices.ContainsFunc(s.Limits, func(l Limit) bool { return l.Groups > 0 }) {
		s.Server.Count = 0
	}
	for _, kind := range append(kindsOf[Process](), "closed") {
		if kind != "trace" && g.half() {
			s.Traffic = append(s.Traffic, g.traffic(s, kind))
		}
	}
	if len(s.Traffic) == 0 {
		s.Traffic = append(s.Traffic, g.traffic(s, "poisson"))
	}
	if !g.oneIn(4) {
		for _, kind := range kindsOf[Fault]() {
			for range g.N(2) * g.Uniform(1, 3) {
				s.Faults = append(s.Faults, g.fault(s, kind))
			}
		}
	}
	if s.Server.Count > 1 && g.half() {
		g.spare(s)
	}
	// A stream of its own: what seeds have chosen before stays.
	if r := (&generator{random.New(seed).Stream("generate/reserve"), s.Duration}); r.oneIn(4) {
		r.reserve(s)
	}
	if err := s.Validate(); err != nil {
		panic(fmt.Sprintf("scenario: seed %d makes an invalid one: %v", seed, err))
	}
	return s
}

// kindsOf returns the kinds of a struct.
func kindsOf[T any]() []string {
	s := schemas[reflect.TypeFor[T]()]
	return append([]string(nil), s.fields[s.kind].choices...)
}

// generator draws the parts of a scenario.
type generator struct {
	*random.Stream
	duration time.Duration // of the scenario
}

func (g *generator) half() bool         { return g.Chance(1, 2) }
func (g *generator) oneIn(n int64) bool { return g.Chance(1, n) }

// wide draws from lo to hi: above 0 each power of two is about as likely as another.
func (g *generator) wide(lo, hi int64) int64 {
	switch {
	case lo < 0 && (hi <= 0 || g.half()):
		return -g.wide(max(0, -hi), -lo)
	case lo <= 0 && hi > 0:
		return g.wide(1, hi)
	case g.oneIn(8):
		return hi
	}
	steps := int64(0)
	for top := lo; top < hi/2; top *= 2 {
		steps++
	}
	from := lo << g.Uniform(0, steps)
	return g.Uniform(from, min(hi, 2*from))
}

func pick[T any](g *generator, all ...T) T { return all[g.N(int64(len(all)))] }

// fill draws the fields of a struct of a scenario: its kind, where it was left out,
// every field that the kind requires, and half of the others.
func (g *generator) fill(v reflect.Value) {
	s := schemas[v.Type()]
	if s.kind >= 0 {
		if f := &s.fields[s.kind]; v.Field(f.index).IsZero() {
			v.Field(f.index).SetString(pick(g, f.choices...))
		}
	}
	kind := s.kindOf(v)
	for i := range s.fields {
		f := &s.fields[i]
		if u, takes := f.use(kind); takes && !f.undrawn && v.Field(f.index).IsZero() && (u.required || g.half()) {
			g.draw(f, v.Field(f.index))
		}
	}
}

// draw draws a field.
func (g *generator) draw(f *field, v reflect.Value) {
	lo, hi := f.lo, f.hi
	if f.draw != nil {
		lo, hi = f.draw.lo, f.draw.hi
	}
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		g.draw(f, v.Elem())
	case v.Type() == rateType && g.half():
		v.Set(reflect.ValueOf(Rate{Units: g.wide(1, 1000), Per: pick(g, 100*time.Millisecond, time.Second, 10*time.Second, time.Minute)}))
	case v.Type() == rateType:
		v.Set(reflect.ValueOf(Rate{Units: g.wide(1, 2000), Per: g.duration}))
	case v.Type() == durationType:
		v.SetInt(g.wide(lo/1000, hi/1000) * 1000)
	case v.Kind() == reflect.Struct:
		g.fill(v)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case f.choices != nil:
		v.SetString(pick(g, f.choices...))
	case v.Type() == reflect.TypeFor[[]int64]() && f.each != nil:
		list := []int64{0, 1, g.wide(1, min(f.each.hi, 10_000))}
		v.Set(reflect.ValueOf(list))
	case v.Type() == decimalType && g.half():
		v.SetInt(g.Uniform(lo, hi))
	case v.Kind() == reflect.Int64 && f.bounded:
		v.SetInt(g.wide(lo, hi))
	}
}

func (g *generator) limits() []Limit {
	families := algorithm.Families()
	var all []Limit
	for i := range g.Uniform(1, 3) {
		f := pick(g, families...)
		period := time.Duration(g.wide(1, 3_600_000)) * time.Millisecond
		if g.half() {
			period = pick(g, 100*time.Millisecond, time.Second, 10*time.Second, time.Minute, time.Hour)
		}
		l := Limit{Name: fmt.Sprintf("limit-%d", i), Spec: fmt.Sprintf("%s:%d/%v", f.Name, g.wide(1, 10_000), period)}
		if f.Calendar { // in a run of hours or days some of these have edges
			l.Spec = fmt.Sprintf("%s:%d/%s,zone=%s", f.Name, g.wide(1, 10_000), pick(g, "day", "week", "month", "quarter", "year"),
				pick(g, "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"))
		}
		if f.Option != "" && g.half() {
			l.Spec += fmt.Sprintf(",%s=%d", f.Option, g.wide(1, 10_000))
		}
		if g.oneIn(4) {
			l.Groups = g.wide(1, 10)
		}
		all = append(all, l)
	}
	return all
}

// reserve makes the costs of some traffic estimates, and takes away what does not suit that.
func (g *generator) reserve(s *Scenario) {
	some := g.N(int64(len(s.Traffic)))
	for i := range s.Traffic {
		if int64(i) == some || g.half() {
			r := filled(g, Reserve{})
			if r.Actual.Kind == "" {
				r.Actual = Costs{Kind: "mix", Cost: g.wide(1, 100), Large: g.wide(1, 10_000)}
			}
			s.Traffic[i].Reserve = &r
		}
	}
	s.Server.Clock = ""
	s.Nodes.OnFailure, s.Nodes.Breaker, s.Nodes.DenyCache, s.Nodes.LocalShare = "", false, 0, 0
	s.Nodes.SettleIntoDebt = g.half()
	if g.half() {
		s.Nodes.IDTTL = time.Duration(g.wide(1, 60_000)) * time.Millisecond
	}
	s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.Kind == "clock" })
}

// spare lets no fault of a server act on one of them, and takes away what couples the
// requests for keys of different servers: else the rule isolation would hardly ever apply.
func (g *generator) spare(s *Scenario) {
	spared := g.N(s.Server.Count)
	other := []int64{(spared + 1) % s.Server.Count}
	for i := range s.Faults {
		if f := &s.Faults[i]; f.Kind == "eviction" || slices.Contains(f.Servers, spared) {
			f.Servers = other
		}
	}
	for i := range s.Traffic {
		t := &s.Traffic[i]
		t.Throttle = nil
		if t.Closed != nil {
			t.Keys = Keys{}
		}
	}
}

// filled draws the fields of a struct until they are valid together: few draws are not.
func filled[T any](g *generator, start T) T {
	for range 1000 {
		v := start
		if g.fill(reflect.ValueOf(&v).Elem()); validate(reflect.ValueOf(&v), "") == nil {
			return v
		}
	}
	panic(fmt.Sprintf("scenario: 1000 draws of a %T are not valid", start))
}

func (g *generator) traffic(s *Scenario, kind string) Traffic {
	t := Traffic{Name: kind, Count: 2000, Keys: filled(g, Keys{}), Costs: filled(g, Costs{}), Retry: filled(g, Retries{})}
	if t.Retry.Kind != "none" { // without a bound a run could take too long
		t.Retry.Attempts = g.Uniform(1, 5)
	}
	if kind == "closed" {
		loop := filled(g, ClosedLoop{})
		t.Closed = &loop
	} else {
		t.Process = filled(g, Process{Kind: kind})
	}
	if g.half() {
		throttle := filled(g, Throttle{})
		t.Throttle = &throttle
	}
	return t
}

func (g *generator) fault(s *Scenario, kind string) Fault {
	f := filled(g, Fault{Kind: kind})
	if kind == "clock" && g.half() { // as far back as the life time of a state must bear
		f = Fault{Kind: kind, Of: "server", Step: -time.Duration(g.Uniform(1, 500)) * time.Millisecond}
	}
	length := int64(s.Duration / time.Microsecond)
	f.At = time.Duration(g.N(length)) * time.Microsecond
	if length := time.Duration(g.N(2)*g.wide(1, length)) * time.Microsecond; kind != "dead" {
		f.For = length
	}
	some := func(numbers func(*Fault) *[]int64, count int64) {
		one := f
		*numbers(&one) = []int64{g.N(max(count, 1))}
		if g.half() && validate(reflect.ValueOf(&one), "") == nil {
			f = one
		}
	}
	some(func(f *Fault) *[]int64 { return &f.Nodes }, s.Nodes.Count)
	some(func(f *Fault) *[]int64 { return &f.Servers }, s.Server.Count)
	return f
}
