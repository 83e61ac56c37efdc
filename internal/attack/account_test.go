package attack

import (
	"errors"
	"strings"
	"testing"
)

// TestBoundsOfAccounts has for each bound the last numbers that keep it, and the first
// that break it.
func TestBoundsOfAccounts(t *testing.T) {
	phases := func(all ...tally) []phase {
		var p []phase
		for _, t := range all {
			t.Calls = t.Acked + t.Denied + t.Unavailable + t.Unknown
			p = append(p, phase{Keys: []tally{t}})
		}
		return p
	}
	few := tally{Acked: 10, Denied: 1, Unavailable: 4, Unknown: 2}
	for _, c := range []struct {
		name   string
		a      account
		phases []phase
		broken string
	}{
		{"nothing unknown was charged", account{held: []int64{10}}, phases(few), ""},
		{"all unknown were charged", account{held: []int64{12}}, phases(few), ""},
		{"one was lost", account{held: []int64{9}}, phases(few), "acked ≤ charged"},
		{"one was charged twice", account{held: []int64{13}}, phases(few), "acked ≤ charged"},
		{"two phases add up", account{held: []int64{22}}, phases(few, few), ""},
		{"two phases lose one", account{held: []int64{19}}, phases(few, few), "acked ≤ charged"},
		{"the capacity", account{held: []int64{100}}, phases(tally{Acked: 100}), ""},
		{"beyond the capacity", account{held: []int64{101}}, phases(tally{Acked: 101}), "acked ≤ capacity"},

		{"what was lost is known", account{held: []int64{7}, lost: []int64{3}}, phases(few), ""},
		{"less was lost", account{held: []int64{7}, lost: []int64{2}}, phases(few), "acked ≤ charged + lost"},
		{"one was charged twice beside a loss", account{held: []int64{7}, lost: []int64{6}}, phases(few), "acked ≤ charged + lost"},
		{"a loss below 0", account{held: []int64{11}, lost: []int64{-1}}, phases(few), "0 ≤ lost"},
		{"admitted again what was lost", account{held: []int64{100}, lost: []int64{5}}, phases(tally{Acked: 105}), ""},
		{"admitted again more than was lost", account{held: []int64{101}, lost: []int64{4}}, phases(tally{Acked: 105}), "beyond the capacity ≤ lost"},

		{"forgot some", account{held: []int64{4}, forgets: true}, phases(few), ""},
		{"forgot nothing", account{held: []int64{12}, forgets: true}, phases(few), ""},
		{"charged twice and forgets", account{held: []int64{13}, forgets: true}, phases(few), "charged ≤ acked + unknown"},
		{"admitted again what was forgotten", account{held: []int64{100}, forgets: true}, phases(tally{Acked: 105}), ""},

		{"restored all", account{held: []int64{20}, restored: []int64{10}}, phases(few, few), ""},
		{"restored nothing", account{held: []int64{10}, restored: []int64{0}}, phases(few, few), ""},
		{"restored more than was charged", account{held: []int64{23}, restored: []int64{13}}, phases(few, few), "restored ≤"},
		{"lost one after the restart", account{held: []int64{9}, restored: []int64{0}}, phases(few, few), "after the restart"},
		{"charged twice after the restart", account{held: []int64{15}, restored: []int64{0}}, phases(few, few), "after the restart"},
		{"no recovery", account{held: []int64{10}, restored: []int64{10}}, phases(few, tally{Unavailable: 5}), "recovery"},
		{"one phase for a restart", account{held: []int64{10}, restored: []int64{0}}, phases(few), "phases"},

		{"a bound of the event", account{held: []int64{10}, broken: errors.New("recovery")}, phases(few), "recovery"},
	} {
		_, err := c.a.check([]key{{Name: "k", capacity: 100}}, &report{Phases: c.phases})
		if (err != nil) != (c.broken != "") || err != nil && !strings.Contains(err.Error(), c.broken) {
			t.Errorf("%s: %v, want %q", c.name, err, c.broken)
		}
	}
	odd := report{Phases: phases(few), Unexpected: []string{"store: corrupt state"}}
	a := account{held: []int64{10}}
	if _, err := a.check([]key{{Name: "k", capacity: 100}}, &odd); err == nil || !strings.Contains(err.Error(), "corrupt") {
		t.Errorf("an unexpected answer: %v", err)
	}
	odd.Unexpected, odd.Phases[0].Keys[0].Calls = nil, 18
	if _, err := a.check([]key{{Name: "k", capacity: 100}}, &odd); err == nil || !strings.Contains(err.Error(), "calls = answers") {
		t.Errorf("a call without an answer: %v", err)
	}
}
