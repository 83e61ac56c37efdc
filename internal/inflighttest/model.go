package inflighttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience/inflight"
	"pgregory.net/rapid"
)

// model is the contract, written down in the simplest way: a list.
type model struct {
	held []modelHolder
	late algorithm.Instant // a mistake: how long who has died is live
}

type modelHolder struct {
	slot  inflight.Slot
	id    string
	cost  int64
	until algorithm.Instant
}

func (m *model) expire(now algorithm.Instant) {
	m.held = slices.DeleteFunc(m.held, func(h modelHolder) bool { return h.until <= now-m.late })
}

func (m *model) find(h inflight.Holder) int {
	return slices.IndexFunc(m.held, func(x modelHolder) bool { return x.slot == h.Slot && x.id == h.ID && x.cost == h.Cost })
}

// standing is that of a slot: what is in use, and when the first hold expires.
func (m *model) standing(slot inflight.Slot, now algorithm.Instant) (s inflight.Standing) {
	s.At = now
	for _, h := range m.held {
		if h.slot == slot {
			s.InUse += h.cost
			if s.Next == 0 || h.until < s.Next {
				s.Next = h.until
			}
		}
	}
	return s
}

func (m *model) acquire(now algorithm.Instant, h inflight.Holder, limit int64) inflight.Standing {
	m.expire(now)
	if m.find(h) < 0 {
		if s := m.standing(h.Slot, now); s.InUse+h.Cost > limit {
			return s
		}
		m.held = append(m.held, modelHolder{h.Slot, h.ID, h.Cost, 0})
	}
	return m.renew(now, h)
}

func (m *model) renew(now algorithm.Instant, h inflight.Holder) inflight.Standing {
	s := m.standing(h.Slot, now)
	s.Next = 0
	if i := m.find(h); i >= 0 {
		m.held[i].until = max(m.held[i].until, now+algorithm.Instant(h.Life/time.Microsecond))
		s.Held, s.Until = true, m.held[i].until
	}
	return s
}

func (m *model) release(now algorithm.Instant, h inflight.Holder) inflight.Standing {
	i := m.find(h)
	if i >= 0 {
		m.held = slices.Delete(m.held, i, i+1)
	}
	s := m.standing(h.Slot, now)
	s.Next, s.Held = 0, i >= 0
	return s
}

// equalsTheModel: random calls at a clock that never goes back, answer by answer.
func equalsTheModel(t *testing.T, open Open) {
	clock := NewClock()
	s := open(t, clock)
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++ // a key of its own for each run
		m := &model{}
		slots := []inflight.Slot{{Key: fmt.Sprint("a", run), Limit: "l"}, {Key: fmt.Sprint("a", run), Limit: "m"}, {Key: fmt.Sprint("b", run), Limit: "l"}}
		holderOf := func() inflight.Holder {
			return inflight.Holder{
				Slot: rapid.SampledFrom(slots).Draw(t, "slot"), ID: rapid.SampledFrom([]string{"p", "q", "r", "s"}).Draw(t, "id"),
				Cost: rapid.Int64Range(1, 3).Draw(t, "cost"), Life: time.Duration(rapid.IntRange(1, 4).Draw(t, "life")) * time.Millisecond,
			}
		}
		check := func(want, got inflight.Standing, err error) {
			if err != nil || got != want {
				t.Fatalf("%+v (%v), the model says %+v", got, err, want)
			}
		}
		now := func() algorithm.Instant {
			at, err := algorithm.InstantOf(clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			m.expire(at)
			return at
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(*rapid.T) {
				h, limit := holderOf(), rapid.Int64Range(1, 6).Draw(t, "limit")
				got, err := s.Acquire(background, h, limit)
				check(m.acquire(now(), h, limit), got, err)
			},
			"renew": func(*rapid.T) {
				h := holderOf()
				got, err := s.Renew(background, h)
				check(m.renew(now(), h), got, err)
			},
			"release": func(*rapid.T) {
				h := holderOf()
				got, err := s.Release(background, h)
				check(m.release(now(), h), got, err)
			},
			"peek": func(*rapid.T) {
				slot := rapid.SampledFrom(slots).Draw(t, "slot")
				got, err := s.Peek(background, slot)
				check(m.standing(slot, now()), got, err)
			},
			"wait": func(*rapid.T) {
				clock.Move(rapid.SampledFrom([]time.Duration{time.Microsecond, 999 * time.Microsecond, time.Millisecond, 2 * time.Millisecond}).Draw(t, "time"))
			},
		})
	})
}

// exactlyTheLimit: callers that ask at the same time are given the limit, and all of it.
func exactlyTheLimit(w *world) {
	const callers, limit = 40, 17
	for round := range 5 {
		w.slot.Key = fmt.Sprint("round ", round)
		var admitted atomic.Int64
		var done sync.WaitGroup
		for i := range callers {
			done.Go(func() {
				got, err := w.store.Acquire(background, w.holder(fmt.Sprint(i)), limit)
				if err != nil {
					w.Error(err)
				} else if got.Held {
					admitted.Add(1)
				}
			})
		}
		done.Wait()
		if admitted.Load() != limit {
			w.Fatalf("%d of %d were admitted, by a limit of %d", admitted.Load(), callers, limit)
		}
		w.inUse(limit, w.after(life))
	}
}

// call is a call of a history. Its answer may be lost: then it was made or not.
type call struct {
	verb string
	h    inflight.Holder
}

type answer struct {
	lost  bool
	held  bool
	inUse int64
}

const historyLimit = 3

// contract is the model for porcupine, at an instant at which nothing expires. A state is
// the sorted IDs of the holders.
var contract = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{""} },
	Step: func(state, input, output any) []any {
		c, got := input.(call), output.(answer)
		ids := strings.Fields(state.(string))
		is := slices.Contains(ids, c.h.ID)
		want := answer{held: is}
		switch {
		case c.verb == "acquire" && !is && len(ids) < historyLimit:
			ids, want.held = append(ids, c.h.ID), true
			slices.Sort(ids)
		case c.verb == "release" && is:
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == c.h.ID })
		}
		want.inUse = int64(len(ids))
		next := strings.Join(ids, " ")
		if got.lost {
			return []any{state, next}
		}
		if got != want {
			return nil
		}
		return []any{next}
	},
}).ToModel()

// isLinearizable: callers that ask at the same time, and do not get every answer. They ask
// again for what they did not get.
func isLinearizable(t *testing.T, open Open) {
	const rounds, callers, calls = 6, 4, 8
	w := newWorld(t, open)
	for round := range rounds {
		w.slot.Key = fmt.Sprint("history ", round)
		var mu sync.Mutex
		var history []porcupine.Operation
		start := time.Now()
		var done sync.WaitGroup
		for caller := range callers {
			random := rand.New(rand.NewPCG(uint64(round), uint64(caller)))
			done.Go(func() {
				for i := range calls {
					c := call{[]string{"acquire", "release", "acquire", "renew"}[random.IntN(4)], w.holder(fmt.Sprint(random.IntN(6)))}
					for again := true; again; {
						lose := random.IntN(4)
						from := time.Since(start)
						got := answer{lost: lose < 2}
						if lose != 0 { // the request arrives
							s, err := w.do(c)
							if err != nil {
								t.Error(i, err)
								return
							}
							if !got.lost {
								got.held, got.inUse = s.Held, s.InUse
							}
						}
						mu.Lock()
						history = append(history, porcupine.Operation{ClientId: caller, Input: c, Call: int64(from), Output: got, Return: int64(time.Since(start))})
						mu.Unlock()
						again = got.lost
					}
				}
			})
		}
		done.Wait()
		if result := porcupine.CheckOperationsTimeout(contract, history, time.Minute); result != porcupine.Ok {
			t.Fatalf("round %d: %v, of %d calls", round, result, len(history))
		}
	}
}

func (w *world) do(c call) (inflight.Standing, error) {
	switch c.verb {
	case "acquire":
		return w.store.Acquire(background, c.h, historyLimit)
	case "renew":
		return w.store.Renew(background, c.h)
	}
	return w.store.Release(background, c.h)
}
