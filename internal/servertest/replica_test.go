package servertest

import (
	"errors"
	"net"
	"os"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestReplicaHasTheDataAndIsPromoted(t *testing.T) {
	Each(t, nil, func(t *testing.T, s *Server) {
		s.Do("SET", "k", "v")
		replica := StartReplica(t, s, nil)
		if got := replica.Do("GET", "k"); got != "v" || replica.IsPrimary() || !s.IsPrimary() {
			t.Fatalf("the replica has %v", got)
		}
		got := replica.Atomically([]string{"REPLICAOF", "NO", "ONE"}, []string{"GET", "k"}, []string{"GET", "none"})
		if want := []any{"OK", "v", nil}; !reflect.DeepEqual(got, want) || !replica.IsPrimary() {
			t.Errorf("promotion in a transaction: %v, want %v", got, want)
		}
		var refused ReplyError
		if _, err := replica.transaction([][]string{{"SET", "k", "v"}, {"INCR", "k"}}); !errors.As(err, &refused) {
			t.Errorf("a command that fails in a transaction: %v", err)
		}
	})
}

// TestPrimaryIsAwaitedThroughClosedConnections: a Sentinel closes the connections of a
// server with the promotion itself.
func TestPrimaryIsAwaitedThroughClosedConnections(t *testing.T) {
	Each(t, nil, func(t *testing.T, s *Server) {
		replica := StartReplica(t, s, nil)
		promoted := make(chan error, 1)
		go func() {
			for range 300 { // each closes its own connection, too: that is no error of the test
				replica.Try("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")
			}
			_, err := replica.Try("REPLICAOF", "NO", "ONE")
			promoted <- err
		}()
		replica.AwaitPrimary()
		if err := <-promoted; err != nil || !replica.IsPrimary() {
			t.Errorf("promoted: %v", err)
		}
	})
}

func TestSentinelsPromoteTheReplica(t *testing.T) {
	leftToTheFullRun(t)
	Each(t, nil, func(t *testing.T, s *Server) {
		replica := StartReplica(t, s, nil)
		sentinels := StartSentinels(t, 3, s, 1, 300*time.Millisecond)
		if len(sentinels.Addrs()) != 3 {
			t.Fatal(sentinels.Addrs())
		}
		sentinels.AwaitPrimary(s)
		s.Freeze()
		replica.AwaitPrimary()
		sentinels.AwaitPrimary(replica)
		sentinels.Stop()
		s.Thaw() // what the sentinels have sent meanwhile may close its connections
	})
}

func TestUnreachableServerAnswersOnlyTheTest(t *testing.T) {
	Each(t, &Config{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}}, func(t *testing.T, s *Server) {
		s.Do("SET", "k", "v")
		s.Kill()
		s.StartUnreachable()
		if got := s.Do("GET", "k"); got != "v" {
			t.Errorf("after a restart: %v", got)
		}
		if _, err := net.Dial("tcp", s.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a connection to a closed port: %v", err)
		}
		s.Open()
		if got, err := ask(t, "tcp", s.Addr(), "GET", "k"); got != "v" || err != nil {
			t.Errorf("after Open: %v, %v", got, err)
		}
	})
}

func TestClusterMovesASlotWithItsKeys(t *testing.T) {
	EachCluster(t, 3, nil, func(t *testing.T, c *Cluster) {
		const key, other = "{tag}", "{tag}other"
		from := c.Node(key)
		to := c.Nodes()[0]
		if to == from {
			to = c.Nodes()[1]
		}
		from.Do("SET", key, "v")
		for i := range 25 { // more than one MIGRATE
			from.Do("SET", other+strconv.Itoa(i), "v")
		}
		c.Migrate(c.Slot(key), to, func() {
			var ask ReplyError
			if _, err := from.Try("GET", other); !errors.As(err, &ask) || !strings.HasPrefix(ask.Error(), "ASK ") {
				t.Errorf("a missing key while its slot moves: %v, want ASK", err)
			}
		})
		if got := to.Do("GET", key); got != "v" || c.Node(key) != to || c.Node(other) != to {
			t.Errorf("after the move: %v at %s", got, c.Node(key).Addr())
		}
		for _, s := range c.Nodes() {
			if s == to {
				continue
			}
			var moved ReplyError
			if _, err := s.Try("GET", key); !errors.As(err, &moved) || !strings.HasSuffix(moved.Error(), to.Addr()) {
				t.Errorf("another node: %v, want MOVED to %s", err, to.Addr())
			}
		}
		c.Migrate(c.Slot(key), to, func() { t.Error("a slot moves to where it is") })
	})
}

func TestProxyForgetsConnections(t *testing.T) {
	s := Start(t, Redis, nil)
	p := NewProxy(t, s.Addr())
	old := connect(t, "tcp", p.Addr())
	if _, err := old.do("INCR", "n"); err != nil {
		t.Fatal(err)
	}
	p.Forget()
	if p.Open() != 1 {
		t.Errorf("%d connections are open, want the forgotten one", p.Open())
	}
	if err := old.SetDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if got, err := old.do("INCR", "n"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a forgotten connection: %v, %v, want a time-out", got, err)
	}
	if got, err := ask(t, "tcp", p.Addr(), "INCR", "n"); got != int64(2) || err != nil {
		t.Errorf("a new connection: %v, %v", got, err)
	}
}
