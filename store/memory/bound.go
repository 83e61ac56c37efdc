package memorystore

import (
	"context"
	"hash/maphash"
	"time"

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
	return &bound{s, l, s.monotonic != nil && isKnown(a)}, nil
}

// isKnown reports whether step has a case for a. An algorithm of a user may panic, and must
// not leave a lock taken then. A deferred Unlock costs a tenth of a decision, so only other
// algorithms have it.
func isKnown(a algorithm.Algorithm) bool {
	switch a.(type) {
	case *algorithm.GCRA, *algorithm.TokenBucket, *algorithm.LeakyBucket, *algorithm.FixedWindow,
		*algorithm.SlidingCounter, *algorithm.CalendarWindow, *algorithm.SlidingLog:
		return true
	}
	return false
}

// step is StepInPlace of an algorithm that isKnown. The calls are static: an argument of a call
// through an interface escapes to the heap, and so the Outcome stays on the stack of the caller.
func step(a algorithm.InPlace, s *algorithm.State, at algorithm.Instant, r algorithm.Request, o *algorithm.Outcome) {
	switch a := a.(type) {
	case *algorithm.GCRA:
		a.StepInPlace(s, at, r, o)
	case *algorithm.TokenBucket:
		a.StepInPlace(s, at, r, o)
	case *algorithm.LeakyBucket:
		a.StepInPlace(s, at, r, o)
	case *algorithm.FixedWindow:
		a.StepInPlace(s, at, r, o)
	case *algorithm.SlidingCounter:
		a.StepInPlace(s, at, r, o)
	case *algorithm.CalendarWindow:
		a.StepInPlace(s, at, r, o)
	case *algorithm.SlidingLog:
		a.StepInPlace(s, at, r, o)
	}
}

// Apply implements store.Bound.
func (b *bound) Apply(ctx context.Context, key string, r algorithm.Request) (o algorithm.Outcome, at algorithm.Instant, err error) {
	if r.Verb != algorithm.Take {
		return b.decide(ctx, key, r, true)
	}
	o.Allowed, o.Limit, o.Remaining, o.Debt, o.RetryAfter, o.ResetAfter, o.Delay, at, err = b.TakeFlat(ctx, key, r.Cost, r.MaxDelay)
	return o, at, err
}

// TakeFlat is Apply of a take, and what a Limiter uses. It answers in single values, which
// travel in registers. An Outcome is larger than what the compiler keeps there: each function
// that returns one copies it through memory, twice, and each copy waits for the stores that
// made the Outcome. A decision of a Limiter costs three quarters of what it costs by Apply.
//
//	go run ./bench -only 'memory/hot/serial/.*/(floor|weir)'
//
// It is the path of every Limiter, so it is written out where it matters: a slot that is
// held, stepped where it lies, with one hash, one lock and one look-up, or a denial by a copy,
// without a lock. Everything else is left to decide.
func (b *bound) TakeFlat(ctx context.Context, key string, n int64, maxDelay time.Duration) (allowed bool, limit, remaining, debt int64, retryAfter, resetAfter, delay time.Duration, at algorithm.Instant, err error) {
	s, l := b.store, &b.limit
	r := algorithm.Request{Cost: n, MaxDelay: maxDelay}
	if !b.quick || !isPlain(key, r) || s.closed.Load() || ctx.Err() != nil {
		return b.takeSlow(ctx, key, r)
	}
	hash := maphash.String(s.seed, key)
	sh := &s.shards[hash%shards]
	hash ^= l.hash
	denied := sh.denials.find(hash, key, l.name)
	now := s.monotonic.now() // after find: the last change was earlier
	var o algorithm.Outcome
	if denied != nil && now < denied.expiry && denied.step(l.inPlace, now, r, &o) {
		return o.Allowed, o.Limit, o.Remaining, o.Debt, o.RetryAfter, o.ResetAfter, o.Delay, now, nil
	}
	sh.mu.Lock()
	at = max(now, sh.latest) // see shard.instant
	rec := sh.table.find(hash, key, l.name)
	if rec == nil || rec.expiry <= at {
		sh.mu.Unlock()
		return b.takeSlow(ctx, key, r)
	}
	sh.latest = at
	step(l.inPlace, &rec.state, at, r, &o)
	if !o.Allowed {
		sh.denials.add(hash, key, l.name, rec)
	} else if r.Cost > 0 && sh.renew(rec, hash, expiry(at, &o)) {
		sh.requeue(rec, hash, key, l.name)
	}
	sh.mu.Unlock()
	return o.Allowed, o.Limit, o.Remaining, o.Debt, o.RetryAfter, o.ResetAfter, o.Delay, at, nil
}

// takeSlow is TakeFlat for all other requests: of an algorithm that is not known, not plain, of
// a closed store or an ended context, or of a slot that is not held.
func (b *bound) takeSlow(ctx context.Context, key string, r algorithm.Request) (allowed bool, limit, remaining, debt int64, retryAfter, resetAfter, delay time.Duration, at algorithm.Instant, err error) {
	var o algorithm.Outcome
	o, at, err = b.decide(ctx, key, r, true)
	return o.Allowed, o.Limit, o.Remaining, o.Debt, o.RetryAfter, o.ResetAfter, o.Delay, at, err
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
