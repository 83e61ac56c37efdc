package sim

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/sim/random"
	"github.com/weirgo/weir/sim/traffic"
)

// Texts of a scenario.
const (
	ofServer = "server"
	ofNode   = "node"
	ofNodes  = "nodes"

	requests = "requests"
	replies  = "replies"
	both     = "both"

	kept = "kept"
	lost = "lost"

	faultPartition   = "partition"
	faultLoss        = "loss"
	faultDuplication = "duplication"
	faultReordering  = "reordering"
	faultSlow        = "slow"
	faultDown        = "down"
	faultRestart     = "restart"
	faultFailover    = "failover"
	faultEviction    = "eviction"
	faultClock       = "clock"
	faultCrash       = "crash"
)

var failureModes = []string{"closed", "open", "local"}

// faultKinds are the kinds and the fields that they take besides at and for. A field
// with an exclamation mark is required.
var faultKinds = []struct{ name, takes string }{
	{faultPartition, "nodes direction"},
	{faultLoss, "nodes direction rate"},
	{faultDuplication, "nodes rate"},
	{faultReordering, "nodes direction rate delay!"},
	{faultSlow, "delay!"},
	{faultDown, ""},
	{faultRestart, "data"},
	{faultFailover, ""},
	{faultEviction, "every!"},
	{faultClock, "of nodes step drift"},
	{faultCrash, "nodes"},
}

func (s *Scenario) checkFaults() error {
	if err := count("faults", len(s.Faults), 0, maxFaults); err != nil {
		return err
	}
	for i := range s.Faults {
		f := &s.Faults[i]
		path := fmt.Sprintf("faults[%d]", i)
		if err := f.check(path, s); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fault) check(path string, s *Scenario) error {
	if err := f.checkKind(path); err != nil {
		return err
	}
	for i, n := range f.Nodes {
		if most := max(s.Nodes.Count, 1) - 1; n < 0 || n > most {
			return refuse(fmt.Sprintf("%s.nodes[%d]", path, i), n, fmt.Sprintf("0 to %d", most))
		}
	}
	if f.Kind == faultClock && f.Step == 0 && f.Drift == 0 {
		return refuse(path, "without step and drift", "one of them")
	}
	if f.Kind == faultClock && f.Of != ofNodes && f.Nodes != nil {
		return refuse(path+".nodes", f.Nodes, "absent where the clock is the server's")
	}
	return cmp.Or(
		span(path+".at", f.At, 0, s.Duration-time.Microsecond),
		span(path+".for", f.For, 0, longest),
		oneOf(path+".direction", f.Direction, requests, replies, both),
		whole(path+".rate", int64(f.Rate), 0, random.Million),
		span(path+".delay", f.Delay, 0, maxWait),
		oneOf(path+".data", f.Data, kept, lost),
		span(path+".every", f.Every, 0, longest),
		oneOf(path+".of", f.Of, ofServer, ofNodes),
		span(path+".step", f.Step, -maxSkew, maxSkew),
		whole(path+".drift", f.Drift, -maxDrift, maxDrift))
}

// checkKind refuses an unknown kind, a field that the kind does not take, and one that
// it needs and has not.
func (f *Fault) checkKind(path string) error {
	i := slices.IndexFunc(faultKinds, func(k struct{ name, takes string }) bool { return k.name == f.Kind })
	if i < 0 {
		names := make([]string, len(faultKinds))
		for i, k := range faultKinds {
			names[i] = k.name
		}
		return refuse(path+".kind", quoted(f.Kind), "one of "+strings.Join(names, ", "))
	}
	kind := faultKinds[i]
	takes := strings.Fields(kind.takes)
	v := reflect.ValueOf(f).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if name == "kind" || name == "at" || name == "for" {
			continue
		}
		required := slices.Contains(takes, name+"!")
		switch zero := v.Field(i).IsZero(); {
		case zero && required:
			return refuse(path+"."+name, "0", "given: "+f.Kind+" needs it")
		case !zero && !required && !slices.Contains(takes, name):
			return refuse(path+"."+name, fmt.Sprint(v.Field(i).Interface()), "absent: "+f.Kind+" takes "+strings.ReplaceAll(kind.takes, "!", ""))
		}
	}
	return nil
}

func quoted(text string) string {
	if text == "" {
		return `""`
	}
	return text
}

// delayOf builds a delay that Validate has accepted.
func delayOf(d traffic.Distribution) traffic.Delay {
	delay, err := traffic.NewDelay(d)
	if err != nil {
		panic("sim: a delay that was validated: " + err.Error())
	}
	return delay
}
