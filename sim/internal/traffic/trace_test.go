package traffic

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/scenario"
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
func replayed(t testing.TB, l scenario.Traffic, next func() (Arrival, error)) *Stream {
	t.Helper()
	l.Process.Kind, l.Process.File = "trace", "file"
	env := testEnv()
	env.Trace = next
	s, err := NewStream(&l, env)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTraceYieldsItsRecords(t *testing.T) {
	list := []Arrival{{7, "a", 1}, {12, "b", 0}, {12, "a", algorithm.MaxUnits}, {maxAt, "c", 1}}
	for _, c := range []struct {
		name string
		load scenario.Traffic
		want []Arrival
	}{
		{"as it is", scenario.Traffic{}, []Arrival{{0, "a", 1}, {5, "b", 0}, {5, "a", algorithm.MaxUnits}, {maxAt - 7, "c", 1}}},
		{"later", scenario.Traffic{Start: time.Millisecond}, []Arrival{{1000, "a", 1}, {1005, "b", 0}, {1005, "a", algorithm.MaxUnits}}},
		{"up to 6 µs", scenario.Traffic{Stop: 6 * time.Microsecond}, []Arrival{{0, "a", 1}, {5, "b", 0}, {5, "a", algorithm.MaxUnits}}},
		{"two of them", scenario.Traffic{Count: 2}, []Arrival{{0, "a", 1}, {5, "b", 0}}},
		{"twice as fast", scenario.Traffic{Process: scenario.Process{Speed: 2 * one}}, []Arrival{{0, "a", 1}, {2, "b", 0}, {2, "a", algorithm.MaxUnits}, {(maxAt - 7) / 2, "c", 1}}},
		{"slower", scenario.Traffic{Process: scenario.Process{Speed: one / 1000}}, []Arrival{{0, "a", 1}, {5000, "b", 0}, {5000, "a", algorithm.MaxUnits}}},
		{"for other keys", scenario.Traffic{Keys: scenario.Keys{Kind: "spray"}, Count: 2}, []Arrival{{0, "key-0", 1}, {5, "key-1", 0}}},
		{"at other costs", scenario.Traffic{Costs: scenario.Costs{Kind: "fixed", Cost: 3}, Count: 2}, []Arrival{{0, "a", 3}, {5, "b", 3}}},
	} {
		s := replayed(t, c.load, records(io.EOF, list...))
		if got := drain(s); !slices.Equal(got, c.want) || s.Err() != nil {
			t.Errorf("%s: %v, %v, want %v", c.name, got, s.Err(), c.want)
		}
		if a, ok := s.Next(); ok {
			t.Errorf("%s: after its end comes %v", c.name, a)
		}
	}
}

// The speed is exact: an instant is rounded down once.
func TestTraceAtAnySpeed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		speed := scenario.Decimal(rapid.Int64Range(int64(one)/1000, 1000*int64(one)).Draw(rt, "speed"))
		first := rapid.Int64Range(0, maxAt).Draw(rt, "first")
		at := rapid.Int64Range(first, maxAt).Draw(rt, "at")
		want := new(big.Int).Mul(big.NewInt(at-first), big.NewInt(int64(one)))
		want.Quo(want, big.NewInt(int64(speed)))
		s := replayed(t, scenario.Traffic{Process: scenario.Process{Speed: speed}}, records(io.EOF, Arrival{first, "a", 1}, Arrival{at, "b", 1}))
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
		{"nothing", records(io.EOF), "scenario: file file is not allowed: must be a trace of at least one request"},
		{"error", records(broken, good), "scenario: file: broken"},
		{"cut short", records(io.ErrUnexpectedEOF, good), "file: unexpected EOF"},
		{"end within an error", records(fmt.Errorf("line 7: %w", io.EOF), good), "file: line 7: EOF"},
		{"back", records(io.EOF, good, Arrival{4, "a", 1}), "record 2, of 1970-01-01T00:00:00.000004Z: at 4 is not allowed: must be from 5"},
		{"before 0", records(io.EOF, Arrival{-1, "a", 1}), "record 1, of 1969-12-31T23:59:59.999999Z: at -1 is not allowed"},
		{"too late", records(io.EOF, good, Arrival{math.MaxInt64, "a", 1}), "at 9223372036854775807 is not allowed"},
		{"no key", records(io.EOF, good, Arrival{6, "", 1}), `record 2, of 1970-01-01T00:00:00.000006Z: key "" is not allowed: must be at least one byte`},
		{"negative cost", records(io.EOF, good, Arrival{6, "a", -1}), "cost -1 is not allowed"},
		{"huge cost", records(io.EOF, good, Arrival{6, "a", algorithm.MaxUnits + 1}), "cost 1000000000001 is not allowed: must be from 0 to 1000000000000"},
	} {
		s := replayed(t, scenario.Traffic{}, c.next)
		drain(s)
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
		if a, ok := s.Next(); ok {
			t.Errorf("%s: after its end comes %v", c.name, a)
		}
	}
	s := replayed(t, scenario.Traffic{}, records(broken))
	if drain(s); !errors.Is(s.Err(), broken) {
		t.Errorf("the cause is lost: %v", s.Err())
	}
	drip := source(t, scenario.Traffic{Process: scenario.Process{Kind: "drip", Gap: time.Second}})
	if err := drip.Err(); err != nil {
		t.Errorf("a stream that cannot fail has the error %v", err)
	}
}

func TestFilesAreAbsentWhereNoneMayBeRead(t *testing.T) {
	for _, p := range []scenario.Process{{Kind: "trace", File: "file"}, {Kind: "counts", File: "file"}} {
		_, err := NewStream(&scenario.Traffic{Process: p}, Env{})
		if err == nil || !strings.Contains(err.Error(), "file file is not allowed: must be absent") {
			t.Errorf("%s: %v", p.Kind, err)
		}
	}
}

func TestCountsFileErrorsNameTheLine(t *testing.T) {
	env := testEnv()
	env.Files = fstest.MapFS{"bad.txt": {Data: []byte("1\n2\nthree\n")}, "minus.txt": {Data: []byte("-1\n")}, "zero.txt": {Data: []byte("0\n")},
		"empty.txt": {Data: []byte("# nothing\n")}, "long.txt": {Data: []byte(strings.Repeat("1", 100_000))}}
	for file, want := range map[string]string{
		"bad.txt": `line 3: "three" is not allowed`, "minus.txt": `line 1: "-1" is not allowed`, "zero.txt": "counts 0 throughout is not allowed",
		"empty.txt": "counts 0 of them is not allowed", "long.txt": "token too long",
	} {
		_, err := NewStream(&scenario.Traffic{Process: scenario.Process{Kind: "counts", File: file}}, env)
		if err == nil || !strings.Contains(err.Error(), "file: "+file+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", file, err, want)
		}
	}
	_, err := NewStream(&scenario.Traffic{Process: scenario.Process{Kind: "counts", File: "none.txt"}}, env)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}

// A process that a scenario accepts has a builder.
func TestEveryProcessHasABuilder(t *testing.T) {
	field, _ := reflect.TypeFor[scenario.Process]().FieldByName("Kind")
	kinds := strings.Split(field.Tag.Get("rule"), "|")
	for _, kind := range kinds {
		if processes[kind] == nil {
			t.Errorf("no builder of %s", kind)
		}
	}
	if len(kinds) != len(processes) {
		t.Errorf("%d kinds and %d builders", len(kinds), len(processes))
	}
}
