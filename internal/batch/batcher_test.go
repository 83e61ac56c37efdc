package batch

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// newGroup returns a group of so many keys, with a name.
func newGroup(name string, keys int) *Group[string] {
	g := &Group[string]{Value: name}
	g.Init(keys)
	return g
}

// names are the groups of a call.
func names(groups []*Group[string]) (all []string) {
	for _, g := range groups {
		all = append(all, g.Value)
	}
	return all
}

// model says what a Batcher has to do, in the plainest way: all groups in the order in
// which they came, and the queues in the order in which it is their turn.
type model struct {
	limits  Limits
	waiting []waiting
	turns   []string // tags of queues that may make a call
	calls   []string // tags of the calls in flight
}

type waiting struct {
	tag   string
	group *Group[string]
}

func (m *model) of(tag string) (groups []*Group[string]) {
	for _, w := range m.waiting {
		if w.tag == tag {
			groups = append(groups, w.group)
		}
	}
	return groups
}

func (m *model) inFlight(tag string) (n int) {
	for _, t := range m.calls {
		if t == tag {
			n++
		}
	}
	return n
}

// settle lets a queue stand in turns if it may make a call.
func (m *model) settle(tag string) {
	may := len(m.of(tag)) > 0 && m.inFlight(tag) < m.limits.InFlight
	switch listed := slices.Contains(m.turns, tag); {
	case may && !listed:
		m.turns = append(m.turns, tag)
	case !may && listed:
		m.turns = slices.DeleteFunc(m.turns, func(t string) bool { return t == tag })
	}
}

// next takes the first groups of the queue whose turn it is that fit into one call.
func (m *model) next() (call []*Group[string]) {
	if len(m.turns) == 0 || len(m.calls) >= m.limits.Total {
		return nil
	}
	tag, keys := m.turns[0], 0
	m.turns = m.turns[1:]
	for _, g := range m.of(tag) {
		if len(call) > 0 && (len(call) == m.limits.Groups || keys+g.keys > m.limits.Keys) {
			break
		}
		call, keys = append(call, g), keys+g.keys
		m.remove(g)
	}
	m.calls = append(m.calls, tag)
	m.settle(tag)
	return call
}

func (m *model) remove(g *Group[string]) (tag string, found bool) {
	i := slices.IndexFunc(m.waiting, func(w waiting) bool { return w.group == g })
	if i < 0 {
		return "", false
	}
	tag = m.waiting[i].tag
	m.waiting = slices.Delete(slices.Clone(m.waiting), i, i+1)
	return tag, true
}

// TestBatcherIsItsModel: the groups of a tag leave in the order in which they came, as
// many as the limits allow, each once; one that was cancelled never does; tags take turns.
func TestBatcherIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{
			Groups:   rapid.IntRange(1, 6).Draw(t, "groups"),
			Keys:     rapid.IntRange(1, 10).Draw(t, "keys"),
			InFlight: rapid.IntRange(1, 3).Draw(t, "in flight"),
			Total:    rapid.IntRange(1, 6).Draw(t, "total"),
		}
		b, m := New[string](limits), &model{limits: limits}
		var all []*Group[string]
		var calls []*Call[string]
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": func(t *rapid.T) {
				tag := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "tag")
				g := newGroup(fmt.Sprint(len(all)), 0)
				if len(all) > 0 && rapid.Bool().Draw(t, "again") { // one that waits nowhere
					if old := rapid.SampledFrom(all).Draw(t, "group"); !slices.ContainsFunc(m.waiting, func(w waiting) bool { return w.group == old }) {
						g = old
					}
				}
				g.Init(rapid.IntRange(1, 12).Draw(t, "keys of it"))
				all = append(all, g)
				b.Enqueue(tag, g)
				m.waiting = append(m.waiting, waiting{tag, g})
				m.settle(tag)
			},
			"next": func(t *rapid.T) {
				c := &Call[string]{Groups: []*Group[string]{newGroup("of another call", 99)}}
				got, want := b.Next(c), m.next()
				if got != (want != nil) || got && !slices.Equal(c.Groups, want) {
					t.Fatalf("%v: %v leave, want %v", got, names(c.Groups), names(want))
				}
				if got {
					calls = append(calls, c)
				}
			},
			"done": func(t *rapid.T) {
				if len(calls) == 0 {
					t.Skip("nothing is in flight")
				}
				i := rapid.IntRange(0, len(calls)-1).Draw(t, "which")
				b.Done(calls[i])
				tag := m.calls[i]
				calls, m.calls = slices.Delete(calls, i, i+1), slices.Delete(m.calls, i, i+1)
				m.settle(tag)
			},
			"cancel": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("there is no group")
				}
				g := rapid.SampledFrom(all).Draw(t, "which")
				tag, want := m.remove(g)
				if got := b.Cancel(g); got != want {
					t.Fatalf("cancelled: %v, want %v", got, want)
				}
				if want {
					m.settle(tag)
				}
			},
			"drain": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "seldom") > 0 {
					t.Skip("seldom")
				}
				got := map[*Group[string]]bool{}
				for _, g := range b.Drain() {
					got[g] = true
				}
				for _, w := range m.waiting {
					if !got[w.group] || len(got) != len(m.waiting) {
						t.Fatalf("%d groups are drained, want %d", len(got), len(m.waiting))
					}
				}
				m.waiting, m.turns = nil, nil
			},
			"": func(t *rapid.T) {
				if b.InFlight() != len(m.calls) || b.Waiting() != len(m.waiting) {
					t.Fatalf("%d calls and %d groups, want %d and %d", b.InFlight(), b.Waiting(), len(m.calls), len(m.waiting))
				}
				kept := map[string]bool{}
				for _, w := range m.waiting {
					kept[w.tag] = true
				}
				for _, tag := range m.calls {
					kept[tag] = true
				}
				for tag := range b.queues {
					if tag != "" && !kept[tag] {
						t.Fatalf("a queue is kept of %q, for which there is nothing to do", tag)
					}
				}
				for _, g := range all {
					if _, waits := (&model{waiting: m.waiting}).remove(g); waits && g.Sent() {
						t.Fatalf("%s waits and was sent", g.Value)
					}
				}
			},
		})
	})
}

// TestSingleGroupLeavesImmediately: whatever came before, once nothing waits and a call
// may be made.
func TestSingleGroupLeavesImmediately(t *testing.T) {
	b := New[string](Limits{Groups: 3, Keys: 2, InFlight: 1, Total: 1})
	for range 5 {
		large := newGroup("large", 5) // more keys than a call has, which is fine for one group
		b.Enqueue("", large)
		var first, second Call[string]
		if !b.Next(&first) || len(first.Groups) != 1 || first.Groups[0] != large || !large.Sent() {
			t.Fatalf("%v leave", names(first.Groups))
		}
		waits, gone := newGroup("waits", 1), newGroup("gone", 1)
		b.Enqueue("", waits)
		b.Enqueue("", gone)
		if b.Next(&second) {
			t.Fatal("a second call is in flight")
		}
		if !b.Cancel(gone) || b.Cancel(gone) || b.Cancel(large) || gone.Sent() {
			t.Fatal("a group is cancelled that does not wait, or not that waits")
		}
		b.Done(&first)
		if !b.Next(&second) || len(second.Groups) != 1 || second.Groups[0] != waits {
			t.Fatalf("%v leave after the reply", names(second.Groups))
		}
		b.Done(&second)
	}
}

// TestBatcherKeepsNothingOfWhatLeft: while calls hang, callers of new keys come and give
// up; what was used is used again.
func TestBatcherKeepsNothingOfWhatLeft(t *testing.T) {
	b := New[string](Limits{Groups: 10, Keys: 10, InFlight: 1, Total: 2})
	calls := make([]Call[string], 2)
	for i := range calls {
		b.Enqueue(fmt.Sprint("hangs ", i), newGroup("", 1))
		if !b.Next(&calls[i]) {
			t.Fatal("no call")
		}
	}
	g := newGroup("", 1)
	once := testing.AllocsPerRun(1000, func() {
		b.Enqueue("gives up", g)
		if !b.Cancel(g) {
			t.Fatal("not cancelled")
		}
	})
	if once > 0 || len(b.queues) != 2 || b.ready.head != nil || b.Waiting() != 0 {
		t.Errorf("%v allocations, %d queues, %d groups wait", once, len(b.queues), b.Waiting())
	}
	for i := range calls {
		b.Done(&calls[i])
	}
	for i := range 1000 {
		b.Enqueue(fmt.Sprint(i), newGroup("", 1))
	}
	b.Drain()
	if len(b.queues) != 0 || len(b.spare) > maxSpare {
		t.Errorf("%d queues at rest, %d spare", len(b.queues), len(b.spare))
	}
}
