package algorithm

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/internal/exact"
)

//go:generate go run ../internal/generate/list -type Family -func builtIn -out families_generated.go

// Family is everything that is known of one kind of algorithm, in one place. Help
// texts, ParseSpec, the stores, the conformance suite, the simulator and the tables
// of the documentation iterate families, so a new algorithm is known everywhere.
type Family struct {
	// Name is what a spec starts with, such as "gcra": 1 to 32 bytes of a-z, 0-9
	// and '-'.
	Name string
	// Kind is the Spec().Kind of the algorithms that Build returns, such as
	// "gcra/1".
	Kind string
	// Option names the optional number behind the rate of a spec, such as "burst";
	// "" where a spec is a rate only.
	Option string
	// Form shows what follows the name in a spec, for help texts; "" is "L/P", with
	// "[,OPTION=N]" where there is an Option.
	Form string
	// Build returns an algorithm. capacity is the number of Option, and the units
	// of the rate where a spec leaves it out. A parameter outside its bounds gives
	// a *ParameterError. Required. A Rate names no calendar: that of calendar-window
	// takes the shortest unit of which a window can be as long as the period, in UTC.
	Build func(r Rate, capacity int64) (Algorithm, error)

	// Summary says in one line what the algorithm does, for help texts.
	Summary string
	// Layout shows the words of a state, such as "w [f L]".
	Layout string
	// Log reports whether a state is a log, which a server keeps as a list.
	Log bool
	// Aligned reports whether the algorithm counts in windows that are aligned to
	// the clock: where the clocks of two callers differ, so do their windows.
	Aligned bool
	// Calendar reports whether the windows follow the calendar of a zone, as those of
	// calendar-window do: they differ in length, and the period of Parameters is the
	// longest.
	Calendar bool
	// Bound returns the most units that an algorithm with spec s admits to one key
	// in a closed interval of that length, at most 2^63 - 1. nil: no bound is
	// stated.
	Bound func(s Spec, interval time.Duration) int64
	// BoundText is Bound as a formula, such as "B + ⌊t·L/P⌋".
	BoundText string
	// Samples are specs that ParseSpec reads: with the smallest parameters, with
	// usual ones, and with the largest. Tests and the simulator use them.
	Samples []string

	// Of a family whose specs are no rates: what reads one behind its name, and what
	// builds an algorithm with another limit; nil elsewhere.
	read func(text string) (Algorithm, error)
	with func(s Spec, units int64) (Algorithm, error)
}

// With returns the algorithm of a spec s, which is of a family of this package, with
// another limit and capacity: its period, or its calendar, stays. capacity is ignored
// where f has no Option.
func (f *Family) With(s Spec, units, capacity int64) (Algorithm, error) {
	if f.with != nil {
		return f.with(s, units)
	}
	r, _ := f.Parameters(s)
	return f.Build(Rate{Units: units, Per: r.Per}, capacity)
}

// Parameters returns the rate and the capacity of an algorithm with spec s, which is of a
// family of this package. The capacity is the units of the rate where f has no Option. The
// Params of a user's family may mean something else.
func (f *Family) Parameters(s Spec) (r Rate, capacity int64) {
	r = Rate{Units: s.Params[0], Per: micros(s.Params[1])}
	if f.Option == "" {
		return r, r.Units
	}
	return r, s.Params[2]
}

// Families returns the families of this package, in a fixed order. The slice is the
// caller's.
func Families() []Family { return builtIn() }

// FamilyOf returns the family of a kind, among those of this package.
func FamilyOf(kind string) (f Family, known bool) { return (*Registry)(nil).FamilyOf(kind) }

// Registry is a set of families: those of this package and a user's own. It reads
// specs. It is immutable and safe for concurrent use; nil and the zero Registry
// have the families of this package.
type Registry struct{ own []Family }

// NewRegistry returns a Registry with the families of this package and own. A
// family without a Build, with a name or kind that is not valid, or with one that
// another family has, gives a *ParameterError.
func NewRegistry(own ...Family) (*Registry, error) {
	r := &Registry{}
	for _, f := range own {
		if err := r.check(f); err != nil {
			return nil, err
		}
		r.own = append(r.own, f)
	}
	return r, nil
}

func (r *Registry) check(f Family) error {
	refuse := func(field, value, allowed string) error {
		return &ParameterError{Of: "family", Field: field, Value: strconv.Quote(value), Allowed: allowed}
	}
	if !isName(f.Name, 32, "-") {
		return refuse("Name", f.Name, "1 to 32 of a-z, 0-9, '-'")
	}
	if !ValidKind(f.Kind) {
		return refuse("Kind", f.Kind, "1 to 64 of a-z, 0-9, '-', '.', '/'")
	}
	if f.Option != "" && !isName(f.Option, 32, "-") {
		return refuse("Option", f.Option, "empty, or 1 to 32 of a-z, 0-9, '-'")
	}
	if f.Build == nil {
		return &ParameterError{Of: "family", Field: "Build", Value: "nil", Allowed: "a function"}
	}
	for _, other := range r.Families() {
		if other.Name == f.Name {
			return refuse("Name", f.Name, "a name that no other family has")
		}
		if other.Kind == f.Kind {
			return refuse("Kind", f.Kind, "a kind that no other family has")
		}
	}
	return nil
}

// Families returns all families of r, in a fixed order: those of this package
// first. The slice is the caller's.
func (r *Registry) Families() []Family {
	if r == nil {
		return builtIn()
	}
	return append(builtIn(), r.own...)
}

// FamilyOf returns the family of a kind.
func (r *Registry) FamilyOf(kind string) (f Family, known bool) {
	return r.find(func(f Family) bool { return f.Kind == kind })
}

func (r *Registry) find(is func(Family) bool) (f Family, found bool) {
	all := r.Families()
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return Family{}, false
	}
	return all[i], true
}

// Parse is ParseSpec with the families of r.
func (r *Registry) Parse(text string) (Algorithm, error) {
	name, rest, found := strings.Cut(text, ":")
	if !found {
		const allowed = "NAME:LIMIT/PERIOD, such as gcra:100/1m,burst=20"
		if near := nearSpec(text); near != "" {
			return nil, refuseSpec("text", text, allowed+"; perhaps "+near)
		}
		return nil, refuseSpec("text", text, allowed)
	}
	f, known := r.find(func(f Family) bool { return f.Name == name })
	if !known {
		var names []string
		for _, f := range r.Families() {
			names = append(names, f.Name)
		}
		return nil, refuseSpec("algorithm", name, strings.Join(names, ", "))
	}
	return f.parse(rest)
}

// ValidKind reports whether kind is a name as Spec asks for it.
func ValidKind(kind string) bool { return isName(kind, 64, "-./") }

// ValidIdentity reports whether identity is one as Spec asks for it.
func ValidIdentity(identity string) bool {
	const capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return identity == "" || isName(identity, 64, "-./_+"+capitals)
}

// isName reports whether text is 1 to most bytes of a-z, 0-9 and others.
func isName(text string, most int, others string) bool {
	if len(text) < 1 || len(text) > most {
		return false
	}
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}

// lift keeps a nil pointer from becoming an Algorithm that is not nil.
func lift[A Algorithm](a A, err error) (Algorithm, error) {
	if err != nil {
		return nil, err
	}
	return a, nil
}

// rateOver returns base + ⌊t·L/P⌋ for a spec that starts with limit and period.
func rateOver(base int64, s Spec, interval time.Duration) int64 {
	n, _ := exact.MulDiv(s.Params[0], max(0, int64(interval/time.Microsecond)), s.Params[1])
	return saturate(base + n)
}

// windowsOver returns limit × (⌊t/P⌋ + more) for a spec that starts with limit and
// period.
func windowsOver(s Spec, interval time.Duration, more int64) int64 {
	n, _ := exact.MulDiv(s.Params[0], max(0, int64(interval/time.Microsecond))/s.Params[1]+more, 1)
	return saturate(n)
}

// saturate turns a sum of two positive numbers that wrapped around into the
// largest number.
func saturate(sum int64) int64 {
	if sum < 0 {
		return 1<<63 - 1
	}
	return sum
}
