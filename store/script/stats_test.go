package script

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// TestStatsCountWhatSharesACall: groups and ops, what waits and what is in flight.
func TestStatsCountWhatSharesACall(t *testing.T) {
	onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
		first := start(s, true, "first")
		call := h.next(t)
		callers := []*caller{first, start(s, true, "a"), start(s, true, "b", "c"), start(s, false, "look")}
		look := h.next(t)
		want := Stats{Commands: 2, InFlight: 2, Waiting: 2}
		if got := s.Stats(); got != want {
			t.Errorf("while calls are in flight: %+v, want %+v", got, want)
		}
		call.admit()
		look.admit()
		h.next(t).admit()
		for _, c := range callers {
			c.wantAdmitted(t, c.ops[0].Key)
		}
		synctest.Wait() // a call is counted as in flight for a moment after its callers have their answers
		want = Stats{Calls: 3, Groups: 4, Ops: 5, Commands: 3}
		if got := s.Stats(); got != want {
			t.Errorf("at rest: %+v, want %+v", got, want)
		}
	})
}

// TestStatsCountErrorsByTheirMeaning: each once, of Apply, Peek and Reset.
func TestStatsCountErrorsByTheirMeaning(t *testing.T) {
	for name, test := range map[string]struct {
		reply   string
		err     error
		want    Errors
		wantOne error
	}{
		"lost":         {"", io.ErrUnexpectedEOF, Errors{OutcomeUnknown: 2, Unavailable: 1}, store.ErrOutcomeUnknown},
		"refused":      {"", &ServerError{Message: "OOM x"}, Errors{Unavailable: 3}, store.ErrUnavailable},
		"crossed":      {"", &ServerError{Message: "CROSSSLOT x"}, Errors{CrossNode: 3}, store.ErrCrossNode},
		"corrupt":      {"!", nil, Errors{Corrupt: 2}, store.ErrCorrupt},
		"disagreement": {"-5 ", nil, Errors{Other: 2}, nil},
	} {
		for _, bind := range []bool{false, true} {
			s := open(t, answering(test.reply, test.err), nil)
			on, ops := store.Store(s), oneOp("k", windowOf10)
			if bind {
				on = bounds{s}
			}
			_, _, err := on.Apply(context.Background(), ops)
			if err == nil || test.wantOne != nil && !errors.Is(err, test.wantOne) {
				t.Errorf("%s, bound %v: %v", name, bind, err)
			}
			_, _ = on.Peek(context.Background(), ops)
			_ = on.Reset(context.Background(), []store.Slot{ops[0].Slot})
			if got := s.Stats().Errors; got != test.want {
				t.Errorf("%s, bound %v: %+v, want %+v", name, bind, got, test.want)
			}
		}
	}

	s := open(t, answering("+5 ", nil), nil)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, _ = s.Apply(ended, oneOp("k", windowOf10))
	_, _, _ = s.Apply(context.Background(), nil)
	_, _, _ = s.Apply(context.Background(), append(oneOp("k", windowOf10), oneOp("k", windowOf10)...))
	_ = s.Close()
	_, _ = s.Peek(context.Background(), oneOp("k", windowOf10))
	if got, want := s.Stats().Errors, (Errors{Context: 1, Invalid: 2, Closed: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestStatsCountScriptMisses: a server that has lost its scripts is told them again.
func TestStatsCountScriptMisses(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server)
		s := open(t, w, nil)
		for range 2 {
			w.ask(t, "SCRIPT", "FLUSH")
			for range 3 {
				if _, _, err := s.Apply(context.Background(), oneOp("k", windowOf10)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := s.Stats(); got.ScriptMisses != 2 || got.Commands != 8 || got.Calls != 6 {
			t.Errorf("%+v, want 2 misses, 8 commands, 6 calls", got)
		}
	})
}

// TestStatsCountAlgorithmsWithoutLua: by their commands alone.
func TestStatsCountAlgorithmsWithoutLua(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		s := open(t, dialWire(t, server), nil)
		if _, _, err := s.Apply(context.Background(), oneOp("k", rounds(5))); err != nil {
			t.Fatal(err)
		}
		if got := s.Stats(); got.Commands < 2 || got.Calls != 0 {
			t.Errorf("%+v, want commands and no call", got)
		}
	})
}
