package acceptance_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// several are the servers of a cluster, or of a ring of go-redis: nil is neither.
type several struct {
	nodes []*servertest.Server
	ring  bool
}

// redis opens a client of go-redis, with options as for one server.
func (s *several) redis(o *redis.Options) redis.UniversalClient {
	switch {
	case s == nil:
		return redis.NewClient(o)
	case s.ring:
		addrs := map[string]string{}
		for i, addr := range s.addrs("") {
			addrs[fmt.Sprint("shard ", i)] = addr
		}
		return redis.NewRing(&redis.RingOptions{
			Addrs: addrs, ContextTimeoutEnabled: true, ReadTimeout: o.ReadTimeout, PoolTimeout: o.PoolTimeout,
			MaxRetries: o.MaxRetries, MinRetryBackoff: o.MinRetryBackoff, MaxRetryBackoff: o.MaxRetryBackoff,
			// A shard that answers late on a busy machine is not down.
			HeartbeatFrequency: time.Hour,
		})
	default:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: s.addrs(""), ContextTimeoutEnabled: true, ReadTimeout: o.ReadTimeout, PoolTimeout: o.PoolTimeout,
			MaxRetries: o.MaxRetries, MinRetryBackoff: o.MinRetryBackoff, MaxRetryBackoff: o.MaxRetryBackoff,
			DialerRetries: o.DialerRetries,
		})
	}
}

// addrs are the addresses of all, or the one of a server.
func (s *several) addrs(one string) []string {
	if s == nil {
		return []string{one}
	}
	var all []string
	for _, node := range s.nodes {
		all = append(all, node.Addr())
	}
	return all
}

// eachSeveral runs f for each pair on a cluster of three masters, and for those with
// go-redis on a ring of two servers.
func eachSeveral(t *testing.T, pairs []pair, f func(t *testing.T, e *env)) {
	t.Helper()
	if testing.Short() {
		t.Skip("real servers and seconds of traffic: not for -short")
	}
	t.Run("cluster", func(t *testing.T) {
		servertest.EachCluster(t, 3, nil, func(t *testing.T, c *servertest.Cluster) {
			for _, p := range pairs {
				if p.kind == c.Nodes()[0].Kind() {
					t.Run(p.library, func(t *testing.T) {
						f(t, &env{library: p.library, several: &several{nodes: c.Nodes()}})
					})
				}
			}
		})
	})
	for _, p := range pairs {
		if p.library == redisLibrary {
			t.Run("ring/"+p.kind.String(), func(t *testing.T) {
				nodes := []*servertest.Server{servertest.Start(t, p.kind, nil), servertest.Start(t, p.kind, nil)}
				f(t, &env{library: p.library, several: &several{nodes: nodes, ring: true}})
			})
		}
	}
}

// TestSeveralServersConform: the suite of all stores, as one whose calls have one key. In the
// quick profile, unless -rapid.checks is given: stores on one server, which decide by the same
// code, have all histories.
func TestSeveralServersConform(t *testing.T) {
	histories := 20
	if f := flag.Lookup("rapid.checks"); f.Value.String() != f.DefValue {
		histories = 0
	}
	eachSeveral(t, naturalPairs(), func(t *testing.T, e *env) {
		newStore, closeClient, err := newClient(e.library, dial{several: e.several})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(closeClient)
		var run atomic.Int64
		conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store {
			opts := &storeOptions{Clock: clk, Prefix: fmt.Sprintf("%s %d:", e.library, run.Add(1)), Timeout: patience}
			s, err := newStore(opts)
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(func() { _ = s.Close() })
			return s
		}, &conformance.Config{OneKey: true, Histories: histories})
	})
}

// TestSeveralServersTakeEachLimitExactly: many callers of two processes and many keys,
// with tags and without, in calls that are shared. No error, and no unit more or less.
func TestSeveralServersTakeEachLimitExactly(t *testing.T) {
	eachSeveral(t, allPairs(), func(t *testing.T, e *env) {
		const keys, callers, units = 60, 16, 11
		stores := []*serverStore{e.store(t, withQuotaLua()), e.store(t, withQuotaLua())}
		all := limitsOfUsers(t.Name(), keys, units)
		var admitted [keys]atomic.Int64
		var asking sync.WaitGroup
		for c := range callers {
			asking.Go(func() {
				for n := 0; n < keys; { // two callers ask for the same at the same time
					i := (n*7 + c/2*13) % keys
					if mustApply(t, stores[c%2], all[i]) {
						admitted[i].Add(1)
					} else {
						n++
					}
				}
			})
		}
		asking.Wait()
		for i := range all {
			if n := admitted[i].Load(); n != units {
				t.Errorf("%q: %d were admitted, of %d", all[i].Key, n, units)
			}
			if left := remaining(t, stores[0], all[i].Slot); left != 0 {
				t.Errorf("%q: %d are left", all[i].Key, left)
			}
		}
		for i, node := range e.several.nodes {
			if node.Do("DBSIZE") == int64(0) {
				t.Errorf("server %d has no key: this test shows nothing", i)
			}
		}
	})
}

// limitsOfUsers are requests for a unit of different keys, of all algorithms.
func limitsOfUsers(begin string, keys int, units int64) (all []store.Op) {
	kinds := quietKinds()
	names := slices.Sorted(maps.Keys(kinds))
	for i := range keys {
		key := []string{"%s user %d", "{%s %d}", "%s {org %d} user", "%s}{%d", "%s {}%d"}[i%5]
		var a algorithm.Algorithm
		switch name := names[i%len(names)]; name {
		case "without Lua":
			a = plainQuota{session(units, time.Hour)}
		case "own Lua":
			a = session(units, time.Hour)
		default:
			a = longest(name, units)
		}
		all = append(all, op(fmt.Sprintf(key, begin, i), "", a, 1))
	}
	return all
}

// TestKeysOfOneTagAreTakenTogether: whatever their algorithms, all or nothing, by many
// callers at once, who share calls.
func TestKeysOfOneTagAreTakenTogether(t *testing.T) {
	eachSeveral(t, allPairs(), func(t *testing.T, e *env) {
		const units = 40
		s := e.store(t, withQuotaLua())
		for n := range 6 { // on different nodes
			org := fmt.Sprint("{", t.Name(), n, "}")
			ops := []store.Op{
				op(org, "", longest("gcra", 3*units), 1),
				op(org+":user", "a minute", longest("sliding-log", units), 1),
				op("user of "+org, "", longest("fixed-window", 2*units), 1),
				op(strings.Trim(org, "{}"), "", longest("token-bucket", 2*units), 1), // the tag itself
			}
			if n%2 == 1 {
				ops = append(ops, op(org, "mine", session(2*units, time.Hour), 1))
			}
			if n == 5 {
				ops = append(ops, op(org, "plain", plainQuota{session(2*units, time.Hour)}, 1))
			}
			var admitted atomic.Int64
			var asking sync.WaitGroup
			for range 8 {
				asking.Go(func() {
					for range units / 4 {
						if mustApply(t, s, slices.Clone(ops)...) {
							admitted.Add(1)
						}
					}
				})
			}
			asking.Wait()
			if admitted.Load() != units {
				t.Errorf("%d were admitted, of %d", admitted.Load(), units)
			}
			look := slices.Clone(ops)
			if _, err := s.Peek(context.Background(), look); err != nil {
				t.Fatal(err)
			}
			for _, one := range look {
				if used := one.Outcome.Limit - one.Outcome.Remaining; used != units {
					t.Errorf("%s: %d were charged, of %d", one.Limit, used, units)
				}
			}
		}
	})
}

// TestKeysOfTwoTagsAreRefusedUnsent: with or without Lua. Nothing is charged, and a
// Reset of them all works.
func TestKeysOfTwoTagsAreRefusedUnsent(t *testing.T) {
	eachSeveral(t, allPairs(), func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		take := multi(t, s)
		var slots []store.Slot
		for name, a := range quietKinds() {
			var ops []store.Op
			for n := range 8 {
				ops = append(ops, op(fmt.Sprint(t.Name(), n), name, a, 1))
				mustApply(t, s, ops[n])
				slots = append(slots, ops[n].Slot)
			}
			ops = append(ops, op("{"+t.Name()+"}", name, longest("gcra", 10), 1))
			before := sent(e)
			for n := range ops[1:] {
				for verb, ask := range map[string]func() error{
					"apply": func() error { _, _, err := s.Apply(context.Background(), ops[n:n+2]); return err },
					"peek":  func() error { _, err := s.Peek(context.Background(), ops[n:n+2]); return err },
					"take": func() error {
						_, err := take.Take(context.Background(), asks([]store.Op{ops[0], ops[n+1]})...)
						return err
					},
				} {
					err := ask()
					wantKind(t, name+" "+verb, err, "cross-slot")
					if strings.Contains(fmt.Sprint(err), t.Name()) {
						t.Errorf("%v holds a key", err)
					}
				}
			}
			if now := sent(e); now != before {
				t.Errorf("%s: %d scripts were sent", name, now-before)
			}
		}
		for _, slot := range slots {
			if left := remaining(t, s, slot); left != 9 {
				t.Errorf("%q: %d are left, of 10 after one", slot.Limit, left)
			}
		}
		if err := s.Reset(context.Background(), slots); err != nil {
			t.Fatal(err)
		}
		for _, slot := range slots {
			if left := remaining(t, s, slot); left != 10 {
				t.Errorf("%q: %d are left after a Reset, of 10", slot.Limit, left)
			}
		}
	})
}

// sent is how many scripts all servers have been sent.
func sent(e *env) (n int) {
	for _, node := range e.several.nodes {
		for _, command := range []string{"eval", "eval_ro", "evalsha", "evalsha_ro"} {
			n += calls(node, command)
		}
	}
	return n
}

// TestSeveralServersAnswerAsMemoryDoes: the histories that one server is asked, with a
// tag for each.
func TestSeveralServersAnswerAsMemoryDoes(t *testing.T) {
	eachSeveral(t, allPairs(), func(t *testing.T, e *env) {
		answersAsMemory(t, e, func(run int) string { return fmt.Sprint("{", t.Name(), run, "}") })
	})
}
