package memorystore

import (
	"context"
	"hash/maphash"
	"sync"
	"time"
	"unique"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// shards is how many locks the slots are spread over; a set of them fits into
// the bits of a word.
const shards = 64

// shard holds the slots of some keys.
type shard struct {
	mu      sync.Mutex
	latest  algorithm.Instant // of a decision here
	table   table
	denials denials
	store   *Store
	queue   expiries          // kept where MaxKeys is set
	ids     map[idOf]*made    // steps made under an ID, until they are forgotten
	ends    ends              // of ids
	spare   algorithm.State   // for deciding over a slot that is not held
	outcome algorithm.Outcome // of a step by an interface; on a stack it would escape
}

// limit is what a decision about one op needs besides key and request.
type limit struct {
	limitID
	algorithm algorithm.Algorithm
	inPlace   algorithm.InPlace // nil if the algorithm does not offer it
}

func (s *Store) limit(name string, a algorithm.Algorithm) limit {
	inPlace, _ := a.(algorithm.InPlace)
	return limit{s.identify(name, a.Spec()), a, inPlace}
}

// decide answers one op in every case: a peek, a slot that is not held, an
// algorithm that cannot step in place, a store that is full.
func (s *Store) decide(ctx context.Context, key string, l *limit, r algorithm.Request, write bool) (algorithm.Outcome, algorithm.Instant, error) {
	hash := maphash.String(s.seed, key)
	sh := &s.shards[hash%shards]
	for {
		outcome, at, full, err := sh.decide(ctx, hash^l.hash, key, l, r, write, s.before())
		if !full {
			return outcome, at, err
		}
		if !s.makeRoom() {
			return algorithm.Outcome{}, 0, store.ErrFull
		}
	}
}

// before reads the default clock, ahead of the locks: the reading is half of a
// decision. With a clock of the user's it returns 0; see instant.
func (s *Store) before() algorithm.Instant {
	if s.monotonic == nil {
		return 0
	}
	return s.monotonic.now()
}

// instant returns the instant of a decision under the lock of sh. Instants of a
// shard must not go back while its clock does not: the default clock was read
// before the lock was taken, so an earlier holder of the lock may have read a
// later time, and that one counts. A clock of the user's may go back on purpose
// and is read here. A ctx that ended while the call waited for the lock is an error.
func (sh *shard) instant(ctx context.Context, before algorithm.Instant) (algorithm.Instant, error) {
	at := max(before, sh.latest)
	if c := sh.store.injected; c != nil {
		var err error
		if at, err = c.read(); err != nil {
			return 0, err
		}
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	sh.latest = at
	return at, nil
}

func (sh *shard) decide(ctx context.Context, hash uint64, key string, l *limit, r algorithm.Request, write bool, before algorithm.Instant) (o algorithm.Outcome, at algorithm.Instant, full bool, err error) {
	sh.mu.Lock()
	defer sh.mu.Unlock() // deferred: Step and Clock may be the user's, and panic
	if at, err = sh.instant(ctx, before); err != nil {
		return o, 0, false, err
	}
	rec := sh.table.find(hash, key, l.name)
	if !write {
		_, o = l.algorithm.Step(sh.state(rec, at), at, r)
		return o, at, false, nil
	}
	if rec == nil {
		o, full = sh.decideFirst(hash, key, l, r, at)
		return o, at, full, nil
	}
	if sh.expired(rec, at) {
		rec.state = algorithm.State{}
	}
	o = sh.step(l, &rec.state, at, r)
	if o.Allowed && r.Cost > 0 && sh.renew(rec, hash, expiry(at, &o)) {
		sh.requeue(rec, hash, key, l.name)
	}
	return o, at, false, nil
}

// decideFirst decides over a slot that is not held, and holds it if that
// changes it. full says that there is no room.
func (sh *shard) decideFirst(hash uint64, key string, l *limit, r algorithm.Request, at algorithm.Instant) (o algorithm.Outcome, full bool) {
	sh.spare = algorithm.State{}
	o = sh.step(l, &sh.spare, at, r)
	if !o.Allowed || !creates(r) {
		return o, false
	}
	if !sh.store.reserve(1) {
		return o, true
	}
	sh.hold(hash, key, l.name, sh.spare, expiry(at, &o))
	sh.spare = algorithm.State{}
	return o, false
}

// creates reports whether a request may change a slot that is not held.
func creates(r algorithm.Request) bool { return r.Cost > 0 && r.Verb != algorithm.Refund }

// hold adds a slot for which room was reserved.
func (sh *shard) hold(hash uint64, key string, n unique.Handle[name], state algorithm.State, expiry algorithm.Instant) {
	if sh.store.closed.Load() {
		sh.store.release(1) // Close has emptied this shard, or is about to
		return
	}
	rec, number := sh.table.insert(hash, key, n)
	rec.state, rec.expiry = state, expiry
	if sh.store.most > 0 {
		sh.queue.add(&sh.table, number, expiry)
	}
}

// renew sets the expiry of a record whose state has changed. The expiry moves to an earlier time
// only where the parameters have changed; then the queue has it too late. renew reports whether
// the caller must call requeue.
func (sh *shard) renew(rec *record, hash uint64, expiry algorithm.Instant) (requeue bool) {
	sh.denials.changed(hash)
	earlier := expiry < rec.expiry
	rec.expiry = expiry
	return earlier && sh.store.most > 0
}

// requeue adds the new expiry of a record to the queue.
func (sh *shard) requeue(rec *record, hash uint64, key string, n unique.Handle[name]) {
	_, place := sh.table.lookup(hash, key, n)
	sh.queue.add(&sh.table, sh.table.number(place), rec.expiry)
}

// remove drops a slot and gives its room back. It reports whether the slot was held.
func (sh *shard) remove(hash uint64, key string, n unique.Handle[name]) bool {
	if !sh.table.remove(hash, key, n) {
		return false
	}
	sh.denials.changed(hash)
	sh.store.release(1)
	return true
}

// step moves *state on, or leaves it as it is where the request is denied or a
// look.
func (sh *shard) step(l *limit, state *algorithm.State, at algorithm.Instant, r algorithm.Request) algorithm.Outcome {
	if l.inPlace != nil {
		l.inPlace.StepInPlace(state, at, r, &sh.outcome)
		return sh.outcome
	}
	next, o := l.algorithm.Step(*state, at, r)
	if o.Allowed && r.Cost > 0 {
		*state = next
	}
	return o
}

// state returns what a record holds at an instant; rec may be nil.
func (sh *shard) state(rec *record, at algorithm.Instant) algorithm.State {
	if rec == nil || sh.expired(rec, at) {
		return algorithm.State{}
	}
	return rec.state
}

// expired reports whether a record reads as fresh although it was not swept
// yet, so that no answer depends on when the sweeper ran. A clock of the user's
// may come back to before the expiry; there, only Sweep and MaxKeys drop slots.
func (sh *shard) expired(rec *record, at algorithm.Instant) bool {
	return rec.expiry <= at && sh.store.monotonic != nil
}

// expiry is when a slot that was changed at an instant may be dropped: after its
// store.TTL, to the same millisecond as on a server, so that no history tells
// them apart. It is written out in µs, without the conversions; no sum can
// overflow, the longest Duration being 9.2·10^15 µs.
func expiry(at algorithm.Instant, o *algorithm.Outcome) algorithm.Instant {
	micros := int64(o.ResetAfter / time.Microsecond)
	const grace = int64(store.Grace / time.Microsecond)
	return at + algorithm.Instant((micros+999)/1000*1000+grace)
}
