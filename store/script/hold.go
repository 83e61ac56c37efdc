package script

import "time"

// hold lets a call that callers of one slot share hold back the next one. The script decides the
// callers of one slot together, in about the same time for any number of them, so one call with all
// callers costs half of two calls with half of the callers each. Callers of many slots gain nothing: the
// server decides for them one after the other, and can decide for some while others are sent.
//
// A call holds back the next one for holdTime at most, and only if it has holdGroups or more.
//
// (Decisions a second on one key, compared with neither hold nor more than one turn in yield, while
// other work kept the cores busy: with 64 callers 1.5 to 1.6 times as many, with 16 callers 1.4 to 2
// times, with 256 callers 1.05 to 1.4 times, and the server takes 0.55 times as long for a decision of
// 64. Without other work 64 and 256 callers gain a tenth or less.)
type hold struct {
	dispatcher *dispatcher
	coalesces  bool        // the last shared call had fewer different requests than half of its groups
	timer      *time.Timer // nil until a call has held back the next one
	set        bool        // the timer will call fire
}

const (
	// holdGroups is the least number of groups of a call that holds back the next one.
	holdGroups = 4
	// holdUpTo is the number of groups that leave although a call holds them back.
	holdUpTo = 64
	// holdTime is the longest time for which a call holds back the next one.
	holdTime = time.Millisecond
)

// begin lets c hold back the next call, where that is of use. The caller of begin, end, arm and
// stop holds the mutex of the dispatcher.
func (h *hold) begin(c *call) {
	if !h.coalesces || len(c.Groups) < holdGroups {
		return
	}
	h.dispatcher.batcher.HoldBack(&c.Call)
	h.arm(holdTime)
}

// end learns from a call that has come back.
func (h *hold) end(c *call) {
	if len(c.Groups) > 1 {
		h.coalesces = 2*len(c.coalesced) < len(c.Groups)
	}
}

// arm sets the timer, unless it is set. The timer is not stopped when a call comes back, so that it
// is set about once a holdTime, and not once a call.
func (h *hold) arm(after time.Duration) {
	switch {
	case h.set:
		return
	case h.timer == nil:
		h.timer = time.AfterFunc(after, h.fire)
	default:
		h.timer.Reset(after)
	}
	h.set = true
}

// stop stops the timer of a dispatcher that is closed.
func (h *hold) stop() {
	if h.timer != nil {
		h.timer.Stop()
	}
}

// fire ends the holding back of calls that were sent holdTime ago, and sends what may leave then.
func (h *hold) fire() {
	d := h.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	h.set = false
	now := time.Now()
	for _, c := range d.live {
		if left := holdTime - now.Sub(c.begun); left <= 0 {
			d.batcher.LetGo(&c.Call)
		} else if c.HoldsBack() {
			h.arm(left)
		}
	}
	d.startAll()
}
