package inflight

import (
	"container/heap"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/nilcheck"
	"github.com/weirgo/weir/store"
)

// MemoryOptions are the optional settings of a Memory; nil means all defaults.
type MemoryOptions struct {
	// Clock replaces the default clock: the wall time when the Memory was made, plus
	// monotonic time, which never goes back.
	Clock store.Clock
	// MaxHolders bounds the holders of all slots together: an Acquire of one more is
	// store.ErrFull. 0 is 1,000,000; below 0 is refused. A holder takes about 200 bytes, its
	// ID and its key.
	MaxHolders int
}

const defaultMaxHolders = 1_000_000

// Memory is a Store in the memory of one process. A call takes one lock for the time of a
// few map look-ups. What has expired is dropped by the next call, whichever slot that is
// for: it needs no goroutine, and nothing to close. A clock of the user's that goes back
// frees nothing.
type Memory struct {
	clock store.Clock // nil for the default one
	start time.Time
	base  algorithm.Instant
	most  int

	mu      sync.Mutex
	slots   map[Slot]*slotHolders
	holders map[holderKey]*holder
	order   byExpiry[*slotHolders] // the slots, by their first expiry
}

var _ Store = (*Memory)(nil)

// slotHolders are the holders of a slot; there is one at least.
type slotHolders struct {
	slot  Slot
	inUse int64
	order byExpiry[*holder]
	place int // in Memory.order
}

// holderKey tells holders apart.
type holderKey struct {
	slot *slotHolders
	id   string
	cost int64
}

type holder struct {
	key   holderKey
	until algorithm.Instant
	place int // in slotHolders.order
}

// NewMemory returns an empty Memory. A MaxHolders below 0 gives an error.
func NewMemory(opts *MemoryOptions) (*Memory, error) {
	if opts == nil {
		opts = &MemoryOptions{}
	}
	if opts.MaxHolders < 0 {
		return nil, refuse("MemoryOptions.MaxHolders", strconv.Itoa(opts.MaxHolders), "0 (1,000,000) or more")
	}
	m := &Memory{
		clock: opts.Clock, most: opts.MaxHolders, start: time.Now(),
		slots: make(map[Slot]*slotHolders), holders: make(map[holderKey]*holder),
	}
	if m.most == 0 {
		m.most = defaultMaxHolders
	}
	if m.clock != nil && nilcheck.IsNil(m.clock) {
		return nil, refuse("MemoryOptions.Clock", "a nil pointer", "a clock, or nil")
	}
	base, err := algorithm.InstantOf(m.start)
	m.base = base
	return m, err
}

// Acquire implements Store.
func (m *Memory) Acquire(ctx context.Context, h Holder, limit int64) (Standing, error) {
	if err := ValidateAcquire(h, limit); err != nil {
		return Standing{}, err
	}
	return m.step(ctx, h.Slot, func(s *slotHolders, now algorithm.Instant) (Standing, error) {
		until := now + algorithm.Instant(h.Life/time.Microsecond)
		if held := m.find(s, h); held != nil {
			m.extend(held, until)
			return Standing{Held: true, InUse: s.inUse, Until: held.until}, nil
		}
		switch {
		case s.used() > limit-h.Cost:
			return Standing{InUse: s.used(), Next: s.next()}, nil
		case s != nil && len(s.order) >= MaxHolders || len(m.holders) >= m.most:
			return Standing{}, store.ErrFull
		}
		if s == nil {
			s = &slotHolders{slot: h.Slot}
			m.slots[h.Slot] = s
		}
		m.add(s, &holder{key: holderKey{s, h.ID, h.Cost}, until: until})
		return Standing{Held: true, InUse: s.inUse, Until: until}, nil
	})
}

// Renew implements Store.
func (m *Memory) Renew(ctx context.Context, h Holder) (Standing, error) {
	if err := ValidateRenew(h); err != nil {
		return Standing{}, err
	}
	return m.step(ctx, h.Slot, func(s *slotHolders, now algorithm.Instant) (Standing, error) {
		held := m.find(s, h)
		if held == nil {
			return Standing{InUse: s.used()}, nil
		}
		m.extend(held, now+algorithm.Instant(h.Life/time.Microsecond))
		return Standing{Held: true, InUse: s.inUse, Until: held.until}, nil
	})
}

// Release implements Store.
func (m *Memory) Release(ctx context.Context, h Holder) (Standing, error) {
	if err := ValidateRelease(h); err != nil {
		return Standing{}, err
	}
	return m.step(ctx, h.Slot, func(s *slotHolders, _ algorithm.Instant) (Standing, error) {
		held := m.find(s, h)
		if held == nil {
			return Standing{InUse: s.used()}, nil
		}
		m.remove(held)
		return Standing{Held: true, InUse: s.inUse}, nil
	})
}

// Peek implements Store.
func (m *Memory) Peek(ctx context.Context, slot Slot) (Standing, error) {
	if err := ValidatePeek(slot); err != nil {
		return Standing{}, err
	}
	return m.step(ctx, slot, func(s *slotHolders, _ algorithm.Instant) (Standing, error) {
		return Standing{InUse: s.used(), Next: s.next()}, nil
	})
}

// step runs one call under the lock, after everything that has expired is dropped. The
// slot is nil where it has no holders.
func (m *Memory) step(ctx context.Context, slot Slot, f func(s *slotHolders, now algorithm.Instant) (Standing, error)) (Standing, error) {
	if err := ctx.Err(); err != nil {
		return Standing{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, err := m.now()
	if err != nil {
		return Standing{}, err
	}
	for len(m.order) > 0 && m.order[0].order[0].until <= now {
		m.remove(m.order[0].order[0])
	}
	standing, err := f(m.slots[slot], now)
	standing.At = now
	return standing, err
}

func (m *Memory) now() (algorithm.Instant, error) {
	if m.clock != nil {
		return algorithm.InstantOf(m.clock.Now())
	}
	return m.base + algorithm.Instant(time.Since(m.start)/time.Microsecond), nil
}

func (m *Memory) find(s *slotHolders, h Holder) *holder {
	return m.holders[holderKey{s, h.ID, h.Cost}]
}

func (m *Memory) add(s *slotHolders, h *holder) {
	m.holders[h.key] = h
	s.inUse += h.key.cost
	heap.Push(&s.order, h)
	if len(s.order) == 1 {
		heap.Push(&m.order, s)
	} else {
		heap.Fix(&m.order, s.place)
	}
}

func (m *Memory) extend(h *holder, until algorithm.Instant) {
	h.until = max(h.until, until)
	heap.Fix(&h.key.slot.order, h.place)
	heap.Fix(&m.order, h.key.slot.place)
}

func (m *Memory) remove(h *holder) {
	s := h.key.slot
	delete(m.holders, h.key)
	s.inUse -= h.key.cost
	if len(s.order) == 1 {
		heap.Remove(&m.order, s.place)
		delete(m.slots, s.slot)
		return
	}
	heap.Remove(&s.order, h.place)
	heap.Fix(&m.order, s.place)
}

// used and next take a slot without holders, which is nil.
func (s *slotHolders) used() int64 {
	if s == nil {
		return 0
	}
	return s.inUse
}

func (s *slotHolders) next() algorithm.Instant {
	if s == nil {
		return 0
	}
	return s.order[0].until
}

func (s *slotHolders) expiry() algorithm.Instant { return s.order[0].until }
func (s *slotHolders) setPlace(i int)            { s.place = i }
func (h *holder) expiry() algorithm.Instant      { return h.until }
func (h *holder) setPlace(i int)                 { h.place = i }

// byExpiry is a heap whose elements know their places.
type byExpiry[T interface {
	expiry() algorithm.Instant
	setPlace(i int)
}] []T

func (q byExpiry[T]) Len() int           { return len(q) }
func (q byExpiry[T]) Less(i, k int) bool { return q[i].expiry() < q[k].expiry() }

func (q byExpiry[T]) Swap(i, k int) {
	q[i], q[k] = q[k], q[i]
	q[i].setPlace(i)
	q[k].setPlace(k)
}

// Push implements heap.Interface.
func (q *byExpiry[T]) Push(x any) {
	x.(T).setPlace(len(*q))
	*q = append(*q, x.(T))
}

// Pop implements heap.Interface.
func (q *byExpiry[T]) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	var none T
	(*q)[last] = none
	*q = (*q)[:last]
	return x
}
