package acceptance_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
	redisstore "github.com/weirgo/weir/store/redis"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// clusterStores open a store on a cluster, with a client as its library makes it.
var clusterStores = map[string]func(tb testing.TB, addrs []string) *serverStore{
	redisLibrary: func(tb testing.TB, addrs []string) *serverStore {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
		tb.Cleanup(func() { _ = client.Close() })
		s, err := redisstore.New(client, nil)
		return closing(tb, s, err)
	},
	valkeyLibrary: func(tb testing.TB, addrs []string) *serverStore {
		client, err := valkey.NewClient(valkey.ClientOption{InitAddress: addrs, DisableCache: true})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(client.Close)
		s, err := valkeystore.New(client, nil)
		return closing(tb, s, err)
	},
}

// closing lets a store be closed with the test.
func closing(tb testing.TB, s *serverStore, err error) *serverStore {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// answers are what the callers of some keys got.
type answers struct {
	mu     sync.Mutex
	took   []time.Duration // those with an answer
	failed map[string]int  // by their error
}

func (a *answers) add(took time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.took = append(a.took, took)
		return
	}
	if a.failed == nil {
		a.failed = map[string]int{}
	}
	a.failed[kind(err)]++
}

func (a *answers) failures() (n int) {
	for _, count := range a.failed {
		n += count
	}
	return n
}

// share is the part of calls without an answer.
func (a *answers) share() float64 {
	return float64(a.failures()) / float64(max(1, a.failures()+len(a.took)))
}

// late is the 99th percentile of those with an answer.
func (a *answers) late() time.Duration {
	if len(a.took) == 0 {
		return 0
	}
	slices.Sort(a.took)
	return a.took[len(a.took)*99/100]
}

// traffic lets callers ask for keys at random for a time, and returns what they got for
// the keys of which there is one in ours, and for the others.
func traffic(l *weir.Limiter, callers int, during time.Duration, keys []string, ours func(key string) bool) (mine, others *answers) {
	mine, others = &answers{}, &answers{}
	var all sync.WaitGroup
	end := time.Now().Add(during)
	for range callers {
		all.Go(func() {
			for time.Now().Before(end) {
				key := keys[rand.IntN(len(keys))]
				begin := time.Now()
				_, err := l.Allow(context.Background(), key)
				if ours(key) {
					mine.add(time.Since(begin), err)
				} else {
					others.add(time.Since(begin), err)
				}
			}
		})
	}
	all.Wait()
	return mine, others
}

// TestFrozenNodeStopsNoOther: of three primaries one answers nothing. Callers of keys on
// the others notice next to nothing, however many keys there are.
func TestFrozenNodeStopsNoOther(t *testing.T) {
	if testing.Short() {
		t.Skip("real servers and seconds of traffic: not for -short")
	}
	const (
		callers = 256
		timeout = 300 * time.Millisecond // three times the usual one: the machine may be busy
	)
	for _, p := range naturalPairs() {
		t.Run(p.library+"/"+p.kind.String(), func(t *testing.T) {
			c := servertest.StartCluster(t, p.kind, 3, nil)
			s := clusterStores[p.library](t, c.Addrs())
			l, err := weir.New(s, weir.Limit{Name: "limit", Algorithm: longest("gcra", 1_000_000_000)}, &weir.Options{Timeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			frozen := c.Nodes()[1]
			for _, count := range []int{30, 300, 3000} {
				var keys []string
				healthy := map[string]bool{}
				for i := range count {
					key := fmt.Sprint("user ", i)
					keys = append(keys, key)
					healthy[key] = c.Node("{"+key+"}") != frozen
				}
				const noise = timeout / 3 // of a p99 on two busy cores; who waits for the frozen node waits for timeout
				share, slow := 1.0, true
				for try := 0; try < 3 && (share > 0.01 || slow); try++ { // a machine that is busy makes calls late by itself
					before, _ := traffic(l, callers, 500*time.Millisecond, keys, func(key string) bool { return healthy[key] })
					frozen.Freeze()
					during, lost := traffic(l, callers, 2*time.Second, keys, func(key string) bool { return healthy[key] })
					frozen.Thaw()
					servertest.Await(t, "the node answers again", func() bool {
						_, after := traffic(l, 10, 50*time.Millisecond, keys, func(key string) bool { return healthy[key] })
						return len(after.took) > 0 && after.failures() == 0
					})
					t.Logf("%d keys: healthy nodes: before %d answers, p99 %v, %.2f %% failed; during %d answers, p99 %v, %.2f %% failed %v; frozen node: %v",
						count, len(before.took), before.late(), 100*before.share(), len(during.took), during.late(), 100*during.share(), during.failed, lost.failed)
					share, slow = during.share()-before.share(), during.late() > 2*before.late()+noise
				}
				if slow {
					t.Errorf("%d keys: the p99 of calls on healthy nodes more than doubles", count)
				}
				if share > 0.01 {
					t.Errorf("%d keys: %.1f %% more of the calls on healthy nodes fail, want 1 %% at most", count, 100*share)
				}
			}
		})
	}
}
