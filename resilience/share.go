package resilience

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// ShareOptions are the optional settings of a Share. nil means all defaults.
type ShareOptions struct {
	// Scale returns the share 1/k of a limit, in place of the default, which knows the
	// algorithms of this project. It is called for each op, concurrently.
	Scale func(a algorithm.Algorithm, k int64) (algorithm.Algorithm, error)

	// Settle is how many slots are remembered to be settled: see Share.Settle. 0 is none;
	// below 0 is refused.
	Settle int
}

// Share is a store that gives this process one of k parts of each limit, for
// weir.Options.Local: k processes that fall back on it admit together, over an outage of
// length d, at most the sum of their bounds,
//
//	k·(B_f + r_f·d) = max(B, k) + r·d   GCRA, token bucket and leaky bucket with r = L/P
//	max(L, k)                            in each window of a fixed window or a sliding log
//
// where a limit of its own in each process, as FailLocal without a Share has it, admits k times
// as much. A share is exact but for one thing: at least one unit of burst, or of a window, is
// left to each process.
//
// The rate of a bucket is divided by k, exactly: 10 per minute for 4 processes is 10 per 4
// minutes. (Where that period would be longer than 400 days, the units are rounded down, to at
// least 1.) Its burst or capacity, and the count of a window, are divided and rounded
// down, to at least 1. Decisions show the share: Limit is that of this process. An algorithm
// of a user needs ShareOptions.Scale; without it its ops get an error that matches
// store.ErrInvalid.
//
// k may change at any time. States run on, as for any limit whose parameters change; an ID that
// was used before is store.ErrIDReused then, since its step was another. A Share is
// safe for concurrent use; a decision costs one more allocation for each limit.
type Share struct {
	decorator
	local     store.Store
	processes func() int64
	opts      ShareOptions

	mu    sync.Mutex
	owed  map[store.SlotID]*debt
	order []store.SlotID // of owed, the oldest first
	stats ShareStats
}

// debt is what was admitted here and not charged to the shared store.
type debt struct {
	slot  store.Slot
	units int64
}

// ShareStats are the counts of a Share.
type ShareStats struct {
	// Owed is how many slots are to be settled now.
	Owed int
	// Settled is how many units were charged to the shared store, Unknown how many may
	// have been, and Unsettled how many were admitted and are not going to be charged, since
	// there were more slots than ShareOptions.Settle or the store refused the charge.
	Settled, Unknown, Unsettled int64
}

// NewShare returns a Share around a local store, for a process of k. processes returns k, such
// as the number of live members: below 1 it counts as 1. It is called for each call of the
// store, concurrently, and must not wait. A nil store or function, and an option
// outside its bounds, give an error that matches store.ErrInvalid.
func NewShare(local store.Store, processes func() int64, opts *ShareOptions) (*Share, error) {
	if err := checkStore("local", local); err != nil {
		return nil, err
	}
	if processes == nil {
		return nil, refuse("processes", "nil", "a function")
	}
	if opts == nil {
		opts = &ShareOptions{}
	}
	if opts.Settle < 0 {
		return nil, refuse("ShareOptions.Settle", strconv.Itoa(opts.Settle), "0 (none) or more")
	}
	s := &Share{local: local, processes: processes, opts: *opts, owed: make(map[store.SlotID]*debt)}
	if s.opts.Scale == nil {
		s.opts.Scale = share
	}
	s.wrapped = store.Wrap(local, store.Hooks{Apply: s.apply, Once: s.once, Peek: s.peek})
	return s, nil
}

// Features implements store.Featured: those of the local store.
func (s *Share) Features() store.Features { return s.featuresOf(s) }

func (s *Share) apply(ctx context.Context, ops []store.Op, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	scaled, err := s.scale(ops)
	if err != nil {
		return 0, false, err
	}
	at, committed, err = next(ctx, scaled)
	if err == nil {
		answer(ops, scaled)
		if committed && s.opts.Settle > 0 {
			s.note(ops)
		}
	}
	return at, committed, err
}

// once is apply for a step with an ID, where the local store knows IDs.
func (s *Share) once(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (at algorithm.Instant, committed bool, err error) {
	return s.apply(ctx, ops, func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
		return next(ctx, o, ops)
	})
}

func (s *Share) peek(ctx context.Context, ops []store.Op, next store.PeekFunc) (at algorithm.Instant, err error) {
	scaled, err := s.scale(ops)
	if err != nil {
		return 0, err
	}
	at, err = next(ctx, scaled)
	if err == nil {
		answer(ops, scaled)
	}
	return at, err
}

func answer(ops, scaled []store.Op) {
	for i := range ops {
		ops[i].Outcome = scaled[i].Outcome
	}
}

// scale returns the ops on the share of this process.
func (s *Share) scale(ops []store.Op) ([]store.Op, error) {
	k := max(1, s.processes())
	scaled := make([]store.Op, len(ops))
	for i := range ops {
		scaled[i] = store.Op{Slot: ops[i].Slot, Request: ops[i].Request}
		if k == 1 {
			continue
		}
		a, err := s.opts.Scale(ops[i].Algorithm, k)
		if err != nil {
			return nil, &store.InputError{Op: i, Field: "Slot.Algorithm", Value: ops[i].Algorithm.Spec().Kind, Allowed: "one of which there is a share of 1/" + strconv.FormatInt(k, 10) + ": " + err.Error()}
		}
		scaled[i].Algorithm = a
	}
	return scaled, nil
}

// share returns the share 1/k of a limit of this project.
func share(a algorithm.Algorithm, k int64) (algorithm.Algorithm, error) {
	spec := a.Spec()
	f, known := algorithm.FamilyOf(spec.Kind)
	if !known {
		return nil, errors.New("ShareOptions.Scale has to know it")
	}
	rate, capacity := f.Parameters(spec)
	capacity = max(1, capacity/k)
	if f.Option == "" { // a window: its period or its calendar belongs to the identity of the state
		return f.With(spec, capacity, capacity)
	}
	if rate.Units%k == 0 || rate.Per > algorithm.MaxPeriod/time.Duration(k) {
		rate.Units = max(1, rate.Units/k)
	} else {
		rate.Per *= time.Duration(k)
	}
	return f.Build(rate, capacity)
}
