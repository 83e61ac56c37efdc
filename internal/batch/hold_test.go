package batch

import (
	"slices"
	"testing"
)

// TestCallIsHeldBack: until the call before it is done, lets go or is abandoned, or until enough
// groups wait.
func TestCallIsHeldBack(t *testing.T) {
	for _, end := range []string{"done", "let go", "abandoned", "enough"} {
		b := New[string](Limits{Groups: 5, Keys: 9, Enough: 3, Queue: 2, Node: 2, Abandoned: 2})
		first, second := newGroup("first", 1), newGroup("second", 1)
		var holds, next Call[string]
		b.Enqueue("", "", first)
		b.Next(&holds)
		b.HoldBack(&holds)
		b.Enqueue("", "", second)
		if b.Ready() {
			t.Fatal("a call leaves that is held back")
		}
		want := []string{"second"}
		switch end {
		case "done":
			b.Done(&holds, true)
		case "let go":
			b.LetGo(&holds)
		case "abandoned":
			b.Leave(first)
		case "enough":
			b.Enqueue("", "", newGroup("third", 1))
			if b.Ready() {
				t.Fatal("a call leaves that is held back and has not enough groups")
			}
			b.Enqueue("", "", newGroup("fourth", 1))
			want = []string{"second", "third", "fourth"}
		}
		if !b.Next(&next) || !slices.Equal(names(next.Groups), want) {
			t.Errorf("%s: %v leave, want %v", end, names(next.Groups), want)
		}
	}
}
