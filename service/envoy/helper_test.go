package envoy

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// start is within a minute, an hour, a day and a year.
var start = time.Date(2026, 11, 27, 10, 20, 30, 400_000_000, time.UTC)

// mockClock is a clock that stands at start.
func mockClock() *clock.Mock {
	c := clock.NewMock()
	c.Set(start)
	return c
}

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func inMemory(t testing.TB, clk store.Clock) store.Store {
	t.Helper()
	s, err := memorystore.New(&memorystore.Options{Clock: clk})
	must(t, s, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// serviceOf is a Service on a new store in memory.
func serviceOf(t testing.TB, text string, opts *Options) (*Service, *clock.Mock) {
	t.Helper()
	clk := mockClock()
	config, err := Parse([]File{{"c.yaml", text}}, nil)
	must(t, config, err)
	s, err := New(inMemory(t, clk), config, opts)
	return must(t, s, err), clk
}

// dial serves s and returns a client of it.
func dial(t testing.TB, s *Service) pb.RateLimitServiceClient {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	s.Register(server)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///envoy", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	must(t, conn, err)
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		<-done
	})
	return pb.NewRateLimitServiceClient(conn)
}

// requestOf reads a request as testdata/pairs.txt has it.
func requestOf(t testing.TB, text string) *pb.RateLimitRequest {
	t.Helper()
	fields := strings.Fields(text)
	req := &pb.RateLimitRequest{Domain: strings.Trim(fields[0], `"`)}
	for _, field := range fields[1:] {
		if hits, is := strings.CutPrefix(field, "hits="); is {
			n, err := strconv.ParseUint(hits, 10, 32)
			req.HitsAddend = uint32(must(t, n, err))
			continue
		}
		req.Descriptors = append(req.Descriptors, descriptorOf(t, field))
	}
	return req
}

func descriptorOf(t testing.TB, text string) *ratelimit.RateLimitDescriptor {
	t.Helper()
	d := &ratelimit.RateLimitDescriptor{}
	text, limit, found := strings.Cut(text, "!")
	if found {
		n, unit, _ := strings.Cut(limit, "/")
		requests, err := strconv.ParseUint(n, 10, 32)
		d.Limit = &ratelimit.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: uint32(must(t, requests, err))}
		if by, multiplied, has := strings.Cut(unit, "*"); has {
			n, err := strconv.ParseUint(multiplied, 10, 32)
			unit, d.Limit.UnitMultiplier = by, wrapperspb.UInt32(uint32(must(t, n, err)))
		}
		d.Limit.Unit = typev3.RateLimitUnit(typev3.RateLimitUnit_value[unit])
	}
	text, hits, found := strings.Cut(text, "@")
	if found {
		hits, d.IsNegativeHits = strings.CutPrefix(hits, "-")
		n, err := strconv.ParseUint(hits, 10, 64)
		d.HitsAddend = wrapperspb.UInt64(must(t, n, err))
	}
	if text == "-" {
		return d
	}
	for entry := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(entry, "=")
		d.Entries = append(d.Entries, &ratelimit.RateLimitDescriptor_Entry{Key: key, Value: value})
	}
	return d
}

// askOne asks s without a network.
func (s *Service) askOne(t testing.TB, text string) *pb.RateLimitResponse {
	t.Helper()
	r, err := s.ShouldRateLimit(context.Background(), requestOf(t, text))
	return must(t, r, err)
}

// codesOf is the text of the codes of a response: the overall one, and those of the statuses with what remains.
func codesOf(r *pb.RateLimitResponse) string {
	var b strings.Builder
	b.WriteString(r.GetOverallCode().String())
	for _, d := range r.GetStatuses() {
		b.WriteString(" " + d.GetCode().String())
		if d.GetCurrentLimit() != nil {
			b.WriteString(":" + strconv.Itoa(int(d.GetLimitRemaining())))
		}
	}
	return b.String()
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	return string(must(t, text, err))
}
