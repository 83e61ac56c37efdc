package resilience

import (
	"context"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// Sweep gives back the units that are due: of slots that were not used for a quarter of
// Life, and of grants near their end. It forgets slots that are cold. It returns how many
// units were given back, and how many were lost in a call that failed.
//
// Without a Clock the Lease does it by itself, eight times in a Life. It makes one call to
// the store for each grant that is due, one after the other, each within Timeout. It is
// safe for concurrent use.
func (l *Lease) Sweep(ctx context.Context) (returned, lost int64) {
	now := l.clock()
	returned, lost = l.giveAllBack(ctx, func(s *leased) bool { return s.due(l.present(s, now), l.opts.Life) }, whatIsDue)
	l.table.forget(l.clock(), l.tick)
	return returned, lost
}

// sweeper sweeps until the Lease is closed.
func (l *Lease) sweeper() {
	defer close(l.stopped)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ticker := time.NewTicker(l.tick / 2)
	defer ticker.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ticker.C:
			l.Sweep(ctx)
		}
	}
}

// portion is which of the units of a slot are given back.
type portion bool

const (
	everything portion = true
	whatIsDue  portion = false
)

// due moves the grants aside that should be given back, and reports whether there are any:
// those that cannot be used any more, and soon could not, and all of a slot that nobody asks for.
func (s *leased) due(now time.Time, life time.Duration) bool {
	s.expire(now, life*3/4)
	if now.Sub(s.last) >= life/4 {
		s.setAllAside()
	}
	return len(s.stale) > 0
}

// maxFailures is how many calls in a row may fail before no more are made: the store does
// not answer, and the others would only wait for it.
const maxFailures = 3

// giveAllBack gives units back of the slots that choose accepts. What is due stays where it is
// after too many failures, and when the Lease is closed; everything is lost then. Everything
// waits for calls on their way, for Timeout in all.
func (l *Lease) giveAllBack(ctx context.Context, choose func(*leased) bool, p portion) (returned, lost int64) {
	patience, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	failures := 0
	for _, id := range l.table.ids(choose) {
		if p == whatIsDue && (failures == maxFailures || l.closed.Load()) {
			break
		}
		apply := l.refund
		if failures == maxFailures {
			apply = noAnswer
		}
		sh := l.table.shard(id.Key)
		if p == everything { // that comes, and what is on its way
			for wait := sh.wait(id); wait != nil && deadline.Wait(patience, wait, 0); {
				wait = sh.wait(id)
			}
		}
		r, n := l.giveBack(ctx, sh, id, p, apply)
		returned += r
		lost += n
		if n == 0 {
			failures = 0
		} else if failures < maxFailures {
			failures++
		}
	}
	return returned, lost
}

// noAnswer is Apply of a store that does not answer.
func noAnswer(context.Context, []store.Op) (algorithm.Instant, bool, error) {
	return 0, false, store.ErrUnavailable
}

// refund is Apply of the store behind, with the time-out for calls that give units back.
func (l *Lease) refund(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	if !l.timed {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.opts.Timeout)
		defer cancel()
	}
	return l.inner.Apply(ctx, ops)
}

// giveBack gives units of a slot back, one grant in each call of apply. Nothing is given back
// while another call takes or gives back units.
func (l *Lease) giveBack(ctx context.Context, sh *shard, id store.SlotID, p portion, apply store.ApplyFunc) (returned, lost int64) {
	grants, epoch := l.collect(sh, id, p)
	if len(grants) == 0 {
		return 0, 0
	}
	defer func() { // also of a call that panics
		sh.mu.Lock()
		defer sh.mu.Unlock()
		s := sh.slots[id] // it is busy, so it is not forgotten
		s.end()
		s.stats.Returned += returned
		for i := range grants {
			s.stats.Lost += grants[i].units
		}
	}()
	for i := range grants {
		if sh.epoch(id) != epoch { // a Reset has made the slot fresh
			break
		}
		g := &grants[i]
		units := g.returnable(l.clock(), l.opts.Timeout, l.kinds[g.spec.Kind])
		if units == 0 {
			continue
		}
		op := [1]store.Op{g.refund(id, units)}
		if _, _, err := apply(ctx, op[:]); err != nil {
			lost += units
			continue
		}
		returned += units
		g.units -= units
	}
	return returned, lost
}

// collect takes the grants to give back out of a slot, which is busy then. Without any it is not. epoch
// is that of the grants.
func (l *Lease) collect(sh *shard, id store.SlotID, p portion) (grants []grant, epoch int64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s := sh.slots[id]
	if s == nil || s.busy {
		return nil, 0
	}
	if p == everything {
		s.setAllAside()
	}
	grants = s.stale
	if s.stale = nil; len(grants) > 0 {
		s.begin()
	}
	return grants, s.epoch
}
