package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/valkey-io/valkey-go"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// work makes a number of decisions about, and returns how many it has made.
type work func(tb testing.TB, decisions int) int

// each is work of callers that ask at the same time, so that the server goes from one
// call to the next without a pause in which others take its caches.
func each(decide func() error) work {
	const callers = 16
	return func(tb testing.TB, decisions int) int {
		var left atomic.Int64
		left.Store(int64(decisions))
		errs := make(chan error, callers)
		for range callers {
			go func() {
				for left.Add(-1) >= 0 {
					if err := decide(); err != nil {
						errs <- err
						return
					}
				}
				errs <- nil
			}()
		}
		for range callers {
			if err := <-errs; err != nil {
				tb.Fatal(err)
			}
		}
		return decisions
	}
}

// getSet is the reference: a script that reads a key and writes it with an expiry.
func getSet(tb testing.TB, server *servertest.Server) work {
	client := valkeyGo(tb, server.Addr())
	script := valkey.NewLuaScript(`redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`)
	ctx, keys, args := context.Background(), []string{"get-set:{" + userKey(0) + "}"}, []string{"1764288000000000", "60000"}
	return each(func() error { return script.Exec(ctx, client, keys, args).Error() })
}

// inside is something that is measured in the server, with what it is compared to.
type inside struct {
	name      string
	unit      string
	reference func(tb testing.TB, server *servertest.Server) work
	measured  func(tb testing.TB, server *servertest.Server) work
}

// BenchmarkInside reports what a decision takes inside the server, by its own count,
// as a multiple of a script of GET and SET PX (x-get-set); of several limits asked
// at once, as a multiple of as many calls (x-calls). Calls of both are made in turns,
// and the median of the ratios of neighbours counts. The decisions are those of
// valkeystore; the scripts of all stores are the same.
func BenchmarkInside(b *testing.B) {
	for _, kind := range servers {
		b.Run("server="+string(kind), func(b *testing.B) {
			server := servertest.Start(b, kind, nil)
			for _, row := range insides() {
				b.Run(row.name, func(b *testing.B) {
					ratio, together := row.run(b, server, 25, 1000)
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(ratio, row.unit)
					b.ReportMetric(together, "decisions/call")
				})
			}
		})
	}
}

// TestInsideRows runs each row of BenchmarkInside for a moment.
func TestInsideRows(t *testing.T) {
	for _, kind := range servers {
		t.Run(string(kind), func(t *testing.T) {
			server := servertest.Start(t, kind, nil)
			for _, row := range insides() {
				t.Run(row.name, func(t *testing.T) { row.run(t, server, 1, 3) })
			}
		})
	}
}

// run returns the median ratio and how many decisions have shared a call.
func (i *inside) run(tb testing.TB, server *servertest.Server, blocks, decisions int) (ratio, together float64) {
	reference, measured := i.reference(tb, server), i.measured(tb, server)
	block := func(w work) (micros, together float64) {
		before := spent(tb, server)
		n := float64(w(tb, decisions))
		used := spent(tb, server).since(before)
		return used.micros / n, n / used.calls
	}
	block(reference)
	block(measured)
	var ratios, togethers []float64
	for range blocks {
		x, _ := block(reference)
		y, together := block(measured)
		ratios, togethers = append(ratios, y/x), append(togethers, together)
	}
	return median(ratios), median(togethers)
}

func insides() (all []inside) {
	for _, denied := range []bool{false, true} {
		verdict := choose(denied, "denied", "admitted")
		for _, name := range []string{
			"gcra", "gcra-fraction", "token-bucket", "token-bucket-fraction", "leaky-bucket", "fixed-window", "sliding-counter",
		} {
			all = append(all, inside{name + "/" + verdict, "x-get-set", getSet, func(tb testing.TB, server *servertest.Server) work {
				return allow(tb, server, name+" "+verdict, serverSpec(name, denied), !denied)
			}})
		}
		all = append(all, inside{"redis_rate/" + verdict, "x-get-set", getSet, func(tb testing.TB, server *servertest.Server) work {
			limiter := redis_rate.NewLimiter(goRedis(tb, server.Addr()))
			limit := redis_rate.Limit{Rate: 1000, Burst: 1_000_000_000, Period: time.Second}
			if denied {
				limit = redis_rate.Limit{Rate: 1, Burst: 1, Period: 9600 * time.Hour}
			}
			return each(func() error {
				_, err := limiter.Allow(context.Background(), verdict, limit)
				return err
			})
		}})
	}
	all = append(all,
		inside{"sliding-log-1000/admitted", "x-get-set", getSet, logAdmitted},
		inside{"sliding-log-1000/denied", "x-get-set", getSet, logDenied},
		inside{"groups=50/keys=1", "x-get-set", getSet, groups(1)},
		inside{"groups=50/keys=100", "x-get-set", getSet, groups(100)},
	)
	for _, limits := range []int{3, 10} {
		all = append(all, inside{fmt.Sprintf("limits=%d", limits), "x-calls", calls(limits), oneCall(limits)})
	}
	return all
}

// serverSpec is a limit that admits always or, after its first unit, never. A
// fraction is a state of four words, or of three.
func serverSpec(name string, denied bool) string {
	switch name {
	case "gcra-fraction", "token-bucket-fraction":
		name = name[:len(name)-len("-fraction")]
		if denied {
			return name + ":7/9600h,burst=1"
		}
		return name + ":999983/1m,burst=1000000000"
	}
	if denied {
		return name + ":1/9600h"
	}
	switch name {
	case "gcra", "token-bucket":
		return name + ":1000/1s,burst=1000000000"
	case "leaky-bucket":
		return name + ":1000/1s,capacity=1000000000"
	}
	return name + ":1000000000000/1s"
}

// allow is work of Limiter.Allow, which must answer want from the second time on.
func allow(tb testing.TB, server *servertest.Server, key, spec string, want bool) work {
	limiter := limiterOf(tb, separate(tb, server), spec)
	ctx := context.Background()
	if _, err := limiter.Allow(ctx, key); err != nil {
		tb.Fatal(err)
	}
	return each(func() error {
		d, err := limiter.Allow(ctx, key)
		if err == nil && d.Allowed != want {
			err = fmt.Errorf("Allowed is %t", d.Allowed)
		}
		return err
	})
}

// separate is a store that makes a call for each Apply.
func separate(tb testing.TB, server *servertest.Server) store.Store {
	return openValkey(tb, server.Addr(), &valkeystore.Options{Share: alone})
}

// limiterOf waits for longer than a busy machine stands still.
func limiterOf(tb testing.TB, s store.Store, spec string) *weir.Limiter {
	limiter, err := weir.New(s, weir.Limit{Name: "limit", Algorithm: parse(tb, spec)}, &weir.Options{Timeout: 10 * time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	return limiter
}

// groups lets a hundred callers ask at once on a store that sends fifty of their
// requests at a time.
func groups(keys int) func(tb testing.TB, server *servertest.Server) work {
	return func(tb testing.TB, server *servertest.Server) work {
		const callers, together = 100, 50
		states := openValkey(tb, server.Addr(), &valkeystore.Options{Share: together, InFlight: 1})
		limiter := limiterOf(tb, states, serverSpec("gcra", false))
		t := &traffic{}
		for i := range keys {
			t.names, t.order = append(t.names, userKey(i)), append(t.order, int32(i))
		}
		l := newLoop(t, callers, true)
		a := func(ctx context.Context, key string) (bool, error) {
			d, err := limiter.Allow(ctx, key)
			return d.Allowed, err
		}
		return func(tb testing.TB, decisions int) int {
			b := l.run(tb, time.Duration(decisions)*20*time.Microsecond, a, server)
			if b.errors+b.wrong > 0 {
				tb.Fatalf("%d wrong answers, %d errors, such as %v", b.wrong, b.errors, b.err)
			}
			return b.decisions
		}
	}
}

// oneCall is work of many limits in one Apply; a decision is one limit's.
func oneCall(limits int) func(tb testing.TB, server *servertest.Server) work {
	return func(tb testing.TB, server *servertest.Server) work {
		states := separate(tb, server)
		ops := opsOf(tb, limits)
		return func(tb testing.TB, decisions int) int {
			for range decisions {
				apply(tb, states, ops)
			}
			return decisions * limits
		}
	}
}

// calls is work of an Apply for each of as many limits.
func calls(limits int) func(tb testing.TB, server *servertest.Server) work {
	return func(tb testing.TB, server *servertest.Server) work {
		states := separate(tb, server)
		ops := opsOf(tb, limits)
		return func(tb testing.TB, decisions int) int {
			for i := range decisions {
				apply(tb, states, ops[i%limits:i%limits+1])
			}
			return decisions
		}
	}
}

func opsOf(tb testing.TB, limits int) []store.Op {
	a := parse(tb, serverSpec("gcra", false))
	ops := make([]store.Op, limits)
	for i := range ops {
		slot := store.Slot{Key: userKey(limits), Limit: fmt.Sprint(i), Algorithm: a}
		ops[i] = store.Op{Slot: slot, Request: algorithm.Request{Cost: 1}}
	}
	return ops
}

func apply(tb testing.TB, s store.Store, ops []store.Op) {
	if _, committed, err := s.Apply(context.Background(), ops); err != nil || !committed {
		tb.Fatalf("committed %t, error %v", committed, err)
	}
}
