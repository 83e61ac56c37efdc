package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/sim"
	simresult "github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

func TestSimExploresSeeds(t *testing.T) {
	leftToTheRaceRun(t)
	t.Chdir(t.TempDir())
	got := simulated(t, "--seeds", "3", "--seed", "40")
	for _, want := range []string{"explored  3 of 3 seeds, 40 to 42, on memory://", "\ncorner ", "All is well"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	var x report.Exploration
	if err := json.Unmarshal([]byte(simulated(t, "--seeds", "3", "--seed", "40", "--json", "-")), &x); err != nil {
		t.Fatal(err)
	}
	var events int64
	goals := map[string]int64{}
	for seed := uint64(40); seed < 43; seed++ {
		results, err := sim.Run(context.Background(), scenario.Generate(seed), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			events += r.Events
			for _, g := range r.Goals {
				goals[g.Name] += g.Count
			}
		}
	}
	if x.Explored != 3 || x.FirstSeed != 40 || x.Events != events || x.Failed != nil || len(x.Goals) != len(goals) {
		t.Errorf("%+v, want %d events", x, events)
	}
	for _, g := range x.Goals {
		if g.Count != goals[g.Name] {
			t.Errorf("%s: %d, want %d", g.Name, g.Count, goals[g.Name])
		}
	}
	if files(t) != "" {
		t.Errorf("it left %s", files(t))
	}
}

// planted is a scenario whose expectation some seeds miss: ten requests of a Poisson
// process often come within two seconds, and much traffic and a fault are beside it.
const planted = `name: planted
seed: 1
duration: 20s
limits:
  - {name: gcra, spec: "gcra:5/1s"}
  - {name: window, spec: "fixed-window:5/1s"}
nodes: {count: 3}
traffic:
  - {name: noise, process: {kind: constant, rate: 3/1s}, keys: {kind: one, name: noise}}
  - {name: users, process: {kind: poisson, rate: 3/1s}, keys: {kind: one, name: users}}
faults:
  - {kind: slow, at: 5s, for: 1s, delay: 1ms}
expect:
  - {limit: window, metric: denied, max: 6}
`

func TestSimSavesAndShrinksWhatASeedBrings(t *testing.T) {
	leftToTheRaceRun(t)
	t.Chdir(t.TempDir())
	write(t, "planted.yaml", planted)
	explored := start("sim", "planted.yaml", "--seeds", "100")
	if explored.status != exitNo || explored.err != "weir: planted: 1 expectation missed\n" {
		t.Fatalf("status %d, %s%s", explored.status, explored.err, explored.out)
	}
	var saved, rerun string
	for line := range strings.Lines(explored.out) {
		if _, name, found := strings.Cut(line, ", saved in "); found {
			saved = strings.TrimSpace(name)
		}
		if command, found := strings.CutPrefix(line, "replay    weir "); found {
			rerun = strings.TrimSpace(command)
		}
	}
	if saved == "" || !exists(saved) || rerun != "sim "+saved {
		t.Fatalf("saved in %q, run again by %q:\n%s", saved, rerun, explored.out)
	}
	report, _, _ := strings.Cut(explored.out, "\n--verbose also shows")
	if end := "shrink    weir sim " + saved + " --shrink\nsaved     " + saved + "\n"; !strings.HasSuffix(report, end) {
		t.Errorf("the end does not say how to shrink it, and where it is:\n%s", explored.out)
	}
	// The saved one ends as the exploration did, and twice the same.
	again := start(strings.Fields(rerun)...)
	alone, _, _ := strings.Cut(again.out, "\n--verbose also shows")
	if again.status != exitNo || again.err != explored.err || !strings.Contains(explored.out, "\n\n"+alone+"saved") {
		t.Errorf("status %d, %s%s", again.status, again.err, difference(again.out, explored.out))
	}

	shrunk := start(append(strings.Fields(rerun), "--shrink")...)
	if shrunk.status != exitOK || shrunk.err != "" {
		t.Fatalf("shrink: status %d, %s", shrunk.status, shrunk.err)
	}
	small := strings.TrimSuffix(saved, ".yaml") + ".shrunk.yaml"
	if !strings.Contains(shrunk.out, "saved     "+small+"\nreplay    weir sim "+small+"\n") {
		t.Errorf("nothing says where it is:\n%s", shrunk.out)
	}
	s, err := scenario.Parse(strings.NewReader(read(t, small)))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Faults) != 0 || len(s.Traffic) != 1 || s.Traffic[0].Name != "users" || len(s.Limits) != 1 || s.Limits[0].Name != "window" {
		t.Errorf("that is not small:\n%s", read(t, small))
	}
	if got := start("sim", small); got.status != exitNo || got.err != explored.err {
		t.Errorf("the smaller one: status %d, %s", got.status, got.err)
	}
	if got := start("sim", "planted.yaml", "--seeds", "100", "--out", "elsewhere"); got.status != exitNo || read(t, "elsewhere") != read(t, saved) {
		t.Errorf("--out: status %d, %s", got.status, got.err)
	}
	if got := start("sim", saved, "--shrink", "--out", "elsewhere"); got.status != exitOK || read(t, "elsewhere") != read(t, small) {
		t.Errorf("--out: status %d, %s", got.status, got.err)
	}
}

// Expectations were about other limits than those of --limit, and are not dropped
// silently.
func TestSimSaysThatExpectationsAreLeftOut(t *testing.T) {
	got := simulated(t, smallScenario, "--limit", "gcra:1/1s", "--seeds", "2")
	if !strings.Contains(got, "\nexpected  2 expectations of the scenario left out with --limit\n") {
		t.Errorf("an exploration does not say so:\n%s", got)
	}
	if got := simulated(t, smallScenario, "--seeds", "2"); strings.Contains(got, "left out") {
		t.Error(got)
	}
}

func TestSimNamesWhatItSavesForItsSource(t *testing.T) {
	for want, src := range map[string]*simSource{
		"weir-sim-7.yaml":    {},
		"hot-key-7.yaml":     {builtin: true, words: []string{"hot-key"}},
		"dir/s-7.yaml":       {file: "dir/s.yaml"},
		"dir/s.old-7.yaml":   {file: "dir/s.old.yml"},
		"dir.x/plain-7.yaml": {file: "dir.x/plain"},
	} {
		if got := src.beside("-7"); got != want {
			t.Errorf("%+v: %s, want %s", src, got, want)
		}
	}
}

func TestShellWordsAreQuotedWhereTheyMustBe(t *testing.T) {
	for word, want := range map[string]string{
		"gcra:100/1m,burst=20": "gcra:100/1m,burst=20", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$HOME": "'$HOME'", "~": "'~'", "ä": "'ä'",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}

// liars are stores that say no to the tenth request, and forget it.
type liars struct{ closed bool }

type liar struct {
	store.Store
	asked int
}

func (l *liars) openSim(clock store.Clock, _ context.CancelCauseFunc) (store.Store, error) {
	s, err := memorystore.New(&memorystore.Options{Clock: clock})
	return &liar{Store: s}, err
}

func (l *liars) Close() error { l.closed = true; return nil }

func (l *liar) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	at, committed, err := l.Store.Apply(ctx, ops)
	if l.asked++; l.asked == 10 {
		ops[0].Outcome.Allowed = false
	}
	return at, committed, err
}

// smallSource is the small scenario as the command line names it.
func smallSource(t *testing.T) *simSource {
	t.Helper()
	file, err := os.Open(smallScenario)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s, err := scenario.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	return &simSource{scenario: s, words: []string{smallScenario}, flags: &simCommand{}}
}

func TestSimShowsWhereAServerDiffersAndWhichRuleItBreaks(t *testing.T) {
	w := &simWorld{server: &liars{}, shown: "redis://liar"}
	source := smallSource(t)
	r, err := w.run(context.Background(), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Rerun, r.OnServer = source.rerun(), " --store redis://liar"
	var text strings.Builder
	if err := r.Document().WriteText(&text); err != nil {
		t.Fatal(err)
	}
	wantGolden(t, "sim-violated.golden", text.String())
	want := "small: 2 of 2 runs violated a rule, 2 of 2 runs went otherwise on redis://liar than in memory"
	if err := verdict(r); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for _, d := range r.Differs {
		if d.MemoryEvent == d.ServerEvent || d.MemoryEvent == noEvent || d.ServerEvent == noEvent {
			t.Errorf("%+v", d)
		}
	}
	if again, err := w.run(context.Background(), source, nil); err != nil || again.Results[0].Digest != r.Results[0].Digest {
		t.Errorf("again: %v", err)
	}
}

// An exploration stops at the first seed on which the server differs.
func TestSimExplorationFindsAServerThatDiffers(t *testing.T) {
	w := &simWorld{server: &liars{}, shown: "redis://liar"}
	x := &report.Exploration{FirstSeed: 1, Wanted: 50}
	source := smallSource(t)
	for x.Failed == nil && x.Explored < x.Wanted {
		if err := exploreNext(context.Background(), x, source, w); err != nil {
			t.Fatal(err)
		}
	}
	if x.Explored != 1 || len(x.Failed.Differs) != 2 {
		t.Errorf("explored %d: %+v", x.Explored, x.Failed)
	}
}

// The first difference may be that one run has ended before the other.
func TestSimExplainsARunThatEndsEarly(t *testing.T) {
	event := func(n int64, kind string) simresult.Event { return simresult.Event{Number: n, Kind: kind} }
	for _, c := range []struct {
		memory, server []simresult.Event
		want           string // of each run: the event, and what it is in memory and on the server
	}{
		{[]simresult.Event{event(1, "a"), event(2, "b")}, []simresult.Event{event(1, "a"), event(2, "b")}, "0 - -"},
		{[]simresult.Event{event(1, "a"), event(2, "b")}, []simresult.Event{event(1, "a")}, "2 b none"},
		{[]simresult.Event{event(1, "a")}, []simresult.Event{event(1, "a"), event(2, "b"), event(3, "c")}, "2 none b"},
		{[]simresult.Event{event(1, "a"), event(2, "b"), event(1, "c"), event(2, "d")}, []simresult.Event{event(1, "x"), event(1, "c"), event(2, "y"), event(3, "z")}, "1 a x; 2 d y"},
		{[]simresult.Event{event(1, "a"), event(1, "b"), event(2, "c")}, []simresult.Event{event(1, "a"), event(2, "x"), event(1, "b"), event(2, "c")}, "2 none x; 0 - -"},
	} {
		left := c.memory
		both := newLockstep(func() (e simresult.Event, more bool) {
			if len(left) > 0 {
				e, left, more = left[0], left[1:], true
			}
			return e, more
		})
		for i := range c.server {
			both.add(&c.server[i])
		}
		both.finish()
		var got []string
		for _, d := range both.runs {
			short := func(event string) string {
				for _, word := range strings.Fields(event) {
					if len(word) == 1 && word >= "a" {
						return word
					}
				}
				return map[bool]string{true: "none", false: "-"}[event == noEvent]
			}
			got = append(got, fmt.Sprintf("%d %s %s", d.Event, short(d.MemoryEvent), short(d.ServerEvent)))
		}
		if text := strings.Join(got, "; "); text != c.want || len(left) > 0 {
			t.Errorf("%v and %v: %s, want %s", c.memory, c.server, text, c.want)
		}
	}
}

func TestSimSaveFailsWithTheFile(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "no", "where.yaml")
	got := start("sim", missedScenario, "--shrink", "--out", nowhere)
	if got.status != exitFailed || !strings.Contains(got.err, "open "+nowhere) {
		t.Errorf("status %d, %s", got.status, got.err)
	}
	got = start("sim", missedScenario, "--seeds", "1", "--out", nowhere)
	if got.status != exitFailed || !strings.Contains(got.err, "open "+nowhere) {
		t.Errorf("status %d, %s", got.status, got.err)
	}
}
