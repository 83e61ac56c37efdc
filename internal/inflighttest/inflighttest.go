// Package inflighttest asks of every inflight.Store the same: what its contract says.
package inflighttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience/inflight"
	"github.com/weirgo/weir/store"
)

// Open returns an empty Store with a clock.
type Open func(tb testing.TB, clock store.Clock) inflight.Store

// Run runs all checks as subtests.
func Run(t *testing.T, open Open) {
	for _, check := range []struct {
		name string
		run  func(*world)
	}{
		{"acquire/never more than the limit", neverMore},
		{"acquire/refusal is exact and changes nothing", refusalIsExact},
		{"acquire/again takes nothing more", acquireAgain},
		{"acquire/lowered limit takes nothing away", loweredLimit},
		{"expiry/at the end of the life, not before", expiryBoundary},
		{"expiry/of many holders", manyExpire},
		{"renew/keeps the units", renewKeeps},
		{"renew/gives nothing to who is not live", renewGivesNothing},
		{"release/twice", releaseTwice},
		{"release/after the end changes nothing", releaseLate},
		{"clock/back never admits more", clockBack},
		{"clock/an instant that is none", clockInvalid},
		{"slots/are apart", slotsAreApart},
		{"input/is refused", inputIsRefused},
		{"context/that has ended", endedContext},
		{"bounds/largest numbers", largestNumbers},
	} {
		t.Run(check.name, func(t *testing.T) { check.run(newWorld(t, open)) })
	}
	t.Run("model", func(t *testing.T) { equalsTheModel(t, open) })
	t.Run("concurrent/exactly the limit", func(t *testing.T) { exactlyTheLimit(newWorld(t, open)) })
	t.Run("concurrent/linearizable with lost replies", func(t *testing.T) { isLinearizable(t, open) })
}

// Clock is a clock that a test moves.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock returns a Clock that stands at an instant.
func NewClock() *Clock { return &Clock{at: time.Unix(1_800_000_000, 0)} }

// Now implements store.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Move moves the clock.
func (c *Clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

var background = context.Background()

// world is a store and its clock, for a check.
type world struct {
	*testing.T
	store inflight.Store
	clock *Clock
	slot  inflight.Slot
}

func newWorld(t *testing.T, open Open) *world {
	clock := NewClock()
	return &world{t, open(t, clock), clock, inflight.Slot{Key: "everyone", Limit: "reports"}}
}

const life = time.Second

// holder is a holder of one unit.
func (w *world) holder(id string) inflight.Holder {
	return inflight.Holder{Slot: w.slot, ID: id, Cost: 1, Life: life}
}

func (w *world) now() algorithm.Instant {
	now, err := algorithm.InstantOf(w.clock.Now())
	if err != nil {
		w.Fatal(err)
	}
	return now
}

// want checks an answer; its At is the clock.
func (w *world) want(got inflight.Standing, err error, want inflight.Standing) {
	w.Helper()
	want.At = w.now()
	if err != nil || got != want {
		w.Fatalf("%+v (%v), want %+v", got, err, want)
	}
}

func (w *world) acquire(h inflight.Holder, limit int64, want inflight.Standing) {
	w.Helper()
	got, err := w.store.Acquire(background, h, limit)
	w.want(got, err, want)
}

func (w *world) renew(h inflight.Holder, want inflight.Standing) {
	w.Helper()
	got, err := w.store.Renew(background, h)
	w.want(got, err, want)
}

func (w *world) release(h inflight.Holder, want inflight.Standing) {
	w.Helper()
	got, err := w.store.Release(background, h)
	w.want(got, err, want)
}

// inUse checks what a Peek says.
func (w *world) inUse(units int64, next algorithm.Instant) {
	w.Helper()
	got, err := w.store.Peek(background, w.slot)
	w.want(got, err, inflight.Standing{InUse: units, Next: next})
}

// after is the instant after a time from now.
func (w *world) after(d time.Duration) algorithm.Instant {
	return w.now() + algorithm.Instant(d/time.Microsecond)
}

func held(inUse int64, until algorithm.Instant) inflight.Standing {
	return inflight.Standing{Held: true, InUse: inUse, Until: until}
}

func refused(inUse int64, next algorithm.Instant) inflight.Standing {
	return inflight.Standing{InUse: inUse, Next: next}
}

func neverMore(w *world) {
	until := w.after(life)
	w.inUse(0, 0)
	for i := range int64(3) {
		w.acquire(w.holder(fmt.Sprint(i)), 3, held(i+1, until))
	}
	w.acquire(w.holder("3"), 3, refused(3, until))
	w.release(w.holder("1"), held(2, 0))
	w.acquire(w.holder("3"), 3, held(3, until))
	w.inUse(3, until)
}

func refusalIsExact(w *world) {
	three, two, one := w.holder("a"), w.holder("b"), w.holder("c")
	three.Cost, two.Cost = 3, 2
	until := w.after(life)
	w.acquire(three, 2, refused(0, 0)) // more than the limit, whoever holds
	w.acquire(three, 4, held(3, until))
	w.clock.Move(life / 2)
	w.acquire(two, 4, refused(3, until))
	w.inUse(3, until)
	w.acquire(one, 4, held(4, w.after(life)))
	w.acquire(two, 5, refused(4, until))
	w.acquire(two, 6, held(6, w.after(life)))
}

func acquireAgain(w *world) {
	a := w.holder("a")
	w.acquire(a, 1, held(1, w.after(life)))
	w.acquire(a, 1, held(1, w.after(life)))
	w.clock.Move(life / 2)
	w.acquire(a, 1, held(1, w.after(life)))
	until := w.after(life)
	short := a
	short.Life = time.Millisecond
	w.acquire(short, 1, held(1, until)) // a life never becomes shorter
	w.acquire(w.holder("b"), 1, refused(1, until))
	w.release(a, held(0, 0))
	w.inUse(0, 0)
}

func loweredLimit(w *world) {
	until := w.after(life)
	for i := range int64(4) {
		w.acquire(w.holder(fmt.Sprint(i)), 4, held(i+1, until))
	}
	w.acquire(w.holder("x"), 2, refused(4, until))
	w.renew(w.holder("0"), held(4, until))
	w.acquire(w.holder("1"), 2, held(4, until))
	w.release(w.holder("0"), held(3, 0))
	w.release(w.holder("1"), held(2, 0))
	w.acquire(w.holder("x"), 2, refused(2, until))
	w.release(w.holder("2"), held(1, 0))
	w.acquire(w.holder("x"), 2, held(2, until))
}

func expiryBoundary(w *world) {
	until := w.after(life)
	w.acquire(w.holder("a"), 1, held(1, until))
	w.clock.Move(life - time.Microsecond)
	w.acquire(w.holder("b"), 1, refused(1, until))
	w.inUse(1, until)
	w.clock.Move(time.Microsecond)
	w.inUse(0, 0)
	w.renew(w.holder("a"), refused(0, 0))
	w.acquire(w.holder("b"), 1, held(1, w.after(life)))
}

func manyExpire(w *world) {
	const n = 1100 // more than one command takes
	until := w.after(life)
	for i := range int64(n) {
		w.acquire(w.holder(fmt.Sprint(i)), n+1, held(i+1, until))
	}
	w.clock.Move(life / 2)
	w.acquire(w.holder("late"), n+1, held(n+1, w.after(life)))
	w.clock.Move(life / 2)
	next := w.after(life / 2)
	w.inUse(1, next)
	all := w.holder("all")
	all.Cost = n + 1
	w.acquire(all, n+1, refused(1, next))
	all.Cost = n
	w.acquire(all, n+1, held(n+1, w.after(life)))
	w.inUse(n+1, next)
}

func renewKeeps(w *world) {
	a := w.holder("a")
	w.acquire(a, 1, held(1, w.after(life)))
	for range 5 {
		w.clock.Move(life - time.Microsecond)
		w.renew(a, held(1, w.after(life)))
		w.acquire(w.holder("b"), 1, refused(1, w.after(life)))
	}
	until := w.after(life)
	a.Life = time.Millisecond
	w.renew(a, held(1, until)) // a life never becomes shorter
	w.clock.Move(life)
	w.inUse(0, 0)
}

func renewGivesNothing(w *world) {
	w.renew(w.holder("a"), refused(0, 0))
	w.acquire(w.holder("b"), 5, held(1, w.after(life)))
	w.renew(w.holder("a"), refused(1, 0))
	w.release(w.holder("b"), held(0, 0))
	w.renew(w.holder("b"), refused(0, 0))
	w.inUse(0, 0)
}

func releaseTwice(w *world) {
	until := w.after(life)
	w.acquire(w.holder("a"), 2, held(1, until))
	w.acquire(w.holder("b"), 2, held(2, until))
	w.release(w.holder("a"), held(1, 0))
	w.release(w.holder("a"), refused(1, 0))
	w.inUse(1, until)
}

func releaseLate(w *world) {
	w.acquire(w.holder("a"), 1, held(1, w.after(life)))
	w.clock.Move(life)
	w.acquire(w.holder("b"), 1, held(1, w.after(life)))
	w.release(w.holder("a"), refused(1, 0))
	w.inUse(1, w.after(life))
	w.clock.Move(life)
	w.release(w.holder("b"), refused(0, 0))
	w.acquire(w.holder("a"), 1, held(1, w.after(life)))
}

// clockBack: holds are live for longer, and never for less.
func clockBack(w *world) {
	until := w.after(life)
	w.acquire(w.holder("a"), 2, held(1, until))
	w.clock.Move(-time.Hour)
	w.acquire(w.holder("b"), 2, held(2, w.after(life)))
	b := w.after(life)
	w.acquire(w.holder("c"), 2, refused(2, b))
	w.clock.Move(life)
	w.acquire(w.holder("c"), 2, held(2, w.after(life)))
	w.renew(w.holder("a"), held(2, until))
	w.clock.Move(time.Hour)
	w.inUse(0, 0)
}

func clockInvalid(w *world) {
	w.clock.Move(-100 * 365 * 24 * time.Hour)
	if _, err := w.store.Acquire(background, w.holder("a"), 1); err == nil {
		w.Error("an instant before 1970 is taken")
	}
	w.clock.Move(100 * 365 * 24 * time.Hour)
	w.inUse(0, 0)
}

func slotsAreApart(w *world) {
	keys := []string{"a", "b", "{a}", "a}b{c", "}x", "{}", "a b", "a\nb", "a:b", "a%3Ab", "\x00", "\xff", strings.Repeat("k", 300), strings.Repeat("k", 301), "user:{42}", "user:{43}"}
	for _, key := range keys {
		for _, limit := range []string{"l", "m", "l:m", "{l}"} {
			w.slot = inflight.Slot{Key: key, Limit: limit}
			w.acquire(w.holder("a"), 1, held(1, w.after(life)))
			w.acquire(w.holder("b"), 1, refused(1, w.after(life)))
		}
		w.slot = inflight.Slot{Key: key, Limit: "n"}
		w.inUse(0, 0)
	}
	w.slot = inflight.Slot{Key: "ids", Limit: "l"}
	for i, id := range []string{"a", "1:a", ":", "\x00", "\xff\n", strings.Repeat("i", 64), "-", " ", "ab", "a:", "A", strings.Repeat("i", 63)} {
		w.acquire(w.holder(id), 100, held(int64(i+1), w.after(life)))
	}
	other := w.holder("a")
	other.Cost = 2
	w.acquire(other, 100, held(14, w.after(life))) // another cost is another holder
	w.release(w.holder("a"), held(13, 0))
	w.renew(other, held(13, w.after(life)))
}

func inputIsRefused(w *world) {
	change := func(f func(*inflight.Holder)) inflight.Holder {
		h := w.holder("a")
		f(&h)
		return h
	}
	for field, h := range map[string]inflight.Holder{
		"Slot.Key":    change(func(h *inflight.Holder) { h.Key = "" }),
		"Slot.Limit":  change(func(h *inflight.Holder) { h.Limit = strings.Repeat("l", 201) }),
		"Holder.ID":   change(func(h *inflight.Holder) { h.ID = strings.Repeat("i", 65) }),
		"Holder.Cost": change(func(h *inflight.Holder) { h.Cost = 0 }),
		"Holder.Life": change(func(h *inflight.Holder) { h.Life = time.Millisecond + 1 }),
	} {
		_, acquireErr := w.store.Acquire(background, h, 1)
		_, renewErr := w.store.Renew(background, h)
		_, releaseErr := w.store.Release(background, h)
		if field == "Holder.Life" {
			releaseErr = acquireErr // which has no life
		}
		for _, err := range []error{acquireErr, renewErr, releaseErr} {
			var input *store.InputError
			if !errors.As(err, &input) || input.Field != field {
				w.Errorf("%s: %v", field, err)
			}
		}
	}
	for _, h := range []inflight.Holder{
		change(func(h *inflight.Holder) { h.Limit = "" }), change(func(h *inflight.Holder) { h.ID = "" }),
		change(func(h *inflight.Holder) { h.Cost = -1 }), change(func(h *inflight.Holder) { h.Cost = inflight.MaxUnits + 1 }),
		change(func(h *inflight.Holder) { h.Life = 0 }), change(func(h *inflight.Holder) { h.Life = -time.Second }),
		change(func(h *inflight.Holder) { h.Life = inflight.MaxLife + time.Microsecond }),
	} {
		if _, err := w.store.Acquire(background, h, inflight.MaxUnits); !errors.Is(err, store.ErrInvalid) {
			w.Errorf("%+v: %v", h, err)
		}
	}
	for _, limit := range []int64{-1, 0, inflight.MaxUnits + 1} {
		if _, err := w.store.Acquire(background, w.holder("a"), limit); !errors.Is(err, store.ErrInvalid) {
			w.Errorf("limit %d: %v", limit, err)
		}
	}
	for _, slot := range []inflight.Slot{{}, {Key: "k"}, {Limit: "l"}} {
		if _, err := w.store.Peek(background, slot); !errors.Is(err, store.ErrInvalid) {
			w.Errorf("%+v: %v", slot, err)
		}
	}
	w.inUse(0, 0)
}

func endedContext(w *world) {
	ended, cancel := context.WithCancel(background)
	cancel()
	_, acquireErr := w.store.Acquire(ended, w.holder("a"), 1)
	_, renewErr := w.store.Renew(ended, w.holder("a"))
	_, releaseErr := w.store.Release(ended, w.holder("a"))
	_, peekErr := w.store.Peek(ended, w.slot)
	for _, err := range []error{acquireErr, renewErr, releaseErr, peekErr} {
		if !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrOutcomeUnknown) {
			w.Error(err)
		}
	}
	w.inUse(0, 0)
}

func largestNumbers(w *world) {
	all := w.holder("all")
	all.Cost, all.Life = inflight.MaxUnits, inflight.MaxLife
	until := w.after(inflight.MaxLife)
	w.acquire(all, inflight.MaxUnits, held(inflight.MaxUnits, until))
	w.acquire(w.holder("a"), inflight.MaxUnits, refused(inflight.MaxUnits, until))
	w.release(all, held(0, 0))
	all.Cost--
	w.acquire(all, inflight.MaxUnits, held(inflight.MaxUnits-1, until))
	w.acquire(w.holder("a"), inflight.MaxUnits, held(inflight.MaxUnits, w.after(life)))
	w.clock.Move(inflight.MaxLife - time.Microsecond)
	w.inUse(inflight.MaxUnits-1, until)
	w.clock.Move(time.Microsecond)
	w.inUse(0, 0)
}
