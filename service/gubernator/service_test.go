package gubernator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // also where the machine has no database

	"github.com/benbjohnson/clock"
	"google.golang.org/protobuf/proto"

	"github.com/weirgo/weir/service/gubernator/pb"
	"github.com/weirgo/weir/store"
)

func serviceOf(t testing.TB, opts Options) *Service {
	t.Helper()
	clk := mockClock()
	if opts.Clock == nil {
		opts.Clock = clk
	}
	s, err := New(inMemory(t, clk), &opts)
	return must(t, s, err)
}

func call(s *Service, method, path, body string) string {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	var compact any
	text := w.Body.String()
	if json.Unmarshal([]byte(text), &compact) == nil {
		out, _ := json.Marshal(compact) // of what was read
		text = string(out)
	}
	return fmt.Sprint(w.Code, " ", text)
}

// TestGateway: names as in the .proto file, numbers as texts, enums as names, and everything
// is there.
func TestGateway(t *testing.T) {
	healthy := errors.New("no store")
	s := serviceOf(t, Options{Healthy: func() error { return healthy }})
	end := start.Add(time.Minute).UnixMilli()
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/v1/GetRateLimits", `{"requests": [{"name": "n", "unique_key": "k", "hits": 1, "limit": "10", "duration": "60000", "nope": 1}]}`,
			fmt.Sprintf(`200 {"responses":[{"error":"","limit":"10","metadata":{},"remaining":"9","reset_time":"%d","status":"UNDER_LIMIT"}]}`, end)},
		{"POST", "/v1/GetRateLimits", `{"requests": [{"name": "n", "uniqueKey": "k", "hits": "10", "limit": 10, "duration": 60000, "algorithm": "TOKEN_BUCKET", "behavior": "DRAIN_OVER_LIMIT"}]}`,
			fmt.Sprintf(`200 {"responses":[{"error":"","limit":"10","metadata":{},"remaining":"0","reset_time":"%d","status":"OVER_LIMIT"}]}`, end)},
		{"POST", "/v1/GetRateLimits", `{}`, `200 {"responses":[]}`},
		{"POST", "/v1/GetRateLimits", `{`, `400 {"code":3,"details":[],"message":"the body is no valid JSON of the request"}`},
		{"POST", "/v1/GetRateLimits", `{"requests": [` + strings.Repeat(`{},`, MaxItems) + `{}]}`, `400 {"code":11,"details":[],"message":"Requests.RateLimits list too large; max size is '1000'"}`},
		{"POST", "/v1/GetRateLimits", strings.Repeat(" ", MaxMessage+1), `413 {"code":8,"details":[],"message":"the body has more than 1048576 bytes"}`},
		{"GET", "/v1/HealthCheck", "", `200 {"advertise_address":"","local_peers":[],"message":"no store","peer_count":1,"region_peers":[],"status":"unhealthy"}`},
		{"GET", "/v1/LiveCheck", "", `200 {}`},
	} {
		if got := call(s, c.method, c.path, c.body); got != c.want {
			t.Errorf("%s: got %s\nwant %s", c.path, got, c.want)
		}
	}
	healthy = nil
	if got := call(s, "GET", "/v1/HealthCheck", ""); !strings.Contains(got, `"status":"healthy"`) {
		t.Error(got)
	}
	if _, err := New(nil, nil); err == nil {
		t.Error("no store was taken")
	}
}

// calendarOf is the calendar of a service in a zone.
func calendarOf(t *testing.T, zone string) *calendar {
	t.Helper()
	s, err := New(inMemory(t, mockClock()), &Options{Zone: zone})
	return &must(t, s, err).calendar
}

// TestZoneHasToBeInTheDatabase, and to be the same on every machine.
func TestZoneHasToBeInTheDatabase(t *testing.T) {
	for _, zone := range []string{"Europe/Berlim", "Local", "localtime", "berlin"} {
		if _, err := New(inMemory(t, mockClock()), &Options{Zone: zone}); err == nil || !strings.HasPrefix(err.Error(), "gubernator: ") || !strings.Contains(err.Error(), zone) {
			t.Errorf("%s: %v", zone, err)
		}
	}
}

// TestCalendar: intervals in their zone, also where its clock changes.
func TestCalendar(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		return must(t, parsed, err)
	}
	for _, c := range []struct {
		now        string
		zone       string
		unit       int64
		begin, end string
	}{
		{"2026-11-27T10:20:30Z", "", 0, "2026-11-27T10:20:00Z", "2026-11-27T10:21:00Z"},
		{"2026-11-27T10:20:30Z", "Asia/Kathmandu", 1, "2026-11-27T10:15:00Z", "2026-11-27T11:15:00Z"}, // +05:45
		{"2026-11-27T23:30:00Z", "Europe/Berlin", 2, "2026-11-27T23:00:00Z", "2026-11-28T23:00:00Z"},
		{"2026-10-25T12:00:00Z", "Europe/Berlin", 2, "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},    // 25 hours
		{"2026-03-29T12:00:00Z", "Europe/Berlin", 2, "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},    // 23 hours
		{"2009-11-01T02:45:00Z", "America/St_Johns", 2, "2009-11-01T02:30:00Z", "2009-11-02T03:30:00Z"}, // 31 October once more, for an hour
		{"2011-12-30T10:00:00Z", "Pacific/Apia", 2, "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},     // after 29 December
		{"2028-02-29T12:00:00Z", "", 4, "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		{"2026-12-31T23:59:59Z", "", 5, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
	} {
		begin, end, err := calendarOf(t, c.zone).interval(at(c.now), c.unit)
		if err != nil || !begin.Equal(at(c.begin)) || !end.Equal(at(c.end)) {
			t.Errorf("%v: %s to %s, %v", c, begin.UTC(), end.UTC(), err)
		}
	}
}

// TestCalendarWhereTheClockChangesAtMidnight: each instant lies in its interval, and
// intervals follow each other without a gap.
func TestCalendarWhereTheClockChangesAtMidnight(t *testing.T) {
	for _, name := range []string{"America/Sao_Paulo", "Africa/Cairo", "Asia/Amman", "Atlantic/Azores", "Pacific/Apia", "Australia/Lord_Howe", "America/St_Johns"} {
		days := calendarOf(t, name)
		var last time.Time // end of the interval
		for now := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC); now.Year() < 2012; now = now.Add(30 * time.Minute) {
			begin, end, err := days.interval(now, 2)
			if err != nil || begin.After(now) || !end.After(now) {
				t.Fatalf("%s: %s lies not within %s to %s, %v", name, now, begin, end, err)
			}
			if !last.IsZero() && !end.Equal(last) && !begin.Equal(last) {
				t.Fatalf("%s: the day of %s begins at %s, and the day before ends at %s", name, now, begin, last)
			}
			last = end
		}
	}
}

// TestMonthsDoNotReachIntoTheNext: a longer month does not read the state of a shorter one.
func TestMonthsDoNotReachIntoTheNext(t *testing.T) {
	clk := mockClock()
	clk.Set(time.Date(2026, 2, 28, 23, 59, 59, 0, time.UTC))
	s, err := New(inMemory(t, clk), &Options{Clock: clk})
	must(t, s, err)
	r := item(token, 0, 10, pb.Behavior_DURATION_IS_GREGORIAN)
	r.Duration, r.Hits = 4, 10
	ask := func() *pb.RateLimitResp {
		answer, err := s.GetRateLimits(context.Background(), &pb.GetRateLimitsReq{Requests: []*pb.RateLimitReq{r}})
		return must(t, answer, err).GetResponses()[0]
	}
	if got := ask(); got.GetRemaining() != 0 || got.GetResetTime() != time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMilli() {
		t.Error(got)
	}
	clk.Add(time.Second)
	if got := ask(); got.GetStatus() != pb.Status_UNDER_LIMIT || got.GetResetTime() != time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC).UnixMilli() {
		t.Error(got)
	}
}

// TestTheClockOfTheStoreCounts: a service whose clock is behind the store's, or ahead of it,
// counts in the interval in which the store is, on every store: it begins none anew, and none
// in the future.
func TestTheClockOfTheStoreCounts(t *testing.T) {
	onEachStore(t, func(t *testing.T, open func(t *testing.T, clk *clock.Mock) store.Store) {
		storeClock := mockClock() // at the beginning of a minute
		states := open(t, storeClock)
		var nodes []*Service
		for _, ahead := range []time.Duration{-61 * time.Second, 0, 61 * time.Second, 100 * 24 * time.Hour} {
			clk := mockClock()
			clk.Add(ahead)
			s, err := New(states, &Options{Clock: clk})
			nodes = append(nodes, must(t, s, err))
		}
		r := item(token, 0, 10, pb.Behavior_DURATION_IS_GREGORIAN)
		ask := func(s *Service, hits int64) *pb.RateLimitResp {
			t.Helper()
			r.Hits = hits
			answer, err := s.GetRateLimits(context.Background(), &pb.GetRateLimitsReq{Requests: []*pb.RateLimitReq{r}})
			got := must(t, answer, err).GetResponses()[0]
			if end := storeClock.Now().Truncate(time.Minute).Add(time.Minute).UnixMilli(); got.GetError() != "" || got.GetResetTime() != end {
				t.Errorf("%v, want an end at %d", got, end)
			}
			return got
		}
		for minute := range 3 {
			left := int64(10)
			for i, hits := range []int64{1, 1, 1, 1, 2, 0, 2, 1, -1} {
				left -= hits
				if got := ask(nodes[i%len(nodes)], hits); got.GetRemaining() != left || got.GetStatus() != pb.Status_UNDER_LIMIT {
					t.Errorf("minute %d, request %d: %v, want %d left", minute, i, got, left)
				}
			}
			for i, s := range nodes {
				if got := ask(s, 3); got.GetRemaining() != 2 || got.GetStatus() != pb.Status_OVER_LIMIT {
					t.Errorf("minute %d, node %d: %v, want a denial with 2 left", minute, i, got)
				}
			}
			storeClock.Add(time.Minute)
		}
	})
}

// TestStoreThatFailsIsAnErrorOfTheItem: without its key.
func TestStoreThatFailsIsAnErrorOfTheItem(t *testing.T) {
	closed := inMemory(t, mockClock())
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := New(closed, nil)
	must(t, s, err)
	r := item(token, time.Minute, 10, 0)
	for _, b := range []pb.Behavior{0, pb.Behavior_RESET_REMAINING} {
		r.Behavior = b
		answer, err := s.GetRateLimits(context.Background(), &pb.GetRateLimitsReq{Requests: []*pb.RateLimitReq{r}})
		if got := must(t, answer, err).GetResponses()[0].GetError(); got != store.ErrClosed.Error() {
			t.Error(got)
		}
	}
}

// TestCreditIsBounded: no more than 10^12 units are left.
func TestCreditIsBounded(t *testing.T) {
	s := serviceOf(t, Options{})
	r := item(token, time.Minute, 10, 0)
	r.Hits = -1_000_000_000_000
	for _, want := range []string{"", "field 'hits' -1000000000000 is not allowed: more than 1000000000000 units would be left"} {
		answer, err := s.GetRateLimits(context.Background(), &pb.GetRateLimitsReq{Requests: []*pb.RateLimitReq{r}})
		if got := must(t, answer, err).GetResponses()[0].GetError(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// FuzzMessage decides whatever comes over the wire.
func FuzzMessage(f *testing.F) {
	for _, table := range tables() {
		data, err := proto.Marshal(&pb.GetRateLimitsReq{Requests: []*pb.RateLimitReq{table.item, table.item}})
		f.Add(must(f, data, err))
	}
	s := serviceOf(f, Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var req pb.GetRateLimitsReq
		if proto.Unmarshal(data, &req) != nil || len(req.GetRequests()) > MaxItems {
			return
		}
		resp, err := s.GetRateLimits(context.Background(), &req)
		for _, r := range must(t, resp, err).GetResponses() {
			if r.GetError() == "" && (r.GetRemaining() < 0 || r.GetResetTime() < 0) {
				t.Errorf("%v", r)
			}
		}
	})
}

// FuzzJSON posts any body to the gateway.
func FuzzJSON(f *testing.F) {
	f.Add(`{"requests": [{"name": "n", "unique_key": "k", "hits": 1, "limit": "10", "duration": "60000"}]}`)
	f.Add(`{"requests": [null, {"behavior": 63, "algorithm": 7}]}`)
	s := serviceOf(f, Options{})
	f.Fuzz(func(t *testing.T, body string) {
		got := call(s, "POST", "/v1/GetRateLimits", body)
		if !strings.HasPrefix(got, "200 ") && !strings.HasPrefix(got, "400 ") {
			t.Error(got)
		}
	})
}

// TestWireIsThatOfGubernator: names and numbers, as its clients send them.
func TestWireIsThatOfGubernator(t *testing.T) {
	var b strings.Builder
	messages := pb.File_gubernator_proto.Messages()
	for i := range messages.Len() {
		fmt.Fprintf(&b, "%s:", messages.Get(i).FullName())
		fields := messages.Get(i).Fields()
		for j := range fields.Len() {
			f := fields.Get(j)
			fmt.Fprintf(&b, " %s=%d %s", f.Name(), f.Number(), f.Kind())
		}
		b.WriteString("\n")
	}
	const want = `pb.gubernator.GetRateLimitsReq: requests=1 message
pb.gubernator.GetRateLimitsResp: responses=1 message
pb.gubernator.RateLimitReq: name=1 string unique_key=2 string hits=3 int64 limit=4 int64 duration=5 int64 algorithm=6 enum behavior=7 enum burst=8 int64 metadata=9 message created_at=10 int64
pb.gubernator.RateLimitResp: status=1 enum limit=2 int64 remaining=3 int64 reset_time=4 int64 error=5 string metadata=6 message
pb.gubernator.HealthCheckReq:
pb.gubernator.HealthCheckResp: status=1 string message=2 string peer_count=3 int32 advertise_address=4 string local_peers=5 message region_peers=6 message
pb.gubernator.PeerHealthResp: grpc_address=1 string data_center=2 string
pb.gubernator.LiveCheckReq:
pb.gubernator.LiveCheckResp:
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := pb.V1_GetRateLimits_FullMethodName + pb.V1_HealthCheck_FullMethodName + pb.V1_LiveCheck_FullMethodName; got != "/pb.gubernator.V1/GetRateLimits/pb.gubernator.V1/HealthCheck/pb.gubernator.V1/LiveCheck" {
		t.Error(got)
	}
}
