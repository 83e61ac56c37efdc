package report

import "fmt"

// Settlement is what a replay says of costs that are known at the end of a request. Units are those of the limit, and
// stop at 2^63-1.
type Settlement struct {
	Reserves bool `json:"reserves"`  // costs were reserved at the start; else a request was admitted where one unit was left
	HasEnds  bool `json:"has_ends"`  // a request ends after its start; else each was settled immediately after its start
	IntoDebt bool `json:"into_debt"` // all of an excess was counted; else as much as was left

	Reserved   int64 `json:"reserved"`    // by the admitted requests
	Used       int64 `json:"used"`        // the actual costs of the admitted requests
	Returned   int64 `json:"returned"`    // reserved and not used
	Excess     int64 `json:"excess"`      // used and not reserved
	Uncounted  int64 `json:"uncounted"`   // of the excess, for which nothing was left
	MostDebt   int64 `json:"most_debt"`   // of a key
	Budget     int64 `json:"budget"`      // the capacity of each key, and what its rate gives from its first request to the last
	Known      int64 `json:"known"`       // requests that the limit admits where it knows the actual costs at the start
	KnownUnits int64 `json:"known_units"` // which they cost
	Over       int64 `json:"over"`        // requests admitted that it denies then
	OverUnits  int64 `json:"over_units"`
	Under      int64 `json:"under"` // requests denied that it admits then
	UnderUnits int64 `json:"under_units"`
}

// Add counts a request at its start. known reports whether the limit admits it where it knows the actual cost.
func (s *Settlement) Add(reserved, actual int64, allowed, known bool) {
	if allowed {
		s.Reserved, s.Used = saturate(s.Reserved, reserved), saturate(s.Used, actual)
		s.Returned, s.Excess = saturate(s.Returned, max(0, reserved-actual)), saturate(s.Excess, max(0, actual-reserved))
	}
	if known {
		s.Known, s.KnownUnits = s.Known+1, saturate(s.KnownUnits, actual)
	}
	switch {
	case allowed && !known:
		s.Over, s.OverUnits = s.Over+1, saturate(s.OverUnits, actual)
	case known && !allowed:
		s.Under, s.UnderUnits = s.Under+1, saturate(s.UnderUnits, actual)
	}
}

// Settle counts a settlement: the units for which nothing was left, and the debt of the key after it.
func (s *Settlement) Settle(uncounted, debt int64) {
	s.Uncounted, s.MostDebt = saturate(s.Uncounted, uncounted), max(s.MostDebt, debt)
}

// AddBudget counts the budget of a key.
func (s *Settlement) AddBudget(units int64) { s.Budget = saturate(s.Budget, units) }

func (s *Settlement) facts(events int64) (all []Fact) {
	units := func(n int64) string { return Count(n, "unit") }
	when := "each request at its end"
	if !s.HasEnds {
		when = "each request immediately after its start: no request has a duration"
	}
	all = append(all, fact("settled", when))
	if s.Reserves {
		all = append(all, factf("reserved", "%s, of which %s were given back", units(s.Reserved), Digits(s.Returned)))
	}
	used := units(s.Used)
	if s.Reserves {
		used += ", of which " + Digits(s.Excess) + " above the reserved"
		if !s.IntoDebt {
			used += ", and of these " + Digits(s.Uncounted) + " not counted: nothing was left"
		}
	}
	rare := func(name string, n int64, value string) Fact { return Fact{name, value, n == 0} }
	return append(all, fact("used", used), rare("debt", s.MostDebt, units(s.MostDebt)+" of a key at most"),
		factf("budget", "%s: what each key had at first, and what it regained until its last request", units(s.Budget)),
		factf("known", "%s admitted (%s), %s, where the actual costs are known at the start", Digits(s.Known), Percent(s.Known, events), units(s.KnownUnits)),
		rare("over", s.Over, fmt.Sprintf("%s (%s) admitted that are denied then", Count(s.Over, "request"), units(s.OverUnits))),
		rare("under", s.Under, fmt.Sprintf("%s (%s) denied that are admitted then", Count(s.Under, "request"), units(s.UnderUnits))))
}

func (s *Settlement) answer() answer {
	if s.Used > s.Budget {
		return answer{levelNote, fmt.Sprintf("The admitted requests used %s, %s above the budget of %s.", Count(s.Used, "unit"), Digits(s.Used-s.Budget), Digits(s.Budget))}
	}
	return answer{levelGood, fmt.Sprintf("The admitted requests used %s, %s of the budget of %s.", Count(s.Used, "unit"), Percent(s.Used, s.Budget), Digits(s.Budget))}
}
