package world

import "github.com/weirgo/weir/sim/internal/heap"

// action is something that happens at an instant of the virtual time.
type action interface{ happen(w *world) }

// due is an action and its instant. Of two at one instant the one that was planned first
// comes first.
type due struct {
	at     int64
	number uint64
	what   action
}

func (d due) Before(e due) bool { return d.at < e.at || d.at == e.at && d.number < e.number }

// queue is a heap of planned actions.
type queue struct {
	heap   heap.Heap[due]
	number uint64
}

// plan adds an action.
func (q *queue) plan(at int64, what action) {
	q.number++
	q.heap.Push(due{at, q.number, what})
}

// pop takes out the first action; there must be one.
func (q *queue) pop() due { return q.heap.Pop() }
