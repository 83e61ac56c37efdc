package sim

// event begins the event of an attempt; the journal has to be given it.
func (w *world) event(kind Kind, a *attempt) *Event {
	e := w.journal.next()
	e.Kind, e.Micros, e.Node = kind, w.now, -1
	if a.node != nil {
		e.Node = a.node.index
	}
	e.Key, e.hash, e.Cost = a.client.Key, a.client.hash, a.cost
	return e
}

func (w *world) noteAttempt(kind Kind, a *attempt) { w.journal.add(w.event(kind, a)) }

func (w *world) note(kind Kind, node int32) { w.noteCall(kind, node, 0) }

// noteCall notes what happens to a call of so many groups.
func (w *world) noteCall(kind Kind, node int32, groups int) {
	e := w.journal.next()
	e.Kind, e.Micros, e.Node, e.Cost = kind, w.now, node, int64(groups)
	w.journal.add(e)
}

func (w *world) noteDecision(d *decision, i int) {
	op, s := &d.ops[i], d.slots[i]
	e := w.journal.next()
	e.Kind, e.Micros, e.Node, e.Limit = Decided, w.now, d.node, s.limit.index
	e.Key, e.hash, e.Cost, e.At = s.key, s.hash, op.Request.Cost, d.at
	e.Allowed, e.Remaining = op.Outcome.Allowed, op.Outcome.Remaining
	e.RetryMicros, e.ResetMicros = micros(op.Outcome.RetryAfter), micros(op.Outcome.ResetAfter)
	e.DelayMicros = micros(op.Outcome.Delay)
	w.journal.add(e)
}

func (w *world) noteForgotten(s *slot, units int64) {
	e := w.journal.next()
	e.Kind, e.Micros, e.Node, e.Limit = Forgotten, w.now, -1, s.limit.index
	e.Key, e.hash, e.Cost = s.key, s.hash, units
	w.journal.add(e)
}

func (w *world) noteFault(kind Kind, f *fault) {
	e := w.journal.next()
	e.Kind, e.Micros, e.Node, e.Note = kind, w.now, -1, f.Kind
	w.journal.add(e)
}
