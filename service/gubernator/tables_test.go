package gubernator

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/service/gubernator/pb"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	redisstore "github.com/weirgo/weir/store/redis"
)

// start is at the beginning of a minute.
var start = time.Date(2026, 11, 27, 10, 20, 0, 0, time.UTC)

const (
	token = pb.Algorithm_TOKEN_BUCKET
	leaky = pb.Algorithm_LEAKY_BUCKET
)

// move is a request, and what is answered; wait is how long after the one before.
type move struct {
	wait      time.Duration
	hits      int64
	status    string // U or O
	remaining int64
	change    func(*pb.RateLimitReq) // of the item, from here on; nil for none
}

// table is a test of the service that this package replaces.
type table struct {
	name  string
	item  *pb.RateLimitReq
	moves []move
}

func item(a pb.Algorithm, duration time.Duration, limit int64, b pb.Behavior) *pb.RateLimitReq {
	return &pb.RateLimitReq{Name: "test", UniqueKey: "account:1234", Algorithm: a, Duration: duration.Milliseconds(), Limit: limit, Behavior: b}
}

func tables() []table {
	const s, ms = time.Second, time.Millisecond
	gregorian := pb.Behavior_DURATION_IS_GREGORIAN
	burst := item(leaky, 30*s, 10, 0)
	burst.Burst = 20
	all := []table{
		{"OverTheLimit", item(token, 9*s, 2, 0), []move{{0, 1, "U", 1, nil}, {0, 1, "U", 0, nil}, {0, 1, "O", 0, nil}}},
		{"TokenBucket", item(token, 5*ms, 2, 0), []move{{0, 1, "U", 1, nil}, {0, 1, "U", 0, nil}, {100 * ms, 1, "U", 1, nil}}},
		{"TokenBucketGregorian", item(token, 0, 60, gregorian), []move{{0, 1, "U", 59, nil}, {0, 1, "U", 58, nil}, {0, 58, "U", 0, nil}, {0, 1, "O", 0, nil}, {61 * s, 0, "U", 60, nil}}},
		{"TokenBucketNegativeHits", item(token, 9*s, 2, 0), []move{{0, -1, "U", 3, nil}, {0, -1, "U", 4, nil}, {0, 4, "U", 0, nil}, {0, -1, "U", 1, nil}}},
		{"LeakyBucket", item(leaky, 30*s, 10, 0), []move{
			{0, 1, "U", 9, nil}, {s, 1, "U", 8, nil}, {s, 1, "U", 7, nil}, {1500 * ms, 0, "U", 8, nil}, {3 * s, 0, "U", 9, nil}, {0, 9, "U", 0, nil},
			{0, 1, "O", 0, nil}, {3 * s, 0, "U", 1, nil}, {60 * s, 0, "U", 10, nil}, {60 * s, 10, "U", 0, nil}, {29 * s, 9, "U", 0, nil}, {3 * s, 1, "U", 0, nil},
		}},
		{"LeakyBucketWithBurst", burst, []move{
			{0, 1, "U", 19, nil}, {s, 1, "U", 18, nil}, {s, 1, "U", 17, nil}, {1500 * ms, 0, "U", 18, nil}, {3 * s, 0, "U", 19, nil}, {0, 19, "U", 0, nil},
			{0, 1, "O", 0, nil}, {3 * s, 0, "U", 1, nil}, {60 * s, 0, "U", 20, nil},
		}},
		{"LeakyBucketGregorian", item(leaky, 0, 60, gregorian), []move{{0, 1, "U", 59, nil}, {500 * ms, 1, "U", 58, nil}, {1200 * ms, 1, "U", 58, nil}}},
		{"LeakyBucketNegativeHits", item(leaky, 30*s, 10, 0), []move{{0, 1, "U", 9, nil}, {0, -1, "U", 10, nil}, {0, 10, "U", 0, nil}, {0, -1, "U", 1, nil}}},
		{"LeakyDivBug", item(leaky, s, 2000, 0), []move{{0, 1, "U", 1999, nil}, {0, 100, "U", 1899, nil}}},
		{"ChangeLimit", item(token, 9*s, 100, 0), []move{
			{0, 1, "U", 99, nil}, {0, 1, "U", 98, nil},
			{0, 1, "U", 7, func(r *pb.RateLimitReq) { r.Limit = 10 }}, {0, 1, "U", 6, nil},
			{0, 1, "U", 195, func(r *pb.RateLimitReq) { r.Limit = 200 }},
			{0, 1, "U", 99, func(r *pb.RateLimitReq) { r.Limit, r.Algorithm = 100, leaky }},
			{0, 1, "U", 9, func(r *pb.RateLimitReq) { r.Limit = 10 }}, {0, 1, "U", 8, nil},
		}},
		{"ResetRemaining", item(token, 9*s, 100, 0), []move{
			{0, 1, "U", 99, nil}, {0, 1, "U", 98, nil},
			{0, 1, "U", 100, func(r *pb.RateLimitReq) { r.Behavior = pb.Behavior_RESET_REMAINING }},
			{0, 1, "U", 99, func(r *pb.RateLimitReq) { r.Behavior = 0 }},
		}},
	}
	for _, a := range []pb.Algorithm{token, leaky} {
		all = append(all,
			table{"DrainOverLimit/" + a.String(), item(a, 30*s, 10, pb.Behavior_DRAIN_OVER_LIMIT), []move{{0, 0, "U", 10, nil}, {0, 1, "U", 9, nil}, {0, 100, "O", 0, nil}, {0, 0, "U", 0, nil}}},
			table{"MoreThanAvailable/" + a.String(), item(a, s, 2000, 0), []move{
				{0, 1000, "U", 1000, nil}, {0, 1500, "O", 1000, nil}, {0, 500, "U", 500, nil}, {0, 400, "U", 100, nil}, {0, 100, "U", 0, nil}, {0, 1, "O", 0, nil},
			}})
	}
	return all
}

// onEachStore runs a test on a store in memory, and on one on a server.
func onEachStore(t *testing.T, f func(t *testing.T, open func(t *testing.T, clk *clock.Mock) store.Store)) {
	t.Run("memory", func(t *testing.T) {
		f(t, func(t *testing.T, clk *clock.Mock) store.Store { return inMemory(t, clk) })
	})
	t.Run("server", func(t *testing.T) {
		servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
			n := 0
			f(t, func(t *testing.T, clk *clock.Mock) store.Store {
				client := redis.NewClient(&redis.Options{Addr: server.Addr()})
				t.Cleanup(func() { _ = client.Close() })
				n++
				s, err := redisstore.New(client, &redisstore.Options{Clock: clk, Prefix: fmt.Sprintf("t%d:", n)})
				must(t, s, err)
				t.Cleanup(func() { _ = s.Close() })
				return s
			})
		})
	})
}

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mockClock() *clock.Mock {
	c := clock.NewMock()
	c.Set(start)
	return c
}

func inMemory(t testing.TB, clk *clock.Mock) store.Store {
	s, err := memorystore.New(&memorystore.Options{Clock: clk})
	must(t, s, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// dial serves s and returns a client of it.
func dial(t testing.TB, s *Service) pb.V1Client {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	s.Register(server)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///gubernator", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	must(t, conn, err)
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		<-done
	})
	return pb.NewV1Client(conn)
}

// TestTablesOfGubernator: its functional tests, over the wire.
func TestTablesOfGubernator(t *testing.T) {
	onEachStore(t, func(t *testing.T, open func(t *testing.T, clk *clock.Mock) store.Store) {
		for _, table := range tables() {
			t.Run(table.name, func(t *testing.T) {
				clk := mockClock()
				s, err := New(open(t, clk), &Options{Clock: clk})
				must(t, s, err)
				client := dial(t, s)
				for i, m := range table.moves {
					clk.Add(m.wait)
					if m.change != nil {
						m.change(table.item)
					}
					table.item.Hits = m.hits
					resp, err := client.GetRateLimits(context.Background(), &pb.GetRateLimitsReq{Requests: []*pb.RateLimitReq{table.item}})
					r := must(t, resp, err).GetResponses()[0]
					got := fmt.Sprintf("%.1s %d %s", r.GetStatus(), r.GetRemaining(), r.GetError())
					if want := fmt.Sprintf("%s %d ", m.status, m.remaining); got != want || r.GetLimit() != table.item.GetLimit() {
						t.Errorf("move %d: %s of %d, want %s", i+1, got, r.GetLimit(), want)
					}
					if want := resetOf(table.item, r, clk.Now()); want != 0 && r.GetResetTime() != want {
						t.Errorf("move %d: reset at %d, want %d", i+1, r.GetResetTime(), want)
					}
				}
			})
		}
	})
}

// resetOf is when a leaky bucket has leaked: (limit − remaining)·rate after now. 0: it is
// not known here.
func resetOf(item *pb.RateLimitReq, r *pb.RateLimitResp, now time.Time) int64 {
	if item.GetAlgorithm() != leaky || has(item, pb.Behavior_DURATION_IS_GREGORIAN) {
		return 0
	}
	return now.UnixMilli() + (item.GetLimit()-r.GetRemaining())*(item.GetDuration()/item.GetLimit())
}

// TestMissingFields: and what is refused has a clear error.
func TestMissingFields(t *testing.T) {
	clk := mockClock()
	s, err := New(inMemory(t, clk), &Options{Clock: clk})
	must(t, s, err)
	with := func(change func(*pb.RateLimitReq)) *pb.RateLimitReq {
		r := item(token, 10*time.Second, 10, 0)
		r.Hits = 1
		change(r)
		return r
	}
	for name, c := range map[string]struct {
		item   *pb.RateLimitReq
		status pb.Status
		want   string
	}{
		"no duration":       {with(func(r *pb.RateLimitReq) { r.Duration = 0 }), 0, ""},
		"no limit":          {with(func(r *pb.RateLimitReq) { r.Limit = 0 }), 1, ""},
		"no leaky limit":    {with(func(r *pb.RateLimitReq) { r.Limit, r.Algorithm = 0, leaky }), 1, ""},
		"no name":           {with(func(r *pb.RateLimitReq) { r.Name = "" }), 0, "field 'namespace' cannot be empty"},
		"no key":            {with(func(r *pb.RateLimitReq) { r.UniqueKey = "" }), 0, "field 'unique_key' cannot be empty"},
		"algorithm":         {with(func(r *pb.RateLimitReq) { r.Algorithm = 2 }), 0, "field 'algorithm' 2 is not allowed: must be TOKEN_BUCKET or LEAKY_BUCKET"},
		"region":            {with(func(r *pb.RateLimitReq) { r.Behavior = pb.Behavior_MULTI_REGION }), 0, "behavior MULTI_REGION is not supported: all nodes decide over one store"},
		"behavior":          {with(func(r *pb.RateLimitReq) { r.Behavior = 64 }), 0, "field 'behavior' has unknown bits 64"},
		"global":            {with(func(r *pb.RateLimitReq) { r.Behavior = pb.Behavior_GLOBAL | pb.Behavior_NO_BATCHING }), 0, ""},
		"created":           {with(func(r *pb.RateLimitReq) { r.CreatedAt = new(int64) }), 0, "field 'created_at' is not supported: the clock of the store decides"},
		"week":              {with(func(r *pb.RateLimitReq) { r.Behavior, r.Duration = pb.Behavior_DURATION_IS_GREGORIAN, 3 }), 0, "field 'duration' 3 (weeks) is not supported: must be 0 (minute), 1 (hour), 2 (day), 4 (month) or 5 (year)"},
		"calendar":          {with(func(r *pb.RateLimitReq) { r.Behavior, r.Duration = pb.Behavior_DURATION_IS_GREGORIAN, 6 }), 0, "field 'duration' 6 is not allowed with DURATION_IS_GREGORIAN: must be 0 (minute), 1 (hour), 2 (day), 4 (month) or 5 (year)"},
		"negative limit":    {with(func(r *pb.RateLimitReq) { r.Limit = -1 }), 0, "field 'limit' -1 is not allowed: must be 0 to 1000000000000"},
		"negative burst":    {with(func(r *pb.RateLimitReq) { r.Burst = -1 }), 0, "field 'burst' -1 is not allowed: must be 0 to 1000000000000"},
		"hits":              {with(func(r *pb.RateLimitReq) { r.Hits = 1 << 62 }), 0, "field 'hits' 4611686018427387904 is not allowed: must be -1000000000000 to 1000000000000"},
		"negative duration": {with(func(r *pb.RateLimitReq) { r.Duration = -1 }), 0, "field 'duration' -1 is not allowed: must be 0 to 34560000000 ms"},
		"long duration":     {with(func(r *pb.RateLimitReq) { r.Duration = 34560000001 }), 0, "field 'duration' 34560000001 is not allowed: must be 0 to 34560000000 ms"},
	} {
		resp, err := s.GetRateLimits(context.Background(), &pb.GetRateLimitsReq{Requests: []*pb.RateLimitReq{c.item}})
		r := must(t, resp, err).GetResponses()[0]
		if r.GetError() != c.want || r.GetStatus() != c.status {
			t.Errorf("%s: %v", name, r)
		}
	}
}

// TestItemsAreDecidedByThemselves: in the order of the request, also on a store whose calls
// wait; and no more than 1,000 of them.
func TestItemsAreDecidedByThemselves(t *testing.T) {
	onEachStore(t, func(t *testing.T, open func(t *testing.T, clk *clock.Mock) store.Store) {
		clk := mockClock()
		s, err := New(open(t, clk), &Options{Clock: clk})
		must(t, s, err)
		req := &pb.GetRateLimitsReq{}
		for i := range MaxItems {
			r := item(token, time.Minute, 10, 0)
			r.UniqueKey, r.Hits = fmt.Sprint(i%100), 1
			req.Requests = append(req.Requests, r)
		}
		req.Requests[17].UniqueKey = ""
		resp, err := s.GetRateLimits(context.Background(), req)
		for i, r := range must(t, resp, err).GetResponses() {
			want := 9 - int64(i/100)
			if i%100 == 17 {
				want++ // the first was not counted
			}
			if i == 17 && r.GetError() == "" || i != 17 && (r.GetRemaining() != want || r.GetError() != "") {
				t.Fatalf("item %d: %v, want %d", i, r, want)
			}
		}
		req.Requests = append(req.Requests, req.GetRequests()[0])
		_, err = s.GetRateLimits(context.Background(), req)
		if status.Code(err) != codes.OutOfRange || !strings.Contains(err.Error(), "Requests.RateLimits list too large; max size is '1000'") {
			t.Error(err)
		}
	})
}
