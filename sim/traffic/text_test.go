package traffic

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRateText(t *testing.T) {
	for text, want := range map[string]Rate{
		"100/1s": {100, time.Second}, "7/90s": {7, 90 * time.Second}, "1/9600h": {1, longest}, "1000/1us": {1000, time.Microsecond},
	} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%s) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "100", "/", "100/", "/1s", "100/1", "100/s", "1e3/1s", "1.5/1s", " 1/1s", "0/1s", "-1/1s",
		"1/-1s", "1/0s", "1/1ns", "1/9601h", "99999999999999999999/1s", "1001/1us", "1/1s/1s"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("ParseRate(%s) = %v, want an error", text, got)
		}
	}
	if text, err := (Rate{}).MarshalText(); err != nil || len(text) != 0 {
		t.Errorf("a rate that was not given is %q, %v", text, err)
	}
}

func TestRateTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		per := rapid.Int64Range(1, micros(longest)).Draw(t, "µs")
		r := Rate{rapid.Int64Range(1, min(1e12, 1000*per)).Draw(t, "units"), time.Duration(per) * time.Microsecond}
		text, err := r.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Rate
		if err := back.UnmarshalText(text); err != nil || back != r {
			t.Fatalf("%s is read as %v, %v", text, back, err)
		}
	})
}

func TestDecimalText(t *testing.T) {
	for text, want := range map[string]Decimal{
		"0": 0, "1": one, "0.9": 900_000, "90%": 900_000, "12.5%": 125_000, "0.000001": 1, "0.0001%": 1, "20": 20 * one,
		"007": 7 * one, "1.500000": 1_500_000, "9223372036854.775807": math.MaxInt64,
	} {
		if got, err := ParseDecimal(text); err != nil || got != want {
			t.Errorf("ParseDecimal(%s) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "+1", ".5", "5.", "1e3", "0x1", "1_000", "0.0000001", "0.00001%", "%", "1 ", "NaN", "1.+5",
		"1.-5", "1..5", "1.2.3", "9223372036854.775808", "9223372036855", "99999999999999999999"} {
		if got, err := ParseDecimal(text); err == nil {
			t.Errorf("ParseDecimal(%s) = %v, want an error", text, got)
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

// A kind that names a field which does not exist would never refuse nor take it, and a
// field that no kind takes could never be used.
func TestKindsAndFieldsBelongTogether(t *testing.T) {
	check := func(config any, takes []string) {
		typ := reflect.TypeOf(config)
		var fields []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
			if name == "" {
				t.Errorf("%v: field %s has no name in a file", typ, typ.Field(i).Name)
			}
			fields = append(fields, name)
		}
		used := strings.Fields(strings.Join(takes, " "))
		for _, field := range fields {
			if field != "kind" && !slices.Contains(used, field) {
				t.Errorf("%v: no kind takes %s", typ, field)
			}
		}
		for _, field := range used {
			if !slices.Contains(fields, field) {
				t.Errorf("%v: a kind takes %s, which is no field", typ, field)
			}
		}
	}
	check(Process{}, fieldsOf(processes))
	check(Keys{}, fieldsOf(keyKinds))
	check(Costs{}, fieldsOf(costKinds))
	check(Retries{}, fieldsOf(retryKinds))
	check(Distribution{}, fieldsOf(delayKinds))
}

func fieldsOf[T any](kinds []kind[T]) (list []string) {
	for _, k := range kinds {
		list = append(list, k.takes)
	}
	return list
}

// Each kind must be in the list of loads that most tests run on.
func TestLoadsCoverAllKinds(t *testing.T) {
	seen := map[string]bool{"keys/": true, "costs/": true} // left out
	seen["process/trace"] = true                           // nothing of it is drawn: it has tests of its own
	for _, l := range loads {
		seen["process/"+l.load.Process.Kind] = true
		seen["keys/"+l.load.Keys.Kind] = true
		seen["costs/"+l.load.Costs.Kind] = true
	}
	for _, k := range processes {
		if !seen["process/"+k.name] {
			t.Errorf("no load has the process %s", k.name)
		}
	}
	for _, k := range keyKinds[1:] { // one is the default
		if !seen["keys/"+k.name] {
			t.Errorf("no load has the keys %s", k.name)
		}
	}
	for _, k := range costKinds[1:] { // fixed is the default
		if !seen["costs/"+k.name] {
			t.Errorf("no load has the costs %s", k.name)
		}
	}
}
