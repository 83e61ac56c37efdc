package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/valkey-io/valkey-go"

	"github.com/weirgo/weir/internal/servertest"
)

// servers are the kinds of servers that everything is measured on.
var servers = []servertest.Kind{servertest.Redis, servertest.Valkey}

// situation is what callers do to a server, and who is measured at it.
type situation struct {
	callers int
	keys    string // "one", "many", "zipf"
	denied  bool
	remotes []remote
}

func situations() []situation {
	allow, apply, separate := allows(shared), applies(shared), allows(alone)
	return []situation{
		{1, "one", false, join(others, bare, allow, apply, separate)},
		{64, "one", false, join(others, bare, allow, leased())},
		{64, "one", true, join(others, bare, allow, cached())},
		{256, "one", false, join(others, bare, allow, apply, separate, leased())},
		{256, "one", true, join(others, bare, allow, cached())},
		{64, "many", false, join(others, bare, allow)},
		{256, "many", false, join(others, bare, allow, apply, separate)},
		{256, "zipf", false, join(others, bare, allow)},
	}
}

func join(lists ...[]remote) (all []remote) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func (s *situation) name() string {
	return fmt.Sprintf("%d/%s/%s", s.callers, s.keys, verdictOf(s.denied))
}

// key is the one key, if there is one.
func (s *situation) key() string { return fmt.Sprintf("user:%8s%07d", verdictOf(s.denied), s.callers) }

func (s *situation) quota() quota {
	switch {
	case s.denied:
		return spentAtOnce
	case s.keys == "one":
		return roomy
	}
	return lasting
}

// place is a server and the keys that are asked for on it.
type place struct {
	server *servertest.Server
	many   map[string]*traffic
	seeded map[string]bool
}

func (r *run) place(tb testing.TB, kind servertest.Kind) *place {
	return &place{
		servertest.Start(tb, kind, nil),
		map[string]*traffic{"many": manyKeys(r.keys, false), "zipf": manyKeys(r.keys, true)},
		map[string]bool{},
	}
}

// seed makes sure that no key of a loop is fresh for a.
func (p *place) seed(tb testing.TB, s *situation, states string, l *loop, a ask) {
	keys := s.keys
	if keys == "one" {
		keys = s.key()
	}
	if place := states + " " + keys; !p.seeded[place] {
		p.seeded[place] = true
		l.seed(tb, a)
	}
}

// server measures limiters on a server as multiples of redis_rate: decisions a second
// (rate), how long a caller waits in the median and the 99th percentile (p50, p99), and
// the time of processors for a decision in this process and in the server (client,
// server). And what is no ratio: allocations a decision (allocs), decisions in a call to
// the server (together), and the share of errors (errors).
//
// The limiters are Limiter.Allow with its default time-out; -apply is Store.Apply, -alone
// is Limiter.Allow on a store that does not share calls, -denycache is Limiter.Allow with a
// resilience.DenyCache, -lease with a resilience.Lease.
func (r *run) server(tb testing.TB, kind servertest.Kind) {
	p := r.place(tb, kind)
	for _, s := range situations() {
		prefix := fmt.Sprintf("server/%s/%s/", kind, s.name())
		var remotes []remote
		for _, one := range s.remotes {
			if r.wants(prefix + one.name) {
				remotes = append(remotes, one)
			}
		}
		if len(remotes) > 0 {
			r.isolated(tb, func(tb testing.TB) { r.race(tb, p, &s, remotes, prefix) })
		}
	}
}

// race runs blocks of redis_rate and of all remotes in turns.
func (r *run) race(tb testing.TB, p *place, s *situation, remotes []remote, prefix string) {
	keys := p.many[s.keys]
	if keys == nil {
		keys = oneKey(s.key())
	}
	l := newLoop(keys, s.callers, !s.denied)
	open := func(one remote) ask {
		a := one.open(tb, p.server.Addr(), s.quota())
		p.seed(tb, s, one.states, l, a)
		l.run(tb, r.block/4, a, p.server)
		return a
	}
	reference := open(redisRate)
	var asks []ask
	for _, one := range remotes {
		asks = append(asks, open(one))
	}
	interleave(r.rounds, len(asks),
		func() lap { return l.run(tb, r.block, reference, p.server) },
		func(i int) lap { return l.run(tb, r.block, asks[i], p.server) },
		func(i int, x, y lap) {
			name := prefix + remotes[i].name + "/"
			if x.errors+x.wrong+y.wrong > 0 || y.errors > 0 && remotes[i].patient {
				tb.Fatalf("redis_rate: %d wrong answers, %d errors, such as %v; %s: %d wrong answers, %d errors, such as %v",
					x.wrong, x.errors, x.err, name, y.wrong, y.errors, y.err)
			}
			r.values.add(name+"rate", y.rate/x.rate)
			r.values.add(name+"p50", float64(y.p50)/float64(x.p50))
			r.values.add(name+"p99", float64(y.p99)/float64(x.p99))
			r.values.add(name+"client", y.client/x.client)
			r.values.add(name+"server", y.server/x.server)
			r.values.add(name+"allocs", y.allocs)
			r.values.add(name+"together", y.together)
			r.values.add(name+"errors", float64(y.errors)/float64(y.decisions))
		})
}

// processor measures the time of processors in the server for a decision, of 64 callers
// on 10,000 keys, as a multiple of a script of GET and SET PX.
func (r *run) processor(tb testing.TB, kind servertest.Kind) {
	p := &place{servertest.Start(tb, kind, nil), nil, map[string]bool{}}
	keys := manyKeys(min(r.keys, 10_000), false)
	remotes := join([]remote{redisRate}, others, bare, allows(shared), allows(alone))
	for _, denied := range []bool{false, true} {
		for _, one := range remotes {
			name := fmt.Sprintf("processor/%s/%s/%s", kind, verdictOf(denied), one.name)
			if !r.wants(name) {
				continue
			}
			s := situation{64, "of " + verdictOf(denied), denied, nil}
			q := choose(denied, spentAtOnce, lasting)
			floor, l := newLoop(keys, s.callers, true), newLoop(keys, s.callers, !denied)
			r.isolated(tb, func(tb testing.TB) {
				p.server.Do("FLUSHALL", "SYNC")
				reference, measured := getSetMany(tb, p.server), one.open(tb, p.server.Addr(), q)
				floor.seed(tb, reference)
				l.seed(tb, measured)
				for range r.rounds {
					x, y := floor.run(tb, 2*r.block, reference, p.server), l.run(tb, 2*r.block, measured, p.server)
					if x.errors+x.wrong+y.wrong > 0 {
						tb.Fatalf("%s: %d wrong answers, %v, %v", name, y.wrong, x.err, y.err)
					}
					if x.server > 0 {
						r.values.add(name, y.server/x.server)
					}
				}
			})
		}
	}
}

// getSetMany reads a key and writes it with an expiry.
func getSetMany(tb testing.TB, server *servertest.Server) ask {
	client := valkeyGo(tb, server.Addr())
	script := valkey.NewLuaScript(getSetScript)
	return func(ctx context.Context, key string) (bool, error) {
		err := script.Exec(ctx, client, []string{"get-set:{" + key + "}"}, []string{"1764288000000000", "60000"}).Error()
		return err == nil, err
	}
}
