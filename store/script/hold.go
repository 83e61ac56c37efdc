package script

import "time"

// hold lets a call that callers of one slot share hold back the next one. The script decides the
// callers of one slot together, in about the same time for any number of them, so one call of all costs
// half of two calls of half of them each. Callers of many slots gain nothing: the server decides
// for them one after the other, and can do so for some while others are sent.
//
// A call is held back for holdTime at most, and never behind a call of less than holdGroups.
//
// (Decisions a second on one key, with this and with more than one turn in yield beside without:
// 64 callers 1.5 to 1.6 times as many, 16 callers 1.4 to 2 times, 256 callers 1.05 to 1.4 times, in
// medians of 7 and 9 rounds in turns. The server takes 0.55 of its time for a decision of 64.)
type hold struct {
	dispatcher *dispatcher
	coalesces  bool        // the last call that was shared had fewer slots than half of its groups
	timer      *time.Timer // nil until a call has held back
	set        bool
}

const (
	// holdGroups is how many groups a call has at least that holds back the next one.
	holdGroups = 4
	// holdUpTo is how many groups a call has at least that is not held back.
	holdUpTo = 64
	// holdTime is how long it does so at most.
	holdTime = time.Millisecond
)

// begin lets c hold back the next call, where that is of use. The caller holds mu of the
// dispatcher, as of all that follow.
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

// arm sets the timer, unless it is set. It is not stopped when a call comes back: so it is set
// about once a holdTime, and not once a call.
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

// fire lets the calls go on that were held back for holdTime.
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
	for c := d.next(); c != nil; c = d.next() {
		d.start(c)
	}
}
