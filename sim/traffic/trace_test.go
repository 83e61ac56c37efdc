package traffic

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirgo/weir/algorithm"
)

// records returns the records of a trace that ends with err.
func records(err error, list ...Arrival) func() (Arrival, error) {
	return func() (Arrival, error) {
		if len(list) == 0 {
			return Arrival{}, err
		}
		a := list[0]
		list = list[1:]
		return a, nil
	}
}

// replayed returns the source of a trace.
func replayed(t testing.TB, l Load, next func() (Arrival, error)) Source {
	t.Helper()
	l.Process.Kind, l.Process.File = "trace", "file"
	env := testEnv()
	env.Trace = next
	s, err := NewSource(l, env)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTraceYieldsItsRecords(t *testing.T) {
	list := []Arrival{{7, "a", 1}, {12, "b", 0}, {12, "a", algorithm.MaxUnits}, {maxAt, "c", 1}}
	for _, c := range []struct {
		name string
		load Load
		want []Arrival
	}{
		{"as it is", Load{}, []Arrival{{0, "a", 1}, {5, "b", 0}, {5, "a", algorithm.MaxUnits}, {maxAt - 7, "c", 1}}},
		{"later", Load{Start: time.Millisecond}, []Arrival{{1000, "a", 1}, {1005, "b", 0}, {1005, "a", algorithm.MaxUnits}}},
		{"up to 6 µs", Load{Stop: 6 * time.Microsecond}, []Arrival{{0, "a", 1}, {5, "b", 0}, {5, "a", algorithm.MaxUnits}}},
		{"two of them", Load{Count: 2}, []Arrival{{0, "a", 1}, {5, "b", 0}}},
		{"twice as fast", Load{Process: Process{Speed: 2 * one}}, []Arrival{{0, "a", 1}, {2, "b", 0}, {2, "a", algorithm.MaxUnits}, {(maxAt - 7) / 2, "c", 1}}},
		{"slower", Load{Process: Process{Speed: one / 1000}}, []Arrival{{0, "a", 1}, {5000, "b", 0}, {5000, "a", algorithm.MaxUnits}}},
		{"for other keys", Load{Keys: Keys{Kind: "spray"}, Count: 2}, []Arrival{{0, "key-0", 1}, {5, "key-1", 0}}},
		{"at other costs", Load{Costs: Costs{Kind: "fixed", Cost: 3}, Count: 2}, []Arrival{{0, "a", 3}, {5, "b", 3}}},
	} {
		s := replayed(t, c.load, records(io.EOF, list...))
		if got := drain(s); !slices.Equal(got, c.want) || Err(s) != nil {
			t.Errorf("%s: %v, %v, want %v", c.name, got, Err(s), c.want)
		}
		if a, ok := s.Next(); ok {
			t.Errorf("%s: after its end comes %v", c.name, a)
		}
	}
}

// The speed is exact: an instant is rounded down once.
func TestTraceAtAnySpeed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		speed := Decimal(rapid.Int64Range(int64(slowest), int64(fastest)).Draw(rt, "speed"))
		first := rapid.Int64Range(0, maxAt).Draw(rt, "first")
		at := rapid.Int64Range(first, maxAt).Draw(rt, "at")
		want := new(big.Int).Mul(big.NewInt(at-first), big.NewInt(int64(one)))
		want.Quo(want, big.NewInt(int64(speed)))
		s := replayed(t, Load{Process: Process{Speed: speed}}, records(io.EOF, Arrival{first, "a", 1}, Arrival{at, "b", 1}))
		got := drain(s)
		if want.Int64() >= maxAt {
			got = append(got, Arrival{want.Int64(), "b", 1})
		}
		if len(got) != 2 || !want.IsInt64() || got[1].At != want.Int64() {
			rt.Fatalf("%v, want %v at the end", got, want)
		}
	})
}

func TestTraceStopsAtWhatIsNotPossible(t *testing.T) {
	broken := errors.New("broken")
	good := Arrival{5, "a", 1}
	for _, c := range []struct {
		name string
		next func() (Arrival, error)
		want string
	}{
		{"nothing", records(io.EOF), "traffic: process trace: file file is not allowed: must be a trace of at least one request"},
		{"error", records(broken, good), "traffic: process trace: file file: broken"},
		{"cut short", records(io.ErrUnexpectedEOF, good), "file file: unexpected EOF"},
		{"end within an error", records(fmt.Errorf("line 7: %w", io.EOF), good), "file file: line 7: EOF"},
		{"back", records(io.EOF, good, Arrival{4, "a", 1}), "record 2, of 1970-01-01T00:00:00.000004Z: at 4 is not allowed: must be from 5"},
		{"before 0", records(io.EOF, Arrival{-1, "a", 1}), "record 1, of 1969-12-31T23:59:59.999999Z: at -1 is not allowed"},
		{"too late", records(io.EOF, good, Arrival{math.MaxInt64, "a", 1}), "at 9223372036854775807 is not allowed"},
		{"no key", records(io.EOF, good, Arrival{6, "", 1}), `record 2, of 1970-01-01T00:00:00.000006Z: key "" is not allowed: must be at least one byte`},
		{"negative cost", records(io.EOF, good, Arrival{6, "a", -1}), "cost -1 is not allowed"},
		{"huge cost", records(io.EOF, good, Arrival{6, "a", algorithm.MaxUnits + 1}), "cost 1000000000001 is not allowed: must be from 0 to 1000000000000"},
	} {
		s := replayed(t, Load{}, c.next)
		drain(s)
		for _, on := range []Source{s, Until(s, 9)} { // it shows through what is built on the trace
			if err := Err(on); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %s", c.name, err, c.want)
			}
		}
		if a, ok := s.Next(); ok {
			t.Errorf("%s: after its end comes %v", c.name, a)
		}
	}
	s := replayed(t, Load{}, records(broken))
	if drain(s); !errors.Is(Err(s), broken) {
		t.Errorf("the cause is lost: %v", Err(s))
	}
	for _, s := range []Source{&listed{}, source(t, Load{Process: Process{Kind: "drip", Gap: time.Second}})} {
		if err := Err(s); err != nil {
			t.Errorf("a source that cannot fail has the error %v", err)
		}
	}
}

func TestTraceRefuses(t *testing.T) {
	trace := Process{Kind: "trace", File: "file"}
	with := func(change func(*Process)) Process {
		p := trace
		change(&p)
		return p
	}
	for _, c := range []refusal[Load]{
		{Load{Process: with(func(p *Process) { p.File = "" })}, "file", `""`},
		{Load{Process: with(func(p *Process) { p.File = "../file" })}, "file", "../file"},
		{Load{Process: with(func(p *Process) { p.File = "/file" })}, "file", "/file"},
		{Load{Process: with(func(p *Process) { p.Speed = -1 })}, "speed", "-0.000001"},
		{Load{Process: with(func(p *Process) { p.Speed = slowest - 1 })}, "speed", "0.000999"},
		{Load{Process: with(func(p *Process) { p.Speed = fastest + 1 })}, "speed", "1000.000001"},
		{Load{Process: with(func(p *Process) { p.Repeat = true })}, "repeat", "true"},
		{Load{Process: trace, Keys: Keys{Name: "user"}}, "kind", `""`},
		{Load{Process: trace, Costs: Costs{Cost: 2}}, "kind", `""`},
		{Load{Process: trace, Keys: Keys{Kind: "uniform"}}, "n", "0"},
		{Load{Process: Process{Kind: "counts", File: "../file"}}, "file", "../file"},
	} {
		_, err := NewSource(c.config, Env{Trace: records(io.EOF)})
		checkRefusal(t, err, c.field, c.value)
	}
	_, err := NewSource(Load{Process: trace}, Env{})
	checkRefusal(t, err, "file", "file")
}
