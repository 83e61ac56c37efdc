package memorystore

import (
	"context"
	"hash/maphash"
	"reflect"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// bound is one limit of a Store, with everything found that does not depend on
// the key.
type bound struct {
	store *Store
	limit limit
	quick bool // Apply may step without a deferred Unlock
}

// Features implements store.Featured: limits can be bound, a decision waits for
// locks only, and a step can have an ID.
func (s *Store) Features() store.Features {
	return store.Features{Owner: s, Bind: s.bind, NoIO: true, Once: s.once, Names: &s.names}
}

func (s *Store) bind(name string, a algorithm.Algorithm) (store.Bound, error) {
	if err := store.ValidateLimit(-1, a); err != nil {
		return nil, err
	}
	if s.closed.Load() {
		return nil, store.ErrClosed
	}
	l := s.limit(name, a)
	return &bound{s, l, s.monotonic != nil && l.inPlace != nil && neverPanics(a)}, nil
}

// neverPanics reports whether a is of package algorithm. A step of the user's may
// panic, and must not leave a lock taken then; to make sure of that costs a tenth
// of a decision, which only those pay who need it.
func neverPanics(a algorithm.Algorithm) bool {
	t := reflect.TypeOf(a)
	return t.Kind() == reflect.Pointer && t.Elem().PkgPath() == reflect.TypeFor[algorithm.Spec]().PkgPath()
}

// Apply implements store.Bound. It is the path of every Limiter, so it is
// written out where it matters: a slot that is held, stepped where it lies, with
// one hash, one lock and one look-up. Everything else is left to decide.
func (b *bound) Apply(ctx context.Context, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
	s, l := b.store, &b.limit
	if !b.quick || !isPlain(key, r) {
		return b.decide(ctx, key, r, true)
	}
	if err := s.open(ctx); err != nil {
		return algorithm.Outcome{}, 0, err
	}
	r = algorithm.Request{Cost: r.Cost, MaxDelay: r.MaxDelay} // all that a take has
	hash := maphash.String(s.seed, key)
	sh := &s.shards[hash%shards]
	now := s.monotonic.now()
	sh.mu.Lock()
	at := max(now, sh.latest) // see shard.instant
	rec := sh.table.find(hash^l.hash, key, l.name)
	if rec == nil || rec.expiry <= at {
		sh.mu.Unlock()
		return s.decide(ctx, key, l, r, true)
	}
	sh.latest = at
	o := &sh.outcome
	l.inPlace.StepInPlace(&rec.state, at, r, o)
	if o.Allowed && r.Cost > 0 {
		sh.renew(rec, hash^l.hash, expiry(at, o))
	}
	// Field by field, so that it travels in registers: a copy of the struct
	// would wait for the stores that made it, a tenth of the decision.
	allowed, most, remaining := o.Allowed, o.Limit, o.Remaining
	retryAfter, resetAfter, delay, debt := o.RetryAfter, o.ResetAfter, o.Delay, o.Debt
	sh.mu.Unlock()
	return algorithm.Outcome{
		Allowed: allowed, Limit: most, Remaining: remaining,
		RetryAfter: retryAfter, ResetAfter: resetAfter, Delay: delay, Debt: debt,
	}, at, nil
}

// Peek implements store.Bound.
func (b *bound) Peek(ctx context.Context, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
	return b.decide(ctx, key, r, false)
}

// decide is for whatever Apply does not do itself.
func (b *bound) decide(ctx context.Context, key string, r algorithm.Request, write bool) (algorithm.Outcome, algorithm.Instant, error) {
	if !isPlain(key, r) {
		if err := store.ValidateRequest(key, b.limit.algorithm, r); err != nil {
			return algorithm.Outcome{}, 0, err
		}
	}
	if err := b.store.open(ctx); err != nil {
		return algorithm.Outcome{}, 0, err
	}
	return b.store.decide(ctx, key, &b.limit, r, write)
}

// isPlain reports whether a request is a valid take.
func isPlain(key string, r algorithm.Request) bool {
	return key != "" && r.Cost >= 0 && r.MaxDelay >= 0 && r.Verb == algorithm.Take
}
