package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// recovery is how soon decisions work again after a fail-over: well under a second, and a
// busy machine is given more.
const recovery = patience / 3

// TestFailOverBehindAnAddressHeals: the server becomes a replica of another, to which
// new connections lead, while the old ones stay.
func TestFailOverBehindAnAddressHeals(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		next := servertest.Start(t, e.server.Kind(), nil)
		for _, share := range []int{0, 1} {
			p := servertest.NewProxy(t, e.server.Addr())
			s := e.dial(t, dial{addr: p.Addr(), plain: true}, &storeOptions{Share: share})
			l, err := weir.New(s, weir.Limit{Name: "limit", Algorithm: longest("gcra", 1_000_000)}, &weir.Options{Timeout: patience})
			if err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprint("user", share)
			inParallel(20, func(int) { // fills the pool
				for range 5 {
					if _, err := l.Allow(patient(t), key); err != nil {
						t.Error(err)
					}
				}
			})
			host, port, _ := strings.Cut(next.Addr(), ":")
			e.server.Do("REPLICAOF", host, port)
			p.SetTarget(next.Addr())
			begin := time.Now()
			var mu sync.Mutex
			failed, last := 0, time.Duration(0)
			inParallel(20, func(int) {
				for range 25 {
					d, err := l.Allow(patient(t), key)
					if err == nil && d.Allowed {
						continue
					}
					mu.Lock()
					failed, last = failed+1, time.Since(begin)
					mu.Unlock()
					if got := kind(err); got != "unavailable" && got != "unknown" {
						t.Errorf("%+v, %v", d, err)
					}
				}
			})
			t.Logf("share %d: %d of 500 calls failed, the last after %v", share, failed, last)
			if last > recovery || failed == 0 {
				t.Errorf("share %d: %d of 500 calls failed, the last after %v", share, failed, last)
			}
			for range 50 {
				if d, err := l.Allow(patient(t), key); err != nil || !d.Allowed {
					t.Fatalf("later: %+v, %v", d, err)
				}
			}
			_ = l.Close()
			e.server.Do("REPLICAOF", "NO", "ONE")
		}
	})
}

// inParallel runs n callers and waits for them.
func inParallel(n int, caller func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { caller(i) })
	}
	all.Wait()
}

// B121: the server becomes a replica that has lost its
// primary, and says so.
func TestReplicaWithoutPrimaryIsLeft(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		next := servertest.Start(t, e.server.Kind(), nil)
		p := servertest.NewProxy(t, e.server.Addr())
		s := e.dial(t, dial{addr: p.Addr(), plain: true}, nil)
		ops := []store.Op{op("user", "", longest("gcra", 1000), 1)}
		mustApply(t, s, ops...)
		e.server.Do("CONFIG", "SET", "replica-serve-stale-data", "no")
		e.server.Do("REPLICAOF", "127.0.0.1", "1")
		_, _, err := s.Apply(context.Background(), ops)
		wantKind(t, "a replica without primary", err, "unavailable")
		p.SetTarget(next.Addr())
		begin := time.Now()
		succeed(t, s, ops)
		for range 50 {
			mustApply(t, s, ops...)
		}
		if took := time.Since(begin); took > recovery {
			t.Errorf("works again after %v", took)
		}
	})
}

// B121: TestLoadingServerIsUnavailable until it has read its data: nothing is charged
// meanwhile, and then all goes on, with the states there were.
func TestLoadingServerIsUnavailable(t *testing.T) {
	t.Parallel()
	cfg := &servertest.Config{Args: []string{
		"--loading-process-events-interval-bytes", "1024", "--rdbcompression", "no",
	}}
	each(t, allPairs(), cfg, func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		kinds := quietKinds()
		for name, a := range kinds {
			mustApply(t, s, op("user", name, a, 4))
		}
		for i := range 300 { // what takes its time to load
			e.server.Do("SET", fmt.Sprint("other", i), strings.Repeat("x", 200))
		}
		e.server.Do("CONFIG", "SET", "key-load-delay", "2000") // µs
		var loading sync.WaitGroup
		var loaded atomic.Bool
		loading.Go(func() {
			defer loaded.Store(true)
			if _, err := e.server.Try("DEBUG", "RELOAD"); err != nil {
				t.Errorf("reload: %v", err)
			}
		})
		var callers sync.WaitGroup
		for name, a := range kinds {
			callers.Go(func() {
				met := false
				for !met && !loaded.Load() {
					ops := []store.Op{op("user", name, a, 7)} // more than there is
					_, committed, err := s.Apply(context.Background(), ops)
					if committed {
						t.Errorf("%s: a server that loads has admitted what was taken", name)
					}
					// The first to hear of it gives the connection up, and all of
					// valkey-go travel on one: what is on it then is in doubt.
					if got := kind(err); err != nil && got != "unavailable" && (got != "unknown" || e.library != valkeyLibrary) {
						t.Errorf("%s: %s: %v", name, got, err)
					}
					var answer *script.ServerError
					met = errors.As(err, &answer) && answer.Code() == "LOADING"
				}
				if !met {
					t.Errorf("%s has not met the server while it loads", name)
				}
			})
		}
		callers.Wait()
		loading.Wait()
		for name, a := range kinds {
			succeedPeek(t, s, []store.Op{op("user", name, a, 1)})
			if left := remaining(t, s, op("user", name, a, 0).Slot); left != 6 {
				t.Errorf("%s: %d left, want 6", name, left)
			}
		}
	})
}

// TestRestartWithDataGoesOn: the server comes back with its data, and has forgotten all
// scripts and connections.
func TestRestartWithDataGoesOn(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		for name, a := range quietKinds() {
			mustApply(t, s, op("user", name, a, 1), op("user", "beside", longest("sliding-log", 100), 1))
			mustApply(t, s, op("user", name, a, 1))
		}
		before := lives(e)
		e.server.RestartWithData()
		if after := lives(e); after != before {
			t.Errorf("keys were\n%sand are\n%s", before, after)
		}
		// The first calls may meet a connection that has ended: not charged, or in doubt.
		doubts := map[string]int64{}
		for name, a := range quietKinds() {
			_, committed, err := s.Apply(context.Background(), []store.Op{op("user", name, a, 1)})
			switch kind(err) {
			case "none", "unknown":
				doubts[name] = 1
				if err == nil && !committed {
					t.Errorf("%s: was denied", name)
				}
			case "unavailable":
			default:
				t.Errorf("%s: %v", name, err)
			}
			succeedPeek(t, s, []store.Op{op("user", name, a, 1)})
			left := remaining(t, s, op("user", name, a, 0).Slot)
			if left < 8-doubts[name] || left > 8 || err == nil && left != 7 {
				t.Errorf("%s: %d left after %v", name, left, err)
			}
			if !mustApply(t, s, op("user", name, a, left)) || mustApply(t, s, op("user", name, a, 1)) {
				t.Errorf("%s: does not take what is left", name)
			}
		}
	})
}

// TestThreeCallersAfterALoss: of three units one is taken; then, with the scripts gone
// or the connections cut, three callers get the other two.
func TestThreeCallersAfterALoss(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		for round := range 3 * len(kindNames) {
			name, loss := kindNames[round/3], []string{"scripts", "connections", "both"}[round%3]
			s := e.store(t, nil)
			a := longest(name, 3)
			key := fmt.Sprint(name, " ", loss)
			mustApply(t, s, op(key, "", a, 1))
			if loss != "connections" {
				e.server.Do("SCRIPT", "FLUSH")
			}
			if loss != "scripts" {
				e.server.Do("CLIENT", "KILL", "TYPE", "normal")
			}
			var mu sync.Mutex
			count := map[string]int{}
			inParallel(3, func(int) {
				_, committed, err := s.Apply(context.Background(), []store.Op{op(key, "", a, 1)})
				mu.Lock()
				defer mu.Unlock()
				if committed {
					count["admitted"]++
				}
				count[kind(err)]++
			})
			if loss == "scripts" && (count["admitted"] != 2 || count["none"] != 3) {
				t.Errorf("%s without %s: %v", name, loss, count)
			}
			if count["none"]+count["unknown"]+count["unavailable"] != 3 || count["admitted"] > 2 {
				t.Errorf("%s without %s: %v", name, loss, count)
			}
			taken := 3 - int(remaining(t, e.store(t, nil), slotOf(key, a)))
			if taken < 1+count["admitted"] || taken > 1+count["admitted"]+count["unknown"] {
				t.Errorf("%s without %s: %v, and %d were charged", name, loss, count, taken)
			}
		}
	})
}
