package script

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// bounds is a store that is asked through a Bound, for one op.
type bounds struct{ store.Store }

func (b bounds) Apply(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	bound, err := b.bind(&ops[0].Slot)
	if err != nil {
		return 0, false, err
	}
	o, at, err := bound.Apply(ctx, ops[0].Key, ops[0].Request)
	ops[0].Outcome = o
	return at, o.Allowed, err
}

func (b bounds) Peek(ctx context.Context, ops []store.Op) (at algorithm.Instant, err error) {
	bound, err := b.bind(&ops[0].Slot)
	if err != nil {
		return 0, err
	}
	ops[0].Outcome, at, err = bound.Peek(ctx, ops[0].Key, ops[0].Request)
	return at, err
}

func (b bounds) bind(slot *store.Slot) (store.Bound, error) {
	return store.FeaturesOf(b.Store).Bind(slot.Limit, slot.Algorithm)
}

// TestBoundAndApplyShareACall: callers of both, and of two Bounds of one limit, are one
// request of a slot.
func TestBoundAndApplyShareACall(t *testing.T) {
	onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
		in := store.FeaturesOf(s).Within(time.Second)
		first := start(s, true, "first")
		call := h.next(t)
		callers := []*caller{start(s, true, "k"), start(bounds{s}, true, "k"), start(bounds{in}, true, "k"), start(bounds{in}, true, "other")}
		call.admit()
		first.wantAdmitted(t, "first")
		second := h.next(t)
		if len(second.groups) != 2 || second.groups[0][0] != "k" || second.groups[1][0] != "other" {
			t.Errorf("%v are sent, want one group of k, and one of other", second.groups)
		}
		second.answer <- func() (string, error) { return "5;*3,;+", nil }
		for i, c := range callers {
			if <-c.done; c.err != nil || c.at != 5 || !c.ops[0].Outcome.Allowed {
				t.Errorf("caller %d: at %d, %+v, %v", i, c.at, c.ops[0].Outcome, c.err)
			}
		}
		for i, want := range []int64{9, 8, 7, 9} {
			if got := callers[i].ops[0].Outcome.Remaining; got != want {
				t.Errorf("caller %d: %d remain, want %d", i, got, want)
			}
		}
	})
}

// TestBindRefusesWhatNoCallCouldDo: a limit that is not valid, a Source that is not, and a
// closed store.
func TestBindRefusesWhatNoCallCouldDo(t *testing.T) {
	tooMany := func(algorithm.Algorithm, []int64) []int64 { return make([]int64, maxNumbers+1) }
	for _, timed := range []bool{false, true} {
		s := open(t, answering("+5 ", nil), &Options{Scripts: []Source{{Kind: "rounds/1", Lua: "x = 1", Limit: tooMany}}})
		bind := store.FeaturesOf(s).Bind
		if timed {
			bind = store.FeaturesOf(store.FeaturesOf(s).Within(time.Second)).Bind
		}
		for name, a := range map[string]algorithm.Algorithm{"nil": nil, "too many numbers": rounds(5)} {
			if b, err := bind("l", a); b != nil || !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%s: %v, %v", name, b, err)
			}
		}
		b, err := bind("l", windowOf10)
		if err != nil {
			t.Fatal(err)
		}
		ctx, one := context.Background(), algorithm.Request{Cost: 1}
		if o, at, err := b.Apply(ctx, "k", one); !o.Allowed || at != 5 || err != nil {
			t.Error(o, at, err)
		}
		_ = s.Close()
		if _, err := bind("l", windowOf10); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a closed store binds: %v", err)
		}
		if _, _, err := b.Apply(ctx, "k", one); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a closed store decides: %v", err)
		}
		if _, _, err := b.Apply(ctx, "", one); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("what is invalid comes first: %v", err)
		}
	}
}

// TestBoundWithoutLuaIsDecidedByCompareAndSet: an algorithm that has none, and a verb that
// has none.
func TestBoundWithoutLuaIsDecidedByCompareAndSet(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server)
		for name, opts := range map[string]*Options{"algorithm": nil, "verb": {Scripts: []Source{sourceOfRounds}}} {
			b, err := store.FeaturesOf(open(t, w, opts)).Bind(name, chargedRounds{5})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []int64{3, 1} {
				o, at, err := b.Apply(context.Background(), "k", algorithm.Request{Cost: 2, Verb: algorithm.Charge})
				if err != nil || at == 0 || !o.Allowed || o.Remaining != want {
					t.Errorf("%s: %+v at %d, %v, want %d to remain", name, o, at, err, want)
				}
			}
		}
	})
}

// chargedRounds is rounds that may be charged, in Go alone.
type chargedRounds struct{ rounds }

func (chargedRounds) MaxDebt() int64 { return 0 }
