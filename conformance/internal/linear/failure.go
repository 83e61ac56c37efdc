package linear

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// mustHaveAnOrder judges a history, set by set of slots that meet in calls. A search
// that does not end is no pass.
func mustHaveAnOrder(w *world.World, history []*call) {
	w.Helper()
	const patience = 30 * time.Second
	for _, part := range parts(history) {
		switch verdict(part, patience) {
		case porcupine.Illegal:
			show(w, part)
		case porcupine.Unknown:
			w.Wrong("none", "an order, or that there is none", "no verdict on a history of %d calls within %v, which is no pass", len(part), patience)
		}
	}
}

// show fails with the shortest part of a history that no order explains.
func show(w *world.World, history []*call) {
	w.Helper()
	short := shortest(history)
	last := lastReturned(short)
	w.NewTranscript()
	w.Note("of %d calls, these %d alone have no order (began and returned count up for all callers together):\n%s",
		len(history), len(short), strings.Join(table(short), "\n"))
	w.Wrong(fmt.Sprintf("%s by caller %d: %s", last.verb, last.caller, answer(last.ops, last.committed)), possibleAnswer(short, last),
		"no order of concurrent calls gives their answers; the last of them cannot be")
}

func answer(ops []store.Op, committed bool) string {
	texts := make([]string, len(ops))
	for i, op := range ops {
		texts[i] = fmt.Sprintf("%s cost %d %s", transcript.Slot(op.Slot), op.Request.Cost, transcript.Outcome(op.Outcome))
	}
	text := strings.Join(texts, "\n")
	if len(ops) > 1 {
		text = fmt.Sprintf("committed %t\n%s", committed, text)
	}
	return text
}

// possibleAnswer says what the last call of a history might have been answered:
// after all others in one of their orders.
func possibleAnswer(history []*call, last *call) string {
	others := slices.DeleteFunc(slices.Clone(history), func(c *call) bool { return c == last })
	m := model(history)
	result, info := porcupine.CheckOperationsVerbose(m, operations(others), time.Second)
	if result != porcupine.Ok {
		return "an answer that some order of them gives"
	}
	state := m.Init()
	for _, part := range info.PartialLinearizationsOperations() {
		if len(part) > 0 {
			for _, o := range part[0] {
				_, state = m.Step(state, o.Input, nil)
			}
		}
	}
	ops := slices.Clone(last.ops)
	outcomes, committed, _ := decide(slotIndex(history), state.([]algorithm.State), last)
	for i := range outcomes {
		ops[i].Outcome = outcomes[i]
	}
	return fmt.Sprintf("after all of the others: %s", answer(ops, committed))
}

// table shows calls in fixed columns, in the order in which they began.
func table(history []*call) []string {
	rows := [][]any{{"caller", "began", "returned", "clock", "call", "slot", "cost", "answer", "left", "retry after", "fresh after"}}
	for _, c := range history {
		for i, op := range c.ops {
			row := []any{c.caller, c.began, c.returned, c.at, c.verb}
			if c.pending {
				row[2] = "-"
			}
			if c.verb == "reset" {
				row[3] = ""
			}
			if i > 0 {
				row = []any{"", "", "", "", "+"}
			}
			row = append(row, transcript.Slot(op.Slot), op.Request.Cost)
			o := op.Outcome
			switch left := fmt.Sprintf("%d of %d", o.Remaining, o.Limit); {
			case c.verb == "reset":
				row[6] = ""
			case c.pending:
				row = append(row, "(not answered by then)")
			case o.Allowed:
				row = append(row, "allowed", left, "-", o.ResetAfter)
			default:
				row = append(row, "denied", left, transcript.Wait(o.RetryAfter), o.ResetAfter)
			}
			rows = append(rows, row)
		}
	}
	return transcript.Table(rows)
}
