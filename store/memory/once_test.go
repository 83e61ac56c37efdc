package memorystore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// onceAsk makes a step of one unit with an ID, of a window of a day.
func onceAsk(s *Store, key, id string, ttl time.Duration) error {
	ops := []store.Op{{Slot: store.Slot{Key: key, Algorithm: algorithm.Must(algorithm.NewFixedWindow(algorithm.PerDay(100)))}, Request: algorithm.Request{Cost: 1}}}
	_, _, err := s.once(context.Background(), store.Once{ID: id, TTL: ttl}, ops)
	return err
}

// TestIDsCountAsKeys (T7, T8): an ID takes a place of MaxKeys. Where there is none the step is
// not made, and one whose time is over makes room.
func TestIDsCountAsKeys(t *testing.T) {
	clock := &movableClock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s, err := New(&Options{Clock: clock, MaxKeys: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 3 {
		if err := onceAsk(s, "a", fmt.Sprint(i), time.Duration(1+i)*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Stats(); got != (Stats{Keys: 1, IDs: 3}) {
		t.Fatalf("%+v", got)
	}
	for range 2 {
		if err := onceAsk(s, "a", "one more", time.Second); !errors.Is(err, store.ErrFull) {
			t.Errorf("no room for an ID: %v", err)
		}
		if err := onceAsk(s, "a", "1", time.Second*2); err != nil {
			t.Errorf("an ID that is known: %v", err)
		}
	}
	if got := s.Stats(); got != (Stats{Keys: 1, IDs: 3}) {
		t.Errorf("%+v", got)
	}
	clock.at = clock.at.Add(2 * time.Second) // the first is over, with its grace
	if err := onceAsk(s, "a", "one more", time.Second); err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got != (Stats{Keys: 1, IDs: 3}) {
		t.Errorf("%+v", got)
	}
	// One whose time is over, but not its grace, is made anew in its place.
	if err := onceAsk(s, "a", "1", time.Minute); err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got != (Stats{Keys: 1, IDs: 3}) || len(s.shardOf("a", "1").ends) != len(s.shardOf("a", "1").ids) {
		t.Errorf("%+v", got)
	}
}

// TestStepOnAClosedStoreLeavesNoID: one that Close has overtaken.
func TestStepOnAClosedStoreLeavesNoID(t *testing.T) {
	s, err := New(&Options{MaxKeys: 4})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	ops := []store.Op{{Slot: store.Slot{Key: "a", Algorithm: algorithm.Must(algorithm.NewFixedWindow(algorithm.PerDay(100)))}, Request: algorithm.Request{Cost: 1}}}
	if _, _, err := s.several(context.Background(), ops, true, &onceCall{idOf: idOf{"a", "id"}, ttl: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats(); got != (Stats{}) || s.held.Load() != 0 {
		t.Errorf("%+v, and room for %d is taken", got, s.held.Load())
	}
}

// TestIDKeepsNothingElse: the key and the ID may be parts of long texts.
func TestIDKeepsNothingElse(t *testing.T) {
	s, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	line := strings.Clone("the key, the id")
	if err := onceAsk(s, line[:7], line[9:], time.Hour); err != nil {
		t.Fatal(err)
	}
	for id, m := range s.shardOf("the key", "the id").ids {
		for _, kept := range []idOf{id, m.idOf} {
			if unsafe.StringData(kept.tag) == unsafe.StringData(line) || unsafe.StringData(kept.id) == unsafe.StringData(line[9:]) {
				t.Error("a part of the text of the caller is kept")
			}
		}
	}
}

// shardOf is where the ID of a step of one key lies.
func (s *Store) shardOf(key, id string) *shard {
	for i := range s.shards {
		if s.shards[i].ids[idOf{key, id}] != nil {
			return &s.shards[i]
		}
	}
	return nil
}

// TestEvictionTakesWhatEndsFirst: of slots and IDs.
func TestEvictionTakesWhatEndsFirst(t *testing.T) {
	clock := &movableClock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s, err := New(&Options{Clock: clock, MaxKeys: 4, EvictLeastDebt: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, ttl := range []time.Duration{time.Minute, time.Second, 2 * time.Hour} {
		if err := onceAsk(s, "a", fmt.Sprint(i), ttl); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []Stats{{Keys: 2, IDs: 2, Evicted: 2}, {Keys: 2, IDs: 2, Evicted: 3}} {
		if err := onceAsk(s, "b", fmt.Sprint("b", i), time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := s.Stats(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if s.shardOf("a", "2") == nil || s.shardOf("b", "b0") != nil || s.shardOf("b", "b1") == nil {
		t.Error("another ID than the first to end was evicted")
	}
}

// movableClock shows what it was set to.
type movableClock struct{ at time.Time }

func (c *movableClock) Now() time.Time { return c.at }
