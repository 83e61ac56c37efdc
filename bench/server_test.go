package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

// servers are those that everything is measured on.
var servers = []servertest.Kind{servertest.Redis, servertest.Valkey}

// situation is what callers do to a server, and who is measured at it.
type situation struct {
	callers int
	keys    string
	denied  bool
	remotes []remote
}

func situations() []situation {
	allow, apply, separate := allows(shared), applies(shared), allows(alone)
	return []situation{
		{1, "1", false, join(allow, apply, separate, bare)},
		{64, "1", false, join(allow, leased())},
		{64, "1", true, join(allow, cached())},
		{256, "1", false, join(allow, apply, separate, bare, leased())},
		{256, "1", true, join(allow, cached())},
		{64, "100000", false, allow},
		{256, "100000", false, join(allow, apply, separate, bare)},
		{256, "zipf", false, allow},
	}
}

func join(lists ...[]remote) (all []remote) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func (s *situation) name() string {
	return fmt.Sprintf("callers=%d/keys=%s/%s", s.callers, s.keys, choose(s.denied, "denied", "admitted"))
}

// key is the one key, if there is one.
func (s *situation) key() string {
	return fmt.Sprintf("user:%8s%07d", choose(s.denied, "denied", "admitted"), s.callers)
}

func (s *situation) quota() quota {
	switch {
	case s.denied:
		return spentAtOnce
	case s.keys == "1":
		return roomy
	}
	return lasting
}

// field is a server and the keys that rows use on it.
type field struct {
	server *servertest.Server
	many   map[string]*traffic
	seeded map[string]bool
}

func newField(tb testing.TB, kind servertest.Kind) *field {
	return &field{
		servertest.Start(tb, kind, nil),
		map[string]*traffic{"100000": manyKeys(false), "zipf": manyKeys(true)},
		map[string]bool{},
	}
}

// seed makes sure that no key of a loop is fresh for a.
func (f *field) seed(tb testing.TB, s *situation, states string, l *loop, a ask) {
	if place := states + " " + s.name(); !f.seeded[place] {
		f.seeded[place] = true
		l.seed(tb, a)
	}
}

// BenchmarkServer reports limiters on a server as multiples of redis_rate:
// decisions a second (x-redis_rate), how long a caller waits in the median and the
// 99th percentile (p50-x, p99-x), and the processor's time for a decision in this
// process and in the server (client-cpu-x, server-cpu-x), which are the steadiest.
// And what is no ratio: allocations a decision, decisions in a call to the server,
// and errors. Blocks of both are run in turns, and the medians of the ratios of
// neighbours count.
//
// Names without a suffix are Limiter.Allow with its default time-out; -apply is
// Store.Apply, -alone is Limiter.Allow on a store that does not share calls, -denycache
// is Limiter.Allow with a resilience.DenyCache, -lease with a resilience.Lease.
func BenchmarkServer(b *testing.B) {
	for _, kind := range servers {
		b.Run("server="+string(kind), func(b *testing.B) {
			f := newField(b, kind)
			for _, s := range situations() {
				for _, r := range s.remotes {
					b.Run(s.name()+"/"+r.name, func(b *testing.B) {
						race(b, f, &s, r, 12, 100*time.Millisecond).report(b)
					})
				}
			}
		})
	}
}

// TestServerRows runs each row of BenchmarkServer for a moment. Errors fail it
// only without a time-out: a busy machine may well stand still for longer than that.
func TestServerRows(t *testing.T) {
	for _, kind := range servers {
		t.Run(string(kind), func(t *testing.T) {
			f := newField(t, kind)
			for _, keys := range f.many {
				keys.names, keys.order = keys.names[:100], []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
			}
			for _, s := range situations() {
				for _, r := range s.remotes {
					t.Run(s.name()+"/"+r.name, func(t *testing.T) {
						if result := race(t, f, &s, r, 1, time.Millisecond); result.errors > 0 && r.patient {
							t.Error(result.errors, "errors")
						}
					})
				}
			}
		})
	}
}

// result is medians over blocks, and the sum of the errors.
type result struct {
	rate, p50, p99, client, server []float64 // as multiples of redis_rate
	allocs, together               []float64
	errors                         int
}

func (r *result) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(r.rate), "x-redis_rate")
	b.ReportMetric(median(r.p50), "p50-x")
	b.ReportMetric(median(r.p99), "p99-x")
	b.ReportMetric(median(r.client), "client-cpu-x")
	b.ReportMetric(median(r.server), "server-cpu-x")
	b.ReportMetric(median(r.allocs), "allocs/decision")
	b.ReportMetric(median(r.together), "decisions/call")
	b.ReportMetric(float64(r.errors), "errors")
}

// race runs blocks of redis_rate and of r in turns.
func race(tb testing.TB, f *field, s *situation, r remote, blocks int, time time.Duration) *result {
	keys := f.many[s.keys]
	if keys == nil {
		keys = oneKey(s.key())
	}
	l := newLoop(keys, s.callers, !s.denied)
	reference, measured := redisRate.open(tb, f.server.Addr(), s.quota()), r.open(tb, f.server.Addr(), s.quota())
	f.seed(tb, s, redisRate.states, l, reference)
	f.seed(tb, s, r.states, l, measured)
	l.run(tb, time/4, reference, f.server)
	l.run(tb, time/4, measured, f.server)
	var all result
	for range blocks {
		x, y := l.run(tb, time, reference, f.server), l.run(tb, time, measured, f.server)
		if x.errors+x.wrong+y.wrong > 0 {
			tb.Fatalf("redis_rate: %d wrong answers, %d errors, such as %v; %s: %d wrong answers",
				x.wrong, x.errors, x.err, r.name, y.wrong)
		}
		if y.errors > 0 {
			tb.Logf("%d errors in %d decisions, such as: %v", y.errors, y.decisions, y.err)
		}
		all.rate = append(all.rate, y.rate/x.rate)
		all.p50 = append(all.p50, float64(y.p50)/float64(x.p50))
		all.p99 = append(all.p99, float64(y.p99)/float64(x.p99))
		all.client = append(all.client, y.client/x.client)
		all.server = append(all.server, y.server/x.server)
		all.allocs = append(all.allocs, y.allocs)
		all.together = append(all.together, y.together)
		all.errors += y.errors
	}
	return &all
}
