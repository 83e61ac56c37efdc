package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// checkWorld is a store under test, the clock that it was given, and a model
// that says what it has to answer. Every call goes to both, and fails the check
// where they differ: a check is a story, and what it asserts beyond that.
type checkWorld struct {
	TB
	check  Check
	open   Opener
	clock  *checkClock
	store  store.Store
	model  checkModel
	latest algorithm.Instant // of all instants that the clock has shown
	story  []string

	// keeps says that the store drops nothing while the check runs.
	keeps bool

	// throughBound sends calls with one op through store.Binder.
	throughBound bool
	bounds       map[checkLimit]store.Bound
}

// checkLimit is what a Bound was made for.
type checkLimit struct {
	name string
	spec algorithm.Spec
}

// checkStart is where the clock stands first: the start of a day, so that
// windows of up to a day start with it.
const checkStart algorithm.Instant = 1_764_288_000_000_000

func newCheckWorld(c Check, t TB, open Opener) *checkWorld {
	t.Helper()
	w := &checkWorld{TB: t, check: c, open: open}
	w.startAt(checkStart)
	return w
}

// startAt begins anew at an instant, with a store that holds nothing.
func (w *checkWorld) startAt(at algorithm.Instant) {
	w.Helper()
	if w.store == nil {
		w.Cleanup(w.close)
	} else {
		w.close()
	}
	w.clock = &checkClock{Mock: clock.NewMock()}
	w.model, w.latest, w.story = checkModel{}, 0, nil
	w.bounds = map[checkLimit]store.Bound{}
	w.setClock(at)
	if w.store = w.open(w.clock); w.store == nil {
		w.Fatalf("%s: no store was opened", w.check.Name)
	}
}

func (w *checkWorld) close() {
	if w.store == nil {
		return // opening it has failed
	}
	if err := w.store.Close(); err != nil {
		w.Errorf("%s: Close: %v", w.check.Name, err)
	}
}

// checkClock is a clock.Mock whose reading is its own: each move of a Mock
// sleeps 1 ms, and moving one by years would fire every tick of every ticker.
type checkClock struct {
	*clock.Mock
	nanos atomic.Int64 // since the epoch
	tick  atomic.Int64 // added by each reading
}

func (c *checkClock) Now() time.Time                  { return time.Unix(0, c.nanos.Add(c.tick.Load())) }
func (c *checkClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *checkClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// set makes the clock show an instant and nearly 1 µs more, which a store has
// to cut off.
func (c *checkClock) set(at algorithm.Instant) { c.nanos.Store(int64(at)*1000 + 999) }

func (c *checkClock) instant() algorithm.Instant { return algorithm.Instant(c.nanos.Load() / 1000) }

func (w *checkWorld) now() algorithm.Instant { return w.clock.instant() }

func (w *checkWorld) setClock(at algorithm.Instant) {
	w.clock.set(at)
	w.latest = max(w.latest, at)
}

// advance moves the clock by d whole microseconds, forward or back.
func (w *checkWorld) advance(d time.Duration) {
	w.setClock(w.now() + algorithm.Instant(d/time.Microsecond))
}

// checkOp is an op of one cost.
func checkOp(key, limit string, a algorithm.Algorithm, cost int64) store.Op {
	return store.Op{Slot: store.Slot{Key: key, Limit: limit, Algorithm: a}, Request: algorithm.Request{Cost: cost}}
}

// apply has the store decide ops, and fails unless it answers as the model.
func (w *checkWorld) apply(ops ...store.Op) (committed bool) {
	w.Helper()
	w.mustBeDecidable(ops)
	want, wantCommitted := w.model.decide(w.now(), ops, true)
	at, committed, err := w.call(ops, true)
	w.tell("apply", ops, err)
	if err != nil {
		w.failf("Apply failed, and must not: %v", err)
	}
	w.mustAnswer(at, ops, want)
	if committed != wantCommitted {
		w.failf("Apply says committed %t, and must say %t", committed, wantCommitted)
	}
	return committed
}

// peek is apply for Peek.
func (w *checkWorld) peek(ops ...store.Op) {
	w.Helper()
	w.mustBeDecidable(ops)
	want, _ := w.model.decide(w.now(), ops, false)
	at, _, err := w.call(ops, false)
	w.tell("peek", ops, err)
	if err != nil {
		w.failf("Peek failed, and must not: %v", err)
	}
	w.mustAnswer(at, ops, want)
}

// call makes one call, through a Bound where that was asked for and can be.
func (w *checkWorld) call(ops []store.Op, write bool) (at algorithm.Instant, committed bool, err error) {
	w.Helper()
	ctx := context.Background()
	if b := w.bound(ops); b != nil {
		op := &ops[0]
		if write {
			op.Outcome, at, err = b.Apply(ctx, op.Key, op.Request)
		} else {
			op.Outcome, at, err = b.Peek(ctx, op.Key, op.Request)
		}
		return at, op.Outcome.Allowed, err
	}
	if write {
		return w.store.Apply(ctx, ops)
	}
	at, err = w.store.Peek(ctx, ops)
	return at, false, err
}

func (w *checkWorld) bound(ops []store.Op) store.Bound {
	w.Helper()
	binder, offered := w.store.(store.Binder)
	if !offered || !w.throughBound || len(ops) != 1 {
		return nil
	}
	limit := checkLimit{ops[0].Limit, ops[0].Algorithm.Spec()}
	if w.bounds[limit] == nil {
		b, err := binder.Bind(ops[0].Limit, ops[0].Algorithm)
		if err != nil {
			w.failf("Bind failed, and must not: %v", err)
		}
		w.bounds[limit] = b
	}
	return w.bounds[limit]
}

// reset resets slots, in the store and in the model.
func (w *checkWorld) reset(slots ...store.Slot) {
	w.Helper()
	for _, s := range slots {
		w.note("reset  %s", checkSlotText(s))
		delete(w.model, checkPlaceOf(s))
	}
	if err := w.store.Reset(context.Background(), slots); err != nil {
		w.failf("Reset failed, and must not: %v", err)
	}
}

// mustRefuse calls Apply and Peek with ops that must be refused with an error
// that matches target and shows no key.
func (w *checkWorld) mustRefuse(what string, target error, ops ...store.Op) {
	w.Helper()
	_, _, err := w.store.Apply(context.Background(), ops)
	w.mustBeError("Apply of "+what, err, target, ops)
	_, err = w.store.Peek(context.Background(), ops)
	w.mustBeError("Peek of "+what, err, target, ops)
}

func (w *checkWorld) mustBeError(what string, err, target error, ops []store.Op) {
	w.Helper()
	w.note("%s: error %v", what, err)
	if !errors.Is(err, target) {
		w.failf("%s gives the error %v, and must give one that matches %q", what, err, target)
	}
	for _, op := range ops {
		if len(op.Key) > 3 && strings.Contains(err.Error(), op.Key) {
			w.failf("%s gives an error with a key in it; keys are personal data: %v", what, err)
		}
	}
}

// mustAnswer fails unless ops were answered as the model says.
func (w *checkWorld) mustAnswer(at algorithm.Instant, ops []store.Op, want []algorithm.Outcome) {
	w.Helper()
	if at != w.now() {
		w.failf("the decision was made at %v; the clock shows %v", at, w.now())
	}
	for i, op := range ops {
		if diff := cmp.Diff(want[i], op.Outcome); diff != "" {
			w.failf("op %d, %s cost %d, is answered wrongly\n  got:  %s\n  want: %s\n  differ (-want +got):\n%s",
				i, checkSlotText(op.Slot), op.Request.Cost, checkOutcomeText(op.Outcome), checkOutcomeText(want[i]), diff)
		}
	}
}

// mustBeDecidable stops a check that asks more than any store promises.
func (w *checkWorld) mustBeDecidable(ops []store.Op) {
	w.Helper()
	for _, op := range ops {
		if !w.keeps && w.model.doubtful(op.Slot, w.now(), w.latest) {
			w.failf("a mistake in the check itself: a store may have dropped the state of %s", checkSlotText(op.Slot))
		}
	}
}

// tell adds a call and its answers to the story.
func (w *checkWorld) tell(verb string, ops []store.Op, err error) {
	if err != nil {
		w.note("%s of %d ops: error %v", verb, len(ops), err)
		return
	}
	for i, op := range ops {
		text := fmt.Sprintf("%s  %s cost %d", verb, checkSlotText(op.Slot), op.Request.Cost)
		if op.Request.MaxDelay != 0 {
			text += fmt.Sprintf(" max delay %v", op.Request.MaxDelay)
		}
		w.note("%s: %s", text, checkOutcomeText(op.Outcome))
		if i == 0 {
			verb = strings.Repeat(" ", len(verb)-1) + "+" // the same call
		}
	}
}

// note adds a line to the story.
func (w *checkWorld) note(format string, args ...any) {
	line := fmt.Sprintf("%v  ", w.now()) + fmt.Sprintf(format, args...)
	w.story = append(w.story, line)
}

// failf ends the check with its rule and the end of the story.
func (w *checkWorld) failf(format string, args ...any) {
	w.Helper()
	const most = 40
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n  rule:      %s\n  broken by: %s\n  story, by the clock in µs:",
		w.check.Name, w.check.Property, w.check.Rule, fmt.Sprintf(format, args...))
	told := w.story
	if len(told) > most {
		fmt.Fprintf(&b, "\n    (%d earlier lines left out)", len(told)-most)
		told = told[len(told)-most:]
	}
	for _, line := range told {
		b.WriteString("\n    " + line)
	}
	w.Fatal(b.String())
}

// checkSlotText shows a slot; keys are made by the suite, so it may show them,
// but some are very long.
func checkSlotText(s store.Slot) string {
	const most = 40
	key := s.Key
	if len(key) > most {
		key = fmt.Sprintf("%s…(%d bytes)", key[:most], len(key))
	}
	return fmt.Sprintf("%q/%q %v", key, s.Limit, s.Algorithm)
}

func checkOutcomeText(o algorithm.Outcome) string {
	if o.Allowed {
		return fmt.Sprintf("allowed, %d of %d remain, fresh after %v, delay %v", o.Remaining, o.Limit, o.ResetAfter, o.Delay)
	}
	retry := "never"
	if o.RetryAfter != algorithm.Never {
		retry = "after " + o.RetryAfter.String()
	}
	return fmt.Sprintf("denied, %d of %d remain, retry %s, fresh after %v", o.Remaining, o.Limit, retry, o.ResetAfter)
}
