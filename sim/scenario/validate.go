package scenario

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/sim/internal/model"
	"github.com/weirgo/weir/sim/internal/rules"
)

// Error says what is wrong with a scenario, and where.
type Error struct {
	// Line and Column are where it stands in the text, from 1; 0 where that is not
	// known.
	Line, Column int
	Path         string // such as faults[2].rate; "" where it is about the text
	Value        string // as it was given
	Allowed      string // the values that are accepted
	Missing      bool   // the text does not have the field
	Cause        error  // in place of Value and Allowed; nil where those say it
}

func (e *Error) Error() string {
	text := "scenario: "
	if e.Line > 0 {
		text += fmt.Sprintf("line %d, column %d: ", e.Line, e.Column)
	}
	if e.Path != "" && e.Cause != nil {
		text += e.Path + ": "
	}
	cause := ""
	if e.Cause != nil { // which may name the field too
		cause = strings.TrimPrefix(e.Cause.Error(), e.Path[strings.LastIndexByte(e.Path, '.')+1:]+": ")
	}
	switch {
	case e.Cause != nil && e.Missing:
		return text + "is missing: " + cause
	case e.Cause != nil:
		return text + cause
	case e.Missing:
		return text + e.Path + " is missing: must be " + e.Allowed
	}
	return text + strings.TrimLeft(e.Path+" "+e.Value, " ") + " is not allowed: must be " + e.Allowed
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Validate returns an *Error where a scenario cannot be run.
func (s *Scenario) Validate() error {
	if err := validate(reflect.ValueOf(s), ""); err != nil {
		return err
	}
	file, err := s.crossPolicy()
	if err != nil {
		return err
	}
	if err := s.crossTimes(file); err != nil {
		return err
	}
	for i, name := range s.Checks {
		if !slices.Contains(Rules(), name) {
			return refuse(fmt.Sprintf("checks[%d]", i), name, "one of "+strings.Join(Rules(), ", "))
		}
	}
	for i, t := range s.Traffic {
		if earlier := slices.IndexFunc(s.Traffic, func(u Traffic) bool { return u.Name == t.Name }); earlier < i {
			return refuse(fmt.Sprintf("traffic[%d].name", i), t.Name, "unlike every other")
		}
	}
	for i, l := range s.Limits {
		if s.Together && s.Server.Count > 1 && l.Groups > 0 {
			return refuse(fmt.Sprintf("limits[%d].groups", i), l.Groups, "absent where limits are taken together on several servers")
		}
		if earlier := slices.IndexFunc(s.Limits, func(m Limit) bool { return m.Name == l.Name }); earlier < i {
			return refuse(fmt.Sprintf("limits[%d].name", i), l.Name, "unlike every other")
		}
	}
	if s.Nodes.Lease != nil {
		if err := s.suitsLeases(); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(s.Traffic, func(t Traffic) bool { return t.Reserve != nil }) {
		if err := s.suitsReservations(); err != nil {
			return err
		}
	}
	for i := range s.Faults {
		if err := s.Faults[i].in(s, fmt.Sprintf("faults[%d]", i)); err != nil {
			return err
		}
	}
	names := s.limitNames(file)
	for i, e := range s.Expect {
		if e.Limit != "" && s.PolicyFile == "" && !slices.Contains(names, e.Limit) { // Run reads the file
			return refuse(fmt.Sprintf("expect[%d].limit", i), e.Limit, "the name of a limit")
		}
	}
	return nil
}

// Validate returns an *Error where a process cannot be run. Its path begins at the
// fields of the process.
func (p Process) Validate() error { return validate(reflect.ValueOf(&p), "") }

// crossTimes refuses times that clocks cannot show. file is the policy; nil without one.
func (s *Scenario) crossTimes(file *policy.File) error {
	begin := Complete(*s).Start
	at, err := algorithm.InstantOf(begin)
	if err != nil || begin.Nanosecond()%1000 != 0 {
		return refuse("start", begin.UTC().Format(time.RFC3339Nano), "a whole microsecond from 1970 to "+algorithm.MaxInstant.Time().Format(time.RFC3339))
	}
	// Clocks must show instants that algorithms know, until every key is fresh.
	if reach := s.reach(file); float64(at)+reach > float64(algorithm.MaxInstant) {
		return refuse("start", begin.UTC().Format(time.RFC3339Nano), fmt.Sprintf("%.0f days before %s: so far the clocks of the scenario go, until every key is fresh",
			math.Ceil(reach/86_400e6), algorithm.MaxInstant.Time().Format(time.RFC3339)))
	}
	return nil
}

// reach is how many µs after the start a clock may show at most, roughly.
func (s *Scenario) reach(file *policy.File) float64 {
	ahead, drift := micros(s.Nodes.Skew), float64(s.Nodes.Drift)
	for _, f := range s.Faults {
		ahead += max(0, micros(f.Step))
		drift += max(0, float64(f.Drift))
	}
	settles := 0.0
	limits := s.Limits
	if file != nil {
		for _, spec := range rules.Specs(&file.Policy) {
			limits = append(limits, Limit{Spec: spec})
		}
	}
	for _, l := range limits {
		if m, err := l.model(); err == nil {
			settles = max(settles, float64(m.Full), float64(m.Period))
		}
	}
	return ahead + (micros(s.Duration)+settles)*(1+drift/1e6)
}

func (l *Limit) model() (*model.Limit, error) {
	a, err := algorithm.ParseSpec(l.Spec)
	if err != nil {
		return nil, err
	}
	return model.New(a)
}

func (l *Limit) cross(path string) error {
	if _, err := l.model(); err != nil {
		return &Error{Path: join(path, "spec"), Cause: err}
	}
	return nil
}

func (e *Expect) cross(path string) error {
	switch {
	case !slices.Contains(Metrics(), e.Metric):
		return refuse(join(path, "metric"), fmt.Sprintf("%q", e.Metric), "one of "+strings.Join(Metrics(), ", "))
	case e.Min == nil && e.Max == nil:
		return refuse(path, "without min and max", "a bound")
	}
	return nil
}

func (f *Fault) cross(path string) error {
	switch {
	case f.Kind == "clock" && f.Step == 0 && f.Drift == 0:
		return refuse(path, "without step and drift", "one of them")
	case f.Kind == "clock" && f.Of != "nodes" && f.Nodes != nil:
		return refuse(join(path, "nodes"), f.Nodes, "absent where the clock is the server's")
	case f.Kind == "dead" && f.For != 0:
		return refuse(join(path, "for"), f.For, "absent for dead: it lasts until a call is given up")
	case f.Kind == "clock" && f.Of == "nodes" && f.Servers != nil:
		return refuse(join(path, "servers"), f.Servers, "absent where the clocks belong to nodes")
	}
	return nil
}

// in checks a fault in the world of its scenario.
func (f *Fault) in(s *Scenario, path string) error {
	if f.At >= s.Duration {
		return refuse(join(path, "at"), f.At, "before the end of the scenario, "+s.Duration.String())
	}
	within := func(field string, numbers []int64, count int64) error {
		for i, n := range numbers {
			if most := max(count, 1) - 1; n < 0 || n > most {
				return refuse(fmt.Sprintf("%s.%s[%d]", path, field, i), n, fmt.Sprintf("0 to %d", most))
			}
		}
		return nil
	}
	return cmp.Or(within("nodes", f.Nodes, s.Nodes.Count), within("servers", f.Servers, s.Server.Count))
}

func (t *Traffic) cross(path string) error {
	isZero := func(v any) bool { return reflect.ValueOf(v).IsZero() }
	switch process := !isZero(t.Process); {
	case !process && t.Closed == nil:
		return refuse(join(path, "process"), `""`, "given, such as {kind: poisson, rate: 10/1s}, or closed in its place")
	case process && t.Closed != nil:
		return refuse(join(path, "process"), t.Process.Kind, "absent where closed is given")
	case t.Stop != 0 && t.Stop <= t.Start:
		return refuse(join(path, "stop"), t.Stop, "later than start, "+t.Start.String())
	case t.Process.Kind != "trace":
	case t.Keys.Kind == "" && t.Keys != Keys{}:
		return refuse(path+".keys.kind", `""`, "given where the process is a trace")
	case t.Costs.Kind == "" && !isZero(t.Costs):
		return refuse(path+".costs.kind", `""`, "given where the process is a trace")
	}
	return nil
}

// minPerTurn is how many arrivals there must be in a turn of on and off, on average:
// with fewer a search for the next arrival would be endless.
const minPerTurn = 1e-3

func perMicro(r Rate) float64 { return float64(r.Units) / float64(r.Per/time.Microsecond) }

func micros(d time.Duration) float64 { return float64(d / time.Microsecond) }

func (p *Process) cross(path string) error {
	if p.File != "" && !fs.ValidPath(p.File) {
		return refuse(join(path, "file"), p.File, "the name of a file in the same folder or below it")
	}
	c := Complete(*p)
	switch p.Kind {
	case "mmpp":
		return p.crossMMPP(path)
	case "pareto":
		if perMicro(c.Rate)/float64(c.Sources)*(micros(c.On)+micros(c.Off)) < minPerTurn {
			return refuse(join(path, "rate"), p.Rate, "enough for each source to send once in 1000 turns of on and off")
		}
	case "batch":
		if c.Sizes == "fixed" && c.Batch%one != 0 {
			return refuse(join(path, "batch"), p.Batch, "a whole number where sizes is fixed")
		}
	case "diurnal":
		if p.Phase > c.Period {
			return refuse(join(path, "phase"), p.Phase, "whole microseconds from 0s to "+c.Period.String())
		}
	case "counts":
		return p.crossCounts(path)
	case "boundary":
		if p.Limit.Per < 2*time.Microsecond {
			return refuse(join(path, "limit"), p.Limit, "of a window from 2µs")
		}
		if c.Delta > p.Limit.Per/2 {
			return refuse(join(path, "delta"), p.Delta, "whole microseconds from 1µs to "+(p.Limit.Per/2).String())
		}
	case "drip":
		if p.Gap+p.Offset < time.Microsecond || p.Gap+p.Offset > longest {
			return refuse(join(path, "offset"), p.Offset, "so that gap and offset are together 1µs to 9600h")
		}
	}
	return nil
}

func (p *Process) crossMMPP(path string) error {
	if p.Rate == (Rate{}) && p.CV2 == 0 && p.Lag == 0 {
		switch {
		case p.OnRate == (Rate{}):
			return refuse(join(path, "on_rate"), p.OnRate, "given, or rate and cv2 in its place")
		case p.On == 0:
			return refuse(join(path, "on"), p.On, "given where on_rate is")
		case p.Off == 0:
			return refuse(join(path, "off"), p.Off, "given where on_rate is")
		}
		perTurn := perMicro(p.OnRate) * micros(p.On)
		if p.OffRate != (Rate{}) {
			perTurn += perMicro(p.OffRate) * micros(p.Off)
		}
		if perTurn < minPerTurn {
			return refuse(join(path, "on_rate"), p.OnRate, "enough for an arrival in 1000 turns of on and off")
		}
		return nil
	}
	for _, f := range []struct {
		name  string
		value fmt.Stringer
		given bool
	}{{"on_rate", p.OnRate, p.OnRate != (Rate{})}, {"off_rate", p.OffRate, p.OffRate != (Rate{})}, {"on", p.On, p.On != 0}, {"off", p.Off, p.Off != 0}} {
		if f.given {
			return refuse(join(path, f.name), f.value, "absent where rate, cv2 and lag describe the process")
		}
	}
	if p.Rate == (Rate{}) {
		return refuse(join(path, "rate"), p.Rate, "given where cv2 or lag is")
	}
	if p.CV2 == 0 {
		return refuse(join(path, "cv2"), p.CV2, "from 1.001 to 10000")
	}
	if p.gamma() > maxGamma {
		most := Decimal(math.Floor(maxGamma * (1 - 1/p.CV2.float()) / 2 * float64(one)))
		return refuse(join(path, "lag"), p.Lag, "from 0 to "+most.String()+" with a cv2 of "+p.CV2.String())
	}
	return nil
}

// maxGamma is the largest gamma: at 1 the process would never change its state.
const maxGamma = 0.9999

// gamma is the factor by which the correlation of two gaps of a fitted mmpp falls with
// each gap between them.
func (p *Process) gamma() float64 { return 2 * p.Lag.float() / (1 - 1/p.CV2.float()) }

func (p *Process) crossCounts(path string) error {
	switch {
	case p.File != "" && p.Counts != nil:
		return refuse(join(path, "file"), p.File, "absent where counts are given")
	case p.File != "":
		return nil // Run reads the file, and checks its numbers
	case p.Counts == nil:
		return refuse(join(path, "counts"), "left out", "given, or file in their place")
	}
	return checkCounts(p.Counts, Complete(*p).Step, join(path, "counts"))
}

// checkCounts checks the numbers of a counts process, which path names.
func checkCounts(counts []int64, step time.Duration, path string) error {
	for i, n := range counts {
		if n/maxUnitsPerMicro > int64(step/time.Microsecond) {
			return refuse(fmt.Sprintf("%s[%d]", path, i), n, "from 0 to 1000 per µs")
		}
	}
	if slices.Max(counts) == 0 {
		return refuse(path, "0 throughout", "above 0 somewhere")
	}
	return nil
}

func (d *Distribution) cross(path string) error {
	if d.Low > d.High {
		return refuse(join(path, "low"), d.Low, "whole microseconds from 0s to high, "+d.High.String())
	}
	if d.Kind != "" && d.Kind != "fixed" && d.Kind != "uniform" && d.Kind != "log-normal" && d.Mean < time.Microsecond {
		return refuse(join(path, "mean"), d.Mean, "whole microseconds from 1µs to 9600h0m0s")
	}
	return nil
}

func (c *Costs) cross(path string) error {
	if c.Weights == nil {
		return nil
	}
	if len(c.Weights) != len(c.List) {
		return refuse(join(path, "weights"), fmt.Sprint(len(c.Weights), " of them"), fmt.Sprintf("%d, one for each cost", len(c.List)))
	}
	if slices.Max(c.Weights) == 0 {
		return refuse(join(path, "weights"), "0 throughout", "above 0 somewhere")
	}
	return nil
}

func (r *Retries) cross(path string) error {
	c := Complete(*r)
	switch {
	case r.Kind == "immediate" && r.Attempts > 1000:
		return refuse(join(path, "attempts"), r.Attempts, "1 to 1000")
	case r.Cap != 0 && c.Base > r.Cap:
		return refuse(join(path, "cap"), r.Cap, "at least base, "+cmp.Or(r.Base, c.Base).String())
	}
	return nil
}
