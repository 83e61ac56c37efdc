package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// linearChecks record what concurrent callers ask and are told, while the clock
// moves on with each reading, and look for an order of the calls, each between
// when it was made and when it was answered, in which the pure functions give
// all of the answers.
func linearChecks() []Check {
	var checks []Check
	for _, k := range checkKinds() {
		checks = append(checks, checkOf("linear/one-slot/"+k.name, "H1 H3",
			"there is an order of concurrent takes, looks and resets of one slot in which Step gives every answer", func(w *checkWorld) {
				w.linear(linearPlan{slots: []store.Slot{linearSlot(w, "a", k)}, most: 1, rounds: scaled(5)})
			}).needing(k.needs))
	}
	return append(checks, checkOf("linear/several-slots", "H1 X1",
		"there is an order of concurrent takes, looks and resets of overlapping sets of slots in which each is one step", func(w *checkWorld) {
			var slots []store.Slot
			for i, k := range w.kinds() {
				slots = append(slots, linearSlot(w, string(rune('a'+i%2)), k))
			}
			// Three sets that do not meet, and may be judged by themselves.
			for _, some := range [][]store.Slot{slots[:3], slots[2:], slots} {
				w.linear(linearPlan{slots: some, most: 3, rounds: scaled(5)})
			}
		}).needing(needsKeys))
}

// linearSlot is a slot that fills up while a history runs, so that calls are
// admitted and denied in turn.
func linearSlot(w *checkWorld, key string, k checkKind) store.Slot {
	each := "4/40us"
	if w.config().OwnClock {
		each = "4/1ms"
	}
	a := algorithm.Algorithm(checkPause{capacity: 3, each: 5})
	if k.needs&needsCustom == 0 {
		a = algorithm.Must(algorithm.ParseSpec(k.name + ":" + each))
	}
	return store.Slot{Key: key, Limit: "l", Algorithm: a}
}

// linearPlan is what callers do.
type linearPlan struct {
	slots  []store.Slot
	most   int // slots in a call
	rounds int
}

// linearCall is one call of a history, and its answer. Calls that do not change
// anything can be left out of a history; one that is open was not answered, as
// far as what is judged goes, and may have happened or not.
type linearCall struct {
	caller      int
	asked, told int64 // ticks of a counter that all callers share
	verb        string
	ops         []store.Op
	at          algorithm.Instant
	committed   bool
	open        bool
}

func (c *linearCall) changes() bool {
	return c.verb == "reset" || c.verb == "apply" && c.committed && slices.ContainsFunc(c.ops, func(op store.Op) bool { return op.Request.Cost > 0 })
}

func (w *checkWorld) linear(p linearPlan) {
	w.Helper()
	const callers, calls = 6, 16
	for range p.rounds {
		w.startAt(checkStart)
		w.clock.tick.Store(1000) // each reading is 1 µs later than the last
		var ticks atomic.Int64
		histories := make([][]*linearCall, callers)
		w.together(callers, func(i int) error {
			random := rand.New(rand.NewPCG(rand.Uint64(), 0))
			for range calls {
				made, err := w.linearCall(p, i, random, &ticks)
				if err != nil {
					return err
				}
				histories[i] = append(histories[i], made...)
			}
			return nil
		})
		w.clock.tick.Store(0)
		w.mustBeLinear(slices.Concat(histories...))
	}
}

// linearCall makes one call and records it. A Reset of several slots need not be
// one step: it is recorded as one for each.
func (w *checkWorld) linearCall(p linearPlan, caller int, random *rand.Rand, ticks *atomic.Int64) ([]*linearCall, error) {
	c := &linearCall{caller: caller}
	first, n := random.IntN(len(p.slots)), 1+random.IntN(min(p.most, len(p.slots)))
	for i := range n {
		op := store.Op{Slot: p.slots[(first+i)%len(p.slots)]}
		if op.Request.Cost = 1; random.IntN(3) == 0 {
			op.Request.Cost = int64(random.IntN(6))
		}
		c.ops = append(c.ops, op)
	}
	var err error
	from := w.clock.instant()
	c.asked = ticks.Add(1)
	ctx := context.Background()
	switch kind := random.IntN(10); {
	case kind == 0:
		c.verb = "reset"
		slots := make([]store.Slot, n)
		for i, op := range c.ops {
			slots[i] = op.Slot
		}
		err = w.store.Reset(ctx, slots)
	case kind <= 2:
		c.verb = "peek"
		c.at, err = w.store.Peek(ctx, c.ops)
	default:
		c.verb = "apply"
		for tries := 0; tries == 0 || errors.Is(err, store.ErrContention) && tries < 1000; tries++ {
			c.asked = ticks.Add(1) // a call that gave up has changed nothing
			c.at, c.committed, err = w.linearApply(c.ops, caller)
		}
	}
	c.told = ticks.Add(1)
	to := w.clock.instant()
	if err != nil {
		return nil, fault{"a concurrent " + c.verb, err.Error(), "no error"}
	}
	if c.verb != "reset" && !w.config().OwnClock && (c.at < from || c.at > to) {
		return nil, fault{"the instant of a concurrent " + c.verb, fmt.Sprint(c.at), fmt.Sprintf("%v to %v, which the clock showed meanwhile", from, to)}
	}
	if c.verb != "reset" {
		return []*linearCall{c}, nil
	}
	var each []*linearCall
	for _, op := range c.ops {
		one := *c
		one.ops = []store.Op{op}
		each = append(each, &one)
	}
	return each, nil
}

// linearApply is Apply, or half of the callers' single ops by a Bound.
func (w *checkWorld) linearApply(ops []store.Op, caller int) (algorithm.Instant, bool, error) {
	bind := store.FeaturesOf(w.store).Bind
	if bind == nil || len(ops) > 1 || caller%2 == 0 {
		return w.store.Apply(context.Background(), ops)
	}
	b, err := bind(ops[0].Limit, ops[0].Algorithm)
	if err != nil {
		return 0, false, err
	}
	o, at, err := b.Apply(context.Background(), ops[0].Key, ops[0].Request)
	ops[0].Outcome = o
	return at, o.Allowed, err
}

// mustBeLinear judges a history, set by set of slots that meet in calls.
func (w *checkWorld) mustBeLinear(history []*linearCall) {
	w.Helper()
	for _, part := range linearParts(history) {
		switch linearVerdict(part, linearPatience) {
		case linearOK:
		case linearUnknown:
			w.wrong("none", "an order, or that there is none", "no verdict on a history of %d calls within %v, which is no pass", len(part), linearPatience)
		case linearWrong:
			w.showNonlinear(part)
		}
	}
}

// showNonlinear fails with the shortest part of a history that no order explains.
func (w *checkWorld) showNonlinear(history []*linearCall) {
	w.Helper()
	short := linearShortest(history)
	last := linearLast(short)
	w.story, w.untold = nil, 0
	w.note("of %d calls, these %d alone have no order (asked and told count up for all callers together):\n%s",
		len(history), len(short), linearTable(short))
	got := fmt.Sprintf("%s by caller %d: %s", last.verb, last.caller, linearAnswer(last.ops, last.committed))
	w.wrong(got, linearWanted(short, last), "no order of concurrent calls gives their answers; the last of them cannot be")
}

func linearAnswer(ops []store.Op, committed bool) string {
	texts := make([]string, len(ops))
	for i, op := range ops {
		texts[i] = fmt.Sprintf("%s cost %d %s", checkSlotText(op.Slot), op.Request.Cost, checkOutcomeText(op.Outcome))
	}
	text := strings.Join(texts, "\n")
	if len(ops) > 1 {
		text = fmt.Sprintf("committed %t\n%s", committed, text)
	}
	return text
}

// linearTable shows calls in fixed columns, in the order in which they were made.
func linearTable(history []*linearCall) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "caller\tasked\ttold\tclock\tcall\tslot\tcost\tanswer\tleft\tretry after\tfresh after")
	for _, c := range history {
		told := fmt.Sprint(c.told)
		if c.open {
			told = "-"
		}
		for i, op := range c.ops {
			at := fmt.Sprint(c.at)
			if c.verb == "reset" {
				at = ""
			}
			who := fmt.Sprintf("%d\t%d\t%s\t%s\t%s", c.caller, c.asked, told, at, c.verb)
			if i > 0 {
				who = "\t\t\t\t+"
			}
			o := op.Outcome
			answer := fmt.Sprintf("denied\t%d of %d\t%s\t%v", o.Remaining, o.Limit, waitText(o.RetryAfter), o.ResetAfter)
			switch {
			case c.verb == "reset":
				answer = "\t\t\t"
			case c.open:
				answer = "(not answered by then)\t\t\t"
			case o.Allowed:
				answer = fmt.Sprintf("allowed\t%d of %d\t-\t%v", o.Remaining, o.Limit, o.ResetAfter)
			}
			cost := fmt.Sprint(op.Request.Cost)
			if c.verb == "reset" {
				cost = ""
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", who, checkSlotText(op.Slot), cost, answer)
		}
	}
	_ = t.Flush() // to memory
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
