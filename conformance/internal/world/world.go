package world

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/draw"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/store"
)

// World is a store under test, the clock that it was given, and the model. Every
// call goes to the store and to the model, and fails the check where they differ.
type World struct {
	TB
	*Config
	Clock *Clock
	Store store.Store
	Model Model
	// Latest is the latest instant that the clock has shown.
	Latest algorithm.Instant
	// Where is the place of the check where it is not Go code.
	Where string
	// Path is how calls reach the store.
	Path Path
	// Calls counts the calls of Apply and Peek.
	Calls int

	check    Check
	open     Opener
	keeps    bool              // the store drops nothing while the check runs
	stuck    bool              // Close has not returned
	answered algorithm.Instant // by a store with its own clock, last
	log      transcript.Log
	timed    store.Store // Store with a time-out, or nil
	bounds   map[boundLimit]store.Bound
	made     map[[2]string]Made // by hash tag and ID
}

// Start is where the clock stands first: the start of a day, so that windows of up
// to a day start with it.
const Start algorithm.Instant = 1_764_288_000_000_000

// Run runs a check against the stores that open opens.
func Run(c Check, cfg *Config, t TB, open Opener) {
	if why := cfg.Skips(c.Name, c.Needs); why != "" {
		t.Skip(why)
	}
	w := &World{TB: t, Config: cfg, check: c, open: open}
	w.StartAt(Start)
	c.Body(w)
}

// StartAt begins again at an instant, with a new store.
func (w *World) StartAt(at algorithm.Instant) {
	if w.Store == nil {
		w.Cleanup(w.close)
	} else if w.close(); w.stuck {
		w.FailNow() // or each of its stores would hang
	}
	w.Clock, w.Model, w.Latest, w.answered, w.Calls, w.stuck = newClock(), Model{}, 0, 0, 0, false
	w.timed, w.bounds, w.made = nil, map[boundLimit]store.Bound{}, nil
	w.log.Reset()
	w.SetClock(at)
	if w.Store = w.open(w.Clock); w.Store == nil {
		w.Fatalf("%s: no store was opened", w.check.Name)
	}
}

func (w *World) close() {
	if w.Store == nil || w.stuck {
		return // opening it has failed, or closing it
	}
	if err := w.closeInTime(w.Store); err != nil {
		w.Errorf("%s (%s)\n  rule:      Close is idempotent and comes to an end, and so does this check: %s\n  broken by: Close: %v",
			w.check.Name, w.check.Property, w.check.Rule, err)
	}
}

// CloseStore closes the store and fails where that fails, or does not end.
func (w *World) CloseStore() { w.NoError("Close", w.closeInTime(w.Store)) }

// closeInTime closes a store. It does not wait for a Close that hangs, and where one
// has hung, not for long either: or each check would take as long.
func (w *World) closeInTime(s store.Store) error {
	patience := 5 * time.Second
	if w.hung.Load() {
		patience = 50 * time.Millisecond
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(patience):
		w.stuck = true
		w.hung.Store(true)
		return fmt.Errorf("it has not returned within %v", patience)
	}
}

// Search tries a property with random choices, as often as the depth asks for, and
// fails with the shortest history that breaks it.
func (w *World) Search(property func(t *draw.T)) {
	o := draw.Options{Name: w.Name(), Runs: w.Histories, Seed: w.Seed, Shrink: w.Shrink}
	if w.hung.Load() {
		o.Shrink = 0 // the history is not what breaks it
	}
	if err := draw.Search(o, property); err != nil {
		w.Fatal(err.Error())
	}
}

// Anew is a World for one random history, with a store of its own.
func (w *World) Anew(t TB, start algorithm.Instant) *World {
	own := &World{TB: t, Config: w.Config, check: w.check, open: w.open}
	own.StartAt(start)
	return own
}

// OpenByItself opens a store that reads its own clock; the check closes it.
func (w *World) OpenByItself() store.Store {
	s := w.open(nil)
	if s == nil {
		w.Fatalf("%s: no store was opened", w.check.Name)
	}
	w.Cleanup(func() {
		if err := w.closeInTime(s); err != nil {
			w.Errorf("%s: Close: %v", w.check.Name, err)
		}
	})
	return s
}

// Shared is a World for one random history, with the store and the clock of w and
// an empty model. The store must drop nothing.
func (w *World) Shared(t TB) *World {
	return &World{
		TB: t, Config: w.Config, check: w.check, Clock: w.Clock, Store: w.Store, Model: Model{},
		bounds: map[boundLimit]store.Bound{}, keeps: true,
	}
}

// Can reports whether the store has all that is asked.
func (w *World) Can(n Needs) bool { return w.Skips("", n) == "" }

// Now is the instant at which the model decides: what the clock shows, or for a
// store with its own clock, the instant of its last answer.
func (w *World) Now() algorithm.Instant {
	if w.OwnClock {
		return w.answered
	}
	return w.Clock.Instant()
}

// SetClock makes the clock show an instant.
func (w *World) SetClock(at algorithm.Instant) {
	w.Clock.Set(at)
	if !w.OwnClock {
		w.Latest = max(w.Latest, at)
	}
}

// Advance moves the clock by d whole microseconds, forward or back.
func (w *World) Advance(d time.Duration) { w.SetClock(w.Now() + Micros(d)) }

// Observe takes over the instant of an answer of a store with its own clock.
func (w *World) Observe(at algorithm.Instant, err error) {
	if err == nil && w.OwnClock {
		w.answered, w.Latest = at, max(w.Latest, at)
	}
}

// Limit is the algorithm of a spec, such as "gcra:5/1s". Where the store has its
// own clock, it is one so slow that nothing comes back while a check runs.
func (w *World) Limit(spec string) algorithm.Algorithm {
	if head, rest, found := strings.Cut(spec, "/"); found && w.OwnClock {
		_, options, _ := strings.Cut(rest, ",")
		if name, _, _ := strings.Cut(head, ":"); familyOf(name).Calendar {
			options = ""
		}
		spec = strings.TrimSuffix(head+"/8760h,"+options, ",")
	}
	return Limit(spec)
}

// Doubtful reports whether two stores may answer for a slot in different ways, and
// both be right.
func (w *World) Doubtful(s store.Slot) bool {
	switch {
	case w.keeps || w.NeverForgets:
		return false
	case w.OwnClock:
		// By the time that it is asked it may have dropped more.
		const ahead = 60 * Second
		held := w.Model.Of(s)
		return held.spec != s.Algorithm.Spec() && w.Latest+ahead >= held.Until && held.Until > 0
	}
	return w.Model.doubtful(s, w.Now(), w.Latest)
}

// Note adds a line to the transcript.
func (w *World) Note(format string, args ...any) {
	w.log.Note(w.Now(), !w.OwnClock || w.answered > 0, format, args...)
}

// Record adds a call and its answers to the transcript.
func (w *World) Record(verb string, ops []store.Op, err error) {
	if err != nil {
		w.Note("%s of %d ops: error %v", verb, len(ops), err)
		return
	}
	w.log.Call(w.Now(), !w.OwnClock || w.answered > 0, verb, ops)
}

// NewTranscript drops what was recorded.
func (w *World) NewTranscript() { w.log.Reset() }

// Failure is what a check has found to be wrong.
type Failure struct{ What, Got, Want string }

func (f Failure) Error() string { return fmt.Sprintf("%s: got %s, want %s", f.What, f.Got, f.Want) }

// Failf ends the check with what has broken its rule and the transcript.
func (w *World) Failf(format string, args ...any) {
	w.Fatalf("%s (%s)\n  rule:      %s\n  check:     %s\n  broken by: %s\n%s",
		w.check.Name, w.check.Property, w.check.Rule, w.place(), fmt.Sprintf(format, args...), w.log.String())
}

// Wrong is Failf for what can be said as what was got and what was wanted.
func (w *World) Wrong(got, want any, format string, args ...any) {
	w.Fail(Failure{fmt.Sprintf(format, args...), fmt.Sprint(got), fmt.Sprint(want)})
}

// Fail is Wrong for what was found elsewhere, such as by a concurrent caller.
func (w *World) Fail(err error) {
	f, is := err.(Failure)
	if !is {
		f = Failure{"a call failed, and must not", err.Error(), "no error"}
	}
	indent := func(s string) string { return strings.ReplaceAll(s, "\n", "\n             ") }
	w.Failf("%s\n  got:       %s\n  want:      %s", f.What, indent(f.Got), indent(f.Want))
}

// NoError fails where err is not nil.
func (w *World) NoError(what string, err error) {
	if err != nil {
		w.Wrong(err, "no error", "%s failed, and must not", what)
	}
}

// place is the file and line of the check: its own last code on the stack, which is
// below what checks share.
func (w *World) place() string {
	if w.Where != "" {
		return w.Where
	}
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for {
		f, more := frames.Next()
		folder := path.Base(path.Dir(filepath.ToSlash(f.File)))
		if folder != "world" && folder != "runtime" {
			return fmt.Sprintf("conformance/internal/%s/%s:%d", folder, filepath.Base(f.File), f.Line)
		}
		if !more {
			return "unknown"
		}
	}
}

// Model is the simplest store there is, and says what the store under test must
// answer: states in a map, moved on by Step.
type Model map[store.SlotID]Held

// Held is what the model holds of a slot, and until when any store does.
type Held struct {
	State algorithm.State
	spec  algorithm.Spec    // the parameters that wrote it
	Until algorithm.Instant // a store may drop it when its clock has shown this
}

// Of returns what the model holds of a slot.
func (m Model) Of(s store.Slot) Held { return m[s.ID()] }

// Decide returns what ops must be answered at an instant, and keeps their states
// where they are all allowed and write is true.
func (m Model) Decide(at algorithm.Instant, ops []store.Op, write bool) (outcomes []algorithm.Outcome, committed bool) {
	outcomes = make([]algorithm.Outcome, len(ops))
	after := make([]algorithm.State, len(ops))
	committed = true
	for i, op := range ops {
		after[i], outcomes[i] = op.Algorithm.Step(m.Of(op.Slot).State, at, op.Request)
		committed = committed && outcomes[i].Allowed
	}
	for i, op := range ops {
		switch {
		case !committed && outcomes[i].Allowed:
			// It was not charged, so it is answered as a look.
			_, outcomes[i] = op.Algorithm.Step(m.Of(op.Slot).State, at, algorithm.Request{})
		case !committed || !write || op.Request.Cost == 0:
		case op.Request.Verb == algorithm.Refund && after[i].Equal(m.Of(op.Slot).State):
			// Nothing was given back, and a store may write that or not.
		default:
			m[op.Slot.ID()] = Held{after[i], op.Algorithm.Spec(), at + Micros(store.TTL(outcomes[i].ResetAfter))}
		}
	}
	return outcomes, committed
}

// doubtful reports whether a store may answer for a slot either from the state in
// which it was left or as for a fresh key. Once its clock has shown the instant
// until which a state must be kept, a store may have dropped it. That must not
// show, except with a clock that then goes back by more than the grace, and with a
// limit whose parameters change.
func (m Model) doubtful(s store.Slot, now, latest algorithm.Instant) bool {
	held, found := m[s.ID()]
	if !found || latest < held.Until {
		return false
	}
	return now < held.Until-Micros(store.Grace) || s.Algorithm.Spec() != held.spec
}

// Clock is a clock.Mock whose reading is its own: each move of a Mock sleeps for
// 1 ms, and moving one by years would fire every tick of every ticker.
type Clock struct {
	*clock.Mock
	nanos atomic.Int64 // since the Unix epoch
	tick  atomic.Int64 // added by each reading

	onRead atomic.Pointer[context.CancelFunc]
}

func newClock() *Clock { return &Clock{Mock: clock.NewMock()} }

// Now implements clock.Clock.
func (c *Clock) Now() time.Time {
	if f := c.onRead.Load(); f != nil {
		(*f)()
	}
	return time.Unix(0, c.nanos.Add(c.tick.Load()))
}

// Since implements clock.Clock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until implements clock.Clock.
func (c *Clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// Set makes the clock show an instant and nearly 1 µs more, which a store has to
// cut off.
func (c *Clock) Set(at algorithm.Instant) { c.nanos.Store(int64(at)*1000 + 999) }

// SetTime makes the clock show a time, which may be out of the bounds of instants.
func (c *Clock) SetTime(t time.Time) { c.nanos.Store(t.UnixNano()) }

// Instant is what the clock shows.
func (c *Clock) Instant() algorithm.Instant { return algorithm.Instant(c.nanos.Load() / 1000) }

// AddPerReading makes each reading of the clock later than the last by whole microseconds;
// 0 makes the clock stand still.
func (c *Clock) AddPerReading(micros int64) { c.tick.Store(1000 * micros) }

// OnRead calls f at each reading, also from several goroutines. nil ends that.
func (c *Clock) OnRead(f context.CancelFunc) {
	if f == nil {
		c.onRead.Store(nil)
		return
	}
	c.onRead.Store(&f)
}
