package script

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// batcherModel says what a Batcher has to do, in the plainest way.
type batcherModel struct {
	limits  BatchLimits
	waiting []*Group
	flying  int
	left    map[*Group]bool // in a call, at some time
}

// flush takes the first groups that fit into one call.
func (m *batcherModel) flush() (batch []*Group) {
	if m.flying >= m.limits.InFlight {
		return nil
	}
	keys := 0
	for len(m.waiting) > 0 {
		g := m.waiting[0]
		if len(batch) > 0 && (len(batch) == m.limits.Groups || keys+g.keys > m.limits.Keys) {
			break
		}
		batch, keys, m.waiting = append(batch, g), keys+g.keys, m.waiting[1:]
	}
	if len(batch) > 0 {
		m.flying++
	}
	return batch
}

func (m *batcherModel) cancel(g *Group) bool {
	i := slices.Index(m.waiting, g)
	if i < 0 {
		return false
	}
	m.waiting = slices.Delete(slices.Clone(m.waiting), i, i+1)
	return true
}

// TestBatcherIsItsModel: the groups leave in the order in which they came, as many as
// the limits allow, each once; one that was cancelled never does.
func TestBatcherIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := BatchLimits{
			Groups:   rapid.IntRange(1, 6).Draw(t, "groups"),
			Keys:     rapid.IntRange(1, 10).Draw(t, "keys"),
			InFlight: rapid.IntRange(1, 3).Draw(t, "in flight"),
		}
		b, m := NewBatcher(limits), &batcherModel{limits: limits, left: map[*Group]bool{}}
		var all, idle []*Group // all that there ever were; those that may wait (again)
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": func(t *rapid.T) {
				g := NewGroup(rapid.IntRange(1, 12).Draw(t, "keys of it"))
				if len(idle) > 0 && rapid.Bool().Draw(t, "again") {
					g = rapid.SampledFrom(idle).Draw(t, "group")
					idle = slices.DeleteFunc(idle, func(other *Group) bool { return other == g })
				} else {
					all = append(all, g)
				}
				b.Enqueue(g)
				m.waiting = append(m.waiting, g)
			},
			"flush": func(t *rapid.T) {
				already := []*Group{NewGroup(99)}
				got, want := b.Flush(already), m.flush()
				if !slices.Equal(got[:1], already) || !slices.Equal(got[1:], want) {
					t.Fatalf("%d groups leave, want %d", len(got)-1, len(want))
				}
				for _, g := range want {
					if m.left[g] {
						t.Fatal("a group leaves twice")
					}
					m.left[g] = true
				}
			},
			"reply": func(t *rapid.T) {
				if m.flying == 0 {
					t.Skip("nothing is in flight")
				}
				b.Reply()
				m.flying--
			},
			"cancel": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("there is no group")
				}
				g := rapid.SampledFrom(all).Draw(t, "which")
				got, want := b.Cancel(g), m.cancel(g)
				if got != want {
					t.Fatalf("cancelled: %v, want %v", got, want)
				}
				if want {
					// It is still somewhere in the batcher, so it may not come
					// again; but its like may.
					m.left[g] = true
				}
			},
			"drain": func(t *rapid.T) {
				if !rapid.Bool().Draw(t, "really") {
					t.Skip("seldom")
				}
				if got := b.Drain(); !slices.Equal(got, m.waiting) {
					t.Fatalf("%d groups drained, want %d", len(got), len(m.waiting))
				}
				idle, m.waiting = append(idle, m.waiting...), nil
			},
			"": func(t *rapid.T) {
				if b.InFlight() != m.flying || m.flying > limits.InFlight {
					t.Fatalf("%d in flight, want %d of %d", b.InFlight(), m.flying, limits.InFlight)
				}
			},
		})
	})
}

// TestLoneGroupLeavesAtOnce: whatever came before, once nothing waits and a call may
// be made.
func TestLoneGroupLeavesAtOnce(t *testing.T) {
	b := NewBatcher(BatchLimits{Groups: 3, Keys: 2, InFlight: 1})
	for range 5 {
		g := NewGroup(5) // more keys than a call has, which is fine for one group
		b.Enqueue(g)
		if batch := b.Flush(nil); len(batch) != 1 || batch[0] != g {
			t.Fatalf("%d groups leave", len(batch))
		}
		waits, gone := NewGroup(1), NewGroup(1)
		b.Enqueue(waits)
		b.Enqueue(gone)
		if batch := b.Flush(nil); len(batch) != 0 {
			t.Fatal("a second call is in flight")
		}
		if !b.Cancel(gone) || b.Cancel(gone) || b.Cancel(g) {
			t.Fatal("a group is cancelled that does not wait, or not that waits")
		}
		b.Reply()
		if batch := b.Flush(nil); len(batch) != 1 || batch[0] != waits {
			t.Fatalf("%d groups leave after the reply", len(batch))
		}
		b.Reply()
	}
}

// TestBatcherDoesNotGrow: not while more comes than leaves for a time, not while a call
// hangs and callers give up, and what has left is let go of.
func TestBatcherDoesNotGrow(t *testing.T) {
	const most = 100 // waiting at once
	for name, step := range map[string]func(b *Batcher, queue []*Group) []*Group{
		"calls go on": func(b *Batcher, queue []*Group) []*Group {
			b.Reply()
			return queue[len(b.Flush(nil)):]
		},
		"a call hangs": func(b *Batcher, queue []*Group) []*Group {
			b.Cancel(queue[0])
			return queue[1:]
		},
		"a call hangs, the last give up": func(b *Batcher, queue []*Group) []*Group {
			last := len(queue) - 1
			b.Cancel(queue[last])
			return queue[:last]
		},
	} {
		b := NewBatcher(BatchLimits{Groups: 1, Keys: 1, InFlight: 1})
		b.Enqueue(NewGroup(1))
		b.Flush(nil)
		var queue []*Group
		for len(queue) < most {
			queue = append(queue, NewGroup(1))
			b.Enqueue(queue[len(queue)-1])
		}
		for range 10_000 {
			queue = step(b, queue)
			g := NewGroup(1)
			queue = append(queue, g)
			b.Enqueue(g)
		}
		if got := cap(b.waiting); got > 8*most {
			t.Errorf("%s: room for %d groups where %d wait at most", name, got, most)
		}
		held := 0
		for _, g := range b.waiting[:cap(b.waiting)] {
			if g != nil {
				held++
			}
		}
		if held > 3*most {
			t.Errorf("%s: %d groups are held where %d wait", name, held, most)
		}
	}
}
