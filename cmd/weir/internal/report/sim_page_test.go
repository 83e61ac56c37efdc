package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/sim/result"
)

// hostile is a name as a stranger may choose it.
const hostile = "<script>alert(1)</script>\"'&\x1b[2J\u202e"

// madeUp are results in which every field has something to show.
func madeUp() []*result.Result {
	five, zero := int64(5), int64(0)
	var all []*result.Result
	for i, name := range []string{"gcra", "fixed window"} {
		n := int64(i + 1)
		r := &result.Result{
			Scenario: "made up", About: "Of everything something.", Seed: 7, Limit: name, DurationMicros: 60_000_000, EndMicros: 70_000_000,
			Digest: "0123456789abcdef", Events: 40_000 * n,
			Totals: result.Counts{Arrivals: 10_000, Attempts: 12_000 * n, OfferedUnits: 13_000 * n, Admitted: 9_000, AdmittedUnits: 9_500, Denied: 2_500,
				Degraded: 30, Errors: 200, Unknown: 100, Throttled: 150, GaveUp: 700, Open: 50},
			Traffic: []result.Traffic{{Name: "users", Counts: result.Counts{Arrivals: 9}, BadLines: 3, FirstBad: "line 4: cost is negative"}, {Name: "robot"}},
			Faults: []result.Fault{
				{Kind: "failover", FromMicros: 30_000_000, ToMicros: 31_000_000, UntilMicros: 35_000_000, OverUnits: 40, FalselyDeniedUnits: 3, ForgottenUnits: 60},
				{Kind: "loss", FromMicros: 10_000_000, ToMicros: 20_000_000, UntilMicros: 24_000_000},
				{Kind: "eviction", FromMicros: 30_500_000, ToMicros: 30_500_000, UntilMicros: 30_500_000},
			},
			Limits: []result.Limit{{
				Name: name, Spec: "gcra:100/1s,burst=20", Executed: 11_000, ExecutedAllowed: 9_000, ExecutedUnits: 9_500, Keys: 50,
				OverUnits: 40, OverBoundUnits: 60, OverMicros: 31_000_000, OverKey: "key-1",
				Worst: result.Worst{WindowMicros: 1_000_000, Units: 160, LimitUnits: 100, BoundUnits: 119, AtMicros: 31_000_000, Key: "key-1"},
			}},
			Fairness: result.Fairness{JainMillionths: 912_345, Keys: 50, Top: []result.Client{
				{Key: "key-1", Attempts: 900, OfferedUnits: 1_000, AdmittedUnits: 400}, {Key: "key-2", Attempts: 80, OfferedUnits: 80, AdmittedUnits: 80}}},
			RetryAfter: result.RetryAfter{Denied: 2_000, Kept: 1_500, Exact: 10, Early: 20, MaxErrorMicros: 1_500},
			Goals:      []result.Goal{{Name: "reply lost", Count: 12}, {Name: "false denial"}},
			Expected:   []result.Expected{{Limit: name, Metric: "over_units", Max: &zero, Value: 40}, {Limit: name, Metric: "denied", Min: &five, Value: 2_500, Met: true}},
		}
		for j := range int64(60) {
			r.Series.Offered = append(r.Series.Offered, 200+j*j%97)
			r.Series.Admitted = append(r.Series.Admitted, 150+j*j%31)
			r.Series.Denied = append(r.Series.Denied, 40)
			r.Series.Degraded = append(r.Series.Degraded, j%7*n)
			r.Series.Failed = append(r.Series.Failed, j%5)
		}
		r.Series.BucketMicros = 1_000_000
		for length := int64(10); length <= 4_000_000; length *= 2 {
			r.Limits[0].Curve = append(r.Limits[0].Curve, result.CurvePoint{Micros: length, Units: 1 + length/15_000, BoundUnits: 20 + length/10_000 - length/1_000_000*60})
		}
		for j, bound := range []int64{0, 1_000, 2_000, 5_000, 10_000, -1} {
			r.Waits = append(r.Waits, result.WaitBucket{UpToMicros: bound, Count: int64(1000 >> j)})
			r.Wait = result.Wait{P99Micros: 12_345}
		}
		all = append(all, r)
	}
	all[1].Failure = &result.Failure{
		Scenario: "made up", Seed: 7, Limit: "fixed window", Rule: "admission", Text: "7 units above the limit", Micros: 31_000_000, Event: 1234,
		Columns: "number what key", Last: []string{"1233 asked " + hostile, "1234 decided key-1"},
	}
	return all
}

func simulation(results []*result.Result) *Simulation {
	return &Simulation{Scenario: results[0].Scenario, Seed: results[0].Seed, Store: "memory://", Results: results, Rerun: "weir sim --seed 7 made-up.yaml"}
}

func simHTML(t *testing.T, results []*result.Result) string {
	t.Helper()
	var b strings.Builder
	if err := simulation(results).Document().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSimPageShowsTheNumbers(t *testing.T) {
	got := simHTML(t, madeUp())
	for _, want := range []string{
		"<title>Simulation: made up</title>",
		"Of everything something.",
		"1 of 2 runs violated a rule, 2 expectations missed",
		"<code>weir sim --seed 7 made-up.yaml</code>",
		"Admitted: gcra 9,000 of 10,000 requests (90.0\u00a0%); fixed window 9,000 of 10,000 requests (90.0\u00a0%).",
		"gcra 160 in 1\u00a0s, at a limit of 100; 119 is the most without faults",
		`"name":"1 loss"`, `"name":"2 failover"`, `"name":"3 eviction"`,
		"Above the most without faults at 1 of 19 lengths; most so in 2.62144\u00a0s: 175, and at most 162 without faults.",
		"gcra: wait of half none, of 99\u00a0% 12.3\u00a0ms",
		"Jain&#39;s index is 0.912 over 50 keys",
		// Numbered in the order of time, not of the scenario.
		"<th scope=\"row\" class=\"left\">1 loss</th><td class=\"left\">gcra</td><td>10\u00a0s</td><td>20\u00a0s</td><td>24\u00a0s</td>",
		"<th scope=\"row\" class=\"left\">2 failover</th><td class=\"left\">gcra</td><td>30\u00a0s</td>", "<th scope=\"row\" class=\"left\">3 eviction</th>",
		`<th scope="row" class="name">users: requests</th>`,
		`<td class="hash">0123<wbr>4567<wbr>89ab<wbr>cdef</td>`,
		`<td class="left bad">MISSED</td>`,
		"Violation of admission, fixed window",
		"It was event 1,234, 31\u00a0s after the start",
		"1234 decided key-1",
		`<th scope="row" class="name">reply lost</th><td>12</td>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Log(body(got))
	}
}

func TestSimAnswers(t *testing.T) {
	kept := madeUp()[:1]
	kept[0].Failure, kept[0].Expected = nil, nil
	kept[0].Totals.Errors, kept[0].Totals.Unknown = 0, 0
	kept[0].Limits[0].OverUnits, kept[0].Limits[0].Worst.Units = 0, 80
	allowed := madeUp()[:1]
	*allowed[0] = *kept[0]
	allowed[0].Limits = []result.Limit{kept[0].Limits[0]}
	allowed[0].Limits[0].Worst.Units = 119
	spread := madeUp()[:1]
	spread[0].Failure, spread[0].Expected, spread[0].Totals.Errors, spread[0].Totals.Unknown = nil, nil, 0, 0
	spread[0].Limits[0].Worst.Units = 119
	missed := madeUp()[:1]
	for name, c := range map[string]struct {
		results []*result.Result
		want    []answer
	}{
		"kept": {kept, []answer{
			{levelGood, "gcra: 80 units passed within 1 s at a limit of 100, which was kept."}, {levelGood, "No rule was violated."}}},
		"allowed": {allowed, []answer{
			{levelNote, "gcra: 119 units passed within 1 s at a limit of 100: as this algorithm allows, which is up to 119."}, {levelGood, "No rule was violated."}}},
		"an excess that is in no window": {spread, []answer{
			{levelOver, "gcra: over-admitted 40 beyond rate and burst for the key key-1, by 31 s: at 30 s the store was down for 1 s and failed over without its last writes. No window of 1 s had more than 119 units of one key, and gcra:100/1s,burst=20 allows up to 119."},
			{levelNote, "No rule was violated: the faults and settings of the scenario explain all of the above."}}},
		"missed": {missed, []answer{
			{levelBad, "1 expectation missed."},
			{levelBad, "over_units of limit gcra is 40: expected at most 0."},
			{levelBad, "gcra: 160 units of the key key-1 passed in the 1 s before 31 s, at a limit of 100 and at most 119 without faults: at 30 s the store was down for 1 s and failed over without its last writes. Over-admitted: 40 beyond rate and burst, by 31 s."},
			{levelOver, "gcra: 300 attempts got no decision: on_failure is closed."}}},
	} {
		if got := simulation(c.results).answers(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	// Nothing is green above an excess.
	missed[0].Expected = nil
	for _, a := range simulation(missed).answers() {
		if a.Level == levelGood {
			t.Errorf("%+v", a)
		}
	}
}

func TestSimPageOfAnEmptyRun(t *testing.T) {
	r := &result.Result{Scenario: "nothing", Limit: "a", Limits: []result.Limit{{Name: "a", Spec: "gcra:1/1s"}}}
	got := simHTML(t, []*result.Result{r})
	checkPage(t, got)
	if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Error("a number that is none")
	}
}

func TestSimPageOfLimitsTogether(t *testing.T) {
	r := madeUp()[0]
	second := r.Limits[0]
	second.Name = "second"
	r.Limits = append(r.Limits, second)
	got := simHTML(t, []*result.Result{r})
	checkPage(t, got)
	for _, want := range []string{">gcra</h3>", ">second</h3>", `<th scope="row" class="left">second</th><td class="left">gcra:<wbr>100/1s,<wbr>burst=20</td>`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestSimPageOfSixteenLimits(t *testing.T) {
	var results []*result.Result
	for i := range 16 {
		r := madeUp()[0]
		r.Limit = fmt.Sprintf("limit %d", i)
		r.Limits[0].Name = r.Limit
		results = append(results, r)
	}
	checkPage(t, simHTML(t, results))
}

func TestWaitsHaveThreeDigits(t *testing.T) {
	r := &result.Result{Totals: result.Counts{Admitted: 1}}
	for micros, want := range map[int64]string{0: "none", 7: "7 µs", 999: "999 µs", 12_349: "12.3 ms", 2_179_071: "2.18 s"} {
		if got := waited(r, micros); got != want {
			t.Errorf("%d µs: %s, want %s", micros, got, want)
		}
	}
	if got := waited(new(result.Result), 0); got != "–" {
		t.Errorf("of nothing: %s", got)
	}
}

func TestTheTableSaysHowManyKeysTheCurveIsOf(t *testing.T) {
	for want, l := range map[string]result.Limit{
		"0":                        {CurveKeys: 7, CurveOf: 7},
		"10,000 of 12,345":         {CurveKeys: 10_000, CurveOf: 12_345},
		"10,002 of 12,345, 2 late": {CurveKeys: 10_002, CurveOf: 12_345, CurveLate: 2},
		"7 of 7, 1 late":           {CurveKeys: 7, CurveOf: 7, CurveLate: 1},
	} {
		if got := curveKeys(limitOf{Limit: &l}).Text; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
