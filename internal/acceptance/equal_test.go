package acceptance_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"pgregory.net/rapid"
)

// TestServersAnswerAsMemoryDoes: for any history of Takes of several limits, looks and
// Resets, with clocks that jump and limits whose parameters change, every field of
// every decision is the same on a server and in memory.
func TestServersAnswerAsMemoryDoes(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		answersAsMemory(t, e, func(run int) string { return fmt.Sprint("run ", run, " ") })
	})
}

// answersAsMemory draws histories; begin is what all keys of one begin with.
func answersAsMemory(t *testing.T, e *env, begin func(run int) string) {
	clock := &manualClock{}
	opts := withQuotaLua()
	opts.Clock = clock
	server := multi(t, e.store(t, opts))
	serverStore := e.store(t, opts) // for Reset: one by one
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		memoryStore, err := memorystore.New(&memorystore.Options{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		defer memoryStore.Close()
		memory, err := weir.NewMultiLimiter(memoryStore, nil)
		if err != nil {
			t.Fatal(err)
		}
		h := history{clock: clock, keys: begin(run), latest: algorithm.Instant(rapid.Int64Range(0, int64(algorithm.MaxInstant)).Draw(t, "start"))}
		h.limits = map[string]algorithm.Algorithm{}
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			clock.set(h.move(t))
			ops := h.ops(t)
			if rapid.IntRange(0, 19).Draw(t, "a Reset at 0") == 0 {
				slots := []store.Slot{ops[0].Slot}
				for _, s := range []store.Store{memoryStore, serverStore} {
					if err := s.Reset(context.Background(), slots); err != nil {
						t.Fatal(err)
					}
				}
			}
			verb := rapid.SampledFrom([]string{"Take", "Take", "Take", "Peek"}).Draw(t, "verb")
			var answers []weir.Result
			for _, m := range []*weir.MultiLimiter{memory, server} {
				ask := m.Take
				if verb == "Peek" {
					ask = m.Peek
				}
				r, err := ask(context.Background(), asks(ops)...)
				if err != nil {
					t.Fatalf("%s of %d ops: %v", verb, len(ops), err)
				}
				answers = append(answers, r)
			}
			if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
				t.Fatalf("%s (-memory +server):\n%s", verb, diff)
			}
			h.last = answers[0]
		}
	})
}

// history draws what is asked.
type history struct {
	clock  *manualClock
	keys   string
	limits map[string]algorithm.Algorithm // as they are now
	latest algorithm.Instant
	last   weir.Result
}

// move draws the next reading of the clock.
func (h *history) move(t *rapid.T) algorithm.Instant {
	next := h.clock.instant()
	if len(h.last.Decisions) == 0 {
		next = h.latest
	}
	wait := time.Duration(0)
	if n := len(h.last.Decisions); n > 0 {
		d := h.last.Decisions[rapid.IntRange(0, n-1).Draw(t, "whose wait")]
		wait = d.RetryAfter
		if wait == algorithm.Never || rapid.Bool().Draw(t, "until fresh") {
			wait = d.ResetAfter
		}
	}
	switch rapid.IntRange(0, 7).Draw(t, "the clock") {
	case 0:
		next = algorithm.Instant(rapid.Int64Range(0, int64(algorithm.MaxInstant)).Draw(t, "jumps to"))
	case 1:
		next -= algorithm.Instant(rapid.Int64Range(0, 5_000_000).Draw(t, "goes back by"))
	case 2, 3:
		next += algorithm.Instant(wait / time.Microsecond)
	case 4:
		next += algorithm.Instant(wait/time.Microsecond) - 1
	case 5:
		next += algorithm.Instant(rapid.Int64Range(0, 10_000_000).Draw(t, "goes on by"))
	}
	return min(max(next, 0), algorithm.MaxInstant)
}

func (c *manualClock) instant() algorithm.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// ops draws requests for different slots.
func (h *history) ops(t *rapid.T) []store.Op {
	var ops []store.Op
	seen := map[string]bool{}
	for range rapid.IntRange(1, 6).Draw(t, "ops") {
		name := rapid.SampledFrom(append([]string{"quota"}, kindNames...)).Draw(t, "algorithm")
		key := rapid.SampledFrom([]string{"a", "{b}", "c d"}).Draw(t, "key")
		limit := rapid.SampledFrom([]string{"", "x:y"}).Draw(t, "limit")
		place := name + "/" + key + "/" + limit
		if seen[place] {
			continue
		}
		seen[place] = true
		if h.limits[name+limit] == nil || rapid.IntRange(0, 9).Draw(t, "the limit changes at 0") == 0 {
			h.limits[name+limit] = drawLimit(t, name)
		}
		a := h.limits[name+limit]
		_, fresh := a.Step(algorithm.State{}, 0, algorithm.Request{})
		one := op(h.keys+key, limit, a, 1)
		switch rapid.IntRange(0, 5).Draw(t, "the cost") {
		case 0:
			one.Request.Cost = 0
		case 1:
			one.Request.Cost = rapid.Int64Range(0, 1<<62).Draw(t, "any cost")
		case 2, 3:
			one.Request.Cost = rapid.Int64Range(1, fresh.Limit).Draw(t, "cost")
		}
		if rapid.IntRange(0, 4).Draw(t, "a bound on the delay at 0") == 0 {
			one.Request.MaxDelay = time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "longest delay"))
		}
		ops = append(ops, one)
	}
	return ops
}

// drawLimit draws a limit of a kind, small and large.
func drawLimit(t *rapid.T, name string) algorithm.Algorithm {
	units := rapid.SampledFrom([]int64{1, 2, 3, 7, 10, 97, 1000, 999_983, 86_400_000, algorithm.MaxUnits}).Draw(t, "units")
	per := rapid.SampledFrom([]time.Duration{
		time.Microsecond, 7 * time.Microsecond, time.Millisecond, 333_333 * time.Microsecond, time.Second,
		3 * time.Second, time.Minute, time.Hour, 24 * time.Hour, 2147483648 * time.Millisecond, algorithm.MaxPeriod,
	}).Draw(t, "period")
	if name == "quota" {
		return session(units, per)
	}
	text := fmt.Sprintf("%s:%d/%v", name, units, per)
	if burst := rapid.SampledFrom([]int64{1, 2, 5, 1000}).Draw(t, "burst"); name == "gcra" || name == "token-bucket" {
		text += fmt.Sprintf(",burst=%d", burst)
	} else if name == "leaky-bucket" {
		text += fmt.Sprintf(",capacity=%d", burst)
	}
	a, err := algorithm.ParseSpec(text)
	if err != nil { // 1000 of one in 400 days take longer than there is to come back
		return longest(name, 10)
	}
	return a
}
