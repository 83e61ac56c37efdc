package sim

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/random"
	"github.com/weirgo/weir/sim/traffic"
)

// FieldError says which field of a scenario was refused.
type FieldError struct {
	Path    string // such as faults[2].rate
	Value   string // as it was given
	Allowed string // the values that are accepted
	Missing bool   // the text that was read does not have the field
	Cause   error  // of the package that refused it; nil where that was this one
}

func (e *FieldError) Error() string {
	switch {
	case e.Missing && e.Cause != nil:
		return "sim: " + e.Path + " is missing: " + e.Cause.Error()
	case e.Missing:
		return "sim: " + e.Path + " is missing: must be " + e.Allowed
	case e.Cause != nil:
		return "sim: " + e.Path + ": " + e.Cause.Error()
	}
	return "sim: " + e.Path + " " + e.Value + " is not allowed: must be " + e.Allowed
}

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Cause }

func refuse(path string, value any, allowed string) error {
	return &FieldError{Path: path, Value: fmt.Sprint(value), Allowed: allowed}
}

// inside says that another package refused something under path.
func inside(path string, err error) error {
	if err == nil {
		return nil
	}
	return &FieldError{Path: path, Cause: err}
}

const (
	longest   = algorithm.MaxPeriod
	maxLimits = 16
	maxLoads  = 64
	maxFaults = 1000
	maxNodes  = 1000
	maxDrift  = 100_000 // µs a second
	maxSkew   = 24 * time.Hour
	maxWait   = time.Hour
)

// Validate returns a *FieldError where a scenario cannot be run.
func (s *Scenario) Validate() error {
	for _, check := range []func() error{s.checkWhole, s.checkLimits, s.checkNodes, s.checkServer, s.checkTraffic, s.checkFaults, s.checkExpect} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scenario) checkWhole() error {
	if s.Name == "" {
		return refuse("name", `""`, "a text")
	}
	if !s.Start.IsZero() {
		if at, err := algorithm.InstantOf(s.Start); err != nil {
			return inside("start", err)
		} else if at > algorithm.MaxInstant/4*3 || s.Start.Nanosecond()%1000 != 0 {
			return refuse("start", s.Start.UTC().Format(time.RFC3339Nano), "a whole microsecond from 1970 to 2136")
		}
	}
	if err := span("duration", s.Duration, time.Microsecond, longest); err != nil {
		return err
	}
	for i, name := range s.Checks {
		if !slices.Contains(Rules(), name) {
			return refuse(fmt.Sprintf("checks[%d]", i), name, "one of "+strings.Join(Rules(), ", "))
		}
	}
	return nil
}

func (s *Scenario) checkLimits() error {
	if err := count("limits", len(s.Limits), 1, maxLimits); err != nil {
		return err
	}
	for i, l := range s.Limits {
		path := fmt.Sprintf("limits[%d]", i)
		if err := named(path, l.Name, i, func(j int) string { return s.Limits[j].Name }); err != nil {
			return err
		}
		if _, err := algorithm.ParseSpec(l.Spec); err != nil {
			return inside(path+".spec", err)
		}
		if err := whole(path+".groups", l.Groups, 0, 1_000_000); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scenario) checkNodes() error {
	n := &s.Nodes
	return cmp.Or(
		whole("nodes.count", n.Count, 0, maxNodes),
		oneOf("nodes.on_failure", n.OnFailure, failureModes...),
		span("nodes.timeout", n.Timeout, 0, maxWait),
		span("nodes.call_timeout", n.CallTimeout, 0, maxWait),
		whole("nodes.share", n.Share, 0, 1000),
		whole("nodes.in_flight", n.InFlight, 0, 100),
		span("nodes.skew", n.Skew, 0, maxSkew),
		whole("nodes.drift", n.Drift, 0, maxDrift))
}

func (s *Scenario) checkServer() error {
	_, delay := traffic.NewDelay(s.Network.Delay)
	_, service := traffic.NewDelay(s.Server.Service)
	var reply error
	if s.Network.Reply != nil {
		_, reply = traffic.NewDelay(*s.Network.Reply)
	}
	return cmp.Or(
		inside("network.delay", delay),
		inside("network.reply", reply),
		inside("server.service", service),
		oneOf("server.clock", s.Server.Clock, ofServer, ofNode),
		span("server.lag", s.Server.Lag, 0, maxWait))
}

func (s *Scenario) checkTraffic() error {
	if err := count("traffic", len(s.Traffic), 1, maxLoads); err != nil {
		return err
	}
	for i := range s.Traffic {
		t := &s.Traffic[i]
		path := fmt.Sprintf("traffic[%d]", i)
		if err := named(path, t.Name, i, func(j int) string { return s.Traffic[j].Name }); err != nil {
			return err
		}
		if err := t.check(path); err != nil {
			return err
		}
	}
	return nil
}

func (t *Traffic) check(path string) error {
	_, retry := traffic.NewRetry(t.Retry)
	var throttle error
	if t.Throttle != nil {
		_, throttle = traffic.NewGate(*t.Throttle)
	}
	err := cmp.Or(
		span(path+".start", t.Start, 0, longest),
		whole(path+".count", t.Count, 0, random.Max),
		inside(path+".retry", retry),
		inside(path+".throttle", throttle))
	if err == nil && t.Stop != 0 {
		err = span(path+".stop", t.Stop, t.Start+time.Microsecond, 2*longest)
	}
	if err != nil {
		return err
	}
	process := !reflect.ValueOf(t.Process).IsZero()
	if t.Closed == nil && !process {
		return refuse(path+".process", quoted(""), "given, such as {kind: poisson, rate: 10/1s}, or closed in its place")
	}
	if t.Closed == nil {
		l := t.load()
		if p := &l.Process; p.Kind == "counts" && p.File != "" && p.Counts == nil {
			p.File, p.Counts = "", []int64{1} // Run reads the file, and says then what is wrong with it
		}
		_, err := traffic.NewSource(l, traffic.Env{Trace: unread})
		return inside(path, err)
	}
	if process {
		return refuse(path+".process", quoted(t.Process.Kind), "absent where closed is given")
	}
	_, keys := traffic.NewKeys(t.Keys, random.New(0).Stream(""))
	_, costs := traffic.NewCosts(t.Costs, random.New(0).Stream(""))
	return cmp.Or(inside(path+".closed", t.Closed.Check()), inside(path+".keys", keys), inside(path+".costs", costs))
}

// unread stands for a trace that Run will open, and say then what is wrong with it.
func unread() (traffic.Arrival, error) { return traffic.Arrival{}, io.EOF }

func (t *Traffic) load() traffic.Load {
	return traffic.Load{Process: t.Process, Keys: t.Keys, Costs: t.Costs, Start: t.Start, Stop: t.Stop, Count: t.Count}
}

func (s *Scenario) checkExpect() error {
	for i, e := range s.Expect {
		path := fmt.Sprintf("expect[%d]", i)
		known := e.Limit == "" || slices.ContainsFunc(s.Limits, func(l Limit) bool { return l.Name == e.Limit })
		switch {
		case !known:
			return refuse(path+".limit", e.Limit, "the name of a limit")
		case !slices.Contains(Metrics(), e.Metric):
			return refuse(path+".metric", strconv.Quote(e.Metric), "one of "+strings.Join(Metrics(), ", "))
		case e.Min == nil && e.Max == nil:
			return refuse(path, "without min and max", "a bound")
		}
	}
	return nil
}

func count(path string, n, lo, hi int) error {
	if n < lo || n > hi {
		return refuse(path, strconv.Itoa(n)+" of them", fmt.Sprintf("%d to %d of them", lo, hi))
	}
	return nil
}

// named refuses no name, and that of an earlier one.
func named(path, name string, i int, earlier func(int) string) error {
	path += ".name"
	if name == "" || len(name) > 100 {
		return refuse(path, strconv.Quote(name), "a text of up to 100 bytes")
	}
	for j := range i {
		if earlier(j) == name {
			return refuse(path, name, "unlike every other")
		}
	}
	return nil
}

func span(path string, d, lo, hi time.Duration) error {
	if d < lo || d > hi || d%time.Microsecond != 0 {
		return refuse(path, d, fmt.Sprintf("whole microseconds from %v to %v", lo, hi))
	}
	return nil
}

func whole(path string, n, lo, hi int64) error {
	if n < lo || n > hi {
		return refuse(path, n, fmt.Sprintf("%d to %d", lo, hi))
	}
	return nil
}

// oneOf refuses what is neither one of names nor left out.
func oneOf(path, value string, names ...string) error {
	if value != "" && !slices.Contains(names, value) {
		return refuse(path, value, "one of "+strings.Join(names, ", "))
	}
	return nil
}

func micros(d time.Duration) int64 { return int64(d / time.Microsecond) }
