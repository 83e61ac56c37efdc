package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

// Options say what to run. The zero value of a field is its default.
type Options struct {
	Events  []string // by name; all
	Servers []string // "redis", "valkey"; both
	Clients []string // "go-redis", "valkey-go"; both

	Seconds   float64 // that callers run in each event, some events longer; 4
	Processes int     // of callers; 4
	Callers   int     // of each process; 64
	Keys      int     // 48

	// Double has each command sent twice: the run must fail. It proves that a run
	// can.
	Double bool
}

// ErrBroken is the error of a run in which a bound did not hold.
var ErrBroken = errors.New("attack: a bound is broken")

// Names returns all events, one a line, with what each does.
func Names() string {
	var text strings.Builder
	for _, e := range events {
		fmt.Fprintf(&text, "  %-17s %s\n", e.Name, e.Does)
	}
	return text.String()
}

// Run runs all that the options say, prints the table to w as it goes, and returns its
// rows. The error is ErrBroken where a bound did not hold, and any other where the
// run itself failed.
func Run(ctx context.Context, w io.Writer, o Options) ([]Row, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(w, heading); err != nil {
		return nil, err
	}
	var rows []Row
	var broken error
	for _, e := range events {
		if !slices.Contains(o.Events, e.Name) {
			continue
		}
		for _, kind := range servertest.Kinds() {
			for _, library := range []string{goRedis, valkeyGo} {
				if !slices.Contains(o.Servers, kind.String()) || !slices.Contains(o.Clients, library) {
					continue
				}
				var r Row
				if err := servertest.AsTest(func(tb testing.TB) { r = o.row(ctx, tb, e, kind, library) }); err != nil {
					return rows, fmt.Errorf("%s on %s with %s: %w", e.Name, kind, library, err)
				}
				rows = append(rows, r)
				if _, err := io.WriteString(w, r.String()); err != nil {
					return rows, err
				}
				if r.Broken != nil {
					broken = errors.Join(broken, fmt.Errorf("%s on %s with %s: %w", r.Event, r.Server, r.Client, r.Broken))
				}
			}
		}
	}
	if broken != nil {
		return rows, fmt.Errorf("%w\n%w", ErrBroken, broken)
	}
	return rows, nil
}

// complete fills in the defaults and refuses what cannot run.
func (o *Options) complete() error {
	var known []string
	for _, e := range events {
		known = append(known, e.Name)
	}
	var kinds []string
	for _, kind := range servertest.Kinds() {
		kinds = append(kinds, kind.String())
	}
	for _, list := range []struct {
		what  string
		names *[]string
		all   []string
	}{{"event", &o.Events, known}, {"server", &o.Servers, kinds}, {"client", &o.Clients, []string{goRedis, valkeyGo}}} {
		if len(*list.names) == 0 {
			*list.names = list.all
		}
		for _, name := range *list.names {
			if !slices.Contains(list.all, name) {
				return fmt.Errorf("attack: no %s %q: must be of %s", list.what, name, strings.Join(list.all, ", "))
			}
		}
	}
	if o.Seconds == 0 {
		o.Seconds = 4
	}
	for _, number := range []struct {
		name           string
		value          *int
		missing, upper int
	}{{"processes", &o.Processes, 4, 16}, {"callers", &o.Callers, 64, 1000}, {"keys", &o.Keys, 48, 10_000}} {
		if *number.value == 0 {
			*number.value = number.missing
		}
		if *number.value < 1 || *number.value > number.upper {
			return fmt.Errorf("attack: %s %d is not allowed: must be 1 to %d", number.name, *number.value, number.upper)
		}
	}
	if o.Seconds < 1 || o.Seconds > 600 {
		return fmt.Errorf("attack: seconds %v is not allowed: must be 1 to 600", o.Seconds)
	}
	return nil
}

// pause is how long a caller waits between two calls, on average: it bounds the
// requests. On a cluster it is longer, since there no two keys share a call.
const (
	pause        = 20 * time.Millisecond
	clusterPause = 80 * time.Millisecond
)

// row runs one event.
func (o *Options) row(ctx context.Context, tb testing.TB, e event, kind servertest.Kind, library string) Row {
	tb.Helper()
	s := &scene{
		tb: tb, ctx: ctx, options: o, kind: kind, library: library,
		seconds: time.Duration(o.Seconds * float64(time.Second)), processes: o.Processes, callers: o.Callers, keys: o.Keys, pause: pause,
	}
	if e.setUp != nil {
		e.setUp(s)
	}
	s.ledger = newLedger(tb, newKeys(s.keys, s.medium()))
	a := e.run(s)
	sums, broken := a.check(s.ledger.keys, &s.report)
	var latency []int64
	for _, p := range s.report.Phases {
		latency = append(latency, slices.Concat(p.Latency[0], p.Latency[1])...)
	}
	return Row{
		Event: e.Name, Server: kind.String(), Client: library, Lossy: e.Lossy,
		Calls: sums.total.Calls, Acked: sums.total.Acked, Denied: sums.total.Denied,
		Unavailable: sums.total.Unavailable, Unknown: sums.total.Unknown,
		Charged: sums.held, LostMin: sums.lostMin, LostMax: sums.lostMax, Over: sums.over, OverMost: sums.overMost,
		Outage: time.Duration(s.report.Outage) * time.Microsecond, P99: p99(latency),
		Note: a.note, Broken: broken,
	}
}
