package algorithm_test

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/generate"
)

func TestFamiliesAreThoseOfThePackage(t *testing.T) {
	want, err := generate.List(".", "Family", "builtIn", "families_generated.go")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("families_generated.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("families_generated.go is not current: run go generate in this folder; it should be\n%s", want)
	}
}

// TestFamiliesAreComplete: what other packages iterate is there for every family.
func TestFamiliesAreComplete(t *testing.T) {
	for _, f := range algorithm.Families() {
		if f.Summary == "" || f.Layout == "" || f.Bound == nil || f.BoundText == "" || len(f.Samples) < 3 {
			t.Errorf("%s: the family lacks a summary, a layout, a bound or samples: %+v", f.Name, f)
		}
		for _, spec := range f.Samples {
			a, err := algorithm.ParseSpec(spec)
			if err != nil {
				t.Errorf("%s: sample %s: %v", f.Name, spec, err)
				continue
			}
			if got := a.Spec().Kind; got != f.Kind {
				t.Errorf("%s: sample %s has kind %s, the family %s", f.Name, spec, got, f.Kind)
			}
			if _, log := lastState(a); log != f.Log {
				t.Errorf("%s: sample %s: a state is a log: %t, the family says %t", f.Name, spec, log, f.Log)
			}
			fresh := capacityOf(a)
			if at0 := f.Bound(a.Spec(), 0); at0 < fresh {
				t.Errorf("%s: sample %s: the bound over 0 s is %d, a fresh key admits %d", f.Name, spec, at0, fresh)
			}
		}
		if known, is := algorithm.FamilyOf(f.Kind); !is || known.Name != f.Name {
			t.Errorf("FamilyOf(%s) = %s, %t", f.Kind, known.Name, is)
		}
	}
	if _, is := algorithm.FamilyOf("sliding-window/1"); is {
		t.Error("FamilyOf knows a kind that there is not")
	}
}

func capacityOf(a algorithm.Algorithm) int64 {
	_, o := a.Step(algorithm.State{}, 0, algorithm.Request{})
	return o.Limit
}

// lastState returns a state of cost 2 where the capacity allows it: the text of a
// log shows the cost behind a colon.
func lastState(a algorithm.Algorithm) (s algorithm.State, log bool) {
	s, _ = a.Step(s, 1_000_000, algorithm.Request{Cost: min(2, capacityOf(a))})
	if capacityOf(a) < 2 {
		f, _ := algorithm.FamilyOf(a.Spec().Kind)
		return s, f.Log
	}
	return s, strings.Contains(s.String(), ":")
}

// TestFamilyBounds holds the numbers of the formulas against values worked out by
// hand.
func TestFamilyBounds(t *testing.T) {
	for _, c := range []struct {
		spec     string
		interval time.Duration
		want     int64
	}{
		{"gcra:7/3s,burst=3", 0, 3},
		{"gcra:7/3s,burst=3", 3*time.Second - time.Microsecond, 3 + 6},
		{"gcra:7/3s,burst=3", 3 * time.Second, 3 + 7},
		{"token-bucket:10/1s,burst=1", time.Second, 11},
		{"leaky-bucket:10/1s,capacity=5", 250 * time.Millisecond, 5 + 2},
		{"fixed-window:10/1m", 0, 20},
		{"fixed-window:10/1m", time.Minute - time.Microsecond, 20},
		{"fixed-window:10/1m", time.Minute, 30},
		{"sliding-log:10/1m", time.Minute - time.Microsecond, 10},
		{"sliding-log:10/1m", time.Minute, 20},
		{"sliding-counter:10/1m", time.Minute - time.Microsecond, 19},
		{"sliding-counter:10/1m", time.Minute, 20},
		{"gcra:10/1s", -time.Second, 10},
		{"gcra:1000000000000/1µs", math.MaxInt64, math.MaxInt64},
		{"fixed-window:1000000000000/1µs", math.MaxInt64, math.MaxInt64},
	} {
		a := algorithm.Must(algorithm.ParseSpec(c.spec))
		f, _ := algorithm.FamilyOf(a.Spec().Kind)
		if got := f.Bound(a.Spec(), c.interval); got != c.want {
			t.Errorf("bound of %s over %v is %d, want %d", c.spec, c.interval, got, c.want)
		}
	}
}

// session is a family as a user may bring it.
func session() algorithm.Family {
	return algorithm.Family{
		Name: "session-quota", Kind: "session-quota/1",
		Build: func(r algorithm.Rate, _ int64) (algorithm.Algorithm, error) {
			return sessionQuota{r.Units, r.Per}, nil
		},
	}
}

// names are the names of families, as an error lists them.
func names(families []algorithm.Family) string {
	var all []string
	for _, f := range families {
		all = append(all, f.Name)
	}
	return strings.Join(all, ", ")
}

func TestRegistryReadsSpecsOfItsFamilies(t *testing.T) {
	r, err := algorithm.NewRegistry(session())
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.Parse("session-quota:3/1m")
	if err != nil || a.Spec() != (sessionQuota{3, time.Minute}).Spec() {
		t.Errorf("Parse gives %v, %v", a, err)
	}
	if a, err = r.Parse("gcra:3/1m"); err != nil || a.Spec().Kind != algorithm.KindGCRA {
		t.Errorf("Parse of a built-in spec gives %v, %v", a, err)
	}
	if _, err = algorithm.ParseSpec("session-quota:3/1m"); err == nil {
		t.Error("ParseSpec reads a family of a Registry: nothing is global")
	}
	_, err = r.Parse("session-quota:3/1m,burst=4")
	if err == nil || !strings.Contains(err.Error(), "burst=4") {
		t.Errorf("an option that the family does not have gives %v", err)
	}
	_, err = r.Parse("sliding-window:3/1m")
	if err == nil || !strings.Contains(err.Error(), names(algorithm.Families())+", session-quota") {
		t.Errorf("an unknown name does not list the families: %v", err)
	}
	if got := len(r.Families()); got != len(algorithm.Families())+1 {
		t.Errorf("%d families", got)
	}
	names := slices.Collect(func(yield func(string) bool) {
		for _, f := range (&algorithm.Registry{}).Families() {
			if !yield(f.Name) {
				return
			}
		}
	})
	if names[0] != "gcra" || len(names) != len(algorithm.Families()) {
		t.Errorf("the zero Registry has %v", names)
	}
}

func TestRegistryRefusesFamilies(t *testing.T) {
	change := func(f func(*algorithm.Family)) algorithm.Family {
		s := session()
		f(&s)
		return s
	}
	for field, f := range map[string]algorithm.Family{
		"Name":   change(func(f *algorithm.Family) { f.Name = "Session" }),
		"Kind":   change(func(f *algorithm.Family) { f.Kind = "session quota" }),
		"Option": change(func(f *algorithm.Family) { f.Option = "b=" }),
		"Build":  change(func(f *algorithm.Family) { f.Build = nil }),
	} {
		wantRefused(t, field, f)
	}
	wantRefused(t, "Name", change(func(f *algorithm.Family) { f.Name = "gcra" }))
	wantRefused(t, "Kind", change(func(f *algorithm.Family) { f.Kind = algorithm.KindGCRA }))
	wantRefused(t, "Name", change(func(f *algorithm.Family) { f.Name = "" }))
	wantRefused(t, "Name", session(), session())
}

// TestFamilyThatBuildsAnotherKindIsRefused: nothing would know the algorithm by its kind.
func TestFamilyThatBuildsAnotherKindIsRefused(t *testing.T) {
	other, none := session(), session()
	other.Build = func(r algorithm.Rate, _ int64) (algorithm.Algorithm, error) { return algorithm.NewFixedWindow(r) }
	none.Build = func(algorithm.Rate, int64) (algorithm.Algorithm, error) { return nil, nil }
	for _, f := range []algorithm.Family{other, none} {
		r, err := algorithm.NewRegistry(f)
		if err != nil {
			t.Fatal(err)
		}
		a, err := r.Parse("session-quota:3/1m")
		var refused *algorithm.ParameterError
		if a != nil || !errors.As(err, &refused) || refused.Field != "Build" {
			t.Errorf("Parse gives %v, %v", a, err)
		}
	}
}

func wantRefused(t *testing.T, field string, own ...algorithm.Family) {
	t.Helper()
	_, err := algorithm.NewRegistry(own...)
	var refused *algorithm.ParameterError
	if !errors.As(err, &refused) || refused.Field != field {
		t.Errorf("%+v: got %v, want a refusal of %s", own, err, field)
	}
}

func TestParametersOfASpecBuildTheSameAlgorithm(t *testing.T) {
	for _, f := range algorithm.Families() {
		for _, sample := range f.Samples {
			a := algorithm.Must(algorithm.ParseSpec(sample))
			rate, capacity := f.Parameters(a.Spec())
			again, err := f.With(a.Spec(), rate.Units, capacity)
			if err != nil || again.Spec() != a.Spec() {
				t.Errorf("%s: %v, %d units build %v, %v", sample, rate, capacity, again, err)
			}
			if again, err = f.Build(rate, capacity); !f.Calendar && (err != nil || again.Spec() != a.Spec()) {
				t.Errorf("%s: Build of %v, %d units gives %v, %v", sample, rate, capacity, again, err)
			}
		}
	}
}
