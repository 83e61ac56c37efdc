package inflightserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/inflighttest"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/resilience/inflight"
	inflightserver "github.com/weirgo/weir/resilience/inflight/server"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
	"github.com/weirgo/weir/store/script"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

var background = context.Background()

// library opens a store at a server through a client library.
type library func(tb testing.TB, addr, user string, opts *script.Options) *script.Store

func goRedis(tb testing.TB, addr, user string, opts *script.Options) *script.Store {
	client := redis.NewClient(&redis.Options{Addr: addr, Username: user, Password: passwordOf(user), ContextTimeoutEnabled: true, DialerRetries: 1})
	s := weir.Must(redisstore.New(client, opts))
	tb.Cleanup(func() { _ = s.Close(); _ = client.Close() })
	return s
}

func valkeyGo(tb testing.TB, addr, user string, opts *script.Options) *script.Store {
	client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}, Username: user, Password: passwordOf(user), DisableCache: true})
	if err != nil {
		tb.Fatal(err)
	}
	s := weir.Must(valkeystore.New(client, opts))
	tb.Cleanup(func() { _ = s.Close(); client.Close() })
	return s
}

func passwordOf(user string) string {
	if user == "" {
		return ""
	}
	return "secret"
}

// each runs f for each pair of server and library.
func each(t *testing.T, cfg *servertest.Config, f func(t *testing.T, server *servertest.Server, open library)) {
	servertest.Each(t, cfg, func(t *testing.T, server *servertest.Server) {
		for name, open := range map[string]library{"go-redis": goRedis, "valkey-go": valkeyGo} {
			t.Run(name, func(t *testing.T) {
				server.Do("FLUSHALL") // a server of this test alone
				f(t, server, open)
			})
		}
	})
}

func holdersOf(s *script.Store) *inflightserver.Store { return weir.Must(inflightserver.New(s)) }

func holder(id string) inflight.Holder {
	return inflight.Holder{Slot: inflight.Slot{Key: "user:42", Limit: "api"}, ID: id, Cost: 1, Life: time.Minute}
}

func acquire(t *testing.T, s inflight.Store, h inflight.Holder, limit int64) inflight.Standing {
	t.Helper()
	got, err := s.Acquire(background, h, limit)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestServer(t *testing.T) {
	each(t, nil, func(t *testing.T, server *servertest.Server, open library) {
		runs := 0
		inflighttest.Run(t, func(tb testing.TB, clock store.Clock) inflight.Store {
			runs++
			return holdersOf(open(tb, server.Addr(), "", &script.Options{Clock: clock, Prefix: fmt.Sprint("run", runs, ":")}))
		})
	})
}

func TestStoredAsASetThatVanishes(t *testing.T) {
	each(t, nil, func(t *testing.T, server *servertest.Server, open library) {
		s := holdersOf(open(t, server.Addr(), "", nil))
		a := acquire(t, s, holder("a"), 3)
		const name = "w{user:42}:inflight/1:api"
		if keys := server.Do("KEYS", "*"); fmt.Sprint(keys) != "["+name+"]" {
			t.Errorf("stored under %v", keys)
		}
		if got := fmt.Sprint(server.Do("ZRANGE", name, "0", "-1")); got != "[ 1:a]" {
			t.Errorf("stored as %s", got)
		}
		if score := server.Do("ZSCORE", name, "1:a"); fmt.Sprint(score) != a.Until.String() {
			t.Errorf("%v, which expires at %v", score, a.Until)
		}
		if ttl := server.Do("PTTL", name).(int64); ttl <= 30_000 || ttl > 61_000 {
			t.Errorf("kept for %d ms", ttl)
		}
		long := holder("long")
		long.Life = time.Hour
		acquire(t, s, long, 3)
		acquire(t, s, holder("b"), 3)
		if ttl := server.Do("PTTL", name).(int64); ttl <= 3_600_000-60_000 {
			t.Errorf("kept for %d ms, with a holder of an hour", ttl)
		}
		dump := server.Do("DUMP", name)
		if acquire(t, s, holder("c"), 3).Held {
			t.Error("a fourth of three is held")
		}
		if server.Do("DUMP", name) != dump {
			t.Error("a refusal writes")
		}
		for _, h := range []inflight.Holder{holder("a"), holder("b"), long} {
			if got, err := s.Release(background, h); err != nil || !got.Held {
				t.Fatal(got, err)
			}
		}
		if keys := server.Do("KEYS", "*"); fmt.Sprint(keys) != "[]" {
			t.Errorf("left behind: %v", keys)
		}
	})
}

// A set that somebody has made persistent is kept by a release.
func TestReleaseKeepsWhatHasNoTimeToLive(t *testing.T) {
	server := servertest.Start(t, servertest.Redis, nil)
	s := holdersOf(goRedis(t, server.Addr(), "", nil))
	acquire(t, s, holder("a"), 2)
	acquire(t, s, holder("b"), 2)
	const name = "w{user:42}:inflight/1:api"
	server.Do("PERSIST", name)
	if got, err := s.Release(background, holder("a")); err != nil || !got.Held {
		t.Fatal(got, err)
	}
	if ttl := server.Do("PTTL", name); ttl != int64(-1) {
		t.Errorf("a holder of a minute is kept for %v ms", ttl)
	}
}

func TestSetOfDeadHoldersVanishes(t *testing.T) {
	server := servertest.Start(t, servertest.Valkey, nil)
	s := holdersOf(goRedis(t, server.Addr(), "", nil))
	short := holder("short")
	short.Life = time.Millisecond
	acquire(t, s, short, 1)
	servertest.Await(t, "the set of a dead holder vanishes", func() bool { return fmt.Sprint(server.Do("KEYS", "*")) == "[]" })
}

func TestOneRoundTripOnceTheServerKnowsTheScript(t *testing.T) {
	each(t, nil, func(t *testing.T, server *servertest.Server, open library) {
		s := open(t, server.Addr(), "", nil)
		holders := holdersOf(s)
		acquire(t, holders, holder("first"), 9)
		before := s.Stats().Commands
		acquire(t, holders, holder("a"), 9)
		for _, call := range []func(context.Context, inflight.Holder) (inflight.Standing, error){holders.Renew, holders.Release} {
			if got, err := call(background, holder("a")); err != nil || !got.Held {
				t.Fatal(got, err)
			}
		}
		if _, err := holders.Peek(background, holder("a").Slot); err != nil {
			t.Fatal(err)
		}
		if sent := s.Stats().Commands - before; sent != 4 {
			t.Errorf("4 calls are %d commands", sent)
		}
	})
}

func TestWhatTheServerRefusesChangesNothing(t *testing.T) {
	const name = "w{user:42}:inflight/1:api"
	t.Run("no memory", func(t *testing.T) {
		each(t, nil, func(t *testing.T, server *servertest.Server, open library) {
			s := holdersOf(open(t, server.Addr(), "", nil))
			acquire(t, s, holder("a"), 2)
			server.Do("CONFIG", "SET", "maxmemory", "1")
			defer server.Do("CONFIG", "SET", "maxmemory", "0")
			if _, err := s.Acquire(background, holder("b"), 2); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("without memory: %v", err)
			}
			if got, err := s.Acquire(background, holder("b"), 1); err != nil || got.Held {
				t.Errorf("a refusal needs no memory: %+v, %v", got, err)
			}
			if n := server.Do("ZCARD", name); n != int64(2) {
				t.Errorf("%v elements", n)
			}
		})
	})
	// A user who lacks one command of those that write changes nothing.
	all := []string{"zadd", "zrem", "pexpire"}
	var users []string
	for _, lacking := range all {
		rule := lacking + " on >secret ~* +@read +@connection +@scripting +time +info +cluster"
		for _, has := range all {
			if has != lacking {
				rule += " +" + has
			}
		}
		users = append(users, rule)
	}
	t.Run("no right", func(t *testing.T) {
		each(t, &servertest.Config{Users: users}, func(t *testing.T, server *servertest.Server, open library) {
			direct := holdersOf(open(t, server.Addr(), "", nil))
			acquire(t, direct, holder("a"), 5)
			dump := server.Do("DUMP", name)
			for _, lacking := range all {
				s := holdersOf(open(t, server.Addr(), lacking, nil))
				_, acquireErr := s.Acquire(background, holder("b"), 5)
				_, renewErr := s.Renew(background, holder("a"))
				_, releaseErr := s.Release(background, holder("a"))
				for _, err := range []error{acquireErr, renewErr, releaseErr} {
					if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "user:42") {
						t.Errorf("without %s: %v", lacking, err)
					}
				}
				if server.Do("DUMP", name) != dump {
					t.Errorf("without %s something was written", lacking)
				}
				if got, err := s.Peek(background, holder("a").Slot); err != nil || got.InUse != 1 {
					t.Errorf("without %s a look is refused: %v", lacking, err)
				}
			}
		})
	})
	t.Run("all that a user needs", func(t *testing.T) {
		const needed = "app on >secret ~w{* +evalsha +evalsha_ro +eval +eval_ro +time +zadd +zrem +zscore +zcard +zrangebyscore +pexpire +pttl"
		servertest.Each(t, &servertest.Config{Users: []string{needed}}, func(t *testing.T, server *servertest.Server) {
			s := holdersOf(goRedis(t, server.Addr(), "app", nil))
			long := holder("b")
			long.Life = time.Hour
			if !acquire(t, s, holder("a"), 2).Held || !acquire(t, s, long, 2).Held || acquire(t, s, holder("c"), 2).Held {
				t.Error("2 of 3 are to be held")
			}
			for _, call := range []func(context.Context, inflight.Holder) (inflight.Standing, error){s.Renew, s.Release} {
				if got, err := call(background, holder("a")); err != nil || !got.Held {
					t.Error(got, err)
				}
			}
			if got, err := s.Peek(background, long.Slot); err != nil || got.InUse != 1 {
				t.Error(got, err)
			}
		})
	})
	t.Run("a replica", func(t *testing.T) {
		each(t, nil, func(t *testing.T, server *servertest.Server, open library) {
			s := holdersOf(open(t, server.Addr(), "", nil))
			primary := servertest.Start(t, server.Kind(), nil)
			server.Follow(primary)
			defer server.Do("REPLICAOF", "NO", "ONE")
			if _, err := s.Acquire(background, holder("a"), 1); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("a replica: %v", err)
			}
		})
	})
	t.Run("no server", func(t *testing.T) {
		each(t, nil, func(t *testing.T, server *servertest.Server, open library) {
			p := servertest.NewProxy(t, server.Addr())
			s := holdersOf(open(t, p.Addr(), "", nil))
			p.Refuse(true)
			p.Cut()
			servertest.Await(t, "the server is unavailable", func() bool {
				_, err := s.Renew(background, holder("a"))
				return errors.Is(err, store.ErrUnavailable)
			})
		})
	})
}

func TestWhatIsNoSetOfHoldersIsLeftAsItIs(t *testing.T) {
	const name = "w{user:42}:inflight/1:api"
	each(t, nil, func(t *testing.T, server *servertest.Server, open library) {
		s := holdersOf(open(t, server.Addr(), "", nil))
		for _, damage := range [][]string{
			{"SET", name, "x"}, {"ZADD", name, "5", "a"}, {"ZADD", name, "-1", "", "5", "a"}, {"ZADD", name, "-1", "", "5", "2:a"}, {"ZADD", name, "-1", "", "5", "0:a"},
		} {
			server.Do("DEL", name)
			server.Do(damage...)
			dump := server.Do("DUMP", name)
			_, acquireErr := s.Acquire(background, holder("a"), 5)
			_, renewErr := s.Renew(background, holder("a"))
			_, releaseErr := s.Release(background, holder("a"))
			_, peekErr := s.Peek(background, holder("a").Slot)
			for i, err := range []error{acquireErr, renewErr, releaseErr, peekErr} {
				if !errors.Is(err, store.ErrCorrupt) || strings.Contains(err.Error(), "user:42") {
					t.Errorf("%q, call %d: %v", damage, i, err)
				}
			}
			if server.Do("DUMP", name) != dump {
				t.Errorf("%q was changed", damage)
			}
		}
	})
}

func TestSlotHasAtMostMaxHolders(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		clock := inflighttest.NewClock()
		s := holdersOf(goRedis(t, server.Addr(), "", &script.Options{Clock: clock}))
		first := acquire(t, s, holder("first"), inflight.MaxUnits)
		server.Do("EVAL", "for i = 2, ARGV[1] do redis.call('ZADD', KEYS[1], ARGV[2], '1:x' .. i) end redis.call('ZADD', KEYS[1], -ARGV[1], '')",
			"1", "w{user:42}:inflight/1:api", fmt.Sprint(inflight.MaxHolders), fmt.Sprint(int64(first.At)+1_000_000))
		if _, err := s.Acquire(background, holder("x"), inflight.MaxUnits); !errors.Is(err, store.ErrFull) {
			t.Error(err)
		}
		if got := acquire(t, s, holder("x"), inflight.MaxHolders); got.Held || got.InUse != inflight.MaxHolders {
			t.Errorf("a refusal needs no room: %+v", got)
		}
		clock.Move(time.Second) // all but the first expire, and are dropped together
		if got := acquire(t, s, holder("x"), 2); !got.Held || got.InUse != 2 {
			t.Errorf("the dead take room: %+v", got)
		}
	})
}

func TestCluster(t *testing.T) {
	c := servertest.StartCluster(t, servertest.Redis, 3, nil)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	s := weir.Must(redisstore.New(client, nil))
	t.Cleanup(func() { _ = s.Close(); _ = client.Close() })
	holders := holdersOf(s)
	for i := range 30 {
		h := holder("a")
		h.Key = fmt.Sprint("user:", i)
		other := h
		other.ID = "b"
		if !acquire(t, holders, h, 1).Held || acquire(t, holders, other, 1).Held {
			t.Errorf("key %d", i)
		}
	}
}

func TestNewRefusesNoStore(t *testing.T) {
	if _, err := inflightserver.New(nil); !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
}

func TestClosedStore(t *testing.T) {
	server := servertest.Start(t, servertest.Redis, nil)
	s := goRedis(t, server.Addr(), "", nil)
	holders := holdersOf(s)
	_ = s.Close()
	if _, err := holders.Acquire(background, holder("a"), 1); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
}

// odd is a client of a server that answers what no script of ours does.
type odd string

func (o odd) Do(context.Context, *script.Command) (string, error) { return string(o), nil }

func TestOddRepliesAreNoAnswers(t *testing.T) {
	for _, reply := range []odd{"", "1", "1 2 3 4", "1 2 3 4 x", "1 -2 3 4 5", "1 2 3 4 5 6", "1  3 4 5"} {
		s := weir.Must(script.New(reply, nil))
		if _, err := holdersOf(s).Acquire(background, holder("a"), 1); !errors.Is(err, store.ErrOutcomeUnknown) {
			t.Errorf("%q: %v", reply, err)
		}
	}
}
