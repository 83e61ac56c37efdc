package attack

import (
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

// sentinels freezes a primary that three Sentinels watch. Nothing reaches the replica
// from then on, so what it has received is read before it is promoted. The old primary
// goes on when the callers and the Sentinels have ended, and then shows what is lost.
func sentinels(s *scene) account {
	primary := s.server()
	replica := servertest.StartReplica(s.tb, primary, nil)
	watching := servertest.StartSentinels(s.tb, 3, primary, 1, time.Second)
	s.start(sentinel, watching.Addrs())
	s.tell(start)
	s.wait(0.25)
	primary.Freeze()
	s.waitFor(300 * time.Millisecond) // what is on its way arrives
	received := s.ledger.read(replica)
	if replica.IsPrimary() {
		s.tb.Fatalf("attack: the replica was promoted within the time that the Sentinels wait")
	}
	frozen := time.Now()
	replica.AwaitPrimary()
	took := time.Since(frozen)
	if left := s.seconds*3/4 - took; left > 0 {
		s.waitFor(left)
	}
	s.stop()
	watching.Stop()
	primary.Thaw()
	primary.AwaitPrimary() // else its data are gone; a Sentinel may have closed connections
	return account{
		held: s.ledger.read(replica),
		lost: minus(s.ledger.read(primary), received),
		note: "promoted after " + (took + 300*time.Millisecond).Round(time.Millisecond).String(),
	}
}
