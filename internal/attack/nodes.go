package attack

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

// nodes are how many primaries a cluster has.
const nodes = 3

// clusterAccount is the account of a cluster: each key is on the node that has its
// slot, and on no other.
func (s *scene) clusterAccount(c *servertest.Cluster) account {
	s.tb.Helper()
	s.stop()
	held := make([]int64, len(s.ledger.keys))
	for _, node := range c.Nodes() {
		for i, count := range s.ledger.readNode(node, func(key string) bool { return c.Node(key) == node }) {
			held[i] += count
		}
	}
	return account{held: held}
}

// migration moves the slot of one key after the other to the next node.
func migration(s *scene) account {
	c := servertest.StartCluster(s.tb, s.kind, nodes, nil)
	s.start(cluster, c.Addrs())
	s.tell(start)
	moved := 0
	s.repeat(1, time.Millisecond, func() {
		name := s.ledger.keys[moved%len(s.ledger.keys)].Name
		to := c.Nodes()[(slices.Index(c.Nodes(), c.Node(name))+1)%nodes]
		c.Migrate(c.Slot(name), to, func() { s.waitFor(10 * time.Millisecond) })
		moved++
	})
	a := s.clusterAccount(c)
	a.note = fmt.Sprint(moved, " slots moved")
	return a
}

// isolation is by how much the share of failed calls for keys of healthy nodes may grow
// while another node hangs. Where the machine itself is overloaded, some fail anyway.
const isolation = 0.01

// frozenNode freezes one node for a third of the time.
func frozenNode(s *scene) account {
	c := servertest.StartCluster(s.tb, s.kind, nodes, nil)
	frozen := c.Nodes()[1]
	for i := range s.ledger.keys {
		if k := &s.ledger.keys[i]; c.Node(k.Name) != frozen {
			k.Group = 1
		}
	}
	s.start(cluster, c.Addrs())
	s.tell(start)
	s.wait(0.1) // all callers come together
	s.tell(mark)
	s.wait(0.3)
	s.tell(mark)
	frozen.Freeze()
	s.wait(0.3)
	s.tell(mark)
	frozen.Thaw()
	s.wait(0.3)
	a := s.clusterAccount(c)

	before, during := s.healthy(1), s.healthy(2)
	a.note = fmt.Sprintf("healthy nodes: %.2f %% of %d calls failed after %.2f %% before, p99 %s after %s", 100*during.share, during.calls,
		100*before.share, short(during.p99), short(before.p99))
	if during.calls == 0 || during.share > before.share+isolation {
		a.broken = fmt.Errorf("isolation: of the calls for keys of healthy nodes %.2f %% failed, and %.2f %% before", 100*during.share, 100*before.share)
	}
	return a
}

// quality is how the calls for some keys went.
type quality struct {
	calls int64
	share float64 // of calls without a decision
	p99   time.Duration
}

// healthy is the quality of a phase for the keys that an event leaves alone.
func (s *scene) healthy(phase int) quality {
	p := s.report.Phases[phase]
	var all tally
	for i, t := range p.Keys {
		if s.ledger.keys[i].Group == 1 {
			all.add(t)
		}
	}
	return quality{all.Calls, float64(all.failed()) / float64(max(1, all.Calls)), p99(p.Latency[1])}
}

// The longest time without a decision after all connections died: the time-out of a
// call of the store, and a second.
const deadOutage = 4 * time.Second

// deadConnections lets a proxy lose all connections while they are idle, before the
// first caller starts.
func deadConnections(s *scene) account {
	one := s.server()
	wire := servertest.NewProxy(s.tb, one.Addr())
	s.start(server, []string{wire.Addr()})
	lost := wire.Open()
	if lost < s.fill {
		s.tb.Fatalf("attack: %d connections are open, want %d at least", lost, s.fill)
	}
	wire.Forget()
	s.tell(start)
	s.wait(1)
	a := s.whole(one)
	var all tally
	for _, t := range s.report.keys(s.report.Phases...) {
		all.add(t)
	}
	a.note = fmt.Sprintf("%d connections lost, %d calls failed", lost, all.failed())
	if all.failed() == all.Calls {
		a.note += ", all in " + s.seconds.String()
	}
	if outage := time.Duration(s.report.Outage) * time.Microsecond; outage > deadOutage {
		a.broken = fmt.Errorf("recovery: a caller was without a decision for %v, more than %v", outage.Round(time.Millisecond), deadOutage)
	}
	return a
}
