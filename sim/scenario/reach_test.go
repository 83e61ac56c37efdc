package scenario

import (
	"strings"
	"testing"
	"time"
)

// Clocks that pass the latest instant are refused, wherever they are.
func TestScenariosEndBeforeTheLatestInstant(t *testing.T) {
	begin := func(year int) func(*Scenario) {
		return func(s *Scenario) { s.Start = time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC) }
	}
	for name, c := range map[string]struct {
		change func(*Scenario)
		fails  bool
	}{
		"late":                {begin(2191), false},
		"too late":            {begin(2192), true},
		"before 1970":         {begin(1969), true},
		"a slow limit":        {func(s *Scenario) { begin(2141)(s); s.Limits[0].Spec = "gcra:1/9600h,burst=45" }, false},
		"a slow limit, later": {func(s *Scenario) { begin(2143)(s); s.Limits[0].Spec = "gcra:1/9600h,burst=45" }, true},
		"steps": {func(s *Scenario) {
			begin(2190)(s)
			for range 1000 {
				s.Faults = append(s.Faults, Fault{Kind: "clock", Step: 24 * time.Hour})
			}
		}, true},
		"drift": {func(s *Scenario) {
			begin(2190)(s)
			s.Duration = 9600 * time.Hour
			for range 20 {
				s.Faults = append(s.Faults, Fault{Kind: "clock", Drift: 100_000})
			}
		}, true},
	} {
		s := parsed(t, small)
		c.change(s)
		err := s.Validate()
		if (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), "start ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
