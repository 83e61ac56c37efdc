package inflight_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/internal/inflighttest"
	"github.com/weirgo/weir/resilience/inflight"
	"github.com/weirgo/weir/store"
)

var background = context.Background()

func newMemory(tb testing.TB, opts *inflight.MemoryOptions) *inflight.Memory {
	tb.Helper()
	m, err := inflight.NewMemory(opts)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestMemory(t *testing.T) {
	inflighttest.Run(t, func(tb testing.TB, clock store.Clock) inflight.Store {
		return newMemory(tb, &inflight.MemoryOptions{Clock: clock})
	})
}

func holder(key, id string) inflight.Holder {
	return inflight.Holder{Slot: inflight.Slot{Key: key, Limit: "l"}, ID: id, Cost: 1, Life: time.Second}
}

func TestMemoryIsBounded(t *testing.T) {
	clock := inflighttest.NewClock()
	m := newMemory(t, &inflight.MemoryOptions{Clock: clock, MaxHolders: 10})
	for i := range 10 {
		if s, err := m.Acquire(background, holder(fmt.Sprint(i/2), fmt.Sprint(i)), 5); err != nil || !s.Held {
			t.Fatal(s, err)
		}
	}
	if _, err := m.Acquire(background, holder("other", "x"), 5); !errors.Is(err, store.ErrFull) {
		t.Errorf("an 11th holder: %v", err)
	}
	if s, err := m.Acquire(background, holder("0", "0"), 5); err != nil || !s.Held {
		t.Errorf("who is live is refused: %v", err)
	}
	clock.Move(time.Second) // all have died, on slots that nobody asks for again
	if s, err := m.Acquire(background, holder("other", "x"), 5); err != nil || !s.Held {
		t.Errorf("the dead take room: %v", err)
	}
}

func TestMemoryHasAtMostMaxHoldersInASlot(t *testing.T) {
	m := newMemory(t, &inflight.MemoryOptions{Clock: inflighttest.NewClock()})
	for i := range inflight.MaxHolders {
		if s, err := m.Acquire(background, holder("k", fmt.Sprint(i)), inflight.MaxUnits); err != nil || !s.Held {
			t.Fatal(i, s, err)
		}
	}
	if _, err := m.Acquire(background, holder("k", "x"), inflight.MaxUnits); !errors.Is(err, store.ErrFull) {
		t.Error(err)
	}
	if s, err := m.Acquire(background, holder("k", "x"), inflight.MaxHolders); err != nil || s.Held {
		t.Errorf("a refusal needs no room: %+v, %v", s, err)
	}
}

func TestMemoryRefuses(t *testing.T) {
	var clock *inflighttest.Clock
	for _, opts := range []*inflight.MemoryOptions{{MaxHolders: -1}, {Clock: clock}} {
		if _, err := inflight.NewMemory(opts); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

func TestMemoryWithoutAClockExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, nil)
		s, err := m.Acquire(background, holder("k", "a"), 1)
		if err != nil || !s.Held {
			t.Fatal(s, err)
		}
		time.Sleep(time.Second - time.Microsecond)
		if s, err := m.Peek(background, holder("k", "a").Slot); err != nil || s.InUse != 1 {
			t.Error(s, err)
		}
		time.Sleep(time.Microsecond)
		if s, err := m.Peek(background, holder("k", "a").Slot); err != nil || s.InUse != 0 {
			t.Error(s, err)
		}
	})
}
