package scenario

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRateText(t *testing.T) {
	for text, want := range map[string]Rate{
		"100/1s": {Units: 100, Per: time.Second}, "7/90s": {Units: 7, Per: 90 * time.Second}, "1/9600h": {Units: 1, Per: longest}, "1000/1us": {Units: 1000, Per: time.Microsecond},
	} {
		if got, err := parseRate(text); err != nil || got != want {
			t.Errorf("rate %s = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "100", "/", "100/", "/1s", "100/1", "100/s", "1e3/1s", "1.5/1s", " 1/1s", "0/1s", "-1/1s",
		"1/-1s", "1/0s", "1/1ns", "1/9601h", "99999999999999999999/1s", "1001/1us", "1/1s/1s"} {
		if got, err := parseRate(text); err == nil {
			t.Errorf("rate %s = %v, want an error", text, got)
		}
	}
}

func TestRateTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		per := rapid.Int64Range(1, int64(longest/time.Microsecond)).Draw(t, "µs")
		r := Rate{Units: rapid.Int64Range(1, min(1e12, 1000*per)).Draw(t, "units"), Per: time.Duration(per) * time.Microsecond}
		text, err := rateText(r)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := parseRate(string(text)); err != nil || back != r {
			t.Fatalf("%s is read as %v, %v", text, back, err)
		}
	})
}

func TestDecimalText(t *testing.T) {
	for text, want := range map[string]Decimal{
		"0": 0, "1": one, "0.9": 900_000, "90%": 900_000, "12.5%": 125_000, "0.000001": 1, "0.0001%": 1, "20": 20 * one,
		"007": 7 * one, "1.500000": 1_500_000, "9223372036854.775807": math.MaxInt64,
	} {
		var got Decimal
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("decimal %s = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "+1", ".5", "5.", "1e3", "0x1", "1_000", "0.0000001", "0.00001%", "%", "1 ", "NaN", "1.+5",
		"1.-5", "1..5", "1.2.3", "9223372036854.775808", "9223372036855", "99999999999999999999"} {
		var got Decimal
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("decimal %s = %v, want an error", text, got)
		}
	}
}

func TestDecimalTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Decimal(rapid.Int64Range(0, math.MaxInt64).Draw(t, "millionths"))
		text, err := d.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Decimal
		if err := back.UnmarshalText(text); err != nil || back != d {
			t.Fatalf("%s is read as %v, %v", text, back, err)
		}
	})
}

// A rule that names a kind which does not exist would never apply, and a field that no
// kind takes could never be used.
func TestKindsAndFieldsBelongTogether(t *testing.T) {
	for typ, s := range schemas {
		for i := range s.fields {
			f := &s.fields[i]
			if s.kind < 0 {
				if f.kinds != nil {
					t.Errorf("%v: %s has kinds, and the struct has none", typ, f.name)
				}
				continue
			}
			for kind := range f.kinds {
				if !slices.Contains(s.fields[s.kind].choices, kind) {
					t.Errorf("%v: %s is for %s, which is no kind", typ, f.name, kind)
				}
			}
		}
	}
}

// Every field of the structs has a name in a text: it would be read nowhere without.
func TestEveryFieldHasAName(t *testing.T) {
	for typ, s := range schemas {
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() && f.Tag.Get("yaml") == "" {
				t.Errorf("%v: field %s has no name in a text", typ, f.Name)
			}
		}
		if len(s.fields) == 0 {
			t.Errorf("%v has no fields", typ)
		}
	}
}

func TestCompleteSetsDefaults(t *testing.T) {
	if n := Complete(Nodes{Share: 5}); n != (Nodes{Count: 1, OnFailure: "closed", Timeout: 100 * time.Millisecond, CallTimeout: 3 * time.Second, Share: 5, InFlight: 2, IDTTL: 10 * time.Minute}) {
		t.Errorf("%+v", n)
	}
	if p := Complete(Process{Kind: "pareto"}); p.Sources != 100 || p.Alpha != 1_400_000 || p.On != time.Second || p.Off != 5*time.Second || p.Peak != 0 {
		t.Errorf("%+v", p)
	}
	if p := Complete(Process{Kind: "mmpp"}); p.On != 0 {
		t.Errorf("%+v", p)
	}
	if p := Complete(Process{Kind: "boundary", Limit: Rate{Units: 1, Per: 3 * time.Microsecond}}); p.Delta != time.Microsecond || p.Every != 2 {
		t.Errorf("%+v", p)
	}
	if r := Complete(Retries{Kind: "exponential", Base: time.Hour}); r.Cap != time.Hour {
		t.Errorf("%+v", r)
	}
	if k := Complete(Keys{}); k.Kind != "one" || k.Name != "key" {
		t.Errorf("%+v", k)
	}
}

// A seed makes valid scenarios of every kind.
func TestGenerateDrawsEveryKind(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(300) {
		s := Generate(seed)
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Faults {
			seen[f.Kind] = true
		}
		for _, tr := range s.Traffic {
			seen[tr.Process.Kind], seen[tr.Retry.Kind], seen["keys "+tr.Keys.Kind] = true, true, true
		}
	}
	kinds := append(kindsOf[Process](), kindsOf[Retries]()...)
	for _, kind := range append(kinds, kindsOf[Fault]()...) {
		if !seen[kind] && kind != "trace" { // nothing of it can be drawn
			t.Errorf("never: %s", kind)
		}
	}
	for _, kind := range kindsOf[Keys]() {
		if !seen["keys "+kind] {
			t.Errorf("never: keys %s", kind)
		}
	}
}

func TestShrinkLeavesWhatMatters(t *testing.T) {
	s := Generate(2)
	s.Nodes.Timeout, s.Duration = 123_456*time.Microsecond, 17*time.Second
	before, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	small := Shrink(s, func(s *Scenario) bool {
		return s.Nodes.Timeout > 40*time.Millisecond && s.Duration > 1700*time.Millisecond
	})
	if small.Nodes.Timeout != 50*time.Millisecond && small.Nodes.Timeout != 60*time.Millisecond || len(small.Faults) > 0 || len(small.Traffic) != 1 || len(small.Limits) != 1 || small.Together || small.Network != (Network{}) {
		text, err := small.YAML()
		t.Errorf("this is left (%v):\n%s", err, text)
	}
	if after, err := s.YAML(); err != nil || string(before) != string(after) {
		t.Errorf("the scenario itself has changed: %v", err)
	}
}

func TestRoundedKeepsTheFirstDigits(t *testing.T) {
	for _, c := range [][3]int64{{0, 1, 0}, {7, 1, 7}, {17, 1, 10}, {123_456, 1, 100_000}, {123_456, 2, 120_000}, {-999, 1, -900}, {99, 2, 99}} {
		if got := rounded(c[0], int(c[1])); got != c[2] {
			t.Errorf("%d to %d digits: %d", c[0], c[1], got)
		}
	}
}
