package acceptance_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// subjects are an op of each algorithm, and a Take of several: what a fault must
// treat alike.
func subjects() map[string][]store.Op {
	all := map[string][]store.Op{
		"without Lua": {op("user", "", session(10, time.Hour), 1)},
		"several": {
			op("user", "a", longest("gcra", 10), 1), op("user", "b", longest("sliding-log", 10), 1),
			op("user", "c", longest("fixed-window", 10), 1),
		},
	}
	for _, name := range kindNames {
		all[name] = []store.Op{op("user", "one", longest(name, 10), 1)}
	}
	return all
}

// charged returns what was taken from the slots, which must be the same of each. It
// asks the server itself.
func charged(t *testing.T, e *env, ops []store.Op) int64 {
	t.Helper()
	s := e.store(t, nil)
	taken := ops[0].Request.Cost
	for i := range ops {
		this := 10 - remaining(t, s, ops[i].Slot)
		if i > 0 && this != taken {
			t.Errorf("op %d was charged %d, those before it %d", i, this, taken)
		}
		taken = this
	}
	return taken
}

// ways are the two ways that calls take to a server.
var ways = map[string]int{"alone": 1, "shared": 0}

// TestLostReplyIsChargedOnceAndUnknown: the server has decided, and its answer is lost.
// The fault is over before the library can have tried again, so that a second try
// would succeed.
func TestLostReplyIsChargedOnceAndUnknown(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		for name, ops := range subjects() {
			for way, share := range ways {
				t.Run(name+"/"+way, func(t *testing.T) {
					e.server.Do("FLUSHALL")
					p := servertest.NewProxy(t, e.server.Addr())
					s := e.dial(t, dial{addr: p.Addr()}, &storeOptions{Share: share})
					mustApply(t, s, zero(ops)...) // connected
					p.DropReplies(true)
					_, _, err := whileWatching(s, ops, func() {
						if p.Dropped() > 0 {
							p.DropReplies(false)
						}
					})
					if name == "without Lua" { // what is lost is the answer to reading
						wantKind(t, "lost reply", err, "unavailable")
						if n := charged(t, e, ops); n != 0 {
							t.Errorf("charged %d", n)
						}
						return
					}
					wantKind(t, "lost reply", err, "unknown")
					if n := charged(t, e, ops); n != 1 {
						t.Errorf("charged %d times", n)
					}
					if s := e.server; errorReplies(s, "NOSCRIPT") > 100 {
						t.Error("scripts are sent again and again")
					}
				})
			}
		}
	})
}

// whileWatching applies ops, and calls f again and again meanwhile.
func whileWatching(s store.Store, ops []store.Op, f func()) (algorithm.Instant, bool, error) {
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				f()
				runtime.Gosched()
			}
		}
	})
	defer watching.Wait()
	defer close(done)
	return s.Apply(context.Background(), ops)
}

// zero is ops with a cost of 0.
func zero(ops []store.Op) []store.Op {
	all := make([]store.Op, len(ops))
	for i := range ops {
		all[i].Slot = ops[i].Slot
	}
	return all
}

// TestLateReplyIsChargedOnce: the answer comes after the time-out of the client, which
// repeats its commands as often as it can, and would succeed with another connection.
func TestLateReplyIsChargedOnce(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		const answer = 50 * time.Millisecond
		for name, ops := range subjects() {
			t.Run(name, func(t *testing.T) {
				p := servertest.NewProxy(t, e.server.Addr())
				s := e.dial(t, dial{addr: p.Addr(), answer: answer}, nil)
				succeed(t, s, zero(ops)) // connected, in spite of the short time-out
				before := p.Connections()
				p.DelayReplies(patience)
				_, _, err := whileWatching(s, ops, func() {
					if p.Connections() > before {
						p.DelayReplies(0)
					}
				})
				p.DelayReplies(0)
				p.Cut()
				want, times := "unknown", int64(1)
				if name == "without Lua" {
					want, times = "unavailable", 0
				}
				wantKind(t, "late reply", err, want)
				if n := charged(t, e, ops); n != times {
					t.Errorf("charged %d times, want %d", n, times)
				}
			})
		}
	})
}

// succeed asks until there is an answer.
func succeed(t *testing.T, s store.Store, ops []store.Op) {
	t.Helper()
	var err error
	servertest.Await(t, "an answer", func() bool {
		_, _, err = s.Apply(context.Background(), ops)
		return err == nil
	})
}

// TestRefusedConnectionChargesNothing: there is nobody to answer, or one who hangs up.
func TestRefusedConnectionChargesNothing(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		for name, ops := range subjects() {
			p := servertest.NewProxy(t, e.server.Addr())
			s := e.dial(t, dial{addr: p.Addr()}, nil)
			p.Refuse(true)
			p.Cut()
			for range 3 {
				_, _, err := s.Apply(context.Background(), ops)
				// valkey-go does not tell a connection that ended during the
				// handshake from one that ended with the command on it.
				if got := kind(err); got != "unavailable" && (got != "unknown" || e.library == redisLibrary && p.Connections() == 0) {
					t.Errorf("%s: hung up: %s: %v", name, got, err)
				}
			}
			if n := charged(t, e, ops); n != 0 {
				t.Errorf("%s: charged %d", name, n)
			}
		}
		s := e.store(t, nil)
		mustApply(t, s, subjects()["gcra"]...)
		e.server.Kill()
		var err error
		// A connection that has just ended may take some calls with it.
		servertest.Await(t, "the client notices", func() bool {
			_, _, err = s.Apply(context.Background(), subjects()["gcra"])
			return kind(err) != "unknown"
		})
		for name, ops := range subjects() {
			_, _, err := s.Apply(context.Background(), ops)
			wantKind(t, name+": no server", err, "unavailable")
		}
	})
}

// TestOnlyUnknownScriptsAreSentAgain: of all errors that a server replies, one says
// that the script has to be sent as a whole. What is refused otherwise is not tried
// again, and not charged.
func TestOnlyUnknownScriptsAreSentAgain(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		a := longest("gcra", 10)
		ops := []store.Op{op("user", "", a, 1)}
		e.server.Do("CONFIG", "RESETSTAT")
		mustApply(t, s, ops...)
		if n, m := calls(e.server, "evalsha"), calls(e.server, "eval"); n != 1 || m != 1 {
			t.Errorf("unknown script: %d and %d calls", n, m)
		}
		for refusal, setting := range map[string][3]string{
			"OOM":        {"maxmemory", "1", "0"},
			"NOREPLICAS": {"min-replicas-to-write", "1", "0"},
			"READONLY":   {},
			"NOPERM":     {},
		} {
			e.server.Do("CONFIG", "RESETSTAT")
			restore := func() { e.server.Do("CONFIG", "SET", setting[0], setting[2]) }
			switch refusal {
			case "READONLY":
				e.server.Do("REPLICAOF", "127.0.0.1", "1")
				restore = func() { e.server.Do("REPLICAOF", "NO", "ONE") }
			case "NOPERM":
				e.server.Do("ACL", "SETUSER", "default", "-evalsha")
				restore = func() { e.server.Do("ACL", "SETUSER", "default", "+evalsha") }
			default:
				e.server.Do("CONFIG", "SET", setting[0], setting[1])
			}
			_, _, err := s.Apply(context.Background(), ops)
			restore()
			wantKind(t, refusal, err, "unavailable")
			if n, m := calls(e.server, "evalsha"), calls(e.server, "eval"); n != 1 || m != 0 {
				t.Errorf("%s: sent %d times, and %d times as a whole", refusal, n, m)
			}
			if n := charged(t, e, ops); n != 1 {
				t.Errorf("%s: charged %d after one", refusal, n)
			}
			succeedPeek(t, s, ops)
		}
	})
}

// succeedPeek is succeed for a look.
func succeedPeek(t *testing.T, s store.Store, ops []store.Op) {
	t.Helper()
	servertest.Await(t, "an answer", func() bool {
		_, err := s.Peek(context.Background(), ops)
		return err == nil
	})
}
