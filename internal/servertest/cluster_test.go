package servertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// leftToTheFullRun skips what waits for servers to agree, where the time is short:
// TestClusterMovesASlotWithItsKeys has a cluster, and TestReplicaHasTheDataAndIsPromoted a pair.
func leftToTheFullRun(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: waits for servers to agree")
	}
}

func TestClusterSharesItsSlots(t *testing.T) {
	leftToTheFullRun(t)
	EachCluster(t, 3, nil, func(t *testing.T, c *Cluster) {
		if len(c.Addrs()) != 3 || len(c.Nodes()) != 3 {
			t.Fatalf("nodes at %v", c.Addrs())
		}
		keys := map[*Server]int{}
		for i := range 50 {
			key := fmt.Sprint("key ", i)
			owner := c.Node(key)
			keys[owner]++
			for _, s := range c.Nodes() {
				var moved ReplyError
				_, err := s.Try("SET", key, "v")
				switch {
				case s == owner && err != nil:
					t.Errorf("%q on its node: %v", key, err)
				case s != owner && (!errors.As(err, &moved) || !strings.HasSuffix(moved.Error(), owner.Addr())):
					t.Errorf("%q on another node: %v, want MOVED to %s", key, err, owner.Addr())
				}
			}
		}
		if len(keys) != 3 {
			t.Errorf("all keys are on %d nodes", len(keys))
		}
		var refused ReplyError
		if _, err := c.Node("a").Try("MGET", "a", "b"); !errors.As(err, &refused) || !strings.HasPrefix(refused.Error(), "CROSSSLOT") {
			t.Errorf("keys of two slots: %v", err)
		}
	})
}

func TestClusterOfOne(t *testing.T) {
	leftToTheFullRun(t)
	EachCluster(t, 1, &Config{Args: []string{"--maxmemory", "200mb"}}, func(t *testing.T, c *Cluster) {
		s := c.Node("k")
		if got := s.Do("SET", "k", "v"); got != "OK" {
			t.Errorf("SET: %v", got)
		}
		s.Restart()
		c.await(s)
		if got := s.Do("GET", "k"); got != nil {
			t.Errorf("after a restart: %v", got)
		}
		if got := s.Do("CONFIG", "GET", "maxmemory").([]any); got[1] != "209715200" {
			t.Errorf("maxmemory is %v", got[1])
		}
	})
}

// TestClusterFailsOver: each of three primaries has a replica; the replica of one that is
// frozen has its slots and its data a moment later, and slots still move.
func TestClusterFailsOver(t *testing.T) {
	leftToTheFullRun(t)
	cfg := &Config{Args: []string{"--cluster-node-timeout", "5000", "--cluster-require-full-coverage", "no", "--cluster-replica-validity-factor", "0"}}
	EachCluster(t, 3, cfg, func(t *testing.T, c *Cluster) {
		replicas := map[*Server]*Server{}
		for _, node := range c.Nodes() {
			replicas[node] = c.AddReplica(node)
		}
		old := c.Node("a")
		old.Do("SET", "a", "v")
		next := replicas[old]
		Await(t, "the replica has the key", func() bool { return next.Do("DBSIZE") == int64(1) })
		old.Freeze()
		next.AwaitReceived()
		c.SetNodeTimeout(2*time.Second, old)
		c.AwaitPromotion(old, next)
		if got := c.Node("a"); got != next {
			t.Fatalf("the key is at %s, want %s", got.Addr(), next.Addr())
		}
		if got := next.Do("GET", "a"); got != "v" {
			t.Errorf("the new primary has %v", got)
		}
		to := c.Nodes()[(slices.Index(c.Nodes(), next)+1)%3]
		c.Migrate(c.Slot("a"), to, nil)
		if got := c.Node("a").Do("GET", "a"); got != "v" || c.Node("a") != to {
			t.Errorf("after the slot has moved: %v", got)
		}
	})
}
