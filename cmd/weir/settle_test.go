package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/internal/servertest"
	memorystore "github.com/weirgo/weir/store/memory"
)

// costLine is a line of a trace whose costs are known at the end.
type costLine struct {
	At       int64  `json:"at_us"`
	Key      string `json:"key"`
	Estimate int64  `json:"estimate"`
	Used     int64  `json:"used"`
	Took     int64  `json:"took"`
}

func textOf(lines []costLine) string {
	var text strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&text, `{"at_us":%d,"key":%q,"estimate":%d,"used":%d,"took":%d}`+"\n", l.At, l.Key, l.Estimate, l.Used, l.Took)
	}
	return text.String()
}

var (
	settleSpecs = []string{"gcra:20/1ms", "token-bucket:20/1ms,burst=30", "leaky-bucket:20/1ms", "fixed-window:20/1ms", "sliding-log:20/1ms", "sliding-counter:20/1ms"}

	atTheEnd  = []string{"--settle-column", "used"}
	reserving = []string{"--settle-column", "used", "--reserve-column", "estimate"}
)

func settled(t *testing.T, lines []costLine, limit string, flags ...string) (allowed []bool, got *report.Settlement) {
	t.Helper()
	args := append([]string{"replay", "-", "--limit", limit}, flags...)
	first := startWith(textOf(lines), append(args, "--decisions", "-")...)
	if first.status != exitOK {
		t.Fatalf("%q: status %d, %s", args, first.status, first.err)
	}
	if again := startWith(textOf(lines), append(args, "--decisions", "-")...); again != first {
		t.Errorf("%q: the second replay gave other bytes", args)
	}
	for d := json.NewDecoder(strings.NewReader(first.out)); d.More(); {
		var line decisionLine
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		allowed = append(allowed, line.Allowed)
	}
	var r report.Replay
	if err := json.Unmarshal([]byte(startWith(textOf(lines), append(args, "--json", "-")...).out), &r); err != nil {
		t.Fatal(err)
	}
	return allowed, r.Settlement
}

func TestCostsCountWhenARequestEnds(t *testing.T) {
	lines := []costLine{
		{At: 0, Key: "a", Estimate: 6, Used: 2, Took: 10},
		{At: 9, Key: "a", Estimate: 5, Used: 5, Took: 1},  // 4 are left: the first has not ended
		{At: 10, Key: "a", Estimate: 5, Used: 9, Took: 5}, // 8 are left: the first has ended
		{At: 12, Key: "a", Estimate: 3, Used: 1, Took: 1},
		{At: 20, Key: "a", Estimate: 1, Used: 1},
	}
	took := []string{"--duration-column", "took"}
	for name, c := range map[string]struct {
		flags   []string
		allowed []bool
		sum     report.Settlement
	}{
		// 2 + 9 of 10: of the excess of 4 there are 2 left where the one at 12 is settled to 1.
		"clamped": {slices.Concat(reserving, took), []bool{true, false, true, true, false}, report.Settlement{
			Reserves: true, HasEnds: true, Reserved: 14, Used: 12, Returned: 6, Excess: 4, Uncounted: 2,
			Budget: 10, Known: 4, KnownUnits: 9, Over: 1, OverUnits: 9, Under: 2, UnderUnits: 6,
		}},
		"into debt": {slices.Concat(reserving, took, []string{"--settle-into-debt"}), []bool{true, false, true, true, false}, report.Settlement{
			Reserves: true, HasEnds: true, IntoDebt: true, Reserved: 14, Used: 12, Returned: 6, Excess: 4, MostDebt: 2,
			Budget: 10, Known: 4, KnownUnits: 9, Over: 1, OverUnits: 9, Under: 2, UnderUnits: 6,
		}},
		// Each request settles before the next starts: 2 and 5, then 3 are left and 5 are not.
		"without durations": {reserving, []bool{true, true, false, true, true}, report.Settlement{
			Reserves: true, Reserved: 15, Used: 9, Returned: 6, Budget: 10, Known: 4, KnownUnits: 9,
		}},
		"charged at the end": {slices.Concat(atTheEnd, took), []bool{true, true, true, true, false}, report.Settlement{
			HasEnds: true, IntoDebt: true, Used: 17, Excess: 17, MostDebt: 7,
			Budget: 10, Known: 4, KnownUnits: 9, Over: 1, OverUnits: 9, Under: 1, UnderUnits: 1,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			allowed, got := settled(t, lines, "gcra:10/24h", c.flags...)
			if !slices.Equal(allowed, c.allowed) || *got != c.sum {
				t.Errorf("%v\n%+v\nwant %v\n%+v", allowed, *got, c.allowed, c.sum)
			}
		})
	}
}

func TestReplayReservesAsALimiterDoes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, spec := range settleSpecs {
		var lines []costLine
		at := int64(1_700_000_000_000_000)
		for range 400 {
			at += random.Int64N(300)
			lines = append(lines, costLine{at, string(rune('a' + random.IntN(2))), random.Int64N(12), random.Int64N(16), random.Int64N(2000) * random.Int64N(2)})
		}
		for _, debt := range []bool{false, true} {
			flags := slices.Concat(reserving, []string{"--duration-column", "took"})
			if debt {
				flags = append(flags, "--settle-into-debt")
			}
			allowed, got := settled(t, lines, spec, flags...)
			want, uncounted, mostDebt := reservedBy(t, lines, spec, debt)
			if !slices.Equal(allowed, want) || got.Uncounted != uncounted || got.MostDebt != mostDebt {
				t.Errorf("%s, into debt %v: %d not counted and a debt of %d, want %d and %d; decisions equal: %v",
					spec, debt, got.Uncounted, got.MostDebt, uncounted, mostDebt, slices.Equal(allowed, want))
			}
		}
	}
}

func TestServersSettleAsMemoryDoesAndKeepNothing(t *testing.T) {
	leftToTheRaceRun(t)
	random := rand.New(rand.NewPCG(1, 2))
	var lines []costLine
	at := int64(1_764_277_200_000_000)
	for range 40 {
		at += random.Int64N(300)
		lines = append(lines, costLine{at, "a", random.Int64N(12), random.Int64N(16), random.Int64N(2000)})
	}
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, spec := range settleSpecs {
			for _, columns := range [][]string{atTheEnd, reserving} {
				flags := append([]string{"--duration-column", "took"}, columns...)
				want, sum := settled(t, lines, spec, flags...)
				got, onServer := settled(t, lines, spec, append(flags, "--store", "redis://"+s.Addr())...)
				if !slices.Equal(got, want) || *onServer != *sum {
					t.Errorf("%s, %q: %v\n%+v\nin memory %v\n%+v", spec, flags, got, *onServer, want, *sum)
				}
				wantKeys(t, s)
			}
		}
	})
}

// reservedBy decides a sorted trace with the reservations of a weir.Limiter.
func reservedBy(t *testing.T, lines []costLine, spec string, debt bool) (allowed []bool, uncounted, mostDebt int64) {
	t.Helper()
	clock := &traceClock{}
	states := weir.Must(memorystore.New(&memorystore.Options{Clock: clock}))
	defer states.Close()
	l := weir.Must(weir.New(states, weir.Must(weir.ParseLimit("tokens", spec)), &weir.Options{SettleIntoDebt: debt}))
	ctx := context.Background()
	type moment struct {
		at    int64
		start bool
		line  int
	}
	var moments []moment
	for i, line := range lines {
		moments = append(moments, moment{line.At, true, i})
		if line.Took > 0 {
			moments = append(moments, moment{line.At + line.Took, false, i})
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int {
		if a.at == b.at && a.start != b.start {
			if a.start {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.at, b.at)
	})
	reserved := make([]*weir.Reservation, len(lines))
	settle := func(i int) {
		if !reserved[i].Allowed() {
			return
		}
		s, err := reserved[i].Settle(ctx, lines[i].Used)
		if err != nil {
			t.Fatal(err)
		}
		uncounted += lines[i].Used - s.Charged[0]
		if len(s.Decisions) > 0 {
			mostDebt = max(mostDebt, s.Decisions[0].Debt)
		}
	}
	for _, m := range moments {
		clock.now = algorithm.Instant(m.at)
		if !m.start {
			settle(m.line)
			continue
		}
		r, err := l.Reserve(ctx, lines[m.line].Key, lines[m.line].Estimate)
		if err != nil {
			t.Fatal(err)
		}
		reserved[m.line], allowed = r, append(allowed, r.Allowed())
		if lines[m.line].Took == 0 {
			settle(m.line)
		}
	}
	return allowed, uncounted, mostDebt
}

func TestSettlementIsInTheReport(t *testing.T) {
	got := replayed(t, textOf([]costLine{{0, "a", 6, 2, 10}, {5, "a", 4, 9, 10}}), slices.Concat([]string{"--limit", "gcra:10/24h"}, reserving, []string{"--duration-column", "took"})...)
	for _, want := range []string{
		"The admitted requests used 11 units, 1 above the budget of 10.\n",
		"settled   each request at its end\n",
		"reserved  10 units, of which 4 were given back\n",
		"used      11 units, of which 5 above the reserved, and of these 1 not counted: nothing was left\n",
		"known     1 admitted (50.0 %), 2 units, where the actual costs are known at the start\n",
		"over      1 request (9 units) admitted that are denied then\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report does not say %q:\n%s", want, got)
		}
	}
}

func TestFlagsOfSettlementsThatDoNotFitAreRefused(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--limit", "gcra:1/1s", "--reserve-column", "estimate"}, "--reserve-column: must be left out without a settle column"},
		{[]string{"--limit", "gcra:1/1s", "--duration-column", "took"}, "--duration-column: must be left out without a settle column"},
		{[]string{"--limit", "gcra:1/1s", "--settle-column", "used", "--settle-into-debt"}, "--settle-into-debt is for --reserve-column: must be left out"},
		{[]string{"--policy", "p.yaml", "--settle-column", "used"}, "--settle-column is for --limit: must be left out with --policy"},
		{[]string{"--limit", "gcra:1/1s", "--settle-column", "uses"}, `--settle-column: no line has "uses": the first has "at_us", "estimate", "key", "took", "used"`},
	} {
		got := startWith(textOf([]costLine{{Key: "a"}}), append([]string{"replay", "-"}, c.flags...)...)
		if got.status != exitUsage || !strings.HasPrefix(got.err, "weir: "+c.want+"\n") {
			t.Errorf("%q: status %d, %s", c.flags, got.status, got.err)
		}
	}
}

func TestCostThatNoDebtHoldsIsAnErrorOfTheTrace(t *testing.T) {
	got := startWith(textOf([]costLine{{Key: "a", Used: 1 << 60}}), append([]string{"replay", "-", "--limit", "gcra:1/1s"}, atTheEnd...)...)
	if got.status != exitUsage || !strings.Contains(got.err, "a cost of 1152921504606846976 units") {
		t.Errorf("status %d, %s", got.status, got.err)
	}
}
