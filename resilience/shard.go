package resilience

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/divide"
	"github.com/weirgo/weir/store"
)

// ShardOptions are the optional settings of NewShards. nil means all defaults.
type ShardOptions struct {
	// Random returns a number from 0 to n − 1, each as likely as another, for n from 1.
	// It must be safe for concurrent use. nil is that of math/rand/v2.
	Random func(n int) int
}

// Shards is a store.Store that never admits more than its limits, and denies earlier by
// chance: each slot is n slots with an nth of the limit, and each request asks one of them, chosen at
// random. Where a limit is asked for exactly its L units in a period, about
// 0.4·√(L·(n − 1)) of them are denied: 4 % of 1,000 units on 10 shards, 12 % of 100.
//
// It is for keys so hot that one server of a cluster cannot keep up with them: the shards of a key lie on
// different servers, unless the key has a hash tag. Where the calls are what is too much, a
// Lease is the better tool: it denies nothing early while a key is far from its limit.
//
// The units and the burst of a limit are divided by n, and what is left over goes to the
// first shards, one unit each. A limit, or a burst, below n has as many shards as units.
//
// A take is answered by its shard: Limit, Remaining, RetryAfter and ResetAfter are those of the shard, so a
// cost above an nth of the capacity is never admitted. A look asks all shards: Limit and Remaining are
// sums, RetryAfter is the least, and ResetAfter the longest.
//
// Charges and refunds are refused with an InputError, since nobody knows which shard has
// charged a take; so are leaky buckets, whose shards would be n queues, algorithms of
// users, and looks at more than store.MaxOps shards in one call.
//
// A key and the number of its shard make the key of the shard, so all limits of a Shards are
// sharded: use another store for those that are not. It is safe for concurrent use. A take costs two
// allocations.
type Shards struct {
	decorator
	n      int
	random func(n int) int
	parts  sync.Map // of algorithm.Spec to []algorithm.Algorithm
	limits atomic.Int64
}

var _ store.Featured = (*Shards)(nil)

// NewShards returns a store that divides each slot of inner into n, from 1 to 256. inner must not
// be nil, and is closed with it. What is out of bounds is a *store.InputError.
func NewShards(inner store.Store, n int, opts *ShardOptions) (*Shards, error) {
	if err := checkStore("inner", inner); err != nil {
		return nil, err
	}
	if n < 1 || n > divide.MaxParts {
		return nil, refuse("n", strconv.Itoa(n), "1 to "+strconv.Itoa(divide.MaxParts))
	}
	s := &Shards{n: n, random: rand.IntN}
	if opts != nil && opts.Random != nil {
		s.random = opts.Random
	}
	s.decorator = decorator{store.Wrap(inner, store.Hooks{Apply: s.apply, Peek: s.peek, Reset: s.reset})}
	return s, nil
}

// Features implements store.Featured.
func (s *Shards) Features() store.Features {
	f := s.featuresOf(s)
	f.Node = nil // the shards of a key lie on several
	return f
}

// apply asks one shard of each slot.
func (s *Shards) apply(ctx context.Context, ops []store.Op, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	one := make([]store.Op, len(ops))
	for i := range ops {
		parts, err := s.partsOf(i, &ops[i])
		if err != nil {
			return 0, false, err
		}
		one[i] = shardOf(&ops[i], parts, s.random(len(parts)))
	}
	if at, committed, err = next(ctx, one); err != nil {
		return at, committed, err
	}
	for i := range ops {
		ops[i].Outcome = one[i].Outcome
	}
	return at, committed, nil
}

// peek asks all shards of each slot.
func (s *Shards) peek(ctx context.Context, ops []store.Op, next store.PeekFunc) (at algorithm.Instant, err error) {
	var all []store.Op
	for i := range ops {
		parts, err := s.partsOf(i, &ops[i])
		if err != nil {
			return 0, err
		}
		for shard := range parts {
			all = append(all, shardOf(&ops[i], parts, shard))
		}
	}
	if at, err = next(ctx, all); err != nil {
		return at, err
	}
	rest := all
	for i := range ops {
		parts, err := s.partsOf(i, &ops[i])
		if err != nil {
			return 0, err
		}
		ops[i].Outcome = sum(rest[:len(parts)])
		rest = rest[len(parts):]
	}
	return at, nil
}

// sum is the answer to a look at shards.
func sum(shards []store.Op) (o algorithm.Outcome) {
	o.RetryAfter = algorithm.Never
	for i := range shards {
		s := &shards[i].Outcome
		o.Limit += s.Limit
		o.Remaining += s.Remaining
		o.Debt += s.Debt
		o.Allowed = o.Allowed || s.Allowed
		o.RetryAfter = min(o.RetryAfter, s.RetryAfter)
		o.ResetAfter = max(o.ResetAfter, s.ResetAfter)
	}
	return o
}

// reset makes all shards of the slots fresh, also those that a limit had before it was lowered.
func (s *Shards) reset(ctx context.Context, slots []store.Slot, next func(context.Context, []store.Slot) error) error {
	var all []store.Slot
	for i := range slots {
		op := store.Op{Slot: slots[i]}
		if _, err := s.partsOf(i, &op); err != nil {
			return err
		}
		for shard := range s.n {
			all = append(all, store.Slot{Key: divide.Key(slots[i].Key, shard), Limit: slots[i].Limit, Algorithm: slots[i].Algorithm})
		}
	}
	return next(ctx, all)
}

// shardOf is an op on one shard.
func shardOf(op *store.Op, parts []algorithm.Algorithm, shard int) store.Op {
	return store.Op{
		Slot:    store.Slot{Key: divide.Key(op.Key, shard), Limit: op.Limit, Algorithm: parts[shard]},
		Request: op.Request,
	}
}

// partsOf returns the limits of the shards of an op, or the error of what is not sharded.
func (s *Shards) partsOf(i int, op *store.Op) ([]algorithm.Algorithm, error) {
	if op.Request.Verb != algorithm.Take {
		return nil, &store.InputError{Op: i, Field: "Request.Verb", Value: op.Request.Verb.String(), Allowed: "take: a sharded slot has no charges and refunds"}
	}
	spec := op.Algorithm.Spec()
	if parts, found := s.parts.Load(spec); found {
		return parts.([]algorithm.Algorithm), nil
	}
	parts, err := divide.Parts(op.Algorithm, s.n)
	if err != nil {
		return nil, &store.InputError{Op: i, Field: "Slot.Algorithm", Value: spec.Kind, Allowed: err.Error()}
	}
	if s.limits.Add(1) <= maxLimits {
		s.parts.Store(spec, parts)
	}
	return parts, nil
}

// maxLimits is how many limits are remembered with their parts: more are divided each time.
const maxLimits = 10_000
