package heap

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type number int

func (n number) Before(m number) bool { return n < m }

func TestHeapPopsInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for size := range 50 {
		var pushed, made Heap[number]
		var want []number
		for range size {
			n := number(r.IntN(20))
			want = append(want, n)
			pushed.Push(n)
		}
		made = slices.Clone(want)
		made.Init()
		slices.Sort(want)
		for i := range want {
			if a, b := pushed.Pop(), made.Pop(); a != want[i] || b != want[i] {
				t.Fatalf("size %d, place %d: %d and %d, want %d", size, i, a, b, want[i])
			}
		}
	}
}

func TestHeapFixesItsFirst(t *testing.T) {
	h := Heap[number]{1, 5, 3, 7}
	h[0] = 6
	h.Fix()
	if got := []number{h.Pop(), h.Pop(), h.Pop(), h.Pop()}; !slices.IsSorted(got) {
		t.Error(got)
	}
}
