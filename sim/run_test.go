package sim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

func TestRunRefusesWhatIsInvalid(t *testing.T) {
	s := parsed(t, small)
	s.Duration = 0
	var field *scenario.Error
	if _, err := Run(t.Context(), s, nil); !errors.As(err, &field) || field.Path != "duration" {
		t.Error(err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	opts := &Options{Progress: func(p Progress) {
		if p.Micros > 0 {
			cancel()
		}
	}}
	s := parsed(t, crowded)
	s.Duration *= 100
	if r, err := Run(ctx, s, opts); !errors.Is(err, context.Canceled) || r != nil {
		t.Error(r, err)
	}
}

func TestProgressGoesOn(t *testing.T) {
	var seen []Progress
	ran(t, parsed(t, crowded), &Options{Progress: func(p Progress) { seen = append(seen, p) }})
	for i, p := range seen {
		if p.DurationMicros != 300_000_000 || p.Micros > p.DurationMicros {
			t.Errorf("%+v", p)
		}
		if i > 0 && p.Limit == seen[i-1].Limit && (p.Micros < seen[i-1].Micros || p.Requests < seen[i-1].Requests) {
			t.Errorf("%+v after %+v", p, seen[i-1])
		}
	}
	if len(seen) < 6 {
		t.Errorf("told %d times", len(seen))
	}
}

func TestRunReturnsTheErrorsOfStores(t *testing.T) {
	broken := errors.New("broken")
	s := parsed(t, quiet+"faults:\n  - {kind: restart, at: 5s, data: lost}\n")
	for _, fails := range []int{1, 2} {
		made := 0
		opts := &Options{NewStore: func(c store.Clock) (store.Store, error) {
			if made++; made == fails {
				return nil, broken
			}
			return mutant((*mutated).right)(c)
		}}
		if _, err := Run(t.Context(), s, opts); !errors.Is(err, broken) {
			t.Errorf("store %d: %v", fails, err)
		}
	}
}

// TestErrorsOfTheStoreReachCallers: they are no decision and no violation.
func TestErrorsOfTheStoreReachCallers(t *testing.T) {
	opts := &Options{NewStore: mutant(func(m *mutated, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
		if m.count%2 == 0 {
			return 0, false, store.ErrContention
		}
		return m.right(ops)
	})}
	s := parsed(t, quiet)
	if c := ran(t, s, opts)[0].Totals; c.Errors < 500 || c.Admitted == 0 {
		t.Errorf("%+v", c)
	}
	s.Nodes.OnFailure = "open"
	if c := ran(t, s, opts)[0].Totals; c.Errors != 0 || c.Degraded < 500 {
		t.Errorf("%+v", c)
	}
}

func TestTrafficFromAFile(t *testing.T) {
	s := parsed(t, strings.Replace(small, "{kind: poisson, rate: 5/1s}", "{kind: counts, file: day.txt, step: 100ms}", 1))
	files := fstest.MapFS{"day.txt": {Data: []byte("0\n40\n0\n20\n")}}
	r := ran(t, s, &Options{Files: files})[0]
	if r.Totals.Arrivals < 30 || r.Series.Offered[0] != 0 {
		t.Errorf("%+v", r.Totals)
	}
	if _, err := Run(t.Context(), s, nil); err == nil {
		t.Error("a file was read that may not be")
	}
}

// TestTimeGoesOn where nobody waits.
func TestTimeGoesOn(t *testing.T) {
	s := parsed(t, `
name: hurry
duration: 50us
limits: [{name: l, spec: "gcra:1/20us"}]
traffic:
  - name: early
    closed: {callers: 1}
    retry: {kind: obey, offset: -1us}
`)
	if c := ran(t, s, nil)[0].Totals; c.Admitted != 3 || c.Attempts != 8 {
		t.Errorf("%+v", c)
	}
}

func TestLoadRefusesUnknownNames(t *testing.T) {
	if _, err := scenario.Load("../secret"); err == nil || !strings.Contains(err.Error(), "must be one of boundary-attack, ") {
		t.Error(err)
	}
}

func TestEventsHaveTheirColumns(t *testing.T) {
	s := parsed(t, disturbed)
	s.Limits = s.Limits[:1]
	s.Faults = append(s.Faults, scenario.Fault{Kind: "down", At: 25 * time.Second, For: time.Second})
	s.Traffic[1].Throttle.Factor = 1_000_000
	number, wrong := int64(0), 0
	kinds := map[string]bool{}
	column := func(line, word string) int { return utf8.RuneCountInString(line[:strings.LastIndex(line, word)]) }
	opts := &Options{Trace: func(e *result.Event) {
		kinds[e.Kind] = true
		if line := e.String(); e.Key != "" && column(line, e.Key) != column(result.EventColumns, "key") && wrong < 3 {
			wrong++
			t.Errorf("the key is not below its heading:\n%s\n%s", result.EventColumns, line)
		}
		if number++; e.Number != number {
			t.Fatalf("event %d has the number %d", number, e.Number)
		}
	}}
	ran(t, s, opts)
	number = 0
	s.Nodes.OnFailure = ""
	ran(t, s, opts)
	for k := check.Asked; k <= check.Ended; k++ {
		if !kinds[k.String()] {
			t.Errorf("no event is %v", k)
		}
	}
}
