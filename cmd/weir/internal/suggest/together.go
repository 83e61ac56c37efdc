package suggest

import (
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// place is where a request stands: the client, and the number among its requests.
type place struct{ client, number int32 }

// inOrder returns all requests in the order of time; of one instant in that of the clients. It
// is made once, of the traffic that is complete, and takes 8 bytes a request.
func (t *Traffic) inOrder() []place {
	if t.order == nil {
		t.order = make([]place, 0, t.requests)
		for client, requests := range t.clients {
			for number := range requests {
				t.order = append(t.order, place{int32(client), int32(number)})
			}
		}
		slices.SortStableFunc(t.order, func(a, b place) int {
			return byTime(t.clients[a.client][a.number], t.clients[b.client][b.number])
		})
	}
	return t.order
}

// Together is the most units that all clients together get in any window of a length, the end
// of which is no part of it, where each has a limit.
func (t *Traffic) Together(a algorithm.Algorithm, window time.Duration) int64 {
	admitted := make([][]bool, len(t.clients))
	step := stepOf(a)
	for client, requests := range t.clients {
		admitted[client] = make([]bool, len(requests))
		var state algorithm.State
		for number, r := range requests {
			admitted[client][number] = step(&state, r)
		}
	}
	order, length := t.inOrder(), algorithm.Instant(window/time.Microsecond)
	var sum, most int64
	first := 0 // of the window
	for _, p := range order {
		if !admitted[p.client][p.number] {
			continue
		}
		r := t.clients[p.client][p.number]
		for ; ; first++ {
			q := order[first]
			begin := t.clients[q.client][q.number]
			if begin.at > r.at-length {
				break
			}
			if admitted[q.client][q.number] {
				sum -= begin.cost
			}
		}
		sum = add(sum, r.cost)
		most = max(most, sum)
	}
	return most
}

// Behind decides the traffic in the order of time under a limit for each client and a limit for
// all together, each of which has to admit a request, or nothing is charged.
func (t *Traffic) Behind(each, all algorithm.Algorithm) Effect {
	var e Effect
	states, hit := make([]algorithm.State, len(t.clients)), make([]bool, len(t.clients))
	var together algorithm.State
	for _, p := range t.inOrder() {
		r := t.clients[p.client][p.number]
		asked := algorithm.Request{Cost: r.cost}
		state, one := each.Step(states[p.client], r.at, asked)
		next, other := all.Step(together, r.at, asked)
		if one.Allowed && other.Allowed {
			states[p.client], together = state, next
			continue
		}
		e.Requests++
		if !hit[p.client] {
			hit[p.client] = true
			e.Clients++
		}
	}
	return e
}

// Numbers are some numbers from 1 to about twice the largest of some, each about a fifth larger
// than the one before, and these.
func Numbers(found ...int64) []int64 {
	all := slices.Clone(found)
	top := slices.Max(append(all, 1))
	for n := int64(1); n <= 2*top; n += max(1, n/5) {
		all = append(all, n)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
