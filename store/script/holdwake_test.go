package script

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestCallsThatWereHeldBackLeaveTogether: what was held back may be more than one call, where groups
// have many keys. All of them leave when the call that held them back has come back, or was left by
// its callers, as many as may be in flight.
func TestCallsThatWereHeldBackLeaveTogether(t *testing.T) {
	for _, end := range []string{"answer", "time", "left"} {
		onOneServer(t, &Options{InFlight: 3}, func(t *testing.T, s *Store, h *manualClient) {
			var callers []*caller
			ask := func(count int) {
				for range count {
					callers = append(callers, start(s, false, "k"))
				}
			}
			admit := func(c *manualCall) {
				c.answer <- func() (string, error) { return "5" + strings.Repeat(";+", len(c.groups)), nil }
			}
			shared := func() *manualCall { // behind three that are alone
				var alone []*manualCall
				for range 3 {
					ask(1)
					alone = append(alone, h.next(t))
				}
				ask(holdGroups)
				h.none(t)
				alone[0].admit()
				call := h.next(t)
				alone[1].admit()
				alone[2].admit()
				return call
			}
			admit(shared())
			before := len(callers)
			call := shared() // and it holds back the next one
			var wide []*caller
			for i := range 3 {
				var keys []string
				for k := range 600 {
					keys = append(keys, fmt.Sprintf("wide %d %d", i, k))
				}
				wide = append(wide, start(s, false, keys...))
			}
			h.none(t)
			switch end {
			case "answer":
				admit(call)
			case "time":
				time.Sleep(holdTime)
			case "left":
				for _, c := range callers[before:] {
					c.cancel()
				}
			}
			first := h.next(t)
			second := h.next(t) // and not when the first has come back
			first.admit()
			second.admit()
			if end != "answer" {
				admit(call)
			}
			third := h.next(t)
			third.admit()
			for _, c := range wide {
				<-c.done
			}
			for _, c := range callers {
				<-c.done
			}
			wantNothingLeft(t, s)
		})
	}
}
