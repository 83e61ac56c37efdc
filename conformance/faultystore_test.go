package conformance_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// faultyStore is a plainStore with a fault. What is not set works.
type faultyStore struct {
	*plainStore
	before  func(ops []store.Op) // the caller's own
	rewrite func(op *store.Op)   // of a copy of each op, before the call
	answer  func(op *store.Op)   // of each op, after the call
	apply   func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error)
	peek    func(ctx context.Context, ops []store.Op) (algorithm.Instant, error)
	reset   func(ctx context.Context, slots []store.Slot) error
	close   func() error
}

func (f *faultyStore) Apply(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	apply := f.plainStore.Apply
	if f.apply != nil {
		apply = f.apply
	}
	f.around(ops, func(ops []store.Op) { at, committed, err = apply(ctx, ops) })
	return at, committed, err
}

func (f *faultyStore) Peek(ctx context.Context, ops []store.Op) (at algorithm.Instant, err error) {
	peek := f.plainStore.Peek
	if f.peek != nil {
		peek = f.peek
	}
	f.around(ops, func(ops []store.Op) { at, err = peek(ctx, ops) })
	return at, err
}

func (f *faultyStore) around(ops []store.Op, call func([]store.Op)) {
	if f.before != nil {
		f.before(ops)
	}
	own := slices.Clone(ops)
	for i := range own {
		if f.rewrite != nil && own[i].Algorithm != nil {
			f.rewrite(&own[i])
		}
	}
	call(own)
	for i := range ops {
		ops[i].Outcome = own[i].Outcome
		if f.answer != nil {
			f.answer(&ops[i])
		}
	}
}

func (f *faultyStore) Reset(ctx context.Context, slots []store.Slot) error {
	if f.reset != nil {
		return f.reset(ctx, slots)
	}
	own := slices.Clone(slots)
	for i := range own {
		if f.rewrite != nil && own[i].Algorithm != nil {
			op := store.Op{Slot: own[i]}
			f.rewrite(&op)
			own[i] = op.Slot
		}
	}
	return f.plainStore.Reset(ctx, own)
}

func (f *faultyStore) Close() error {
	if f.close != nil {
		return f.close()
	}
	return f.plainStore.Close()
}

// faultyAlgorithm is one whose states do not come back as they were written, or
// that is not asked for what it should be.
type faultyAlgorithm struct {
	algorithm.Algorithm
	step func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome)
}

func (f faultyAlgorithm) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	return f.step(f.Algorithm, s, now, r)
}

// stepping makes a faulty store out of a faulty step.
func stepping(step func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome)) func(f *faultyStore) {
	return func(f *faultyStore) {
		f.rewrite = func(op *store.Op) { op.Algorithm = faultyAlgorithm{op.Algorithm, step} }
	}
}

// reading makes one of what it reads back for a state.
func reading(read func(algorithm.State) algorithm.State) func(f *faultyStore) {
	return stepping(func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
		return a.Step(read(s), now, r)
	})
}

func words(s algorithm.State) []int64 {
	all := make([]int64, s.Words())
	for i := range all {
		all[i] = s.Word(i)
	}
	return all
}

// expiring makes a store that drops a state once its clock has shown the
// instant at which the key is fresh, moved by what is wrong with that.
func expiring(drop func(fresh algorithm.Instant) algorithm.Instant) func(f *faultyStore) {
	return func(f *faultyStore) {
		latest := algorithm.Instant(0)
		stepping(func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
			latest = max(latest, now)
			_, look := a.Step(s, now, algorithm.Request{})
			if latest >= drop(now+algorithm.Instant(look.ResetAfter/time.Microsecond)) {
				s = algorithm.State{}
			}
			return a.Step(s, now, r)
		})(f)
	}
}

// writing makes an Apply that keeps what a step has changed in its own way, and
// without the lock.
func writing(write func(f *faultyStore, changed map[place]algorithm.State)) func(f *faultyStore) {
	return func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			var changed map[place]algorithm.State
			at, committed, err := f.decide(ctx, ops, func(after map[place]algorithm.State) { changed = after })
			write(f, changed)
			return at, committed, err
		}
	}
}

func (f *faultyStore) put(states map[place]algorithm.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.states != nil {
		maps.Copy(f.states, states)
	}
}

// lostUpdates writes after others may have read.
func lostUpdates(f *faultyStore, changed map[place]algorithm.State) {
	runtime.Gosched()
	f.put(changed)
}

// inPieces makes Applies exclude each other, but writes one slot after the
// other, and lets Peeks in between.
func inPieces(f *faultyStore) {
	var one sync.Mutex
	writing(func(f *faultyStore, changed map[place]algorithm.State) {
		for p, s := range changed {
			f.put(map[place]algorithm.State{p: s})
			for range 20 {
				runtime.Gosched()
			}
		}
	})(f)
	apply := f.apply
	f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
		one.Lock()
		defer one.Unlock()
		return apply(ctx, ops)
	}
}

// lockingInCallersOrder takes a lock for each slot, in the order of the ops. It
// gives up where a real one would wait for ever.
func lockingInCallersOrder(f *faultyStore) {
	var locks sync.Map
	f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
		for _, op := range ops {
			l, _ := locks.LoadOrStore(placeOf(op.Slot), new(sync.Mutex))
			lock := l.(*sync.Mutex)
			for tries := 0; !lock.TryLock(); tries++ {
				if tries > 100_000 {
					return 0, false, fmt.Errorf("deadlock")
				}
				runtime.Gosched()
			}
			defer lock.Unlock()
			runtime.Gosched()
		}
		return f.plainStore.Apply(ctx, ops)
	}
}

// oneByOne applies ops on their own until one is denied.
func oneByOne(f *faultyStore) {
	f.apply = func(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
		if err := store.Validate(ops); err != nil {
			return 0, false, err
		}
		committed = true
		for i := range ops {
			if at, committed, err = f.plainStore.Apply(ctx, ops[i:i+1]); err != nil || !committed {
				if err == nil {
					_, err = f.plainStore.Peek(ctx, ops) // answers in full, so that only the charge is wrong
				}
				return at, false, err
			}
		}
		return at, true, nil
	}
}

// fourteenDigits is what a number loses that a script turns into text with
// tostring.
func fourteenDigits(s algorithm.State) algorithm.State {
	all := words(s)
	for i, w := range all {
		f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(w), 'g', 14, 64), 64)
		all[i] = int64(f)
	}
	if s.Words() == 0 {
		return s
	}
	return algorithm.NewState(all...)
}

// distinctStamps is a log in which a second entry of an instant replaces the
// first.
func distinctStamps(s algorithm.State) algorithm.State {
	fields := strings.Fields(s.String())
	if len(fields) > 0 && strings.HasPrefix(fields[0], "+") {
		fields = fields[1:] // the sum of what is dropped here
	}
	for i, f := range fields {
		fields[i], _, _ = strings.Cut(f, ":")
	}
	if s.Words() > 0 || len(fields) == 0 {
		return s
	}
	shorter, err := algorithm.ParseState(strings.Join(fields, " "))
	if err != nil {
		panic(err)
	}
	return shorter
}

// withoutWord loses a word.
func withoutWord(i int) func(algorithm.State) algorithm.State {
	return func(s algorithm.State) algorithm.State {
		if all := words(s); len(all) > i {
			return algorithm.NewState(all[:i]...)
		}
		return s
	}
}

// nullIsFresh takes a state of zeros for no state.
func nullIsFresh(s algorithm.State) algorithm.State {
	if s.Words() > 0 && !slices.ContainsFunc(words(s), func(w int64) bool { return w != 0 }) {
		return algorithm.State{}
	}
	return s
}

// stepDenialRestarts blocks a key anew with each denied request.
func stepDenialRestarts(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	next, o := a.Step(s, now, r)
	if !o.Allowed {
		next, _ = a.Step(algorithm.State{}, now, algorithm.Request{Cost: o.Limit})
	}
	return next, o
}

// keepingDenied makes a store that writes what a step returns, denied or not.
func keepingDenied(step func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome)) func(f *faultyStore) {
	return func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			denied := map[place]algorithm.State{}
			at, committed, err := f.decide(ctx, ops, func(after map[place]algorithm.State) {
				maps.Copy(f.states, after)
				for i := range ops {
					if op := &ops[i]; !op.Outcome.Allowed {
						at, _ := algorithm.InstantOf(f.clock.Now())
						denied[placeOf(op.Slot)], _ = step(op.Algorithm, f.states[placeOf(op.Slot)], at, op.Request)
					}
				}
			})
			f.put(denied)
			return at, committed, err
		}
	}
}

// stepDenialTakesTheRest takes what is left where not all is there.
func stepDenialTakesTheRest(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	_, o := a.Step(s, now, r)
	next, _ := a.Step(s, now, algorithm.Request{Cost: o.Remaining})
	return next, o
}

// clockFunc makes a clock of a function of the right one.
type clockFunc struct {
	store.Clock
	change func(time.Time) time.Time
}

func (c clockFunc) Now() time.Time { return c.change(c.Clock.Now()) }

func withClock(change func(time.Time) time.Time) func(f *faultyStore) {
	return func(f *faultyStore) { f.clock = clockFunc{f.clock, change} }
}

// clamped keeps a clock within what InstantOf takes.
func clamped(t time.Time) time.Time {
	micros := min(max(float64(t.Unix())*1e6, 0), math.Nextafter(float64(algorithm.MaxInstant), 0))
	if t.Unix() < 0 || micros > 6.9e15 {
		return time.UnixMicro(int64(micros))
	}
	return t
}

// floatSeconds is what becomes of instants that are kept as seconds.
func floatSeconds(s algorithm.State) algorithm.State {
	all := words(s)
	for i, w := range all {
		seconds := float64(w) * 1e-6
		all[i] = int64(seconds * 1e6)
	}
	if s.Words() == 0 {
		return s
	}
	return algorithm.NewState(all...)
}

// stepLastGoesBack writes the caller's time into a token bucket, and into a
// window, whatever they know already.
func stepLastGoesBack(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, _ algorithm.Request) (algorithm.State, algorithm.Outcome) {
	all := words(s)
	switch a.Spec().Kind {
	case algorithm.KindTokenBucket, algorithm.KindFixedWindow:
		if len(all) > 1 && int64(now) < all[0] {
			all[0] = int64(now)
			s = algorithm.NewState(all...)
		}
	}
	return s, algorithm.Outcome{}
}
