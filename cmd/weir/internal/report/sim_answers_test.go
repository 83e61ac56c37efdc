package report

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/sim"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

const world = `
name: world
duration: 20s
limits: [{name: window, spec: "fixed-window:5/1s"}, {name: gcra, spec: "gcra:5/1s"}]
traffic: [{name: users, process: {kind: poisson, rate: 40/1s}, keys: {kind: uniform, n: 4}}]
`

func simulate(t *testing.T, text string) *Simulation {
	t.Helper()
	ran, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	results, err := sim.Run(t.Context(), ran, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Simulation{Scenario: ran.Name, Results: results, Ran: ran}
}

// TestFaultsOfServers: the report says which servers a fault acts on, and how requests for
// keys of each server ended.
func TestFaultsOfServers(t *testing.T) {
	s := simulate(t, world+`
server: {count: 3}
network: {delay: {mean: 1ms}}
faults:
  - {kind: freeze, at: 2s, for: 3s, servers: [1]}
  - {kind: dead, at: 9s, servers: [0, 1]}
`)
	var text strings.Builder
	if err := s.Document().WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"at 2 s server 1 stood still for 3 s (", "at 9 s connections to servers 0, 1 died without notice (", "), and on_failure is closed.",
		"\nserver 2: attempts ", "\nserver 1: no decision ", "\n1 freeze of server 1 ", "\n2 dead of servers 0, 1 ",
		"\nservers   3, over which a hash spreads the keys\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "server 2: no decision") {
		t.Error("a request for a key of server 2 has no decision")
	}
}

// What the report calls ignored changes no number, and what it does not call so does.
func TestWhatIsIgnoredChangesNothing(t *testing.T) {
	down := "\nfaults:\n  - {kind: down, at: 5s, for: 3s}"
	clock := "\n  - {kind: clock, of: nodes, at: 9s, step: 700ms}"
	for _, c := range []struct {
		with, without string
		want          string // what is ignored begins with it
	}{
		{"nodes: {count: 3, skew: 700ms, drift: 50}", "nodes: {count: 3}", "nodes.skew and nodes.drift"},
		{"nodes: {count: 3, skew: 700ms}\nserver: {clock: node}", "nodes: {count: 3}\nserver: {clock: node}", ""},
		{"nodes: {count: 3, skew: 700ms, on_failure: local}" + down, "nodes: {count: 3, on_failure: local}" + down, ""},
		{down + clock, down, "faults[1]: the clock of the server decides"},
		{"nodes: {count: 2}\nserver: {clock: node}" + down + strings.Replace(clock, "nodes", "server", 1), "nodes: {count: 2}\nserver: {clock: node}" + down, "faults[1]: the clocks of the nodes decide"},
		{"server: {lag: 1s}" + down, down, "server.lag"},
		{"server: {lag: 1s}" + strings.Replace(down, "down", "failover", 1), strings.Replace(down, "down", "failover", 1), ""},
		{"network: {repeats: true}" + down, down, "network.repeats"},
	} {
		with, without := simulate(t, world+c.with), simulate(t, world+c.without)
		all := with.ignored()
		if (c.want == "") != (all == nil) || c.want != "" && (len(all) != 1 || !strings.HasPrefix(all[0], c.want)) {
			t.Errorf("%s: ignored are %q, want %q", c.with, all, c.want)
		}
		numbers := func(s *Simulation) (all []any) {
			for _, r := range s.Results {
				all = append(all, r.Totals, r.Limits, r.Series, r.Wait, r.Fairness)
			}
			return all
		}
		if same := reflect.DeepEqual(numbers(with), numbers(without)); same != (c.want != "") {
			t.Errorf("%s: the numbers are the same: %v", c.with, same)
		}
	}
}

// Every kind of fault has words.
func TestEveryKindOfFaultHasWords(t *testing.T) {
	for seed := range uint64(300) {
		for _, f := range scenario.Generate(seed).Faults {
			if _, known := faultTexts[f.Kind]; !known {
				t.Fatalf("no words for %s", f.Kind)
			}
		}
	}
}

func TestAnswersSayWhenAndWhy(t *testing.T) {
	for text, want := range map[string]string{
		"nodes: {count: 3, on_failure: local}\nfaults: [{kind: down, at: 5s, for: 3s}]": "gcra: 20 requests of the key key-3 passed in the 1 s before 7.724198 s, at a limit of 5 and at most 9 without faults: " +
			"at 5 s the store failed for 3 s, and on_failure is local (112 decisions for all keys), so each of 3 nodes decided alone, with the whole limit. Over-admitted: 25 beyond rate and burst, by 9.195861 s.",
		"nodes: {count: 3, on_failure: local}\nfaults: [{kind: partition, at: 5s, for: 3s, nodes: [0, 2]}]":                                                 "at 5 s nodes 0, 2 were cut off from the store for 3 s, and on_failure is local (",
		"nodes: {count: 3, on_failure: local, breaker: true}\nfaults: [{kind: down, at: 5s, for: 5s}]":                                                      "alone, with the whole limit, until breakers had closed. Over-admitted: ",
		"nodes: {on_failure: open}\nfaults: [{kind: partition, at: 5s, for: 3s}]":                                                                           "at 5 s the node was cut off from the store for 3 s, and on_failure is open (110 decisions for all keys). Over-admitted: ",
		"faults: [{kind: down, at: 5s, for: 3s}]":                                                                                                           " attempts got no decision: at 5 s the store failed for 3 s, and on_failure is closed.",
		"nodes: {count: 3, skew: 5s}\nserver: {clock: node}":                                                                                                "gcra: 150 attempts denied within the limit: the clocks of the nodes decide, at the start node 0 4.47241 s behind, node 1 3.817181 s behind and node 2 4.181959 s ahead.",
		"faults: [{kind: clock, at: 5s, step: 30s}]":                                                                                                        "gcra: over-admitted 4 beyond rate and burst for the key key-0, by 6.795356 s: at 5 s the clock of the server was moved forward by 30 s. No window of ",
		"faults: [{kind: restart, at: 5s, for: 1s, data: lost}]":                                                                                            "gcra: 32 attempts got no decision: at 5 s the store was down for 1 s and restarted without its data, and on_failure is closed.",
		"faults: [{kind: eviction, at: 5s, for: 2s, every: 50ms}]":                                                                                          "at 5 s the store forgot states for 2 s, and 113 units of all keys were lost. Over-admitted: 6 in one window, by 6.985665 s.",
		"nodes: {count: 3, on_failure: local}\nfaults: [{kind: down, at: 4s, for: 1s}, {kind: partition, at: 9s, for: 4s, nodes: [1], direction: replies}]": " without faults: at 9 s node 1 was cut off from the store for 4 s, for replies alone, and on_failure is local (",
		"nodes: {count: 3}\nfaults: [{kind: crash, at: 5s, for: 2s}, {kind: loss, at: 9s, for: 1s, rate: 40%, nodes: [1]}]":                                 " attempts got no decision: at 5 s all 3 nodes crashed for 2 s and lost their local states (",
		"nodes: {count: 3}\nfaults: [{kind: loss, at: 9s, for: 1s, rate: 40%, nodes: [1]}]":                                                                 " attempts got no decision: at 9 s 40.0 % of messages of node 1 got lost for 1 s, and",
		"nodes: {count: 9, skew: 5s}\nserver: {clock: node}":                                                                                                " ahead, with the others in between.",
		"faults: [{kind: clock, at: 2s, for: 9s, drift: -50000, step: -1s}]":                                                                                "the clock of the server was moved back by 1 s and slow by 50 ms a second for 9 s.",
		// What lets nobody through is no reason, and each fault has its part.
		"faults: [{kind: down, at: 4s, for: 1s}, {kind: failover, at: 8s, for: 1ms}]\nserver: {lag: 2s}":                                                                                                                                                               " without faults: at 8 s the store was down for 1 ms and failed over without its last writes, and 20 units of all keys were lost. Over-admitted: ",
		"faults: [{kind: down, at: 4s, for: 1s}, {kind: down, at: 8s, for: 1s}, {kind: loss, at: 12s, for: 3s, rate: 50%}]":                                                                                                                                            " attempts got no decision: at 4 s and 8 s the store failed for 1 s (",
		"nodes: {count: 2}\nfaults: [{kind: down, at: 9s, for: 1s}, {kind: partition, at: 4s, for: 1s, nodes: [1]}, {kind: down, at: 12s, for: 500ms}, {kind: clock, at: 1s, step: 1s}, {kind: restart, at: 16s, for: 2s}, {kind: slow, at: 14s, for: 1s, delay: 1s}]": " attempts got no decision: at 9 s the store failed for 1 s (43), and at 14 s the store was slow for 1 s, by 1 s a call at a time-out of 100 ms (138), and at 16 s the store was down for 2 s and restarted (82), and 2 other faults acted too, and on_failure is closed.",
		"nodes: {on_failure: open}\nfaults: [{kind: down, at: 4s, for: 1s}, {kind: down, at: 8s, for: 3s}]":                                                                                                                                                            ". Less was over-admitted when at 4 s the store failed for 1 s.",
	} {
		s := simulate(t, world+text)
		if !slices.ContainsFunc(s.answers(), func(a answer) bool { return a.Level == levelOver && strings.Contains(a.Text, want) }) {
			t.Errorf("%s: nothing says %q: %+v", text, want, s.answers())
		}
	}
}

// TestOnlyWhatIsMissedIsRed: an excess is bad where the scenario expects another, and never
// good; what it is counted beyond stands beside each number.
func TestOnlyWhatIsMissedIsRed(t *testing.T) {
	const open = "nodes: {on_failure: open}\nfaults: [{kind: down, at: 5s, for: 3s}]\n"
	for expect, want := range map[string]level{
		"": levelOver,
		"expect: [{metric: over_units, max: 500}]": levelOver,
		"expect: [{metric: over_units, max: 1}]":   levelBad,
		"expect: [{metric: denied, max: 1}]":       levelOver,
	} {
		s := simulate(t, world+open+expect)
		head := s.headline(limitsOf(s.Results))
		for i, over := range []string{" in one window", " beyond rate and burst"} {
			window, units := head.Rows[i][3], head.Rows[i][5]
			if window.Class != string(want) || units.Class != string(want) || !strings.HasSuffix(units.Text, over) {
				t.Errorf("%q: %+v, %+v, want %s and %q", expect, window, units, want, over)
			}
		}
		for _, a := range s.answers() {
			missed := strings.Contains(a.Text, "missed") || strings.Contains(a.Text, "expected")
			excess := strings.Contains(a.Text, "Over-admitted") || strings.Contains(a.Text, "over-admitted")
			if bad := missed || excess && want == levelBad; (a.Level == levelBad) != bad {
				t.Errorf("%q: %+v, bad: want %t", expect, a, bad)
			}
			if a.Level == levelGood {
				t.Errorf("%q: %+v, want nothing good", expect, a)
			}
		}
	}
}

// TestANumberHasItsOwnCause: where the worst window and the largest excess are of different faults, or keys, each is
// beside its own; and what is called less is less.
func TestANumberHasItsOwnCause(t *testing.T) {
	made := func(over, first, second int64) *Simulation {
		ran, err := scenario.Parse(strings.NewReader(world + "nodes: {on_failure: open}\nfaults: [{kind: down, at: 2s, for: 1s}, {kind: freeze, at: 10s, for: 1s}]"))
		if err != nil {
			t.Fatal(err)
		}
		counts := result.Counts{Degraded: 5}
		return &Simulation{Ran: ran, Results: []*result.Result{{
			Limit: "gcra", Totals: result.Counts{Degraded: 10},
			Limits: []result.Limit{{Name: "gcra", Spec: "gcra:5/1s", OverUnits: over, OverMicros: 11_000_000, OverKey: "b",
				Worst: result.Worst{WindowMicros: 1_000_000, Units: 20, LimitUnits: 5, BoundUnits: 9, AtMicros: 3_000_000, Key: "a"}}},
			Faults: []result.Fault{
				{Kind: "down", FromMicros: 2_000_000, ToMicros: 3_000_000, UntilMicros: 4_000_000, Counts: counts, OverUnits: first},
				{Kind: "freeze", FromMicros: 10_000_000, ToMicros: 11_000_000, UntilMicros: 12_000_000, Counts: counts, OverUnits: second},
			},
		}}}
	}
	const head = "gcra: 20 requests of the key a passed in the 1 s before 3 s, at a limit of 5 and at most 9 without faults: " +
		"at 2 s the store failed for 1 s, and on_failure is open (5 decisions for all keys). " +
		"Over-admitted: 30 beyond rate and burst for the key b, by 11 s: at 10 s the store stood still for 1 s, and on_failure is open (5 decisions for all keys)."
	for _, c := range []struct {
		first int64
		want  string
	}{
		{11, head + " Less was over-admitted when at 2 s the store failed for 1 s."},
		{30, head},
	} {
		s := made(30, c.first, 30)
		if got := s.answers()[0].Text; got != c.want {
			t.Errorf("%d in the other fault: %q, want %q", c.first, got, c.want)
		}
	}
	leased := made(30, 0, 0)
	leased.Ran.Nodes.Lease = &scenario.Lease{Units: 3}
	if got := leased.answers()[0].Text; !strings.Contains(got, "units of a lease are used after they were charged") {
		t.Errorf("%q does not name leases", got)
	}
}

// TestLostUnitsOfClocksThatVaryAreAtMostThose: where the clock that decides may go back, nobody knows what still counted.
func TestLostUnitsOfClocksThatVaryAreAtMostThose(t *testing.T) {
	const restart = "faults: [{kind: restart, at: 5s, for: 1ms, data: lost}"
	for text, want := range map[string]string{
		restart + "]": "without its data, and 17 units of all keys were lost.",
		restart + ", {kind: clock, at: 15s, step: -1s}]": "without its data, and up to 20 units of all keys were lost.",
		restart + "]\nserver: {clock: node}":             "without its data, and up to 20 units of all keys were lost.",
	} {
		s := simulate(t, world+text)
		if !slices.ContainsFunc(s.answers(), func(a answer) bool { return strings.Contains(a.Text, want) }) {
			t.Errorf("%s: nothing says %q: %+v", text, want, s.answers())
		}
	}
}

// TestTheReportSaysWhatItsWordsMean, where they are in it, and no word of repeats where nobody repeats.
func TestTheReportSaysWhatItsWordsMean(t *testing.T) {
	text := func(more string) string {
		var b strings.Builder
		if err := simulate(t, world+more).Document().WriteText(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const faults = "nodes: {on_failure: open}\nfaults: [{kind: down, at: 5s, for: 3s}, {kind: clock, at: 12s, step: -2s}]"
	plain, faulty := text(""), text(faults)
	for _, words := range []string{"faults explain up to", "denied within the limit", "acts until"} {
		if note := "\n" + words + ": "; !strings.Contains(faulty, note) || strings.Contains(plain, note) {
			t.Errorf("%q: want a note where there are faults, and only there:\n%s", words, faulty)
		}
	}
	if repeated := text("nodes: {on_failure: closed}\nfaults: [{kind: down, at: 5s, for: 3s}]"); strings.Contains(repeated, "repeats per admission") {
		t.Errorf("nobody repeats:\n%s", repeated)
	}
	var page strings.Builder
	if err := simulate(t, world+faults).Document().WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), `<p class="note">`); n != 3 {
		t.Errorf("the page has %d notes, want 3", n)
	}
	const ends = "An interval holds both of its ends: one of 1\u00a0s may hold 10 without faults, and a window of 1\u00a0s, which holds one end, 9."
	if !strings.Contains(page.String(), ends) {
		t.Errorf("the page does not say %q", ends)
	}
}
