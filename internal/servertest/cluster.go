package servertest

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Slots is how many hash slots a cluster has.
const Slots = 16384

// Cluster is so many masters that share the hash slots, without replicas until AddReplica.
type Cluster struct {
	tb       testing.TB
	cfg      Config // of a node
	nodes    []*Server
	replicas []*Server
	moved    map[int]*Server // the slots that Migrate has moved
}

// StartCluster starts a cluster and returns when all of its nodes serve all slots,
// which takes about two seconds: so long a node waits before it is a master. cfg is
// for each node. A node that is started again has its place, and no data.
func StartCluster(tb testing.TB, kind Kind, masters int, cfg *Config) *Cluster {
	tb.Helper()
	var node Config
	if cfg != nil {
		node = *cfg
	}
	node.Cluster = true
	c := &Cluster{tb: tb, cfg: node}
	for i := range masters {
		s := Start(tb, kind, &node)
		s.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)) // none has to yield to another
		s.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*Slots/masters), strconv.Itoa((i+1)*Slots/masters-1))
		c.meet(s)
		c.nodes = append(c.nodes, s)
	}
	for _, s := range c.nodes {
		c.await(s)
	}
	return c
}

// meet makes a server known to all nodes.
func (c *Cluster) meet(s *Server) {
	c.tb.Helper()
	for _, other := range c.all() {
		host, port, _ := net.SplitHostPort(other.Addr())
		s.Do("CLUSTER", "MEET", host, port, other.bus)
	}
}

// all returns the nodes and the replicas.
func (c *Cluster) all() []*Server { return slices.Concat(c.nodes, c.replicas) }

// AddReplica starts a replica of a node and returns when it has the data, and all nodes
// know it.
func (c *Cluster) AddReplica(node *Server) *Server {
	c.tb.Helper()
	s := Start(c.tb, node.kind, &c.cfg)
	// A primary waits five seconds for more replicas before it sends its data.
	node.Do("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	c.meet(s)
	c.replicas = append(c.replicas, s)
	for _, one := range c.all() {
		c.await(one)
	}
	id, _ := node.Do("CLUSTER", "MYID").(string)
	s.Do("CLUSTER", "REPLICATE", id)
	s.await("a replica with its data", func() bool { return s.info("replication", "master_link_status:up") })
	// Until the replica has said so a primary sends it nothing of what it writes.
	node.await("a primary whose replica is online", func() bool {
		info, _ := node.Do("INFO", "replication").(string)
		return strings.Contains(info, fmt.Sprintf("port=%d,state=online", s.port()))
	})
	for _, one := range c.all() {
		one.await("a node that knows the replica", func() bool {
			known, _ := one.Do("CLUSTER", "REPLICAS", id).([]any)
			return slices.ContainsFunc(known, func(line any) bool { return strings.Contains(fmt.Sprint(line), s.Addr()+"@") })
		})
	}
	return s
}

// SetNodeTimeout changes after which time without an answer a node is held for down, on
// all nodes that run, but for some.
func (c *Cluster) SetNodeTimeout(d time.Duration, but ...*Server) {
	c.tb.Helper()
	for _, s := range c.all() {
		if s.Pid() != 0 && !slices.Contains(but, s) {
			s.Do("CONFIG", "SET", "cluster-node-timeout", strconv.FormatInt(d.Milliseconds(), 10))
		}
	}
}

// AwaitPromotion waits until a replica has taken over the slots of a node, and all nodes but
// that one know it. The replica has the place of the node from then on.
func (c *Cluster) AwaitPromotion(node, replica *Server) {
	c.tb.Helper()
	replica.AwaitPrimary()
	c.replicas = slices.DeleteFunc(c.replicas, func(s *Server) bool { return s == replica })
	c.nodes[slices.Index(c.nodes, node)] = replica
	for slot, owner := range c.moved {
		if owner == node {
			c.moved[slot] = replica
		}
	}
	id, _ := replica.Do("CLUSTER", "MYID").(string)
	for _, one := range c.all() {
		one.await("a node that knows the new primary", func() bool {
			nodes, _ := one.Do("CLUSTER", "NODES").(string)
			return slices.ContainsFunc(strings.Split(nodes, "\n"), func(line string) bool {
				// ID, address, flags, …, and the slots from the ninth word on.
				words := strings.Fields(line)
				return len(words) > 8 && words[0] == id && strings.Contains(words[2], "master")
			})
		})
	}
}

// EachCluster is Each for clusters. They are started side by side, because of the time
// that it takes: f runs in parallel with that of the other kind.
func EachCluster(t *testing.T, masters int, cfg *Config, f func(t *testing.T, c *Cluster)) {
	t.Helper()
	for _, kind := range Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			f(t, StartCluster(t, kind, masters, cfg))
		})
	}
}

// Nodes returns the nodes, in the order of their slots.
func (c *Cluster) Nodes() []*Server { return slices.Clone(c.nodes) }

// Addrs returns the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	var all []string
	for _, s := range c.nodes {
		all = append(all, s.Addr())
	}
	return all
}

// Node returns the node that has a key.
func (c *Cluster) Node(key string) *Server {
	c.tb.Helper()
	return c.owner(c.Slot(key))
}

// await waits until a node knows all others and serves.
func (c *Cluster) await(s *Server) {
	c.tb.Helper()
	want := []string{"cluster_state:ok", fmt.Sprint("cluster_slots_ok:", Slots), fmt.Sprint("cluster_known_nodes:", len(c.all()))}
	deadline := time.Now().Add(patience)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		info, _ := s.Do("CLUSTER", "INFO").(string)
		lines := strings.Split(info, "\r\n")
		if !slices.ContainsFunc(want, func(line string) bool { return !slices.Contains(lines, line) }) {
			return
		}
		if time.Now().After(deadline) {
			c.tb.Fatalf("servertest: %s is no cluster within %v:\n%s", s.kind, patience, info)
		}
		<-again.C
	}
}
