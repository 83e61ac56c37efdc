package attack

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
)

// TestMain lets this binary be a process of callers, as the command is.
func TestMain(m *testing.M) {
	CallersMain()
	os.Exit(m.Run())
}

// needServers skips or fails the test where there is no server.
func needServers(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("real servers and seconds of traffic: not for -short")
	}
	for _, kind := range servertest.Kinds() {
		servertest.Start(t, kind, nil)
	}
}

// pairs are each client library with the server that it is named for.
var pairs = [][2]string{{"redis", goRedis}, {"valkey", valkeyGo}}

func TestShortAttackHolds(t *testing.T) {
	needServers(t)
	for _, pair := range pairs {
		t.Run(pair[0], func(t *testing.T) {
			var table strings.Builder
			rows, err := Run(t.Context(), &table, Options{
				Events: []string{"promotion"}, Servers: pair[:1], Clients: pair[1:], Seconds: 2, Processes: 2, Callers: 16,
			})
			t.Log("\n" + table.String())
			if err != nil || len(rows) != 1 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			r := rows[0]
			// A caller pauses 20 ms on average: 3200 calls where they take no time, and half of them
			// use up a medium capacity.
			if r.Calls < 50 || r.Acked == 0 || r.Denied == 0 && r.Calls > 2400 || r.Charged == 0 || r.Outage == 0 || r.P99 == 0 {
				t.Errorf("an attack without an effect: %+v", r)
			}
			if line := r.String(); !strings.HasSuffix(table.String(), line) || strings.Count(line, "|") != strings.Count(heading, "|")/2 {
				t.Errorf("the row %q does not fit\n%s", line, table.String())
			}
		})
	}
}

var seconds = flag.Float64("attack.seconds", 2, "how long callers run in TestFailOversAndMovesUnderLoadHold")

// TestFailOversAndMovesUnderLoadHold: four processes of callers, while Sentinels or a
// cluster promote a replica, and while slots move. What is admitted beyond a capacity is
// at most what the new primary had not received, no unit is charged twice, every error
// has one of the documented meanings, and all processes are served again by the clients
// that they have.
func TestFailOversAndMovesUnderLoadHold(t *testing.T) {
	needServers(t)
	for _, pair := range pairs {
		for _, event := range []string{"sentinel", "sentinel-replicas", "cluster-failover", "migration"} {
			t.Run(pair[0]+"/"+event, func(t *testing.T) {
				t.Parallel()
				var table strings.Builder
				rows, err := Run(t.Context(), &table, Options{
					Events: []string{event}, Servers: pair[:1], Clients: pair[1:], Seconds: *seconds, Processes: 4, Callers: 8,
				})
				t.Log("\n" + table.String())
				if err != nil || len(rows) != 1 {
					t.Fatalf("%d rows, %v", len(rows), err)
				}
				if r := rows[0]; r.Acked == 0 || r.Charged == 0 || r.Lossy != (event != "migration") || r.Note == "" {
					t.Errorf("an attack without an effect: %+v", r)
				}
			})
		}
	}
}

// TestDoubleChargesAreCaught: where a client sends each command twice, every key of
// every kind of algorithm is charged too much, and the run says so.
func TestDoubleChargesAreCaught(t *testing.T) {
	needServers(t)
	for _, pair := range pairs {
		for _, e := range []struct{ name, bound string }{
			{"script-flush", "acked ≤ charged ≤ acked + unknown"},
			{"promotion", "acked ≤ charged + lost ≤ acked + unknown"},
			{"kill-rdb", "acked ≤ charged ≤ acked + unknown, after the restart"},
			{"migration", "acked ≤ charged ≤ acked + unknown"},
		} {
			t.Run(pair[0]+"/"+e.name, func(t *testing.T) {
				t.Parallel()
				keys := len(algorithm.Families())
				rows, err := Run(t.Context(), &strings.Builder{}, Options{
					Events: []string{e.name}, Servers: pair[:1], Clients: pair[1:], Seconds: 1, Processes: 2, Callers: 16, Keys: keys, Double: true,
				})
				if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), fmt.Sprintf("%s: %d keys", e.bound, keys)) {
					t.Fatalf("got %v", err)
				}
				if len(rows) != 1 || rows[0].Verdict() != "BROKEN" {
					t.Errorf("rows %v", rows)
				}
			})
		}
	}
}

func TestRunThatIsInterruptedEnds(t *testing.T) {
	needServers(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, &strings.Builder{}, Options{Events: []string{"freeze"}, Servers: []string{"redis"}, Clients: []string{goRedis}, Seconds: 600})
	if !errors.Is(err, context.Canceled) && (err == nil || !strings.Contains(err.Error(), context.Canceled.Error())) {
		t.Errorf("got %v", err)
	}
}

func TestOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"event": {Events: []string{"freeze", "none"}}, "server": {Servers: []string{"memory"}}, "client": {Clients: []string{""}},
		"seconds": {Seconds: -1}, "callers": {Callers: -1}, "processes": {Processes: 17}, "keys": {Keys: 10_001},
	} {
		if _, err := Run(t.Context(), &strings.Builder{}, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, e := range events {
		if e.Does == "" || strings.Count(Names(), "\n  "+e.Name+" ") > 1 || !strings.Contains(Names(), e.Name) {
			t.Errorf("%s is not listed:\n%s", e.Name, Names())
		}
	}
}
