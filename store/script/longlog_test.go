package script

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/loglist"
	"github.com/weirgo/weir/internal/servertest"
)

// drawLog returns the text of a log of entries 1 to 3 µs apart, which ends at now.
func drawLog(r *rand.Rand, entries int, now algorithm.Instant, cost func() int64) string {
	words, at, extra := make([]string, entries), int64(now), int64(0)
	for i := entries - 1; i >= 0; i-- {
		words[i] = strconv.FormatInt(at, 10)
		if c := cost(); c > 1 {
			words[i], extra = words[i]+":"+strconv.FormatInt(c, 10), extra+c-1
		}
		at -= 1 + r.Int64N(3)
	}
	if extra > 0 {
		words = append([]string{"+" + strconv.FormatInt(extra, 10)}, words...)
	}
	return strings.Join(words, " ")
}

// setLog writes the list of a text, however long it is.
func setLog(t testing.TB, w *wire, name, text string) {
	t.Helper()
	args := append([]string{"EVAL", `redis.call('DEL', KEYS[1])
for i = 1, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], 5000000) return 'OK'`, "1", name}, loglist.Elements(text)...)
	if _, err := w.Do(context.Background(), &Command{Args: args}); err != nil {
		t.Fatal(err)
	}
}

// elementsOf returns the list of a log.
func elementsOf(t testing.TB, w *wire, name string) []string {
	t.Helper()
	text, err := w.Do(context.Background(), &Command{Args: []string{"EVAL", "return table.concat(redis.call('LRANGE', KEYS[1], 0, -1), ' ')", "1", name}})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(text)
}

// wantBlocks looks at the sum of each block that a list has from its first entry on.
func wantBlocks(t testing.TB, elements []string) (seen int) {
	t.Helper()
	_, summary, found := strings.Cut(elements[0], "+")
	if !found {
		return 0
	}
	_, digits, _ := strings.Cut(summary, ":")
	place, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("%q", elements[0])
	}
	extra := make([]int64, len(elements)+1) // before each entry
	for i, element := range elements {
		parts := strings.Split(strings.TrimSuffix(element, "+"+summary), ":")
		cost := int64(1)
		if len(parts) > 1 {
			cost, _ = strconv.ParseInt(parts[1], 10, 64)
		}
		extra[i+1] = extra[i] + cost - 1
		for level, size := 0, 16; level < 9 && (place+i+1)%size == 0 && i+1 >= size; level, size = level+1, size*4 {
			want, got := extra[i+1]-extra[i+1-size], int64(0)
			if len(parts) > 2+level {
				got, _ = strconv.ParseInt(parts[2+level], 10, 64)
			}
			if got != want {
				t.Fatalf("entry %d at place %d: %q says %d of the block of %d, which has %d", i, place+i, element, got, size, want)
			}
			seen++
		}
	}
	return seen
}

// TestLongLogsAreDecidedAsGoDoes: decisions on logs that have blocks of blocks, of costs 1
// alone, of rare other costs, and of other costs throughout, while entries leave one by
// one and in thousands.
func TestLongLogsAreDecidedAsGoDoes(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r, clock := dialWire(t, server), random(t), &manualClock{}
		s := open(t, w, &Options{Clock: clock})
		blocks := 0
		for name, cost := range map[string]func() int64{
			"costs 1":    func() int64 { return 1 },
			"rare costs": func() int64 { return 1 + max(0, r.Int64N(400)-398)*7 },
			"costs":      func() int64 { return 1 + r.Int64N(5) },
		} {
			now := algorithm.Instant(1_790_000_000_000_000)
			a := algorithm.Must(algorithm.NewSlidingLog(algorithm.Rate{Units: 20_000, Per: 12 * time.Millisecond}))
			ops := oneOp(name, a)
			at := s.name(&ops[0].Slot)
			text := drawLog(r, 5_000, now, cost)
			setLog(t, w, at, text)
			state, err := algorithm.ParseState(text)
			if err != nil {
				t.Fatal(err)
			}
			for step := range fewer(1_000) {
				switch r.IntN(20) {
				case 0:
					now += algorithm.Instant(r.Int64N(4_000))
				case 1, 2, 3:
				default:
					now += algorithm.Instant(r.Int64N(6))
				}
				clock.set(now)
				if ops[0].Request.Cost = cost(); r.IntN(2) == 0 {
					ops[0].Request.Cost = r.Int64N(20_002)
					if r.IntN(3) > 0 { // denied by a little
						_, o := a.Step(state, now, algorithm.Request{})
						ops[0].Request.Cost = o.Remaining + 1 + r.Int64N(1+min(1000, o.Limit-o.Remaining))
					}
				}
				if ops[0].Request.Cost > 1000 && ops[0].Request.Cost < 15_000 { // leave room for what follows
					if _, err := s.Peek(context.Background(), ops); err != nil {
						t.Fatal(err)
					}
					_, want := a.Step(state, now, ops[0].Request)
					if diff := cmp.Diff(want, ops[0].Outcome); diff != "" {
						t.Fatalf("%s, step %d: peek of %d (-want +got):\n%s", name, step, ops[0].Request.Cost, diff)
					}
					continue
				}
				if _, _, err := s.Apply(context.Background(), ops); err != nil {
					t.Fatalf("%s, step %d: %v", name, step, err)
				}
				var want algorithm.Outcome
				state, want = a.Step(state, now, ops[0].Request)
				if diff := cmp.Diff(want, ops[0].Outcome); diff != "" {
					t.Fatalf("%s, step %d: %d (-want +got):\n%s", name, step, ops[0].Request.Cost, diff)
				}
				if step%50 == 0 {
					elements := elementsOf(t, w, at)
					if got := loglist.Text(elements); got != state.String() {
						t.Fatalf("%s, step %d: stored\n%s\nwant\n%s", name, step, got, state)
					}
					blocks += wantBlocks(t, elements)
				}
			}
		}
		if blocks < 100 { // costs that fill the window leave short logs
			t.Errorf("%d blocks were looked at", blocks)
		}
	})
}

// TestDecisionsOnLongLogsReadFewEntries: whatever a decision on a log of 100,000
// entries says, and however many of them have expired, it reads a few
// dozens. A list that is walked through makes all other clients of the server wait. The
// bound is 2 searches by time, of 19 entries each, and 2 by units: 4 entries a level of
// blocks and 2 blocks of 16.
func TestDecisionsOnLongLogsReadFewEntries(t *testing.T) {
	const now, most = 1_790_000_000_000_000, 2*19 + 2*(4*9+2*16)
	entries := fewer(100_000)
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r, clock := dialWire(t, server), random(t), &manualClock{at: now}
		s := open(t, w, &Options{Clock: clock, Timeout: time.Minute})
		for name, cost := range map[string]func() int64{
			"costs 1": func() int64 { return 1 }, "costs": func() int64 { return 1 + r.Int64N(5) },
		} {
			text := drawLog(r, entries, now, cost)
			state, err := algorithm.ParseState(text)
			if err != nil {
				t.Fatal(err)
			}
			units := state.Log().Units()
			for expired, period := range map[string]time.Duration{
				"none has expired": 3 * time.Duration(entries) * time.Microsecond, "half": time.Duration(entries) * time.Microsecond,
			} {
				a := algorithm.Must(algorithm.NewSlidingLog(algorithm.Rate{Units: units, Per: period}))
				ops := oneOp(name, a)
				setLog(t, w, s.name(&ops[0].Slot), text)
				_, o := a.Step(state, now, algorithm.Request{})
				costs := []int64{0, units, units + 1, o.Remaining, o.Remaining + 1}
				for range 20 {
					costs = append(costs, 1+r.Int64N(units))
				}
				highest, total := 0, 0
				for _, ops[0].Request.Cost = range costs {
					before := entriesRead(server)
					if _, err := s.Peek(context.Background(), ops); err != nil {
						t.Fatal(err)
					}
					read := entriesRead(server) - before
					if _, want := a.Step(state, now, ops[0].Request); want != ops[0].Outcome {
						t.Fatalf("%s, %s, cost %d: %+v, want %+v", name, expired, ops[0].Request.Cost, ops[0].Outcome, want)
					}
					if highest, total = max(highest, read), total+read; read > most {
						t.Errorf("%s, %s: a look of cost %d reads %d entries, at most %d", name, expired, ops[0].Request.Cost, read, most)
					}
				}
				ops[0].Request.Cost = max(1, o.Remaining)
				before := entriesRead(server)
				if _, _, err := s.Apply(context.Background(), ops); err != nil {
					t.Fatal(err)
				}
				if read := entriesRead(server) - before; read > most+2*16 { // more where it ends blocks
					t.Errorf("%s, %s: an admission reads %d entries, at most %d", name, expired, read, most+2*16)
				}
				t.Logf("%s, %s: a look reads %d entries, at most %d", name, expired, total/len(costs), highest)
			}
		}
	})
}

// entriesRead returns how many entries of lists a server has read, where LRANGE reads 16.
func entriesRead(server *servertest.Server) (entries int) {
	info, _ := server.Do("INFO", "commandstats").(string)
	for line := range strings.Lines(info) {
		name, counts, _ := strings.Cut(line, ":calls=")
		calls, _, _ := strings.Cut(counts, ",")
		n, _ := strconv.Atoi(calls)
		switch name {
		case "cmdstat_lindex":
			entries += n
		case "cmdstat_lrange":
			entries += 16 * n
		}
	}
	return entries
}

// TestLogsWrittenByCompareAndSetHaveTheirSums: a Take with an algorithm without Lua writes
// the whole list, and decisions on it are as cheap as on any other.
func TestLogsWrittenByCompareAndSetHaveTheirSums(t *testing.T) {
	const now = 1_790_000_000_000_000
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r := dialWire(t, server), random(t)
		s := open(t, w, &Options{Clock: &manualClock{at: now}})
		for name, cost := range map[string]func() int64{
			"costs 1": func() int64 { return 1 }, "costs": func() int64 { return 1 + r.Int64N(5) },
		} {
			a := algorithm.Must(algorithm.NewSlidingLog(algorithm.Rate{Units: 100_000, Per: 12 * time.Millisecond}))
			ops := append(oneOp(name, a), oneOp(name, kindOnly("mine/1"))...)
			at, text := s.name(&ops[0].Slot), drawLog(r, 3_000, now-5, cost)
			setLog(t, w, at, text)
			state, err := algorithm.ParseState(text)
			if err != nil {
				t.Fatal(err)
			}
			if _, committed, err := s.Apply(context.Background(), ops); err != nil || !committed {
				t.Fatal(committed, err)
			}
			state, _ = a.Step(state, now, ops[0].Request)
			want := loglist.Elements(state.String())
			got := elementsOf(t, w, at)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if blocks := wantBlocks(t, got); blocks < 200 && name == "costs" {
				t.Errorf("%s: %d blocks", name, blocks)
			}
		}
	})
}
