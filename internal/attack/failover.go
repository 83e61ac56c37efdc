package attack

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

// promotion makes a replica a primary while the old one serves on. What the replica
// has at its promotion is read in the same transaction, so what is lost is known
// exactly: what the old primary has beyond it. In a split some callers stay with the
// old primary to the end.
func promotion(split bool, args ...string) func(s *scene) account {
	return func(s *scene) account {
		primary := s.server(args...)
		replica := servertest.StartReplica(s.tb, primary, nil)
		moves := servertest.NewProxy(s.tb, primary.Addr())
		if split {
			s.one(moves.Addr(), primary.Addr())
		} else {
			s.one(moves.Addr())
		}
		s.wait(0.5)
		received := s.ledger.read(replica, []string{"REPLICAOF", "NO", "ONE"})
		moves.SetTarget(replica.Addr())
		moves.Cut()
		s.wait(0.5)
		a := s.whole(replica)
		a.lost = minus(s.ledger.read(primary), received)
		return a
	}
}

// planned hands over to a replica as an operator would: the primary refuses to write
// until the replica has everything.
func planned(s *scene) account {
	primary := s.server()
	replica := servertest.StartReplica(s.tb, primary, nil)
	wire := servertest.NewProxy(s.tb, primary.Addr())
	s.one(wire.Addr())
	s.wait(0.5)
	host, port, _ := strings.Cut(replica.Addr(), ":")
	primary.Do("FAILOVER", "TO", host, port, "TIMEOUT", strconv.Itoa(5000))
	replica.AwaitPrimary()
	wire.SetTarget(replica.Addr())
	wire.Cut()
	s.wait(0.5)
	return s.whole(replica)
}

// few is how many admitted calls each process has at least before a fail-over, and after it.
const few = 20

// sentinels freezes a primary that three Sentinels watch. Nothing reaches its replicas
// from then on, so what they have received is read before the Sentinels may promote one.
// The old primary goes on when the callers and the Sentinels have ended, and then shows
// what is lost. Where callers wait for a replica, nothing that was acked may be.
func sentinels(n int) func(s *scene) account {
	return func(s *scene) account {
		primary := s.server()
		replicas := make([]*servertest.Server, n)
		for i := range replicas {
			replicas[i] = servertest.StartReplica(s.tb, primary, nil)
		}
		watching := servertest.StartSentinels(s.tb, 3, primary, n, time.Hour)
		s.start(sentinel, watching.Addrs())
		s.tell(start)
		s.awaitAdmitted(few)
		s.wait(0.25)
		primary.Freeze()
		received := map[*servertest.Server][]int64{}
		for _, replica := range replicas {
			replica.AwaitReceived()
			received[replica] = s.ledger.read(replica)
		}
		s.tell(mark)
		watching.SetDownAfter(time.Second)
		begin := time.Now()
		next := servertest.AwaitPromoted(s.tb, replicas)
		promoted := time.Since(begin)
		resumed := s.awaitAdmitted(1)
		s.awaitAdmitted(few)
		s.wait(0.25)
		s.stop()
		watching.Stop()
		primary.Thaw()
		primary.AwaitPrimary() // else its data are gone; a Sentinel may have closed connections
		a := account{
			held: s.ledger.read(next),
			lost: minus(s.ledger.read(primary), received[next]),
			note: failOverNote(promoted, resumed),
		}
		if s.replicas > 0 {
			for i, t := range s.report.Phases[0].Keys {
				if t.Acked > received[next][i] {
					a.broken = fmt.Errorf("acked ≤ received, with a replica that was waited for: %d ≤ %d", t.Acked, received[next][i])
				}
			}
		}
		return a
	}
}

func failOverNote(promoted, resumed time.Duration) string {
	return fmt.Sprintf("promoted after %s, all processes served %s later", short(promoted), short(resumed))
}

// clusterFailOver freezes one of three primaries of a cluster, which has a replica. All
// keys of the callers lie there. What the replica has received is read before the others
// may find out; what the old primary had beyond it follows from what callers were told,
// since it becomes a replica when it goes on.
func clusterFailOver(s *scene) account {
	c := servertest.StartCluster(s.tb, s.kind, nodes, &servertest.Config{Args: []string{
		"--cluster-node-timeout", "3600000", "--cluster-replica-validity-factor", "0", "--cluster-require-full-coverage", "no",
	}})
	primary := c.Nodes()[1]
	replica := c.AddReplica(primary)
	s.ledger.keys = slices.DeleteFunc(s.ledger.keys, func(k key) bool { return c.Node(k.Name) != primary })
	s.start(cluster, c.Addrs())
	s.tell(start)
	s.awaitAdmitted(few)
	s.wait(0.25)
	primary.Freeze()
	replica.AwaitReceived()
	s.tell(mark)
	received := s.ledger.readReplica(replica)
	c.SetNodeTimeout(2*time.Second, primary)
	begin := time.Now()
	c.AwaitPromotion(primary, replica)
	promoted := time.Since(begin)
	resumed := s.awaitAdmitted(1)
	s.awaitAdmitted(few)
	s.wait(0.25)
	a := s.clusterAccount(c)
	a.restored = received
	a.note = failOverNote(promoted, resumed)
	return a
}

// sentinelCommand lets the Sentinels promote a replica while the primary serves on, as an
// operator does before maintenance. The old primary becomes a replica, and what it had
// beyond the new one is gone unread. Where writes are held back meanwhile, it has nothing.
func sentinelCommand(pause bool) func(s *scene) account {
	return func(s *scene) account {
		primary := s.server()
		replica := servertest.StartReplica(s.tb, primary, nil)
		watching := servertest.StartSentinels(s.tb, 3, primary, 1, 30*time.Second)
		s.start(sentinel, watching.Addrs())
		s.tell(start)
		s.awaitAdmitted(few)
		s.wait(0.25)
		if pause {
			// The Sentinels' command to follow is held back, too, and is first when the pause ends.
			primary.Do("CLIENT", "PAUSE", "20000", "WRITE")
			servertest.Await(s.tb, "the replica has everything", func() bool { return replica.Received(primary) })
		}
		begin := time.Now()
		watching.FailOver()
		replica.AwaitPrimary()
		primary.AwaitReplica()
		handed := time.Since(begin)
		s.tell(mark)
		resumed := s.awaitAdmitted(1)
		s.awaitAdmitted(few)
		s.wait(0.5)
		a := s.whole(replica)
		a.forgets = !pause
		a.note = fmt.Sprintf("the old primary followed after %s, all processes served %s later", short(handed), short(resumed))
		return a
	}
}

// sentinelPlanned hands over by FAILOVER on the primary, of which the Sentinels know
// nothing: they send clients to the old primary until they have found out.
func sentinelPlanned(s *scene) account {
	primary := s.server()
	replica := servertest.StartReplica(s.tb, primary, nil)
	watching := servertest.StartSentinels(s.tb, 3, primary, 1, time.Second)
	s.start(sentinel, watching.Addrs())
	s.tell(start)
	s.awaitAdmitted(few)
	s.wait(0.25)
	host, port, _ := strings.Cut(replica.Addr(), ":")
	primary.Do("FAILOVER", "TO", host, port, "TIMEOUT", strconv.Itoa(5000))
	replica.AwaitPrimary()
	s.tell(mark)
	resumed := s.awaitAdmitted(few)
	s.wait(0.25)
	a := s.whole(replica)
	a.note = fmt.Sprintf("all processes served %s after the hand-over", short(resumed))
	return a
}

// clusterPlanned hands the slots of a primary of a cluster over to its replica by CLUSTER
// FAILOVER, which loses nothing.
func clusterPlanned(s *scene) account {
	c := servertest.StartCluster(s.tb, s.kind, nodes, nil)
	primary := c.Nodes()[1]
	replica := c.AddReplica(primary)
	s.ledger.keys = slices.DeleteFunc(s.ledger.keys, func(k key) bool { return c.Node(k.Name) != primary })
	s.start(cluster, c.Addrs())
	s.tell(start)
	s.awaitAdmitted(few)
	s.wait(0.25)
	begin := time.Now()
	replica.Do("CLUSTER", "FAILOVER")
	c.AwaitPromotion(primary, replica)
	promoted := time.Since(begin)
	s.tell(mark)
	resumed := s.awaitAdmitted(1)
	s.awaitAdmitted(few)
	s.wait(0.25)
	a := s.clusterAccount(c)
	a.note = failOverNote(promoted, resumed)
	return a
}
