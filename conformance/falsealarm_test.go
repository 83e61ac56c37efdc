package conformance_test

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/redis/go-redis/v9"
	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/loglist"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	redisstore "github.com/weirgo/weir/store/redis"
	"github.com/weirgo/weir/store/script"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// runs is how often the quick profile must pass on each store: a suite that cries
// wolf is switched off. scripts/long asks for a hundred, under the race detector, and
// for ten runs of what is caught by chance.
var runs = flag.Int("conformance.runs", 1, "how often the quick profile is run on each store, and what is caught by chance up to ten times")

func TestQuickProfileRaisesNoFalseAlarm(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		quickProfile(t, memoryConfig(), func(tb testing.TB, clk clock.Clock) store.Store {
			s, err := memorystore.New(&memorystore.Options{Clock: clk})
			if err != nil {
				tb.Fatal(err)
			}
			return swept{s, clk}
		})
	})
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		open := openServer(t, server)
		// Of a single run, each server gets one half.
		if *runs > 1 || server.Kind() == servertest.Redis {
			quickProfile(t, serverConfig(server), func(tb testing.TB, clk clock.Clock) store.Store { return open(tb, clk) })
		}
		if *runs > 1 || server.Kind() == servertest.Valkey {
			cfg := serverConfig(server)
			cfg.OwnClock = true
			quickProfile(t, cfg, func(tb testing.TB, _ clock.Clock) store.Store { return open(tb, nil) })
		}
	})
}

func quickProfile(t *testing.T, cfg *conformance.Config, open func(tb testing.TB, clk clock.Clock) store.Store) {
	t.Helper()
	for run := range *runs {
		t.Run(fmt.Sprintf("own clock %t/run %d", cfg.OwnClock, run), func(t *testing.T) {
			start := time.Now()
			cfg.Histories = quick
			conformance.TestStore(t, open, cfg)
			t.Logf("the quick profile has taken %v", time.Since(start).Round(10*time.Millisecond))
		})
	}
}

// swept is the memory store with what its sweeper needs to know.
type swept struct {
	*memorystore.Store
	clock clock.Clock
}

// Features are those of the store in memory: swept does nothing in its calls.
func (s swept) Features() store.Features {
	f := store.FeaturesOf(s.Store)
	f.Owner = s
	return f
}

func memoryConfig() *conformance.Config {
	return &conformance.Config{Sweep: func(tb conformance.TB, s store.Store) {
		now, err := algorithm.InstantOf(s.(swept).clock.Now())
		if err != nil {
			tb.Fatal(err)
		}
		s.(swept).Sweep(now)
	}}
}

// prefixed is a store on a server and where it keeps its states.
type prefixed struct {
	store.Store
	prefix string
}

// openServer returns what opens the store of a client library; clk nil is the
// server's time.
func openServer(t *testing.T, server *servertest.Server) func(tb testing.TB, clk store.Clock) store.Store {
	t.Helper()
	var opened atomic.Int64
	var open func(prefix string, clk store.Clock) (store.Store, error)
	if server.Kind() == servertest.Redis {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		open = func(prefix string, clk store.Clock) (store.Store, error) {
			return redisstore.New(client, &redisstore.Options{Clock: clk, Prefix: prefix})
		}
	} else {
		client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		open = func(prefix string, clk store.Clock) (store.Store, error) {
			return valkeystore.New(client, &valkeystore.Options{Clock: clk, Prefix: prefix})
		}
	}
	return func(tb testing.TB, clk store.Clock) store.Store {
		prefix := fmt.Sprintf("%d:", opened.Add(1))
		s, err := open(prefix, clk)
		if err != nil {
			tb.Fatal(err)
		}
		return prefixed{s, prefix}
	}
}

// serverConfig looks at the values on a server, and damages them.
func serverConfig(server *servertest.Server) *conformance.Config {
	name := func(s store.Store, slot store.Slot) string { return script.StoredName(s.(prefixed).prefix, slot.ID()) }
	isLog := func(slot store.Slot) bool { return slot.Algorithm.Spec().Kind == algorithm.KindSlidingLog }
	return &conformance.Config{
		Inspect: func(_ conformance.TB, s store.Store, slot store.Slot) (conformance.Stored, bool) {
			at := name(s, slot)
			left := server.Do("PTTL", at).(int64) // -2 is no such key, -1 no end
			stored := conformance.Stored{TTL: time.Duration(left) * time.Millisecond}
			if left == -1 {
				stored.TTL = algorithm.Never
			}
			switch {
			case left == -2:
			case isLog(slot):
				var elements []string
				for _, element := range server.Do("LRANGE", at, "0", "-1").([]any) {
					elements = append(elements, element.(string))
				}
				stored.Text = loglist.Text(elements)
			default:
				stored.Text = server.Do("GET", at).(string)
			}
			return stored, left != -2
		},
		Corrupt: func(_ conformance.TB, s store.Store, slot store.Slot, text string) {
			at := name(s, slot)
			if server.Do("EXISTS", at) != int64(1) {
				panic("nothing is stored under " + at)
			}
			server.Do("DEL", at)
			if isLog(slot) {
				server.Do(append([]string{"RPUSH", at}, loglist.Elements(text)...)...)
			} else {
				server.Do("SET", at, text)
			}
		},
	}
}
