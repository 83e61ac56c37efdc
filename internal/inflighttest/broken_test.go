package inflighttest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience/inflight"
	"github.com/weirgo/weir/store"
)

// simple is a Store of a model, whose parts a test can break.
type simple struct {
	mu      *sync.Mutex
	clock   store.Clock
	model   model
	acquire func(s *simple, now algorithm.Instant, h inflight.Holder, limit int64) inflight.Standing
	renew   func(s *simple, now algorithm.Instant, h inflight.Holder) inflight.Standing
	release func(s *simple, now algorithm.Instant, h inflight.Holder) inflight.Standing
	holder  func(h inflight.Holder) inflight.Holder
	invalid bool // takes every input
	endless bool // takes every context
	racy    bool
}

func (s *simple) do(ctx context.Context, invalid error, h inflight.Holder, f func(now algorithm.Instant, h inflight.Holder) inflight.Standing) (inflight.Standing, error) {
	if invalid != nil && !s.invalid {
		return inflight.Standing{}, invalid
	}
	if err := ctx.Err(); err != nil && !s.endless {
		return inflight.Standing{}, err
	}
	now, err := algorithm.InstantOf(s.clock.Now())
	if err != nil {
		return inflight.Standing{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder != nil {
		h = s.holder(h)
	}
	s.model.expire(now)
	return f(now, h), nil
}

func (s *simple) Acquire(ctx context.Context, h inflight.Holder, limit int64) (inflight.Standing, error) {
	if s.racy { // looks first, and takes what it saw to be free
		free, err := s.do(ctx, inflight.ValidateAcquire(h, limit), h, func(now algorithm.Instant, h inflight.Holder) inflight.Standing { return s.model.standing(h.Slot, now) })
		if err != nil || free.InUse+h.Cost > limit && s.model.find(h) < 0 {
			return free, err
		}
		time.Sleep(20 * time.Millisecond) // others look meanwhile
		return s.do(ctx, nil, h, func(now algorithm.Instant, h inflight.Holder) inflight.Standing {
			return s.model.acquire(now, h, inflight.MaxUnits)
		})
	}
	return s.do(ctx, inflight.ValidateAcquire(h, limit), h, func(now algorithm.Instant, h inflight.Holder) inflight.Standing {
		if s.acquire != nil {
			return s.acquire(s, now, h, limit)
		}
		return s.model.acquire(now, h, limit)
	})
}

func (s *simple) Renew(ctx context.Context, h inflight.Holder) (inflight.Standing, error) {
	return s.do(ctx, inflight.ValidateRenew(h), h, func(now algorithm.Instant, h inflight.Holder) inflight.Standing {
		if s.renew != nil {
			return s.renew(s, now, h)
		}
		return s.model.renew(now, h)
	})
}

func (s *simple) Release(ctx context.Context, h inflight.Holder) (inflight.Standing, error) {
	return s.do(ctx, inflight.ValidateRelease(h), h, func(now algorithm.Instant, h inflight.Holder) inflight.Standing {
		if s.release != nil {
			return s.release(s, now, h)
		}
		return s.model.release(now, h)
	})
}

func (s *simple) Peek(ctx context.Context, slot inflight.Slot) (inflight.Standing, error) {
	return s.do(ctx, inflight.ValidatePeek(slot), inflight.Holder{Slot: slot}, func(now algorithm.Instant, h inflight.Holder) inflight.Standing {
		return s.model.standing(h.Slot, now)
	})
}

// broken are stores with one mistake each, and the check that is meant for it.
var broken = map[string]struct {
	check string
	make  simple
}{
	"admits one too many": {"acquire/never_more_than_the_limit", simple{acquire: func(s *simple, now algorithm.Instant, h inflight.Holder, limit int64) inflight.Standing {
		return s.model.acquire(now, h, limit+1)
	}}},
	"counts holders, not units": {"acquire/refusal_is_exact", simple{holder: func(h inflight.Holder) inflight.Holder { h.Cost = min(h.Cost, 1); return h }}},
	"takes units again": {"acquire/again_takes_nothing_more", simple{acquire: func(s *simple, now algorithm.Instant, h inflight.Holder, limit int64) inflight.Standing {
		if s.model.find(h) >= 0 {
			s.model.held = append(s.model.held, modelHolder{h.Slot, h.ID, h.Cost, now + 1_000_000})
		}
		return s.model.acquire(now, h, limit)
	}}},
	"takes units away when the limit falls": {"acquire/lowered_limit_takes_nothing_away", simple{acquire: func(s *simple, now algorithm.Instant, h inflight.Holder, limit int64) inflight.Standing {
		s.model.held = s.model.held[:min(int64(len(s.model.held)), limit)]
		return s.model.acquire(now, h, limit)
	}}},
	"expires a µs late": {"expiry/at_the_end_of_the_life", simple{model: model{late: 1}}},
	"renews the dead": {"renew/gives_nothing_to_who_is_not_live", simple{renew: func(s *simple, now algorithm.Instant, h inflight.Holder) inflight.Standing {
		return s.model.acquire(now, h, inflight.MaxUnits)
	}}},
	"shortens a life": {"renew/keeps_the_units", simple{renew: func(s *simple, now algorithm.Instant, h inflight.Holder) inflight.Standing {
		if i := s.model.find(h); i >= 0 {
			s.model.held[i].until = 0
		}
		return s.model.renew(now, h)
	}}},
	"releases somebody": {"release/twice", simple{release: func(s *simple, now algorithm.Instant, h inflight.Holder) inflight.Standing {
		if s.model.find(h) < 0 && len(s.model.held) > 0 {
			s.model.held = s.model.held[1:]
		}
		return s.model.release(now, h)
	}}},
	"releases somebody after the end": {"release/after_the_end_changes_nothing", simple{release: func(s *simple, now algorithm.Instant, h inflight.Holder) inflight.Standing {
		if s.model.find(h) < 0 && len(s.model.held) > 0 {
			s.model.held = s.model.held[1:]
		}
		return s.model.release(now, h)
	}}},
	"mixes the limits of a key": {"slots/are_apart", simple{holder: func(h inflight.Holder) inflight.Holder { h.Limit = "l"; return h }}},
	"cuts an ID":                {"slots/are_apart", simple{holder: func(h inflight.Holder) inflight.Holder { h.ID = h.ID[:min(1, len(h.ID))]; return h }}},
	"takes every input":         {"input/is_refused", simple{invalid: true}},
	"does not see the context":  {"context/that_has_ended", simple{endless: true}},
	"looks, and then takes":     {"concurrent/exactly_the_limit", simple{racy: true}},
	"renews nobody": {"model", simple{renew: func(s *simple, now algorithm.Instant, h inflight.Holder) inflight.Standing {
		standing := s.model.standing(h.Slot, now)
		standing.Next = 0
		return standing
	}}},
	"releases nobody": {"concurrent/linearizable", simple{release: func(s *simple, now algorithm.Instant, h inflight.Holder) inflight.Standing {
		standing := s.model.standing(h.Slot, now)
		standing.Next, standing.Held = 0, s.model.find(h) >= 0
		return standing
	}}},
}

func open(b simple) Open {
	return func(_ testing.TB, clock store.Clock) inflight.Store {
		s := b
		s.clock, s.mu = clock, &sync.Mutex{}
		return &s
	}
}

// TestTheModelItselfPasses: what the broken stores are made of has no mistake.
func TestTheModelItselfPasses(t *testing.T) { Run(t, open(simple{})) }

// TestBrokenStore is a run of the suite on a store with a mistake, for the next test.
func TestBrokenStore(t *testing.T) {
	b, is := broken[os.Getenv("WEIR_BROKEN_HOLDERS")]
	if !is {
		t.Skip("only for TestEveryMistakeIsFound")
	}
	Run(t, open(b.make))
}

func TestEveryMistakeIsFound(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range broken {
		cmd := exec.Command(self, "-test.run=^TestBrokenStore$/"+b.check, "-rapid.nofailfile", "-rapid.shrinktime=1ms")
		cmd.Env = append(os.Environ(), "WEIR_BROKEN_HOLDERS="+name)
		output, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(output), "--- FAIL: TestBrokenStore/"+b.check) {
			t.Errorf("a store that %s passes %s: %v\n%s", name, b.check, err, output)
		}
	}
}
