// Package heap is a binary heap.
package heap

// Heap is a binary heap of values with an order: the first comes out first. The zero
// value is empty.
type Heap[T interface{ Before(T) bool }] []T

// Push adds a value.
func (h *Heap[T]) Push(v T) {
	*h = append(*h, v)
	all := *h
	i := len(all) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !v.Before(all[parent]) {
			break
		}
		all[i] = all[parent]
		i = parent
	}
	all[i] = v
}

// Pop takes out the first value; there must be one.
func (h *Heap[T]) Pop() T {
	all := *h
	first := all[0]
	n := len(all) - 1
	all[0] = all[n]
	clear(all[n:])
	*h = all[:n]
	h.Fix()
	return first
}

// Fix restores the order after the first value has changed.
func (h *Heap[T]) Fix() { h.sink(0) }

// Init establishes the order of any values.
func (h *Heap[T]) Init() {
	for i := len(*h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

func (h *Heap[T]) sink(i int) {
	all := *h
	if i >= len(all) {
		return
	}
	moved := all[i]
	for {
		child := 2*i + 1
		if child >= len(all) {
			break
		}
		if child+1 < len(all) && all[child+1].Before(all[child]) {
			child++
		}
		if !all[child].Before(moved) {
			break
		}
		all[i] = all[child]
		i = child
	}
	all[i] = moved
}
