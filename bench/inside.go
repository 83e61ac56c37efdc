package main

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

const getSetScript = `redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`

// getSet is the reference: a script that reads a key and writes it with an expiry.
func getSet(tb testing.TB, server *servertest.Server) work {
	client := valkeyGo(tb, server.Addr())
	script := valkey.NewLuaScript(getSetScript)
	ctx, keys, args := context.Background(), []string{"get-set:{" + userKey(0) + "}"}, []string{"1764288000000000", "60000"}
	return each(func() error { return script.Exec(ctx, client, keys, args).Error() })
}

// inside is something that is measured in the server, with what it is compared to.
type inside struct {
	name      string
	reference func(tb testing.TB, server *servertest.Server) work
	measured  func(tb testing.TB, server *servertest.Server) work
}

// inside measures what a decision takes inside the server, by its own count, as a multiple
// of a script of GET and SET PX; of several limits asked together, as a multiple of as
// many calls. The decisions are those of valkeystore; the scripts of all stores are the same.
func (r *run) inside(tb testing.TB, kind servertest.Kind) {
	server := servertest.Start(tb, kind, nil)
	for _, row := range insides() {
		if name := fmt.Sprintf("inside/%s/%s", kind, row.name); r.wants(name) {
			r.isolated(tb, func(tb testing.TB) { r.rowInside(tb, server, name, &row) })
		}
	}
}

func (r *run) rowInside(tb testing.TB, server *servertest.Server, name string, row *inside) {
	reference, measured := row.reference(tb, server), row.measured(tb, server)
	spend := func(w work) (micros float64) {
		before := spent(tb, server)
		n := float64(w(tb, r.calls))
		return spent(tb, server).since(before).micros / n
	}
	spend(reference)
	spend(measured)
	for range 2*r.rounds + 1 {
		x := spend(reference)
		r.values.add(name, spend(measured)/x)
	}
}

func insides() (all []inside) {
	all = insideLines()
	for _, denied := range []bool{false, true} {
		verdict := verdictOf(denied)
		for _, name := range []string{
			"gcra", "gcra-fraction", "token-bucket", "token-bucket-fraction", "leaky-bucket", "fixed-window", "sliding-counter",
		} {
			all = append(all, inside{name + "/" + verdict, getSet, func(tb testing.TB, server *servertest.Server) work {
				return allow(tb, server, name+" "+verdict, serverSpec(name, denied), !denied)
			}})
		}
		all = append(all, inside{"redis_rate/" + verdict, getSet, func(tb testing.TB, server *servertest.Server) work {
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
		inside{"sliding-log-1000/admitted", getSet, logAdmitted},
		inside{"sliding-log-1000/denied", getSet, logDenied},
		inside{"groups-50/keys-1", getSet, groups(1)},
		inside{"groups-50/keys-100", getSet, groups(100)},
	)
	for _, limits := range []int{3, 10} {
		all = append(all, inside{fmt.Sprintf("limits-%d", limits), calls(limits), oneCall(limits)})
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
	if name == "calendar-window" {
		return name + choose(denied, ":1/year", ":1000000000000/year")
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
			err = fmt.Errorf("the answer is %t", d.Allowed)
		}
		return err
	})
}

// separate is a store that makes a call for each Apply.
func separate(tb testing.TB, server *servertest.Server) store.Store {
	return openValkey(tb, server.Addr(), &valkeystore.Options{Share: alone})
}

// nameOfLimit is of usual length.
const nameOfLimit = "api"

// limiterOf waits for longer than a busy machine stands still.
func limiterOf(tb testing.TB, s store.Store, spec string) *weir.Limiter {
	limiter, err := weir.New(s, weir.Limit{Name: nameOfLimit, Algorithm: parse(tb, spec)}, &weir.Options{Timeout: 10 * time.Second})
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
