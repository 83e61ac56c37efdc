package algorithm_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"pgregory.net/rapid"
)

// TestLawI2RefusesWhatIsOutOfBounds checks that each constructor refuses what
// lies outside the bounds, by an error that names the parameter, its value and
// what is allowed; I5 is that a part of a microsecond is outside.
func TestLawI2RefusesWhatIsOutOfBounds(t *testing.T) {
	const maxUnits, maxPeriod = algorithm.MaxUnits, algorithm.MaxPeriod
	for _, c := range []struct {
		name                  string
		rate                  algorithm.Rate
		capacity              int64
		field, value, allowed string
	}{
		{"limit of zero", algorithm.PerSecond(0), 1, "limit", "0", "1 to 1000000000000"},
		{"zero rate", algorithm.Rate{}, 1, "limit", "0", "1 to 1000000000000"},
		{"negative limit", algorithm.PerSecond(-3), 1, "limit", "-3", "1 to 1000000000000"},
		{"limit above the largest", algorithm.PerSecond(maxUnits + 1), 1, "limit", "1000000000001", "1 to 1000000000000"},
		{"period of zero", algorithm.Every(0), 1, "period", "0s", "whole microseconds from 1µs to 9600h"},
		{"negative period", algorithm.Every(-time.Second), 1, "period", "-1s", "whole microseconds"},
		{"period below 1 µs", algorithm.Every(999), 1, "period", "999ns", "whole microseconds"},
		{"part of a microsecond", algorithm.Every(1500), 1, "period", "1.5µs", "whole microseconds"},
		{"third of a second", algorithm.Every(time.Second / 3), 1, "period", "333.333333ms", "whole microseconds"},
		{"period above the longest", algorithm.Every(maxPeriod + time.Microsecond), 1, "period", "9600h0m0.000001s", "9600h (400 days)"},
		{"longest Duration", algorithm.Every(1<<63 - 1), 1, "period", "2562047h47m16.854775807s", "9600h (400 days)"},

		{"capacity of zero", algorithm.PerSecond(1), 0, "burst", "0", "1 to 1000000000000"},
		{"negative capacity", algorithm.PerSecond(1), -1, "burst", "-1", "1 to 1000000000000"},
		{"capacity above the largest", algorithm.PerSecond(maxUnits), maxUnits + 1, "burst", "1000000000001", "1 to 1000000000000"},
		{"time-to-full too long", algorithm.PerDay(1), 18_251, "burst", "18251", "1 to 18250 at 1/24h, so that it fills within 438000h (18250 days)"},
		{"time-to-full of which 64 bits are 0", algorithm.Every(1 << 44 * time.Microsecond), 1 << 20, "burst", "1048576", "1 to 89 at 1/"},
		{"time-to-full far too long", algorithm.Every(maxPeriod), maxUnits, "burst", "1000000000000", "1 to 45 at 1/9600h"},
	} {
		for _, k := range kinds {
			field, kind := c.field, k.Name
			if field == "burst" {
				if field = k.Option; field == "" {
					continue // takes none
				}
			}
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				var refused *algorithm.ParameterError
				if _, err := k.Build(c.rate, c.capacity); !errors.As(err, &refused) {
					t.Fatalf("I2: the error is %v, not a *ParameterError", err)
				}
				if refused.Of != kind || refused.Field != field || refused.Value != c.value || !strings.Contains(refused.Allowed, c.allowed) {
					t.Errorf("I2: refused with %+v; want the field %q, the value %q, and allowed: %q", *refused, field, c.value, c.allowed)
				}
				for _, part := range []string{kind, field, c.value, c.allowed} {
					if !strings.Contains(refused.Error(), part) {
						t.Errorf("I2: the message %q lacks %q", refused, part)
					}
				}
			})
		}
	}
}

// TestLawI2AcceptsWhatIsWithinBounds checks the last accepted value at every
// bound, and that the next one is refused.
func TestLawI2AcceptsWhatIsWithinBounds(t *testing.T) {
	const maxUnits, maxPeriod = algorithm.MaxUnits, algorithm.MaxPeriod
	for _, c := range []struct {
		rate     algorithm.Rate
		capacity int64
		more     bool // one unit of capacity more is refused
	}{
		{algorithm.Every(time.Microsecond), 1, false},
		{algorithm.Every(time.Microsecond), maxUnits, true},
		{algorithm.Rate{Units: maxUnits, Per: time.Microsecond}, maxUnits, true},
		{algorithm.Rate{Units: maxUnits, Per: maxPeriod}, maxUnits, true},
		{algorithm.Every(maxPeriod), 45, true},
		{algorithm.PerDay(1), 18_250, true},
		{algorithm.Rate{Units: 1, Per: 365 * 24 * time.Hour}, 50, true},
		{algorithm.Rate{Units: 7, Per: 3 * time.Second}, 3_679_200_000, true},
	} {
		for _, k := range kinds {
			if _, err := k.Build(c.rate, c.capacity); err != nil {
				t.Errorf("I2: %s of %v with %d is refused: %v", k.Name, c.rate, c.capacity, err)
			}
			if _, err := k.Build(c.rate, c.capacity+1); c.more && k.Option != "" && err == nil {
				t.Errorf("I2: %s of %v with %d is accepted", k.Name, c.rate, c.capacity+1)
			}
		}
	}
}

// TestLawI2DrawnParametersAreAllAccepted checks that what the bounds allow is
// accepted everywhere, and that an algorithm that was built says its own spec.
func TestLawI2DrawnParametersAreAllAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t)
		for _, k := range kinds {
			a := k.build(p) // panics if refused
			text := a.(interface{ String() string }).String()
			again, err := algorithm.ParseSpec(text)
			if err != nil {
				t.Fatalf("I2: the spec %s is refused: %v", text, err)
			}
			if again.Spec() != a.Spec() {
				t.Fatalf("I2: the spec %s reads as %+v, not %+v", text, again.Spec(), a.Spec())
			}
		}
	})
}

// TestLawI3BoundsNeverOverflow puts a key through the extremes of every
// parameter, cost and instant at once: no panic, no word beyond 2^53, and the
// whole capacity to be had again after the reset.
func TestLawI3BoundsNeverOverflow(t *testing.T) {
	const maxUnits, maxPeriod = algorithm.MaxUnits, algorithm.MaxPeriod
	for _, rate := range []algorithm.Rate{
		{Units: 1, Per: time.Microsecond}, {Units: maxUnits, Per: time.Microsecond},
		{Units: 1, Per: maxPeriod}, {Units: maxUnits, Per: maxPeriod},
		{Units: maxUnits - 1, Per: maxPeriod - time.Microsecond}, {Units: 45, Per: maxPeriod},
	} {
		p := params{rate, mostBurst(rate)}
		for _, k := range kinds {
			a := k.build(p)
			capacity := k.capacity(p)
			for _, start := range []algorithm.Instant{0, 1, algorithm.MaxInstant - 1, algorithm.MaxInstant} {
				s, o := a.Step(algorithm.State{}, start, take(capacity))
				if !o.Allowed || o.Remaining != 0 || o.ResetAfter <= 0 {
					t.Fatalf("I3: %v at %v: the capacity of a fresh key is answered with %+v", a, start, o)
				}
				for _, at := range []algorithm.Instant{0, start, algorithm.MaxInstant} {
					for _, n := range []int64{1, capacity, 1<<63 - 1} {
						next, o := a.Step(s, at, take(n))
						if o.Remaining < 0 || o.Remaining > capacity || o.RetryAfter < 0 || o.ResetAfter < 0 {
							t.Fatalf("I3: %v, state %q at %v, cost %d: %+v", a, s, at, n, o)
						}
						if c := a.(algorithm.StateChecker); c.CheckState(next) != nil {
							t.Fatalf("I3: %v, state %q at %v, cost %d: %v", a, s, at, n, c.CheckState(next))
						}
					}
				}
				if reset := start + algorithm.Instant(o.ResetAfter/time.Microsecond); reset <= algorithm.MaxInstant {
					if _, o = a.Step(s, reset, take(capacity)); !o.Allowed {
						t.Fatalf("I3: %v, state %q: not fresh at %v", a, s, reset)
					}
					if _, o = a.Step(s, reset-1, take(capacity)); o.Allowed || o.RetryAfter != time.Microsecond {
						t.Fatalf("I3: %v, state %q: 1 µs before %v the capacity is answered with %+v", a, s, reset, o)
					}
				}
			}
		}
	}
}
