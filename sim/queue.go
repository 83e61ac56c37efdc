package sim

// action is something that happens at an instant of the virtual time.
type action interface{ happen(w *world) }

// due is an action and when. Of two at one instant the one that was planned first comes
// first.
type due struct {
	at     int64
	number uint64
	what   action
}

func (d *due) before(e *due) bool { return d.at < e.at || d.at == e.at && d.number < e.number }

// queue is a heap of what is due.
type queue struct {
	heap   []due
	number uint64
}

// plan adds an action.
func (q *queue) plan(at int64, what action) {
	q.number++
	d := due{at, q.number, what}
	q.heap = append(q.heap, d)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !d.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = d
}

// pop takes out the first; there must be one.
func (q *queue) pop() due {
	first := q.heap[0]
	n := len(q.heap) - 1
	moved := q.heap[n]
	q.heap[n] = due{}
	q.heap = q.heap[:n]
	if n == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && q.heap[child+1].before(&q.heap[child]) {
			child++
		}
		if !q.heap[child].before(&moved) {
			break
		}
		q.heap[i] = q.heap[child]
		i = child
	}
	q.heap[i] = moved
	return first
}
