package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
	memorystore "github.com/weirgo/weir/store/memory"
)

// curve is one line of a plot: a name of values up to the size, which comes last.
type curve struct{ title, name string }

// plot is how something grows with a size.
type plot struct {
	file, title, x, y string
	sizes             []int
	curves            []curve
}

func (r *run) plots() []plot {
	var cores []int
	for n := 1; n <= runtime.NumCPU(); n++ {
		cores = append(cores, n)
	}
	onServers := func(name string) (all []curve) {
		for _, kind := range servers {
			all = append(all, curve{string(kind), "growth/" + name + "/" + string(kind)})
		}
		return all
	}
	return []plot{
		{"growth-keys", "A decision in memory, by keys", "keys", "ns", r.sizes.memoryKeys,
			[]curve{{"weir, gcra", "growth/keys/weir-gcra"}, {"floor", "growth/keys/floor"}}},
		{"growth-cores", "A decision in memory on one key, by cores", "cores", "ns", cores,
			[]curve{{"weir, gcra", "growth/cores/weir-gcra"}, {"floor", "growth/cores/floor"}}},
		{"growth-ops", "A take in memory, by limits", "limits", "ns", r.sizes.ops, []curve{{"weir, gcra", "growth/ops/memory"}}},
		{"growth-server-keys", "A decision inside a server, by keys", "keys", "µs", r.sizes.serverKeys, onServers("server-keys")},
		{"growth-server-ops", "A take inside a server, by limits", "limits", "µs", r.sizes.ops, onServers("server-ops")},
		{"growth-log", "A decision on a log inside a server, by entries", "entries", "µs", r.sizes.entries, onServers("server-log")},
		{"growth-callers", "Decisions a second on one key of a server, by callers", "callers", "1/s", r.sizes.callers,
			[]curve{{"weir, go-redis", "growth/callers/redisstore"}, {"weir, valkey-go", "growth/callers/valkeystore"}, {"redis_rate", "growth/callers/redis_rate"}}},
	}
}

// grow measures times, and not ratios: what counts is the shape of a curve. Of several rounds
// the best counts, which other work on the machine has disturbed least.
func (r *run) grow(tb testing.TB) {
	r.isolated(tb, r.growInMemory)
	for _, kind := range servers {
		r.isolated(tb, func(tb testing.TB) { r.growOnServer(tb, kind) })
	}
	r.isolated(tb, r.growCallers)
}

// sizesOf returns the sizes of which a name is wanted.
func (r *run) sizesOf(name string, sizes []int) []int {
	return slices.DeleteFunc(slices.Clone(sizes), func(n int) bool { return !r.wants(fmt.Sprintf("%s/%d", name, n)) })
}

func (r *run) growInMemory(tb testing.TB) {
	for _, c := range contenders() {
		if c.name != "floor" && c.name != "weir-gcra" {
			continue
		}
		for _, n := range r.sizesOf("growth/keys/"+c.name, r.sizes.memoryKeys) {
			r.isolated(tb, func(tb testing.TB) {
				names, t := make([]string, n), c.make(tb, false)
				for i := range names {
					names[i] = userKey(i)
					t(names[i])
				}
				r.timeBlocks(fmt.Sprintf("growth/keys/%s/%d", c.name, n), t, names, 1)
			})
		}
		for _, n := range r.sizesOf("growth/cores/"+c.name, r.plots()[1].sizes) {
			r.isolated(tb, func(tb testing.TB) {
				r.timeBlocks(fmt.Sprintf("growth/cores/%s/%d", c.name, n), c.make(tb, false), []string{userKey(0)}, n)
			})
		}
	}
	states := weir.Must(memorystore.New(nil))
	defer states.Close()
	for _, n := range r.sizesOf("growth/ops/memory", r.sizes.ops) {
		ops := opsOf(tb, n)
		t := func(string) bool { apply(tb, states, ops); return true }
		r.timeBlocks(fmt.Sprintf("growth/ops/memory/%d", n), t, []string{""}, 1)
	}
}

// timeBlocks adds the time of a decision, of the wall where several goroutines ask.
func (r *run) timeBlocks(name string, t take, names []string, goroutines int) {
	for i := range 5 * r.rounds {
		took := block(t, names, i*r.asks*goroutines, r.asks, goroutines)
		r.values.add(name, float64(took.Nanoseconds())/float64(r.asks*goroutines))
	}
}

// growOnServer counts time inside the server.
func (r *run) growOnServer(tb testing.TB, kind servertest.Kind) {
	server := servertest.Start(tb, kind, nil)
	timed := func(what string, n int, w work) {
		name := fmt.Sprintf("growth/%s/%s/%d", what, kind, n)
		w(tb, r.calls/10+1)
		for range r.rounds {
			before := spent(tb, server)
			w(tb, r.calls)
			used := spent(tb, server).since(before)
			r.values.add(name, used.micros/used.calls)
		}
	}
	for _, n := range r.sizesOf("growth/server-keys/"+string(kind), r.sizes.serverKeys) {
		r.isolated(tb, func(tb testing.TB) {
			keys, limiter := manyKeys(n, false), limiterOf(tb, separate(tb, server), lasting.spec())
			all := limiterOf(tb, openValkey(tb, server.Addr(), nil), lasting.spec())
			newLoop(keys, 1, true).seed(tb, func(ctx context.Context, key string) (bool, error) {
				d, err := all.Allow(ctx, key)
				return d.Allowed, err
			})
			at := 0
			timed("server-keys", n, func(tb testing.TB, decisions int) int {
				for range decisions {
					at++
					if _, err := limiter.Allow(context.Background(), keys.names[keys.order[at%len(keys.order)]]); err != nil {
						tb.Fatal(err)
					}
				}
				return decisions
			})
		})
	}
	for _, n := range r.sizesOf("growth/server-ops/"+string(kind), r.sizes.ops) {
		r.isolated(tb, func(tb testing.TB) { timed("server-ops", n, oneCall(n)(tb, server)) })
	}
	for _, n := range r.sizesOf("growth/server-log/"+string(kind), r.sizes.entries) {
		r.isolated(tb, func(tb testing.TB) { timed("server-log", n, growingLog(tb, server, n)) })
	}
}

// growingLog is work on a log of n entries that admits all.
func growingLog(tb testing.TB, server *servertest.Server, n int) work {
	limiter := limiterOf(tb, openValkey(tb, server.Addr(), nil), "sliding-log:1000000000/1h")
	fill := each(func() error {
		_, err := limiter.Allow(context.Background(), "log of "+strconv.Itoa(n))
		return err
	})
	fill(tb, n)
	alone := limiterOf(tb, separate(tb, server), "sliding-log:1000000000/1h")
	return func(tb testing.TB, decisions int) int {
		for range decisions {
			if _, err := alone.Allow(context.Background(), "log of "+strconv.Itoa(n)); err != nil {
				tb.Fatal(err)
			}
		}
		return decisions
	}
}

func (r *run) growCallers(tb testing.TB) {
	server := servertest.Start(tb, servertest.Redis, nil)
	for _, one := range join([]remote{redisRate}, allows(shared)) {
		for _, n := range r.sizesOf("growth/callers/"+one.name, r.sizes.callers) {
			r.isolated(tb, func(tb testing.TB) {
				a, l := one.open(tb, server.Addr(), roomy), newLoop(oneKey(userKey(n)), n, true)
				l.run(tb, r.block/4, a, server)
				for range r.rounds {
					r.values.add(fmt.Sprintf("growth/callers/%s/%d", one.name, n), l.run(tb, r.block, a, server).rate)
				}
			})
		}
	}
}

// best returns the value of a size of a curve that counts.
func (p *plot) best(b book, c curve, size int) (value float64, found bool) {
	values := b[fmt.Sprintf("%s/%d", c.name, size)]
	switch {
	case len(values) == 0:
		return 0, false
	case p.y == "1/s":
		return slices.Max(values), true
	}
	return slices.Min(values), true
}

// growthTable has the values of all plots.
func (r *run) growthTable() *table {
	t := &table{
		title:   "Growth",
		text:    "Times and rates, of which the shape counts, the best of the rounds; each row is a curve, with its sizes.",
		columns: []string{"unit", "size: value"},
	}
	for _, p := range r.plots() {
		for _, c := range p.curves {
			var cells []string
			for _, n := range p.sizes {
				if value, found := p.best(r.values, c, n); found {
					cells = append(cells, fmt.Sprintf("%d: %.3g", n, value))
				}
			}
			if len(cells) > 0 {
				t.add(p.title+": "+c.title, p.y, strings.Join(cells, ", "))
			}
		}
	}
	return t
}
