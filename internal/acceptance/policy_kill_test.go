package acceptance_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/policy"
)

// TestPolicyHistoriesAreLinearizableWhileNodesAreKilled: two of three nodes are killed, one
// after the other, while callers of two processes decide over three keys, and come back
// with their data. Calls for the killed node get errors, calls for the others do not, and
// nothing that was answered is forgotten.
func TestPolicyHistoriesAreLinearizableWhileNodesAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("real servers and seconds of traffic: not for -short")
	}
	durable := &servertest.Config{Args: []string{"--appendonly", "yes", "--appendfsync", "always", "--cluster-require-full-coverage", "no"}}
	servertest.EachCluster(t, 3, durable, func(t *testing.T, c *servertest.Cluster) {
		nodes := c.Nodes()
		for _, p := range naturalPairs() {
			if p.kind == nodes[0].Kind() {
				t.Run(p.library, func(t *testing.T) {
					killNodesUnderAPolicy(t, c, &env{library: p.library, several: &several{nodes: nodes}})
				})
			}
		}
	})
}

func killNodesUnderAPolicy(t *testing.T, c *servertest.Cluster, e *env) {
	compiled := levels(t, "org", "sliding-log:6/24h", "sliding-log:5/24h", "sliding-log:12/24h")
	enforcers := []*policy.Enforcer{enforcer(t, e.store(t, nil), compiled, patience), enforcer(t, e.store(t, nil), compiled, patience)}
	outputs := map[string]int{}
	for round, victim := range c.Nodes()[:2] {
		struck, spared := organisations(c, victim, 100*round)
		histories := map[int]*levelHistory{struck: newLevelHistory(), spared: newLevelHistory()}
		dead, again := make(chan struct{}), make(chan struct{})
		inParallel(5, func(caller int) {
			if caller == 4 {
				defer close(again)
				victim.Kill()
				close(dead)
				if err := histories[spared].decide(t, enforcers[1], spared, levelCall{}); err != nil {
					t.Errorf("a call for a node that lives: %v", err)
				}
				if err := histories[struck].decide(t, enforcers[0], struck, levelCall{}); err == nil {
					t.Error("a killed node has decided")
				}
				victim.Start()
				servertest.Await(t, "the cluster is whole again", func() bool {
					_, err := enforcers[0].Peek(patient(t), member(struck, 0, 0))
					return err == nil
				})
				return
			}
			// Some calls before the kill or as it comes, some that meet it, and some when the
			// node is back. The histories have their errors.
			random := rand.New(rand.NewPCG(uint64(round), uint64(caller)))
			for phase := range 3 {
				for range 4 {
					for _, org := range []int{struck, spared} {
						_ = histories[org].decide(t, enforcers[caller%2], org, levelCall{random.IntN(4), random.IntN(4)})
					}
				}
				if phase < 2 {
					<-[]chan struct{}{dead, again}[phase]
				}
			}
		})
		for org, h := range histories {
			h.check(t, org, outputs)
		}
	}
	t.Logf("answers: %v", outputs)
	if outputs["allowed"] == 0 || outputs["denied"] == 0 {
		t.Errorf("answers: %v: this test shows nothing", outputs)
	}
}

// organisations returns one whose states a node has, and one whose states another has.
func organisations(c *servertest.Cluster, node *servertest.Server, from int) (on, off int) {
	on, off = -1, -1
	for org := from; on < 0 || off < 0; org++ {
		if c.Node(fmt.Sprintf("{org=o%d}", org)) == node {
			on = org
		} else {
			off = org
		}
	}
	return on, off
}
