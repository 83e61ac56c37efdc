package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/store"
)

// TestCallerWhoLeavesTheQueueIsNeverSent: nothing has happened, and the error says no
// more than that its context ended.
func TestCallerWhoLeavesTheQueueIsNeverSent(t *testing.T) {
	onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
		first := start(s, true, "first")
		call := h.next(t)
		stays, leaves, last := start(s, true, "stays"), start(s, true, "leaves"), start(s, true, "last")
		leaves.cancel()
		leaves.wantError(t, "leaves", nil, context.Canceled)
		h.none(t)
		call.admit()
		first.wantAdmitted(t, "first")
		call = h.next(t)
		if want := [][]string{{"stays"}, {"last"}}; fmt.Sprint(call.groups) != fmt.Sprint(want) {
			t.Errorf("%v are sent, want %v", call.groups, want)
		}
		call.admit()
		stays.wantAdmitted(t, "stays")
		last.wantAdmitted(t, "last")
	})
}

// TestCallerWhoLeavesACallTakesNobodyAlong: its own outcome is unknown, and the others
// of the call get their answers.
func TestCallerWhoLeavesACallTakesNobodyAlong(t *testing.T) {
	for _, take := range []bool{true, false} {
		onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
			first := start(s, take, "first")
			call := h.next(t)
			a, leaves, b := start(s, take, "a", "a too"), start(s, take, "leaves"), start(s, take, "b")
			call.admit()
			first.wantAdmitted(t, "first")
			call = h.next(t)
			leaves.cancel()
			want := store.ErrOutcomeUnknown
			if !take {
				want = store.ErrUnavailable
			}
			leaves.wantError(t, "leaves", want, context.Canceled)
			if call.ctx.Err() != nil || !a.waiting() || !b.waiting() {
				t.Error("the call ends with one of its callers")
			}
			call.admit()
			a.wantAdmitted(t, "a")
			b.wantAdmitted(t, "b")
		})
	}
}

// TestLoneCallerWhoLeavesIsUnknown: also where nobody else is in the call.
func TestLoneCallerWhoLeavesIsUnknown(t *testing.T) {
	onOneServer(t, nil, func(t *testing.T, s *Store, h *manualClient) {
		leaves := start(s, true, "leaves")
		call := h.next(t)
		leaves.cancel()
		leaves.wantError(t, "leaves", store.ErrOutcomeUnknown, context.Canceled)
		call.admit()
	})
}

// TestAnswerThatIsThereWinsOverAnEndedContext: what was decided is told.
func TestAnswerThatIsThereWinsOverAnEndedContext(t *testing.T) {
	s := open(t, answering("+5 ", nil), nil)
	for range 100 {
		ctx, cancel := context.WithCancel(context.Background())
		p := prepareGroup(t, ctx, &s.takes, oneOp("k", windowOf10))
		s.takes.send(p)
		p.answered <- <-p.answered // it is there
		cancel()
		if at, committed, err := waitFor(p, oneOp("k", windowOf10)); at != 5 || !committed || err != nil {
			t.Fatal(at, committed, err)
		}
	}
}

// TestWhatArrivesMeanwhileLeavesTogether: in the order of arrival, within the bounds.
func TestWhatArrivesMeanwhileLeavesTogether(t *testing.T) {
	onOneServer(t, &Options{InFlight: 2, Share: 3}, func(t *testing.T, s *Store, h *manualClient) {
		var callers []*caller
		for i := range 9 {
			callers = append(callers, start(s, true, fmt.Sprint(i)))
		}
		var groups []string
		var calls []*manualCall
		for range 2 {
			calls = append(calls, h.next(t))
		}
		for len(calls) > 0 {
			h.none(t) // two are in flight, or nobody waits
			groups = append(groups, fmt.Sprint(calls[0].groups))
			calls[0].admit()
			if calls = calls[1:]; len(groups)+len(calls) < 5 {
				calls = append(calls, h.next(t))
			}
		}
		want := []string{"[[0]]", "[[1]]", "[[2] [3] [4]]", "[[5] [6] [7]]", "[[8]]"}
		if !slices.Equal(slices.Sorted(slices.Values(groups)), slices.Sorted(slices.Values(want))) {
			t.Errorf("calls of %v, want %v", groups, want)
		}
		for i, c := range callers {
			c.wantAdmitted(t, fmt.Sprint(i))
		}
	})
}

// TestCallHasAThousandKeysAtMost: and a group is never torn apart.
func TestCallHasAThousandKeysAtMost(t *testing.T) {
	onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
		keys := func(name string, count int) (keys []string) {
			for i := range count {
				keys = append(keys, name+fmt.Sprint(i))
			}
			return keys
		}
		first := start(s, true, "first")
		call := h.next(t)
		callers := []*caller{start(s, true, keys("a", 400)...), start(s, true, keys("b", 599)...), start(s, true, "c"), start(s, true, "d"), start(s, true, keys("e", 1000)...), start(s, true, "f")}
		call.admit()
		first.wantAdmitted(t, "first")
		for _, want := range []int{1000, 1, 1000, 1} {
			call := h.next(t)
			got := 0
			for _, group := range call.groups {
				got += len(group)
			}
			if got != want {
				t.Errorf("a call of %d keys, want %d", got, want)
			}
			call.admit()
		}
		for _, c := range callers {
			c.wantAdmitted(t, c.ops[0].Key)
		}
	})
}

// TestSharingSwitchedOffBoundsNothing: every caller has a call of its own, at once.
func TestSharingSwitchedOffBoundsNothing(t *testing.T) {
	onOneServer(t, &Options{Share: 1, InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
		var callers []*caller
		var calls []*manualCall
		for i := range 50 {
			callers = append(callers, start(s, true, fmt.Sprint(i)))
			calls = append(calls, h.next(t))
		}
		for i, call := range calls {
			if len(call.groups) != 1 {
				t.Errorf("%v share a call", call.groups)
			}
			call.admit()
			callers[i].wantAdmitted(t, fmt.Sprint(i))
		}
	})
}

// TestLooksAndTakesDoNotWaitForEachOther: each have their own calls, and a look is
// sent as one.
func TestLooksAndTakesDoNotWaitForEachOther(t *testing.T) {
	onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
		take := start(s, true, "k")
		takes := h.next(t)
		look := start(s, false, "k")
		looks := h.next(t)
		if !strings.HasSuffix(looks.args[0], "_RO") || strings.HasSuffix(takes.args[0], "_RO") {
			t.Errorf("a look is sent by %s, a take by %s", looks.args[0], takes.args[0])
		}
		looks.admit()
		look.wantAdmitted(t, "look")
		takes.admit()
		take.wantAdmitted(t, "take")
	})
}

// TestErrorReachesAllOfACall: each in its own words, none of them with a key.
func TestErrorReachesAllOfACall(t *testing.T) {
	onOneServer(t, &Options{InFlight: 1}, func(t *testing.T, s *Store, h *manualClient) {
		first := start(s, true, "first")
		call := h.next(t)
		callers := []*caller{start(s, true, "secret a", "secret b"), start(s, true, "secret c"), start(s, true, "secret d")}
		call.fail(io.ErrUnexpectedEOF)
		first.wantError(t, "first", store.ErrOutcomeUnknown, io.ErrUnexpectedEOF)
		h.next(t).fail(io.ErrUnexpectedEOF)
		for _, c := range callers {
			c.wantError(t, "shared", store.ErrOutcomeUnknown, io.ErrUnexpectedEOF)
			if strings.Contains(c.err.Error(), "secret") {
				t.Errorf("%v holds a key", c.err)
			}
		}
	})
}

// TestTimeoutIsTheDeadlineOfEveryCall: and of the caller's context nothing reaches the
// client, which may end a connection with it.
func TestTimeoutIsTheDeadlineOfEveryCall(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: defaultTimeout, micros(7): micros(7), time.Hour: time.Hour} {
		onOneServer(t, &Options{InFlight: 1, Timeout: timeout}, func(t *testing.T, s *Store, h *manualClient) {
			check := func(call *manualCall, what string) {
				deadline, has := call.ctx.Deadline()
				if !has || time.Until(deadline) != want || call.ctx.Err() != nil {
					t.Errorf("%s: deadline in %v (%v), want in %v", what, time.Until(deadline), has, want)
				}
			}
			first := start(s, true, "first")
			call := h.next(t)
			check(call, "single")
			second, third := start(s, true, "second"), start(s, true, "third")
			call.admit()
			call = h.next(t)
			check(call, "shared")
			call.admit()
			for _, c := range []*caller{first, second, third} {
				c.wantAdmitted(t, "caller")
			}
			done := make(chan error)
			go func() { done <- s.Reset(t.Context(), []store.Slot{first.ops[0].Slot}) }()
			call = h.next(t)
			check(call, "reset")
			call.admit()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOpsAreNotTouchedAfterTheReturn: the race detector sees that the caller has them
// for itself again, while its call is still in flight.
func TestOpsAreNotTouchedAfterTheReturn(t *testing.T) {
	for _, apply := range []func(s *Store, ctx context.Context, ops []store.Op) error{
		func(s *Store, ctx context.Context, ops []store.Op) error { _, _, err := s.Apply(ctx, ops); return err },
		func(s *Store, ctx context.Context, ops []store.Op) error { _, err := s.Peek(ctx, ops); return err },
	} {
		for _, ops := range [][]store.Op{oneOp("k", windowOf10), append(oneOp("k", windowOf10), oneOp("l", windowOf10)...), oneOp("k", kindOnly("mine/1"))} {
			onOneServer(t, nil, func(t *testing.T, s *Store, h *manualClient) {
				ops := slices.Clone(ops) // for each server
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- apply(s, ctx, ops) }()
				call := h.next(t)
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				mine := store.Op{Slot: store.Slot{Key: "mine", Limit: "mine"}, Outcome: untold}
				for i := range ops {
					ops[i] = mine
				}
				call.answer <- func() (string, error) {
					if call.args[1] == readProgram.sha {
						return "5\n-", nil
					}
					return admission(call.groups), nil
				}
				synctest.Wait()
				for i := range ops {
					if ops[i] != mine {
						t.Errorf("%+v was written after the return", ops[i])
					}
				}
			})
		}
	}
}
