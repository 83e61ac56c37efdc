package script

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSharedCallOfOneSlotHoldsBackTheNext: once callers of one slot were seen to share calls, what
// arrives while one is in flight leaves when that has come back, when holdTime is over, or
// when there are holdUpTo. Among callers of many slots it leaves immediately.
func TestSharedCallOfOneSlotHoldsBackTheNext(t *testing.T) {
	keys := map[string]func(i int) string{
		"one slot":   func(int) string { return "k" },
		"many slots": func(i int) string { return fmt.Sprint(i) },
	}
	for what, key := range keys {
		for _, end := range []string{"answer", "time", "enough"} {
			onOneServer(t, nil, func(t *testing.T, s *Store, h *manualClient) {
				var callers []*caller
				ask := func(count int) {
					for i := range count {
						callers = append(callers, start(s, false, key(i)))
					}
				}
				shared := func() *manualCall { // behind two that are alone
					ask(1)
					first := h.next(t)
					ask(1)
					second := h.next(t)
					ask(holdGroups)
					h.none(t) // two are in flight
					first.admit()
					call := h.next(t)
					second.admit()
					return call
				}
				admit := func(c *manualCall) {
					c.answer <- func() (string, error) { return "5" + strings.Repeat(";+", len(c.groups)), nil }
				}
				admit(shared()) // from which the store learns
				call := shared()
				if what == "many slots" {
					ask(1)
					h.next(t).admit()
					admit(call)
				} else {
					ask(2)
					h.none(t)
					switch end {
					case "answer":
						admit(call)
						admit(h.next(t))
					case "time":
						time.Sleep(holdTime - 1)
						h.none(t)
						time.Sleep(time.Nanosecond)
						admit(h.next(t))
						admit(call)
					case "enough":
						ask(holdUpTo - 3)
						h.none(t)
						ask(1)
						admit(h.next(t))
						admit(call)
					}
				}
				for _, c := range callers {
					c.wantAdmitted(t, what)
				}
				wantNothingLeft(t, s)
			})
		}
	}
}
