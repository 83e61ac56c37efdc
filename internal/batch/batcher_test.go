package batch

import (
	"fmt"
	"slices"
	"strings"
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
// which they came, and the queues and nodes in the order in which it is their turn.
type model struct {
	limits  Limits
	waiting []waiting
	turns   map[string][]string // by node, tags of queues that may make a call
	open    []string            // nodes that may make a call
	calls   []*modelCall        // in flight
	node    map[string]string   // of a tag
}

type waiting struct {
	tag   string
	group *Group[string]
}

type modelCall struct {
	tag, node string
	groups    []*Group[string]
	left      map[*Group[string]]bool
	holds     bool // back the next one
	answered  bool // the node, since the call was made
}

func (c *modelCall) abandoned() bool { return len(c.left) == len(c.groups) }

func (m *model) of(tag string) (groups []*Group[string]) {
	for _, w := range m.waiting {
		if w.tag == tag {
			groups = append(groups, w.group)
		}
	}
	return groups
}

// count is the number of calls that f holds for.
func (m *model) count(f func(c *modelCall) bool) (n int) {
	for _, c := range m.calls {
		if f(c) {
			n++
		}
	}
	return n
}

// settle lets a queue and its node stand where they belong.
func (m *model) settle(tag string) {
	node := m.node[tag]
	inFlight := m.count(func(c *modelCall) bool { return c.tag == tag && !c.abandoned() })
	held := m.count(func(c *modelCall) bool { return c.tag == tag && c.holds && !c.abandoned() }) > 0
	may := len(m.of(tag)) > 0 && inFlight < m.limits.Queue && (!held || len(m.of(tag)) >= m.limits.Enough)
	m.turns[node] = stand(m.turns[node], tag, may)
	m.settleNode(node)
}

func (m *model) settleNode(node string) {
	live := m.count(func(c *modelCall) bool { return c.node == node && !c.abandoned() })
	abandoned := m.count(func(c *modelCall) bool { return c.node == node && c.abandoned() })
	most := m.limits.Node
	if strings.HasPrefix(node, "of ") {
		most = m.limits.Abandoned
	}
	m.open = stand(m.open, node, len(m.turns[node]) > 0 && live < m.limits.Node && abandoned < most)
}

// stand adds a name at the end of a list, or takes it out.
func stand(list []string, name string, in bool) []string {
	if !in {
		return slices.DeleteFunc(list, func(other string) bool { return other == name })
	}
	if !slices.Contains(list, name) {
		list = append(list, name)
	}
	return list
}

// enqueue lets a group wait, on a node that may be another one than so far.
func (m *model) enqueue(tag, node string, g *Group[string]) {
	if node == "" {
		node = "of " + tag
	}
	busy := len(m.of(tag)) > 0 || m.count(func(c *modelCall) bool { return c.tag == tag }) > 0
	if old, known := m.node[tag]; known && old != node {
		m.turns[old] = stand(m.turns[old], tag, false)
		if busy {
			m.settleNode(old)
		}
	}
	m.node[tag] = node
	m.waiting = append(m.waiting, waiting{tag, g})
	m.settle(tag)
}

// next takes the first groups of the queue whose turn it is that fit into one call.
func (m *model) next() *modelCall {
	if len(m.open) == 0 {
		return nil
	}
	node := m.open[0]
	c, keys := &modelCall{tag: m.turns[node][0], node: node, left: map[*Group[string]]bool{}}, 0
	for _, g := range m.of(c.tag) {
		if len(c.groups) > 0 && (len(c.groups) == m.limits.Groups || keys+g.keys > m.limits.Keys) {
			break
		}
		c.groups, keys = append(c.groups, g), keys+g.keys
		m.remove(g)
	}
	m.calls = append(m.calls, c)
	m.open, m.turns[node] = stand(m.open, node, false), stand(m.turns[node], c.tag, false)
	m.settle(c.tag)
	return c
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

// callOf is the call in flight that a group is in.
func (m *model) callOf(g *Group[string]) *modelCall {
	for _, c := range m.calls {
		if slices.Contains(c.groups, g) {
			return c
		}
	}
	return nil
}

// TestBatcherIsItsModel: the groups of a tag leave in the order in which they came, as
// many as the limits allow, each once; one that was cancelled never does; a call that all
// have left gives its place back; tags and nodes take turns.
func TestBatcherIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{
			Groups:    rapid.IntRange(1, 6).Draw(t, "groups"),
			Keys:      rapid.IntRange(1, 10).Draw(t, "keys"),
			Enough:    rapid.IntRange(1, 6).Draw(t, "groups that none holds back"),
			Queue:     rapid.IntRange(1, 3).Draw(t, "calls of a queue"),
			Node:      rapid.IntRange(1, 5).Draw(t, "calls of a node"),
			Abandoned: rapid.IntRange(1, 4).Draw(t, "abandoned calls of a node that is not known"),
		}
		b, m := New[string](limits), &model{limits: limits, turns: map[string][]string{}, node: map[string]string{}}
		var all []*Group[string]
		var calls []*Call[string]
		var spare []*Call[string] // done, and used again
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": func(t *rapid.T) {
				tag := rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "tag")
				node := ""
				if tag != "" {
					node = rapid.SampledFrom([]string{"", "x", "x", "y"}).Draw(t, "node")
				}
				g := newGroup(fmt.Sprint(len(all)), 0)
				if len(all) > 0 && rapid.Bool().Draw(t, "again") { // one that waits nowhere
					old := rapid.SampledFrom(all).Draw(t, "group")
					if m.callOf(old) == nil && !slices.ContainsFunc(m.waiting, func(w waiting) bool { return w.group == old }) {
						g = old
					}
				}
				g.Init(rapid.IntRange(1, 12).Draw(t, "keys of it"))
				all = append(all, g)
				b.Enqueue(tag, node, g)
				m.enqueue(tag, node, g)
			},
			"next": func(t *rapid.T) {
				c := &Call[string]{Groups: []*Group[string]{newGroup("of another call", 99)}}
				if len(spare) > 0 {
					c, spare = spare[0], spare[1:]
				}
				ready := b.Ready()
				got, want := b.Next(c), m.next()
				if ready != got {
					t.Fatalf("ready: %v, a call to make: %v", ready, got)
				}
				if got != (want != nil) || got && !slices.Equal(c.Groups, want.groups) {
					t.Fatalf("%v: %v leave, want %+v", got, names(c.Groups), want)
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
				answered := rapid.Bool().Draw(t, "answered")
				b.Done(calls[i], answered)
				done := m.calls[i]
				spare = append(spare, calls[i])
				calls, m.calls = slices.Delete(calls, i, i+1), slices.Delete(m.calls, i, i+1)
				for _, c := range m.calls {
					c.answered = c.answered || answered && c.node == done.node
				}
				m.settle(done.tag)
				m.settleNode(done.node)
			},
			"hold back or let go": func(t *rapid.T) {
				if len(calls) == 0 {
					t.Skip("nothing is in flight")
				}
				i := rapid.IntRange(0, len(calls)-1).Draw(t, "which")
				if rapid.Bool().Draw(t, "hold") {
					b.HoldBack(calls[i])
					m.calls[i].holds = true
				} else {
					b.LetGo(calls[i])
					m.calls[i].holds = false
				}
				m.settle(m.calls[i].tag)
			},
			"leave": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("there is no group")
				}
				g := rapid.SampledFrom(all).Draw(t, "which")
				c := m.callOf(g)
				if c != nil && c.left[g] {
					t.Skip("it has left")
				}
				inFlight, abandoned := b.Leave(g)
				if c != nil {
					c.left[g] = true
				}
				if inFlight != (c != nil) || abandoned != (c != nil && c.abandoned()) {
					t.Fatalf("left a call in flight: %v, abandoned: %v, of %+v", inFlight, abandoned, c)
				}
				if c != nil {
					m.settle(c.tag)
					m.settleNode(c.node)
				}
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
				m.waiting, m.turns, m.open = nil, map[string][]string{}, nil
			},
			"": func(t *rapid.T) {
				live, abandoned := b.InFlight()
				wantAbandoned := m.count((*modelCall).abandoned)
				if live != len(m.calls)-wantAbandoned || abandoned != wantAbandoned || b.Waiting() != len(m.waiting) {
					t.Fatalf("%d and %d calls, %d groups; want %d and %d, %d", live, abandoned, b.Waiting(), len(m.calls)-wantAbandoned, wantAbandoned, len(m.waiting))
				}
				seen := map[*Group[string]]bool{}
				for g := range b.Waiters() {
					seen[g] = true
				}
				if len(seen) != len(m.waiting) || slices.ContainsFunc(m.waiting, func(w waiting) bool { return !seen[w.group] }) {
					t.Fatalf("%d groups wait, want the %d of %v", len(seen), len(m.waiting), m.waiting)
				}
				for i, c := range calls {
					if b.Silent(c) == m.calls[i].answered {
						t.Fatalf("a node that has answered is silent, or the other way round")
					}
				}
				kept := map[string]bool{"": true}
				for _, w := range m.waiting {
					kept[w.tag] = true
				}
				for _, c := range m.calls {
					kept[c.tag] = true
				}
				for tag := range b.queues {
					if !kept[tag] {
						t.Fatalf("a queue is kept of %q, for which there is nothing to do", tag)
					}
				}
				for _, w := range m.waiting {
					if w.group.Sent() {
						t.Fatalf("%s waits and was sent", w.group.Value)
					}
				}
			},
		})
	})
}

// TestSingleGroupLeavesImmediately: whatever came before, once nothing waits and a call
// may be made.
func TestSingleGroupLeavesImmediately(t *testing.T) {
	b := New[string](Limits{Groups: 3, Keys: 2, Queue: 1, Node: 1, Abandoned: 1})
	for range 5 {
		large := newGroup("large", 5) // more keys than a call has, which is fine for one group
		b.Enqueue("", "", large)
		var first, second Call[string]
		if !b.Next(&first) || len(first.Groups) != 1 || first.Groups[0] != large || !large.Sent() {
			t.Fatalf("%v leave", names(first.Groups))
		}
		waits, gone := newGroup("waits", 1), newGroup("gone", 1)
		b.Enqueue("", "", waits)
		b.Enqueue("", "", gone)
		if b.Next(&second) {
			t.Fatal("a second call is in flight")
		}
		if !b.Cancel(gone) || b.Cancel(gone) || b.Cancel(large) || gone.Sent() {
			t.Fatal("a group is cancelled that does not wait, or not that waits")
		}
		b.Done(&first, true)
		if !b.Next(&second) || len(second.Groups) != 1 || second.Groups[0] != waits {
			t.Fatalf("%v leave after the reply", names(second.Groups))
		}
		b.Done(&second, true)
	}
}

// TestBatcherKeepsNothingOfWhatLeft: while calls hang, callers of new keys come and give
// up; what was used is used again.
func TestBatcherKeepsNothingOfWhatLeft(t *testing.T) {
	b := New[string](Limits{Groups: 10, Keys: 10, Queue: 1, Node: 2, Abandoned: 2})
	calls := make([]Call[string], 2)
	for i := range calls {
		b.Enqueue(fmt.Sprint("hangs ", i), "node", newGroup("", 1))
		if !b.Next(&calls[i]) {
			t.Fatal("no call")
		}
	}
	g := newGroup("", 1)
	once := testing.AllocsPerRun(1000, func() {
		b.Enqueue("gives up", "node", g)
		if !b.Cancel(g) {
			t.Fatal("not cancelled")
		}
	})
	if once > 0 || len(b.queues) != 3 || b.open.head != nil || b.Waiting() != 0 {
		t.Errorf("%v allocations, %d queues, %d groups wait", once, len(b.queues), b.Waiting())
	}
	for i := range calls {
		b.Done(&calls[i], true)
	}
	for i := range 1000 {
		b.Enqueue(fmt.Sprint(i), fmt.Sprint("node ", i), newGroup("", 1))
	}
	b.Drain()
	if len(b.queues) != 1 || len(b.spare) > maxSpare || len(b.nodes) > maxNodes {
		t.Errorf("%d queues at rest, %d spare, %d nodes", len(b.queues), len(b.spare), len(b.nodes))
	}
}
