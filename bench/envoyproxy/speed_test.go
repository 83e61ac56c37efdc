//go:build linux

package envoyproxy

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	descriptors "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	goredis "github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
	redisstore "github.com/weirgo/weir/store/redis"
)

const (
	callers = 64 // at once
	rounds  = 20
	each    = 5_000 // calls of a round: short, so that other work meets all alike
)

// BenchmarkShouldRateLimit asks servers through gRPC on the loopback interface, each a
// process of its own with a Redis server of its own, with 64 calls in flight. The servers are
// asked in turns; shown are medians of the rounds, their ratios to envoyproxy and the ratio of the
// fastest rounds, which other work has disturbed least; and the CPU time of a call in the process
// of the server, in that of the client and in that of Redis.
//
// The client is grpc-go in this process, over one connection, with one key and with 100,000; and
// h2load of nghttp2, whose calls cost as little as those of Envoy, over one connection and over 8.
// h2load sends the same body each time, and so has one key.
//
//   - floor answers OK without looking at the request: what gRPC costs alone.
//   - weir is weir serve, with its interceptors, metrics and health.
//   - envoyproxy is the service of that name as it starts by itself, without statistics; window
//     is the same with REDIS_PIPELINE_WINDOW=150us, which its documentation recommends.
//   - library is weir.Limiter in this process, asked by 64 goroutines without a service.
func BenchmarkShouldRateLimit(b *testing.B) {
	program := buildWeir(b)
	for _, keys := range []int{1, 100_000} {
		b.Run(fmt.Sprintf("grpc-go/keys=%d", keys), func(b *testing.B) {
			compare(b, program, func(c *contender, calls int) func() []time.Duration { return c.callers(b, keys, calls) })
		})
	}
	for _, connections := range []int{1, 8} {
		b.Run(fmt.Sprintf("h2load/connections=%d", connections), func(b *testing.B) {
			if _, err := exec.LookPath("h2load"); err != nil {
				b.Skip("h2load is not installed; it is part of nghttp2")
			}
			compare(b, program, func(c *contender, calls int) func() []time.Duration { return c.h2load(b, connections, calls) })
		})
	}
}

// compare asks all contenders in turns; program is weir. load makes calls, and returns what says how long they
// took.
func compare(b *testing.B, program string, load func(c *contender, calls int) (latencies func() []time.Duration)) {
	all := []*contender{
		{name: "floor", start: startFloor}, {name: "weir", start: func(b *testing.B, c *contender) { startWeir(b, c, program) }}, {name: "envoyproxy", start: startTheirs},
		{name: "window", start: startTheirsWithWindow}, {name: "library", start: startLibrary},
	}
	for _, c := range all {
		c.start(b, c)
		load(c, each)() // warms up
	}
	b.ResetTimer()
	for range b.N * rounds {
		for _, c := range all {
			c.round(b, each, load)
		}
	}
	b.StopTimer()
	report(b, all)
}

// contender is a server, or a library.
type contender struct {
	name  string
	start func(*testing.B, *contender)

	ask       func(ctx context.Context, user string) (allowed bool, err error)
	addr      string                    // "" where there is no server
	client    pb.RateLimitServiceClient // of addr
	pid       int                       // of the process that decides; 0 for none of its own
	redis     *servertest.Server
	walls     []time.Duration // of a call, by round
	p99       []time.Duration
	cpu       time.Duration // of all rounds
	clientCPU time.Duration
	redisCPU  time.Duration
	calls     int
}

// round makes calls, and measures them.
func (c *contender) round(b *testing.B, calls int, load func(*contender, int) func() []time.Duration) {
	b.Helper()
	cpu, clientCPU, redisCPU, start := c.cpuTime(b), clientTime(b), c.redisTime(b), time.Now()
	latencies := load(c, calls)
	took := time.Since(start)
	c.cpu += c.cpuTime(b) - cpu
	c.clientCPU += clientTime(b) - clientCPU
	c.redisCPU += c.redisTime(b) - redisCPU
	c.calls += calls
	c.walls = append(c.walls, took/time.Duration(calls))
	if ordered := slices.Sorted(slices.Values(latencies())); len(ordered) > 0 {
		c.p99 = append(c.p99, ordered[len(ordered)*99/100])
	}
}

// callers asks from goroutines of this process, and looks at each answer.
func (c *contender) callers(b *testing.B, keys, calls int) (latencies func() []time.Duration) {
	b.Helper()
	var next atomic.Int64
	took := make([][]time.Duration, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			for n := next.Add(1); n <= int64(calls); n = next.Add(1) {
				asked := time.Now()
				allowed, err := c.ask(context.Background(), strconv.FormatInt(n*7919%int64(keys), 10))
				if err != nil || !allowed {
					b.Errorf("%s: %t, %v", c.name, allowed, err)
					return
				}
				took[i] = append(took[i], time.Since(asked))
			}
		})
	}
	group.Wait()
	return func() []time.Duration { return slices.Concat(took...) }
}

func median[T cmp.Ordered](of []T) T {
	ordered := slices.Sorted(slices.Values(of))
	return ordered[len(ordered)/2]
}

// report shows the contenders beside envoyproxy.
func report(b *testing.B, all []*contender) {
	i := slices.IndexFunc(all, func(c *contender) bool { return c.name == "envoyproxy" })
	theirs := all[i]
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-12s %10s %8s %8s %10s %8s %12s %8s %12s %10s\n", "", "calls/s", "ratio", "fastest", "p99", "ratio", "server CPU", "ratio", "client CPU", "Redis CPU")
	for _, c := range all {
		wall, p99 := median(c.walls), median(c.p99)
		cpu, client, redis := c.cpu/time.Duration(c.calls), c.clientCPU/time.Duration(c.calls), c.redisCPU/time.Duration(c.calls)
		if c.pid == 0 {
			client = 0 // one process is both
		}
		theirCPU := theirs.cpu / time.Duration(theirs.calls)
		rate := float64(median(theirs.walls)) / float64(wall)
		fmt.Fprintf(&table, "%-12s %10.0f %8.2f %8.2f %10s %8.2f %12s %8.2f %12s %10s\n", c.name, 1/wall.Seconds(), rate,
			float64(slices.Min(theirs.walls))/float64(slices.Min(c.walls)), p99.Round(10*time.Microsecond),
			float64(p99)/float64(median(theirs.p99)), cpu.Round(100*time.Nanosecond), float64(cpu)/float64(theirCPU),
			client.Round(100*time.Nanosecond), redis.Round(100*time.Nanosecond))
		b.ReportMetric(rate, c.name+"-ratio")
	}
	b.Log(table.String())
}

// requestOf is the request of a user.
func requestOf(user string) *pb.RateLimitRequest {
	return &pb.RateLimitRequest{Domain: "d", Descriptors: []*descriptors.RateLimitDescriptor{
		{Entries: []*descriptors.RateLimitDescriptor_Entry{{Key: "user", Value: user}}},
	}}
}

// dial waits until a server answers, and sets what asks it.
func (c *contender) dial(b *testing.B, addr string) {
	b.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	c.addr, c.client = addr, pb.NewRateLimitServiceClient(conn)
	c.ask = func(ctx context.Context, user string) (bool, error) {
		answer, err := c.client.ShouldRateLimit(ctx, requestOf(user))
		return answer.GetOverallCode() == pb.RateLimitResponse_OK, err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		allowed, err := c.ask(context.Background(), "first")
		if err == nil && allowed {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s does not answer within a minute: %t, %v", addr, allowed, err)
		}
	}
}

func startFloor(b *testing.B, c *contender) {
	addr := freeAddress(b)
	c.pid = self(b, "floor", "ADDRESS="+addr)
	c.dial(b, addr)
}

func startWeir(b *testing.B, c *contender, program string) {
	c.redis = servertest.Start(b, servertest.Redis, nil)
	folder := b.TempDir()
	addr := freeAddress(b)
	write(b, folder+"/rls.yaml", limits)
	write(b, folder+"/weir.yaml", fmt.Sprintf(`
version: 1
listen: {grpc: %q, http: "127.0.0.1:0", admin: "127.0.0.1:0"}
store: {url: "redis://%s", timeout: 10s}
on_failure: closed
rls: {files: [rls.yaml]}
`, addr, c.redis.Addr()))
	c.pid = startProcess(b, exec.Command(program, "serve", "--config", folder+"/weir.yaml"))
	c.dial(b, addr)
}

func startTheirs(b *testing.B, c *contender) { startTheirsWith(b, c) }
func startTheirsWithWindow(b *testing.B, c *contender) {
	startTheirsWith(b, c, "REDIS_PIPELINE_WINDOW=150us")
}

func startTheirsWith(b *testing.B, c *contender, more ...string) {
	c.redis = servertest.Start(b, servertest.Redis, nil)
	root := b.TempDir()
	write(b, root+"/ratelimit/config/c.yaml", limits)
	addr := freeAddress(b)
	_, port, _ := net.SplitHostPort(addr)
	_, http, _ := net.SplitHostPort(freeAddress(b))
	_, debug, _ := net.SplitHostPort(freeAddress(b))
	c.pid = self(b, "envoyproxy", append(more, "GRPC_HOST=127.0.0.1", "GRPC_PORT="+port, "HOST=127.0.0.1", "PORT="+http, "DEBUG_HOST=127.0.0.1", "DEBUG_PORT="+debug,
		"RUNTIME_ROOT="+root, "RUNTIME_SUBDIRECTORY=ratelimit", "RUNTIME_WATCH_ROOT=false", "DISABLE_STATS=true", "USE_STATSD=false", "LOG_LEVEL=ERROR",
		"REDIS_SOCKET_TYPE=tcp", "REDIS_TYPE=SINGLE", "REDIS_URL="+c.redis.Addr())...)
	c.dial(b, addr)
}

func startLibrary(b *testing.B, c *contender) {
	c.redis = servertest.Start(b, servertest.Redis, nil)
	client := goredis.NewClient(&goredis.Options{Addr: c.redis.Addr()})
	b.Cleanup(func() { _ = client.Close() })
	states, err := redisstore.New(client, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = states.Close() })
	limit, err := weir.ParseLimit("user", "fixed-window:4000000000/1h")
	if err != nil {
		b.Fatal(err)
	}
	limiter, err := weir.New(states, limit, &weir.Options{Timeout: 10 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	c.ask = func(ctx context.Context, user string) (bool, error) {
		d, err := limiter.Allow(ctx, user)
		return d.Allowed, err
	}
}
