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

// Cluster is so many masters, without replicas, that share the hash slots.
type Cluster struct {
	tb    testing.TB
	nodes []*Server
	moved map[int]*Server // the slots that Migrate has moved
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
	c := &Cluster{tb: tb}
	for i := range masters {
		s := Start(tb, kind, &node)
		s.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)) // none has to yield to another
		s.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*Slots/masters), strconv.Itoa((i+1)*Slots/masters-1))
		for _, other := range c.nodes {
			host, port, _ := net.SplitHostPort(other.Addr())
			s.Do("CLUSTER", "MEET", host, port, other.bus)
		}
		c.nodes = append(c.nodes, s)
	}
	for _, s := range c.nodes {
		c.await(s)
	}
	return c
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
	want := []string{"cluster_state:ok", fmt.Sprint("cluster_slots_ok:", Slots), fmt.Sprint("cluster_known_nodes:", len(c.nodes))}
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
