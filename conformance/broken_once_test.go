package conformance_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
)

// onceStore is a plainStore that knows IDs, as somebody else might write it first. What may
// be broken of it is a function.
type onceStore struct {
	*plainStore
	mu   sync.Locker
	made map[string]madeStep

	validate func(o store.Once, ops []store.Op) error
	place    func(o store.Once, ops []store.Op) string
	digest   func(ops []store.Op) string
	ttl      func(ttl time.Duration) time.Duration
	apply    func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error)
	again    func(now algorithm.Instant, m madeStep, ops []store.Op) algorithm.Instant
	remember func(ops []store.Op, committed bool) bool
	between  func()
	onReset  func(slots []store.Slot)
}

// madeStep is a step that was made under an ID.
type madeStep struct {
	digest    string
	at, until algorithm.Instant
	committed bool
	outcomes  []algorithm.Outcome
}

func newOnceStore(clk clock.Clock) *onceStore {
	s := &onceStore{plainStore: newPlainStore(clk), mu: &sync.Mutex{}, made: map[string]madeStep{}}
	s.validate = store.ValidateOnce
	s.place = func(o store.Once, ops []store.Op) string { return store.OnceTag(ops) + "\x00" + o.ID }
	s.digest = store.OnceDigest
	s.ttl = func(ttl time.Duration) time.Duration { return ttl }
	s.apply = s.plainStore.Apply
	s.again = func(_ algorithm.Instant, m madeStep, ops []store.Op) algorithm.Instant {
		for i := range ops {
			ops[i].Outcome = m.outcomes[i]
		}
		return m.at
	}
	s.remember = func(ops []store.Op, committed bool) bool { return committed && store.Takes(ops) }
	s.between, s.onReset = func() {}, func([]store.Slot) {}
	return s
}

func (s *onceStore) Features() store.Features { return store.Features{Owner: s, Once: s.once} }

func (s *onceStore) Reset(ctx context.Context, slots []store.Slot) error {
	s.onReset(slots)
	return s.plainStore.Reset(ctx, slots)
}

func (s *onceStore) once(ctx context.Context, o store.Once, ops []store.Op) (algorithm.Instant, bool, error) {
	if err := s.validate(o, ops); err != nil {
		return 0, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := algorithm.InstantOf(s.clock.Now())
	if err != nil {
		return 0, false, err
	}
	place, digest := s.place(o, ops), s.digest(ops)
	if m, known := s.lookUp(place); known && now < m.until && store.Takes(ops) {
		if m.digest != digest {
			return 0, false, store.ErrIDReused
		}
		return s.again(now, m, ops), m.committed, nil
	}
	s.between()
	at, committed, err := s.apply(ctx, ops)
	if err != nil || !s.remember(ops, committed) {
		return at, committed, err
	}
	m := madeStep{digest, at, at + algorithm.Instant(s.ttl(o.TTL)/time.Microsecond), committed, nil}
	for i := range ops {
		m.outcomes = append(m.outcomes, ops[i].Outcome)
	}
	s.plainStore.mu.Lock()
	s.made[place] = m
	s.plainStore.mu.Unlock()
	return at, committed, nil
}

func (s *onceStore) lookUp(place string) (m madeStep, known bool) {
	s.plainStore.mu.Lock()
	defer s.plainStore.mu.Unlock()
	m, known = s.made[place]
	return m, known
}

// noLock is a lock that locks nothing.
type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}

var brokenOnce = []struct {
	name  string
	fault func(s *onceStore)
	meant []string
}{
	{"an ID is not remembered", func(s *onceStore) {
		s.remember = func([]store.Op, bool) bool { return false }
	}, []string{"once/same-answer", "once/every-verb", "once/all-or-nothing", "linear/lost-replies"}},
	{"a step that was made is answered as a look", func(s *onceStore) {
		s.again = func(_ algorithm.Instant, m madeStep, ops []store.Op) algorithm.Instant {
			looks := append([]store.Op(nil), ops...)
			for i := range looks {
				looks[i].Request = algorithm.Request{}
			}
			_, _ = s.plainStore.Peek(context.Background(), looks)
			for i := range ops {
				ops[i].Outcome = looks[i].Outcome
			}
			return m.at
		}
	}, []string{"once/same-answer"}},
	{"a step that was made is answered with the instant of now", func(s *onceStore) {
		again := s.again
		s.again = func(now algorithm.Instant, m madeStep, ops []store.Op) algorithm.Instant {
			again(now, m, ops)
			return now
		}
	}, []string{"once/same-answer"}},
	{"a refund of nothing is not remembered", func(s *onceStore) {
		s.remember = func(ops []store.Op, committed bool) bool {
			nothing := ops[0].Request.Verb == algorithm.Refund && ops[0].Outcome.ResetAfter == 0
			return committed && store.Takes(ops) && !nothing
		}
	}, []string{"once/every-verb"}},
	{"a refund of no units is not remembered", func(s *onceStore) {
		s.remember = func(ops []store.Op, committed bool) bool {
			return committed && slices.ContainsFunc(ops, func(op store.Op) bool { return op.Request.Cost > 0 })
		}
	}, []string{"once/every-verb"}},
	{"ops of a step are made one by one", func(s *onceStore) {
		s.apply = func(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
			committed = true
			for i := range ops {
				one := false
				if at, one, err = s.plainStore.Apply(ctx, ops[i:i+1]); err != nil {
					return 0, false, err
				}
				committed = committed && one
			}
			return at, committed, nil
		}
	}, []string{"once/all-or-nothing"}},
	{"a refusal is remembered", func(s *onceStore) {
		s.remember = func([]store.Op, bool) bool { return true }
	}, []string{"once/refused-is-not-remembered"}},
	{"other ops get the answer of the ID", func(s *onceStore) {
		s.digest = func([]store.Op) string { return "" }
		again := s.again
		s.again = func(now algorithm.Instant, m madeStep, ops []store.Op) algorithm.Instant {
			return again(now, m, ops[:min(len(ops), len(m.outcomes))])
		}
	}, []string{"once/other-ops"}},
	{"other parameters are the same ops", func(s *onceStore) {
		s.digest = func(ops []store.Op) string {
			text := ""
			for _, op := range ops {
				text += op.Key + "\x00" + op.Limit + "\x00" + op.Algorithm.Spec().Kind + "\x00" + op.Request.Verb.String() + string(rune(op.Request.Cost))
			}
			return text
		}
	}, []string{"once/other-ops"}},
	{"an ID lies beside the first key", func(s *onceStore) {
		s.place = func(o store.Once, ops []store.Op) string { return store.HashTag(ops[0].Key) + "\x00" + o.ID }
	}, []string{"once/same-ops-in-another-order"}},
	{"an ID is one for all keys", func(s *onceStore) {
		s.place = func(o store.Once, _ []store.Op) string { return o.ID }
	}, []string{"once/ids-are-kept-apart"}},
	{"an ID is a string of C", func(s *onceStore) {
		s.place = func(o store.Once, ops []store.Op) string {
			id, _, _ := strings.Cut(o.ID, "\x00")
			return store.OnceTag(ops) + "\x00" + id
		}
	}, []string{"once/ids-are-kept-apart"}},
	{"a long ID is cut off", func(s *onceStore) {
		s.place = func(o store.Once, ops []store.Op) string {
			return store.OnceTag(ops) + "\x00" + o.ID[:min(len(o.ID), 200)]
		}
	}, []string{"once/ids-are-kept-apart"}},
	{"an ID lives for whole milliseconds", func(s *onceStore) {
		s.ttl = func(ttl time.Duration) time.Duration { return (ttl + time.Millisecond - 1).Truncate(time.Millisecond) }
	}, []string{"once/forgotten-at-its-end"}},
	{"an ID ends a µs too early", func(s *onceStore) {
		s.ttl = func(ttl time.Duration) time.Duration { return ttl - time.Microsecond }
	}, []string{"once/forgotten-at-its-end"}},
	{"a reset forgets all IDs", func(s *onceStore) {
		s.onReset = func([]store.Slot) { clear(s.made) }
	}, []string{"once/kept-over-a-reset"}},
	{"an ID may be empty", func(s *onceStore) {
		s.validate = func(o store.Once, ops []store.Op) error {
			if o.ID == "" {
				o.ID = "none"
			}
			return store.ValidateOnce(o, ops)
		}
	}, []string{"once/input"}},
	{"an ID is looked up before the lock", func(s *onceStore) {
		s.mu = noLock{}
		s.between = func() { time.Sleep(time.Millisecond) }
	}, []string{"concurrent/one-of-an-id"}},
}

// TestOnceStoreConforms: the store that is broken above is sound where it is not.
func TestOnceStoreConforms(t *testing.T) {
	conformance.TestStore(t, func(_ testing.TB, clk clock.Clock) store.Store { return newOnceStore(clk) }, quickConfig())
}
