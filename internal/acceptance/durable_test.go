package acceptance_test

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"

	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/valkey-io/valkey-go"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// TestKilledServerThatKeepsALogLosesNothing: the server writes every change to its
// append-only file before it answers. It is killed in the middle of traffic, and
// comes back: callers have taken the limit together, and know of each call whether it
// was charged, was not, or may have been.
func TestKilledServerThatKeepsALogLosesNothing(t *testing.T) {
	t.Parallel()
	cfg := &servertest.Config{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}}
	each(t, naturalPairs(), cfg, func(t *testing.T, e *env) {
		s := e.dial(t, dial{addr: e.server.Addr()}, withQuotaLua())
		const units, callers, kills = 300, 8, 3
		kinds := quietKinds()
		for name := range kinds {
			switch name {
			case "without Lua":
				kinds[name] = plainQuota{session(units, time.Hour)}
			case "own Lua":
				kinds[name] = session(units, time.Hour)
			default:
				kinds[name] = longest(name, units)
			}
		}
		var mu sync.Mutex
		sums := map[string]tally{}
		var all sync.WaitGroup
		for name, a := range kinds {
			j, l := job{Key: name, Mixed: 4}, limiter(t, s, a, "")
			for i := range callers {
				all.Go(func() {
					one := j.call(patient(t), l, rand.New(rand.NewPCG(5, uint64(i))))
					mu.Lock()
					defer mu.Unlock()
					sum := sums[name]
					sum.add(one)
					sums[name] = sum
				})
			}
		}
		done, killed, progress := make(chan struct{}), make(chan struct{}), 0
		go func() {
			defer close(killed)
			onProgress(e.server, done, func() {
				if progress++; progress%4 == 0 && progress <= 4*kills {
					e.server.Kill()
					e.server.Start()
				}
			})
		}()
		all.Wait()
		close(done)
		<-killed
		if progress < 4*kills {
			t.Errorf("the server was killed %d times in the middle", progress/4)
		}
		for name, a := range kinds {
			sums[name].mustBeCovered(t, units)
			if left := remaining(t, e.store(t, withQuotaLua()), slotOf(name, a)); left != 0 {
				t.Errorf("%s: %d are left after %+v", name, left, sums[name])
			}
		}
	})
}

// TestReplicaHoldsTheSameStates: a replica has the values and the life times of its
// primary; what admits nothing sends it nothing; and when it takes over, it goes on
// where the primary was.
func TestReplicaHoldsTheSameStates(t *testing.T) {
	t.Parallel()
	cfg := &servertest.Config{Args: []string{"--repl-ping-replica-period", "3600", "--repl-diskless-sync-delay", "0"}}
	each(t, naturalPairs(), cfg, func(t *testing.T, e *env) {
		replica := servertest.Start(t, e.server.Kind(), cfg)
		host, port, _ := strings.Cut(e.server.Addr(), ":")
		replica.Do("REPLICAOF", host, port)
		servertest.Await(t, "the replica follows", func() bool { return replication(replica, "master_link_status") == "up" })
		s := e.store(t, withQuotaLua())
		for name, a := range quietKinds() {
			for _, cost := range []int64{3, 1, 2} {
				mustApply(t, s, op("user", name, a, cost), op("beside", name, a, cost))
			}
		}
		servertest.Await(t, "the replica has it all", func() bool {
			return replication(replica, "master_repl_offset") == replication(e.server, "master_repl_offset")
		})
		if primary, other := lives(e), lives(&env{library: e.library, server: replica}); primary != other {
			t.Errorf("the primary holds\n%sand the replica\n%s", primary, other)
		}
		offset := replication(e.server, "master_repl_offset")
		for name, a := range quietKinds() {
			for range 5 {
				mustApply(t, s, op("user", name, a, 5))
				mustApply(t, s, op("user", name, a, 0))
				mustApply(t, s, op("user", name, a, 5), op("new", name, a, 1))
				remaining(t, s, op("user", name, a, 0).Slot)
			}
		}
		if after := replication(e.server, "master_repl_offset"); after != offset {
			t.Errorf("refusals and looks were replicated: offset %s, then %s", offset, after)
		}
		replica.Do("REPLICAOF", "NO", "ONE")
		after := (&env{library: e.library, server: replica}).store(t, withQuotaLua())
		for name, a := range quietKinds() {
			if mustApply(t, after, op("user", name, a, 5)) || !mustApply(t, after, op("user", name, a, 4)) {
				t.Errorf("%s: the new primary does not hold what was taken", name)
			}
		}
	})
}

// replication reads a field of INFO replication.
func replication(s *servertest.Server, field string) string {
	info, _ := s.Do("INFO", "replication").(string)
	_, rest, _ := strings.Cut(info, "\r\n"+field+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// TestEveryWayToTheServer: a Unix socket, TLS, another database and the older protocol
// carry the same decisions.
func TestEveryWayToTheServer(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		secure := servertest.Start(t, e.server.Kind(), &servertest.Config{TLS: true})
		for what, way := range map[string]struct {
			redis  redis.Options
			valkey valkey.ClientOption
		}{
			"unix socket": {redis.Options{Network: "unix", Addr: e.server.Socket()}, valkey.ClientOption{
				InitAddress: []string{e.server.Socket()},
				DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
					return d.DialContext(ctx, "unix", addr)
				},
			}},
			"tls": {redis.Options{Addr: secure.Addr(), TLSConfig: secure.TLSConfig()},
				valkey.ClientOption{InitAddress: []string{secure.Addr()}, TLSConfig: secure.TLSConfig()}},
			"database": {redis.Options{Addr: e.server.Addr(), DB: 3}, valkey.ClientOption{InitAddress: []string{e.server.Addr()}, SelectDB: 3}},
			"resp2":    {redis.Options{Addr: e.server.Addr(), Protocol: 2}, valkey.ClientOption{InitAddress: []string{e.server.Addr()}, AlwaysRESP2: true, DisableCache: true}},
			"tracking": {redis.Options{Addr: e.server.Addr()}, valkey.ClientOption{InitAddress: []string{e.server.Addr()}}},
		} {
			t.Run(what, func(t *testing.T) {
				e.server.Do("FLUSHALL")
				secure.Do("FLUSHALL")
				var s *serverStore
				var err error
				if e.library == redisLibrary {
					client := redis.NewClient(&way.redis)
					defer client.Close()
					s, err = redisstore.New(client, withQuotaLua())
				} else {
					client, failed := valkey.NewClient(way.valkey)
					if failed != nil {
						t.Fatal(failed)
					}
					defer client.Close()
					s, err = valkeystore.New(client, withQuotaLua())
				}
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if report, err := s.Check(context.Background()); err != nil || report.Server != e.server.Kind().String() {
					t.Errorf("%+v, %v", report, err)
				}
				for name, a := range quietKinds() {
					for _, cost := range []int64{4, 0, 7, 6, 1} {
						ops := []store.Op{op("user", name, a, cost), op("user", "beside", longest("gcra", 10), 0)}
						_, committed, err := s.Apply(context.Background(), ops)
						if want := cost != 7 && cost != 1; err != nil || committed != want {
							t.Errorf("%s: cost %d: %v, %v", name, cost, committed, err)
						}
					}
					if left := remaining(t, s, op("user", name, a, 0).Slot); left != 0 {
						t.Errorf("%s: %d left", name, left)
					}
				}
			})
		}
	})
}

// TestResetsInTheMiddleGrantTheLimitEach: while callers take all they get, somebody
// resets the key now and then. Each Reset grants the limit once more, and not more.
func TestResetsInTheMiddleGrantTheLimitEach(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		for name, a := range quietKinds() {
			const resets = 10
			l := limiter(t, s, a, "")
			stop := make(chan struct{})
			var admitted [8]int64
			var callers sync.WaitGroup
			for i := range admitted {
				callers.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						d, err := l.Allow(patient(t), name)
						if err != nil {
							t.Error(err)
							return
						}
						if d.Allowed {
							admitted[i]++
						}
					}
				})
			}
			for range resets {
				servertest.Await(t, "all is taken", func() bool {
					d, err := l.Peek(patient(t), name)
					return err == nil && d.Remaining == 0
				})
				if err := l.Reset(patient(t), name); err != nil {
					t.Error(err)
				}
			}
			servertest.Await(t, "all is taken", func() bool {
				d, err := l.Peek(patient(t), name)
				return err == nil && d.Remaining == 0
			})
			close(stop)
			callers.Wait()
			sum := int64(0)
			for _, n := range admitted {
				sum += n
			}
			if want := int64(10 * (resets + 1)); sum != want {
				t.Errorf("%s: %d admitted, want %d", name, sum, want)
			}
		}
	})
}

// TestWaitersOfSeveralStoresAreNeverEarly: those who wait for a leaky bucket on several
// stores get turns that are an interval apart, and are not let go before theirs.
func TestWaitersOfSeveralStoresAreNeverEarly(t *testing.T) {
	t.Parallel()
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		const interval = 20 * time.Millisecond
		for _, name := range []string{"leaky-bucket", "gcra"} {
			a := limitOf(name, int64(time.Second/interval), time.Second)
			if name == "gcra" {
				a = limitOf(name, 1, interval)
			}
			var mu sync.Mutex
			var turns []time.Time
			ctx := patient(t)
			var limiters [3]*weir.Limiter
			for i := range limiters {
				limiters[i] = limiter(t, e.store(t, nil), a, "")
			}
			inParallel(15, func(i int) {
				begin := time.Now()
				d, err := limiters[i%len(limiters)].Wait(ctx, name)
				if err != nil {
					t.Error(err)
					return
				}
				if waited := time.Since(begin); waited < d.Delay {
					t.Errorf("%s: waited %v of %v", name, waited, d.Delay)
				}
				mu.Lock()
				defer mu.Unlock()
				turns = append(turns, d.At.Add(d.Delay))
			})
			if len(turns) != 15 {
				t.Errorf("%s: %d turns", name, len(turns))
			}
			for i := range turns {
				for k := range i {
					if apart := turns[i].Sub(turns[k]).Abs(); apart < interval {
						t.Errorf("%s: two turns are %v apart, want %v", name, apart, interval)
					}
				}
			}
		}
	})
}

// TestClosedClientIsUnavailable: the program closes the client before the store.
func TestClosedClientIsUnavailable(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		var s *serverStore
		var err error
		if e.library == redisLibrary {
			client := redis.NewClient(&redis.Options{Addr: e.server.Addr()})
			if s, err = redisstore.New(client, nil); err == nil {
				mustApply(t, s, op("user", "", longest("gcra", 5), 1))
			}
			_ = client.Close()
		} else {
			client, failed := valkey.NewClient(valkey.ClientOption{InitAddress: []string{e.server.Addr()}})
			if failed != nil {
				t.Fatal(failed)
			}
			if s, err = valkeystore.New(client, nil); err == nil {
				mustApply(t, s, op("user", "", longest("gcra", 5), 1))
			}
			client.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, ops := range subjects() {
			_, _, err := s.Apply(context.Background(), ops)
			wantKind(t, name, err, "unavailable")
			_, err = s.Peek(context.Background(), ops)
			wantKind(t, name+" peek", err, "unavailable")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
