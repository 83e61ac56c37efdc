package attack

import (
	"slices"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

// event is one way to do harm.
type event struct {
	Name string
	// Lossy reports whether the event may lose what was charged.
	Lossy bool
	Does  string // in one line
	// setUp, where it is not nil, changes the size of the scene before the start.
	setUp func(s *scene)
	run   func(s *scene) account
}

// events are all of them, in the order of the table.
var events = []event{
	{Name: "kill-none", Lossy: true, Does: "kill -9 of a server without persistence, and a start", setUp: restarts, run: kill(false)},
	{Name: "kill-rdb", Lossy: true, Does: "the same with an RDB snapshot taken before", setUp: restarts, run: kill(true)},
	{Name: "kill-everysec", Lossy: true, Does: "the same with an AOF that is synced every second", setUp: restarts, run: kill(false, "--appendonly", "yes", "--appendfsync", "everysec")},
	{Name: "kill-always", Does: "the same with an AOF that is synced always", setUp: restarts, run: killAlways},
	{Name: "freeze", Does: "SIGSTOP for 300 ms and SIGCONT, again and again", run: freeze},
	{Name: "client-kill", Does: "CLIENT KILL of all connections every 100 ms", run: clientKill},
	{Name: "script-flush", Does: "SCRIPT FLUSH every 20 ms", run: scriptFlush},
	{Name: "oom", Does: "maxmemory with noeviction, reached for 300 ms, again and again", run: outOfMemory},
	{Name: "cut", Does: "connections cut, refused and robbed of their replies by a proxy", run: cut},
	{Name: "promotion", Lossy: true, Does: "REPLICAOF NO ONE on a replica, to which the address leads from then on", run: promotion(false)},
	{Name: "split", Lossy: true, Does: "the same, and half of the processes stay with the old primary", run: promotion(true)},
	{Name: "split-guarded", Lossy: true, Does: "the same with min-replicas-to-write 1", run: promotion(true, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "1")},
	{Name: "planned", Does: "FAILOVER to a replica, to which the address leads from then on", run: planned},
	{Name: "sentinel", Lossy: true, Does: "SIGSTOP of a primary that three Sentinels watch", run: sentinels(1)},
	{Name: "sentinel-replicas", Lossy: true, Does: "the same with two replicas, one of which must have what is admitted (Options.Replicas 1)", setUp: oneReplica, run: sentinels(2)},
	{Name: "sentinel-command", Lossy: true, Does: "SENTINEL FAILOVER of a primary that lives", run: sentinelCommand(false)},
	{Name: "sentinel-paused", Does: "the same while CLIENT PAUSE holds writes back", run: sentinelCommand(true)},
	{Name: "sentinel-planned", Does: "FAILOVER of a primary that Sentinels watch", run: sentinelPlanned},
	{Name: "cluster-failover", Lossy: true, Does: "SIGSTOP of a primary of a cluster, which has a replica", setUp: oneNode, run: clusterFailOver},
	{Name: "cluster-planned", Does: "CLUSTER FAILOVER on a replica", setUp: oneNode, run: clusterPlanned},
	{Name: "migration", Does: "hash slots move between three nodes of a cluster, one after the other", setUp: slower, run: migration},
	{Name: "frozen-node", Does: "SIGSTOP of one of three nodes of a cluster: calls for keys of the others", setUp: oneProcess(6*time.Second, 300), run: frozenNode},
	{Name: "dead-connections", Does: "all connections of a full pool lost silently while idle", setUp: fullPool, run: deadConnections},
}

// restarts makes the time long enough for go-redis, which asks only once a second
// whether a server that refused its connections is back.
func restarts(s *scene) { s.seconds = max(s.seconds, 4*time.Second) }

func oneReplica(s *scene) { s.replicas = 1 }

func slower(s *scene) { s.pause = clusterPause }

// oneNode has enough keys that those on one node of a cluster are as many.
func oneNode(s *scene) {
	slower(s)
	s.keys *= nodes
}

// oneProcess puts all callers into one process: what one node does to another is
// decided inside a process.
func oneProcess(d time.Duration, keys int) func(s *scene) {
	return func(s *scene) {
		slower(s)
		s.seconds = max(s.seconds, d)
		s.callers, s.processes = s.callers*s.processes, 1
		s.keys = max(s.keys, keys)
	}
}

func fullPool(s *scene) {
	s.seconds, s.processes, s.fill = max(s.seconds, 8*time.Second), 1, 20
}

// kill kills a server with kill -9 in the middle of the time. While it is down, the
// callers come to the second phase, and before the first of them is served, what the
// server has left is read.
func kill(snapshot bool, args ...string) func(s *scene) account {
	return func(s *scene) account {
		one := s.server(args...)
		s.one(one.Addr())
		s.wait(0.25)
		if snapshot {
			one.Do("SAVE")
		}
		s.wait(0.25)
		one.Kill()
		s.wait(0.1)
		s.tell(mark)
		one.StartUnreachable()
		restored := s.ledger.read(one)
		one.Open()
		s.wait(0.4)
		a := s.whole(one)
		a.restored = restored
		return a
	}
}

func killAlways(s *scene) account {
	one := s.server("--appendonly", "yes", "--appendfsync", "always")
	s.one(one.Addr())
	for range 3 {
		s.wait(0.25)
		one.Kill()
		one.Start()
	}
	s.wait(0.25)
	return s.whole(one)
}

func freeze(s *scene) account {
	one := s.server()
	s.one(one.Addr())
	s.repeat(0.9, 300*time.Millisecond, func() {
		one.Freeze()
		s.waitFor(300 * time.Millisecond)
		one.Thaw()
	})
	s.wait(0.1)
	return s.whole(one)
}

func clientKill(s *scene) account {
	one := s.server()
	s.one(one.Addr())
	s.repeat(1, 100*time.Millisecond, func() { one.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") })
	return s.whole(one)
}

func scriptFlush(s *scene) account {
	one := s.server()
	s.one(one.Addr())
	s.repeat(1, 20*time.Millisecond, func() { one.Do("SCRIPT", "FLUSH") })
	return s.whole(one)
}

func outOfMemory(s *scene) account {
	one := s.server("--maxmemory-policy", "noeviction")
	s.one(one.Addr())
	s.repeat(1, 300*time.Millisecond, func() {
		one.Do("CONFIG", "SET", "maxmemory", "1")
		s.waitFor(300 * time.Millisecond)
		one.Do("CONFIG", "SET", "maxmemory", "0")
	})
	return s.whole(one)
}

func cut(s *scene) account {
	one := s.server()
	wire := servertest.NewProxy(s.tb, one.Addr())
	s.one(wire.Addr())
	s.repeat(0.9, 150*time.Millisecond, func() {
		wire.Cut()
		s.waitFor(150 * time.Millisecond)
		wire.DropReplies(true)
		s.waitFor(100 * time.Millisecond)
		wire.DropReplies(false)
		s.waitFor(150 * time.Millisecond)
		wire.Refuse(true)
		wire.Cut()
		s.waitFor(150 * time.Millisecond)
		wire.Refuse(false)
	})
	s.wait(0.1)
	return s.whole(one)
}

// minus subtracts one count from another, by key.
func minus(a, b []int64) []int64 {
	a = slices.Clone(a)
	for i := range a {
		a[i] -= b[i]
	}
	return a
}
