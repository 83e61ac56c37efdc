package world

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/store"
)

// Kind is a kind of algorithm with limits that differ in what is hard: round
// ones, fractions, very short and very long ones.
type Kind struct {
	Name   string
	Limits []algorithm.Algorithm
	Needs  Needs
	place  int // among the kinds
}

// Custom is the name of the suite's own kind.
const Custom = "written-elsewhere"

// Kinds are the families of package algorithm, and a kind of the suite's own.
var Kinds = sync.OnceValue(func() []Kind {
	var all []Kind
	for _, f := range algorithm.Families() {
		specs := []string{"5/1s", "7/3s", "3/7us", "1000003/24h"}
		if f.Option != "" {
			option := "," + f.Option + "="
			specs = []string{"5/1s", "7/3s" + option + "4", "3/7us", "1000003/24h" + option + "50", "1000/1s" + option + "1"}
		}
		if f.Calendar { // 28 November is a Friday
			specs = []string{"5/month,anchor=31", "7/day,zone=Australia/Lord_Howe", "3/week,zone=America/New_York,anchor=sunday", "1000003/quarter,zone=Asia/Kathmandu,anchor=02-30"}
		}
		k := Kind{Name: f.Name, place: len(all)}
		for _, spec := range specs {
			k.Limits = append(k.Limits, Limit(f.Name+":"+spec))
		}
		all = append(all, k)
	}
	own := Kind{Name: Custom, Needs: NeedsCustom, place: len(all)}
	own.Limits = []algorithm.Algorithm{Cooldown{capacity: 5, each: 400_000}, Cooldown{capacity: 3, each: 1}}
	return append(all, own)
})

// BuiltIn are specs of one rate, such as "5/1h", for each family.
func BuiltIn(rate string) []string {
	var specs []string
	for _, f := range algorithm.Families() {
		specs = append(specs, fmt.Sprint(Limit(f.Name+":"+rate)))
	}
	return specs
}

// Kinds are the kinds that the store runs.
func (w *World) Kinds() []Kind {
	return slices.DeleteFunc(slices.Clone(Kinds()), func(k Kind) bool { return !w.Can(k.Needs) })
}

// EachLimit opens a new store for each limit of each kind, and yields a slot of the
// limit and its capacity.
func (w *World) EachLimit() iter.Seq2[store.Slot, int64] { return w.each(false) }

// SomeLimits is EachLimit, in the quick profile with one limit of each kind.
func (w *World) SomeLimits() iter.Seq2[store.Slot, int64] { return w.each(w.Quick()) }

func (w *World) each(one bool) iter.Seq2[store.Slot, int64] {
	return func(yield func(store.Slot, int64) bool) {
		for _, k := range w.Kinds() {
			limits := k.Limits
			if one { // a round one of every other kind, and fractions of the next
				limits = limits[k.place%2:][:1]
			}
			for _, a := range limits {
				w.StartAt(Start)
				if !yield(SlotOf("a", "l", a), Capacity(a)) {
					return
				}
			}
		}
	}
}

// Slots are slots of one key and limit name, one of each kind, with a capacity of
// five.
func (w *World) Slots(key, limit string) []store.Slot {
	var slots []store.Slot
	for _, k := range w.Kinds() {
		slots = append(slots, SlotOf(key, limit, w.OfKind(k, "5/1s")))
	}
	return slots
}

// IsCharger reports whether a kind knows a charge and a refund.
func IsCharger(k Kind) bool {
	_, is := k.Limits[0].(algorithm.Charger)
	return is
}

// OfKind is a limit of a kind. The suite's own kind has its first limit, which is
// slow where the store has its own clock.
func (w *World) OfKind(k Kind, rate string) algorithm.Algorithm {
	switch {
	case k.Name != Custom:
		return w.Limit(k.Name + ":" + rate)
	case w.OwnClock:
		return Cooldown{capacity: 5, each: 24 * 3600 * 1_000_000}
	}
	return k.Limits[0]
}

// Cooldown is an algorithm as somebody else might write it: without StepInPlace,
// and with a state of four words, some of them large and one of them negative. It
// admits any cost up to its capacity, and then nothing for a time that grows with
// the cost.
//
// The last three words follow from the first. Where they do not, Step answers with a
// Limit of changedState, so that a store that loses a word is found.
type Cooldown struct {
	capacity, each int64
	kind           string // "" is cooldownKind
}

// changedState is a Limit that no algorithm has.
const changedState = -1

const cooldownKind = "conformance.cooldown/1"

// NewCooldown returns a Cooldown of each µs for a unit.
func NewCooldown(capacity, each int64) Cooldown { return Cooldown{capacity: capacity, each: each} }

// NewCooldownOf returns a Cooldown of another kind.
func NewCooldownOf(kind string) Cooldown {
	return Cooldown{capacity: 5, each: 24 * 3600 * 1_000_000, kind: kind}
}

// Spec implements algorithm.Algorithm.
func (c Cooldown) Spec() algorithm.Spec {
	return algorithm.Spec{Kind: cmp.Or(c.kind, cooldownKind), Params: [4]int64{c.capacity, c.each}}
}

func (c Cooldown) String() string { return "conformance.cooldown" }

func (c Cooldown) state(until int64) algorithm.State {
	return algorithm.NewState(until, -until-1, algorithm.MaxWord, until%1000)
}

// Step implements algorithm.Algorithm.
func (c Cooldown) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	var left int64
	if !s.Fresh() {
		if s.Words() == 0 || !s.Equal(c.state(s.Word(0))) {
			return s, algorithm.Outcome{Limit: changedState}
		}
		left = max(0, s.Word(0)-int64(now))
	}
	wait := func() time.Duration { return time.Duration(left) * time.Microsecond }
	o := algorithm.Outcome{Limit: c.capacity}
	switch {
	case uint64(r.Cost) > uint64(c.capacity):
		o.RetryAfter = algorithm.Never
	case r.Cost > 0 && left > 0:
		o.RetryAfter = wait()
	default:
		o.Allowed = true
		if r.Cost > 0 {
			left = r.Cost * c.each
			s = c.state(int64(now) + left)
		}
	}
	if left == 0 {
		o.Remaining = c.capacity
	}
	o.ResetAfter = wait()
	return s, o
}

// What is not about single calls is asked in as few calls as the store can take: on
// a server round trips are what a check costs.

// inCalls cuts ops into calls.
func (w *World) inCalls(ops []store.Op) (calls [][]store.Op) {
	most := store.MaxOps
	if !w.Can(NeedsOps) {
		most = 1
	}
	from := 0
	for i := range ops {
		if i-from == most || ops[i].Key != ops[from].Key && !w.Can(NeedsKeys) {
			calls = append(calls, ops[from:i])
			from = i
		}
	}
	return append(calls, ops[from:])
}

// Remaining looks at slots and returns how much remains of each.
func (w *World) Remaining(slots []store.Slot) []int64 {
	ops := Ops(slots, 0)
	for _, call := range w.inCalls(ops) {
		w.Peek(call...)
	}
	left := make([]int64, len(slots))
	for i, op := range ops {
		left[i] = op.Outcome.Remaining
	}
	return left
}

// MustRemain looks at a slot and fails unless want units remain.
func (w *World) MustRemain(s store.Slot, want int64) {
	w.MustAllRemain([]store.Slot{s}, []int64{want})
}

// MustAllRemain is MustRemain for slots.
func (w *World) MustAllRemain(slots []store.Slot, want []int64) {
	for i, got := range w.Remaining(slots) {
		if got != want[i] {
			w.Wrong(got, want[i], "the wrong number of units remains of %s", transcript.Slot(slots[i]))
		}
	}
}

// MustBeFresh is MustAllRemain for slots of which nothing is taken.
func (w *World) MustBeFresh(slots ...store.Slot) {
	w.MustAllRemain(slots, Capacities(slots))
}

// MustTakeAll takes the cost of each slot.
func (w *World) MustTakeAll(slots []store.Slot, costs []int64) {
	ops := Ops(slots, 0)
	for i := range ops {
		ops[i].Request.Cost = costs[i]
	}
	for _, call := range w.inCalls(ops) {
		w.MustCommit(call...)
	}
}

// WriteOthers takes from n other keys, past the model: a store may take that for a
// reason to clean up. The keys are new ones where the name is new.
func (w *World) WriteOthers(name string, n int) {
	a := w.Limit("gcra:5/24h")
	ops := make([]store.Op, n)
	for i := range ops {
		ops[i] = Take("other:"+name, strconv.Itoa(i), a, 1)
		if w.Can(NeedsKeys) {
			ops[i].Key, ops[i].Limit = "other:"+name+strconv.Itoa(i), "l"
		}
	}
	_, want := a.Step(algorithm.State{}, Start, ops[0].Request)
	w.Note("%d other keys are taken from", n)
	for call := range slices.Chunk(ops, w.Often(1, 100)) { // a store may count calls
		for _, part := range w.inCalls(call) {
			at, committed, err := w.Store.Apply(context.Background(), part)
			w.Observe(at, err)
			if err != nil || !committed {
				w.Wrong(err, "no error, and committed", "Apply of other keys")
			}
			for _, op := range part {
				if op.Outcome != want {
					w.Wrong(transcript.Outcome(op.Outcome), transcript.Outcome(want), "a unit of another key, the first")
				}
			}
		}
	}
}
