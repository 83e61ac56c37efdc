package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/internal/oracle"
	"github.com/weirgo/weir/internal/storeurl"
	"pgregory.net/rapid"
)

// The decision lines of any trace under any limit are, byte for byte, those that
// the oracle gives; sorted, those of the oracle on the events in order of time.
func TestReplayEqualsTheOracle(t *testing.T) {
	for _, kind := range oracle.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "trace.jsonl")
			rapid.Check(t, func(t *rapid.T) {
				w := drawWorld(t, kind)
				for range rapid.SampledFrom([]int{1, 10, 30, 50}).Draw(t, "events") {
					w.move(drawMove(t))
				}
				w.check(t, file, rapid.Bool().Draw(t, "sorted"))
			})
		})
	}
}

// Long enough for a log to fill, to be trimmed and to be filled again.
func TestReplayOfALongTraceEqualsTheOracle(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for _, kind := range oracle.Kinds() {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s/%d", kind, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 2026))
				l := limits{kind: kind, limit: 80 + rng.Int64N(20), period: 1000, capacity: 90}
				if kind.Windowed() {
					l.capacity = l.limit
				}
				w := newWorld(l, keys[:2], 1_764_277_200_000_000)
				for n := range 500 {
					m := move{key: rng.IntN(2), bits: rng.Uint64()}
					switch {
					case n%200 == 199:
						m.when = 4 // a pause: what was logged leaves
					case n%17 == 0:
						m.when, m.what = rng.IntN(moments), rng.IntN(costs)
					}
					w.move(m)
				}
				w.check(t, filepath.Join(t.TempDir(), "trace.jsonl"), false)
			})
		}
	}
}

// limits are the parameters of one limit. capacity equals limit for a window.
type limits struct {
	kind                    oracle.Kind
	limit, period, capacity int64
}

const (
	mostUnits   = 1_000_000_000_000
	mostPeriod  = 400 * 86_400_000_000
	mostToFull  = 18_250 * 86_400_000_000
	mostInstant = 7_000_000_000_000_000
)

func drawLimits(t *rapid.T, kind oracle.Kind) limits {
	l := limits{kind: kind, limit: draw(t, "limit", mostUnits, 7, 10, 60, 1_000_003, 999_999_999_989)}
	l.period = draw(t, "period", mostPeriod, 3, 1000, 1_000_000, 60_000_000, 86_400_000_000)
	l.capacity = l.limit
	if !kind.Windowed() {
		most := new(big.Int).Mul(big.NewInt(mostToFull), big.NewInt(l.limit))
		most.Div(most, big.NewInt(l.period))
		if !most.IsInt64() || most.Int64() > mostUnits {
			most.SetInt64(mostUnits)
		}
		l.capacity = draw(t, "capacity", most.Int64(), min(l.limit, most.Int64()))
	}
	return l
}

// draw draws from 1 to most: a small number, one close to most, a round one, or
// any.
func draw(t *rapid.T, label string, most int64, round ...int64) int64 {
	n := rapid.SampledFrom(round).Draw(t, label)
	switch rapid.IntRange(0, 4).Draw(t, label+" is") {
	case 0, 1:
		n = rapid.Int64Range(1, 12).Draw(t, label)
	case 2:
		n = most - rapid.Int64Range(0, 2).Draw(t, label+", below the most by")
	case 3:
		n = rapid.Int64Range(1, most).Draw(t, label)
	}
	return min(max(n, 1), most)
}

// calendars are those of which the period of limits picks one.
var calendars = []string{
	"day", "month,zone=Europe/Berlin,anchor=31", "week,zone=America/New_York,anchor=sunday", "day,zone=Australia/Lord_Howe", "year,anchor=02-29", "quarter,zone=Asia/Kathmandu",
}

func (l limits) spec() string {
	if l.kind.ByCalendar() {
		return fmt.Sprintf("%s:%d/%s", l.kind, l.limit, calendars[l.period%int64(len(calendars))])
	}
	spec := fmt.Sprintf("%s:%d/%v", l.kind, l.limit, time.Duration(l.period)*time.Microsecond)
	switch {
	case l.capacity == l.limit:
		return spec
	case l.kind == oracle.LeakyBucket:
		return fmt.Sprintf("%s,capacity=%d", spec, l.capacity)
	}
	return fmt.Sprintf("%s,burst=%d", spec, l.capacity)
}

// keys are keys and how a decision line spells them.
var keys = []struct{ key, json string }{
	{"user:1", `"user:1"`},
	{"user:2", `"user:2"`},
	{`a "quoted\" one`, `"a \"quoted\\\" one"`},
	{"\x00\x1b[31m\n", `"\u0000\u001b[31m\n"`},
	{"<é日本&>", `"<é日本&>"`},
	{"\u2028\ufffd", `"\u2028` + "\ufffd\""},
	{strings.Repeat("long", 1000), `"` + strings.Repeat("long", 1000) + `"`},
}

type event struct {
	at, cost int64
	key      int            // of the world
	answer   oracle.Outcome // where it stands in the trace
}

// world makes a trace and knows how it is decided.
type world struct {
	limits
	store   string // the URL of the store that decides
	now     int64
	keys    []struct{ key, json string }
	oracles []*oracle.Oracle
	last    []event // of each key
	events  []event
	lines   strings.Builder // the trace
}

func drawWorld(t *rapid.T, kind oracle.Kind) *world {
	const today = 1_764_277_200_123_456
	l := drawLimits(t, kind)
	start := rapid.SampledFrom([]int64{0, today, today / l.period * l.period, mostInstant - 1000}).Draw(t, "start")
	several := rapid.IntRange(1, 3).Draw(t, "keys")
	first := rapid.IntRange(0, len(keys)-several).Draw(t, "first key")
	return newWorld(l, keys[first:first+several], start)
}

func newWorld(l limits, keys []struct{ key, json string }, start int64) *world {
	w := &world{limits: l, store: storeurl.Memory, now: start, keys: keys}
	for range keys {
		w.oracles = append(w.oracles, w.oracle())
		w.last = append(w.last, event{at: start, cost: 1, answer: oracle.Outcome{Remaining: l.capacity}})
	}
	return w
}

func (w *world) oracle() *oracle.Oracle {
	o := oracle.New(w.kind, w.limit, w.period, w.capacity)
	if w.kind.ByCalendar() {
		o.Follow(oracle.NewCalendar(algorithm.Must(algorithm.ParseSpec(w.spec())).Spec().Identity))
	}
	return o
}

// move is one request, relative to what its key was answered before.
type move struct {
	key, when, what int
	bits            uint64
}

// How many there are of when and of what.
const moments, costs = 14, 10

func drawMove(t *rapid.T) move {
	return move{
		key:  rapid.IntRange(0, 2).Draw(t, "key"),
		when: rapid.IntRange(0, moments-1).Draw(t, "when"),
		what: rapid.IntRange(0, costs-1).Draw(t, "what"),
		bits: rapid.Uint64().Draw(t, "bits"),
	}
}

func (w *world) move(m move) {
	e := event{key: m.key % len(w.keys)}
	last := w.last[e.key]
	few := int64(m.bits%4) + 1
	edge := (last.at/w.period + 1) * w.period
	switch m.when {
	case 0, 1:
		e.at = w.now + int64(m.bits%2)
	case 2: // units later
		e.at = w.now + few*(w.period/w.limit) + int64(m.bits>>8%2)
	case 3, 4: // as soon as the key is as new, or 1 µs before
		e.at = last.at + last.answer.ResetAfter - int64(m.when-3)
	case 5, 6: // as soon as it is admitted
		e.at = last.at + max(0, last.answer.RetryAfter)
	case 7: // 1 µs before
		e.at = last.at + max(0, last.answer.RetryAfter) - 1
	case 8, 9: // at the edge of a window, or 1 µs before
		e.at = edge + few/2*w.period - int64(m.when-8)
	case 10: // any time in the window
		e.at = edge - w.period + int64(m.bits%uint64(w.period))
	case 11: // any time to come
		e.at = w.now + int64(m.bits>>8>>(m.bits%56))
	case 12: // a little back
		e.at = w.now - few
	case 13: // any time ago
		e.at = w.now - int64(m.bits>>8>>(m.bits%56))
	}
	e.at = min(max(e.at, 0), mostInstant)
	e.cost = w.cost(m, last)
	e.answer = w.oracles[e.key].Decide(e.at, e.cost, 0)
	w.now, w.last[e.key] = e.at, e
	w.events = append(w.events, e)
	w.write(e, m.bits>>32)
}

func (w *world) cost(m move, last event) int64 {
	switch {
	case m.when >= 5 && m.when <= 7:
		return last.cost // what was refused
	case m.what == 1:
		return 0
	case m.what == 2:
		return last.answer.Remaining
	case m.what == 3:
		return last.answer.Remaining + 1
	case m.what == 4:
		return w.capacity
	case m.what == 5:
		return w.capacity + 1
	case m.what == 6:
		return math.MaxInt64 - int64(m.bits%3)
	case m.what == 7:
		return 1 + int64(m.bits>>3%uint64(w.capacity))
	case m.what == 8:
		return int64(2 + m.bits>>3%3)
	}
	return 1
}

// write writes an event in one of the ways that JSON allows, and now and then a
// line before it that cannot be used.
func (w *world) write(e event, how uint64) {
	switch how >> 2 % 16 {
	case 0:
		fmt.Fprintf(&w.lines, "{\"at_us\":%d,\"key\":%s,\"cost\":-%d}\n", e.at, w.keys[e.key].json, e.cost+1)
	case 1:
		w.lines.WriteString(" \n")
	}
	switch {
	case how%4 == 0 && e.cost == 1:
		fmt.Fprintf(&w.lines, "{\"key\":%s,\"at_us\":%d}\n", w.keys[e.key].json, e.at)
	case how%4 == 1:
		fmt.Fprintf(&w.lines, " {\"cost\" : %d, \"more\": [{}], \"key\": %s,\t\"at_us\": %d}\r\n", e.cost, w.keys[e.key].json, e.at)
	default:
		fmt.Fprintf(&w.lines, "{\"at_us\":%d,\"key\":%s,\"cost\":%d}\n", e.at, w.keys[e.key].json, e.cost)
	}
}

// sorted returns the events in order of time, as they are decided then.
func (w *world) sorted() []event {
	events := slices.Clone(w.events)
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	fresh := newWorld(w.limits, w.keys, 0)
	for i, e := range events {
		events[i].answer = fresh.oracles[e.key].Decide(e.at, e.cost, 0)
	}
	return events
}

// want returns the decision lines and the counts of a replay of events.
func (w *world) want(events []event) (lines string, r report.Replay) {
	var all strings.Builder
	used, hit := map[int]bool{}, map[int]bool{}
	for _, e := range events {
		o := e.answer
		fmt.Fprintf(&all, `{"at_us":%d,"key":%s,"cost":%d,"allowed":%t,"limit":%d,"remaining":%d,"retry_after_us":%d,"reset_after_us":%d,"delay_us":%d}`+"\n",
			e.at, w.keys[e.key].json, e.cost, o.Allowed, o.Limit, o.Remaining, o.RetryAfter, o.ResetAfter, o.Delay)
		used[e.key] = true
		if o.Allowed {
			r.Admitted++
			r.UnitsAdmitted += e.cost
		} else {
			r.Denied++
			hit[e.key] = true
		}
	}
	r.Events, r.Keys, r.KeysHit = int64(len(events)), int64(len(used)), int64(len(hit))
	return all.String(), r
}

// check replays the trace and compares every line, and the counts of the report.
func (w *world) check(t failer, file string, sorted bool) {
	t.Helper()
	write(t, file, w.lines.String())
	args, events := []string{"replay", "--store", w.store, "--limit", w.spec()}, w.events
	if sorted {
		args, events = append(args, "--sort"), w.sorted()
	}
	lines, counts := w.want(events)
	summary := file + ".report"
	got := start(append(args, "--decisions", "-", "--json", summary, file)...)
	if got.status != exitOK || got.out != lines {
		trace := w.lines.String()
		if len(events) > 50 {
			trace = fmt.Sprintf("(%d events)", len(events)) // a test of a seed: run it
		}
		t.Fatalf("%s on %s, sorted %v: status %d, %s\n%s\ntrace:\n%s", w.spec(), w.store, sorted, got.status, got.err, difference(got.out, lines), trace)
	}
	var r report.Replay
	if err := json.Unmarshal([]byte(read(t, summary)), &r); err != nil {
		t.Fatalf("--json: %v", err)
	}
	have := report.Replay{Span: report.Span{Events: r.Events}, Keys: r.Keys, KeysHit: r.KeysHit, Admitted: r.Admitted, Denied: r.Denied, UnitsAdmitted: r.UnitsAdmitted}
	if fmt.Sprint(have) != fmt.Sprint(counts) {
		t.Fatalf("%s: the report counts\n%+v, want\n%+v", w.spec(), have, counts)
	}
}

// difference shows the first line that differs.
func difference(got, want string) string {
	g, w := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for i := range max(len(g), len(w)) {
		line := func(lines []string) string {
			if i < len(lines) {
				return lines[i]
			}
			return "(no line)"
		}
		if line(g) != line(w) {
			return fmt.Sprintf("line %d:\ngot  %s\nwant %s", i+1, line(g), line(w))
		}
	}
	return "all lines equal"
}
