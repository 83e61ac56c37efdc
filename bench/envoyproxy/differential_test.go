package envoyproxy

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	descriptors "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"github.com/envoyproxy/ratelimit/src/limiter"
	"github.com/envoyproxy/ratelimit/src/provider"
	"github.com/envoyproxy/ratelimit/src/redis"
	ratelimit "github.com/envoyproxy/ratelimit/src/service"
	"github.com/envoyproxy/ratelimit/src/settings"
	"github.com/envoyproxy/ratelimit/src/stats"
	"github.com/envoyproxy/ratelimit/src/utils"
	gostats "github.com/lyft/gostats"
	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weirgo/weir/service/envoy"
	memorystore "github.com/weirgo/weir/store/memory"
)

var requests = flag.Int("requests", 10_000, "how many requests both services are asked")

// instant is the clock of both services.
type instant struct {
	mu  sync.Mutex
	now time.Time
}

func (i *instant) Now() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.now
}

func (i *instant) UnixNow() int64 { return i.Now().Unix() }

func (i *instant) set(t time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.now = t
}

// counters are the commands that the service sends to Redis, without the network.
type counters struct{ counts map[string]uint64 }

func (c *counters) DoCmd(any, string, string, ...any) error { panic("not used") }
func (c *counters) PipeDo(redis.Pipeline) error             { return nil }
func (c *counters) Close() error                            { return nil }
func (c *counters) NumActiveConns() int                     { return 0 }

func (c *counters) PipeAppend(p redis.Pipeline, reply any, command, key string, args ...any) redis.Pipeline {
	if command == "INCRBY" {
		c.counts[key] += args[0].(uint64)
		*reply.(*uint64) = c.counts[key]
	}
	return append(p, redis.PipelineAction{Key: key})
}

// events hands one configuration to the service.
type events struct {
	once chan provider.ConfigUpdateEvent
}

func (e *events) ConfigUpdateEvent() <-chan provider.ConfigUpdateEvent { return e.once }
func (e *events) Stop()                                                {}

type event struct{ config config.RateLimitConfig }

func (e event) GetConfig() (config.RateLimitConfig, any) { return e.config, nil }

// upstreamOf is the service of envoyproxy/ratelimit.
func upstreamOf(file, text string, clock *instant) ratelimit.RateLimitServiceServer {
	manager := stats.NewStatManager(gostats.NewStore(gostats.NewNullSink(), false), settings.Settings{})
	cache := redis.NewFixedRateLimitCacheImpl(&counters{map[string]uint64{}}, nil, clock, nil, 0, nil, 0.8, "", manager, false)
	return serviceOn(cache, manager, file, text, clock)
}

// serviceOn is the service on a cache, with one file.
func serviceOn(cache limiter.RateLimitCache, manager stats.Manager, file, text string, clock utils.TimeSource) ratelimit.RateLimitServiceServer {
	loaded := config.NewRateLimitConfigImpl([]config.RateLimitConfigToLoad{{Name: file, ConfigYaml: config.ConfigFileContentToYaml(file, text)}}, manager, false)
	once := make(chan provider.ConfigUpdateEvent, 1)
	once <- event{loaded}
	return ratelimit.NewService(cache, &events{once}, manager, nil, clock, false, false, false)
}

// upstreamError is the error that a file has there; nil for none.
func upstreamError(file, text string) (err error) {
	defer func() {
		if mistake, is := recover().(config.RateLimitConfigError); is {
			err = mistake
		}
	}()
	manager := stats.NewStatManager(gostats.NewStore(gostats.NewNullSink(), false), settings.Settings{})
	config.NewRateLimitConfigImpl([]config.RateLimitConfigToLoad{{Name: file, ConfigYaml: config.ConfigFileContentToYaml(file, text)}}, manager, false)
	return nil
}

// Keys and values are few, so that requests match; some make one key of two entries in two
// ways.
var (
	keys   = []string{"a", "b", "a_b", "c"}
	values = []string{"x", "b", "y_z", "xx", "xy", ""}
	units  = []string{"second", "minute", "hour", "day", "week", "month", "year"}
)

func pick(r *rand.Rand, of []string) string { return of[r.IntN(len(of))] }

// drawDescriptors writes descriptors as YAML. What the newest version of the service does
// otherwise than the module that the proxy has is left out: quota mode, and stars
// elsewhere than at the end.
func drawDescriptors(r *rand.Rand, b *strings.Builder, indent string, depth int) {
	used := map[string]bool{}
	for range 3 + r.IntN(6) {
		key, value := pick(r, keys), pick(r, values)
		star := value != "" && r.IntN(3) == 0
		if star {
			value += "*"
		}
		whole := key
		if value != "" {
			whole += "_" + value
		}
		if used[whole] {
			continue
		}
		used[whole] = true
		fmt.Fprintf(b, "%s- key: %s\n", indent, key)
		if value != "" {
			fmt.Fprintf(b, "%s  value: %q\n", indent, value)
		}
		if star && r.IntN(2) == 0 {
			fmt.Fprintf(b, "%s  share_threshold: true\n", indent)
		}
		if r.IntN(6) == 0 {
			fmt.Fprintf(b, "%s  shadow_mode: true\n", indent)
		}
		if r.IntN(8) == 0 {
			fmt.Fprintf(b, "%s  detailed_metric: true\n", indent)
		}
		drawLimit(r, b, indent+"  ")
		if depth > 1 && r.IntN(2) == 0 {
			fmt.Fprintf(b, "%s  descriptors:\n", indent)
			drawDescriptors(r, b, indent+"    ", depth-1)
		}
	}
}

func drawLimit(r *rand.Rand, b *strings.Builder, indent string) {
	if r.IntN(5) == 0 {
		return
	}
	fmt.Fprintf(b, "%srate_limit:\n", indent)
	name := r.IntN(6)
	if name < 3 {
		fmt.Fprintf(b, "%s  name: n%d\n", indent, name)
	}
	if replaced := r.IntN(8); replaced < 3 && replaced != name {
		fmt.Fprintf(b, "%s  replaces: [{name: n%d}]\n", indent, replaced)
	}
	if r.IntN(8) == 0 {
		fmt.Fprintf(b, "%s  unlimited: true\n", indent)
		return
	}
	fmt.Fprintf(b, "%s  unit: %s\n%s  requests_per_unit: %d\n", indent, pick(r, units), indent, r.IntN(8))
}

func drawRequest(r *rand.Rand) *pb.RateLimitRequest {
	req := &pb.RateLimitRequest{Domain: pick(r, []string{"d", "d", "d", "d", "d", "d", "d", "d", "nosuch", ""})}
	for range min(r.IntN(8), 3) {
		req.Descriptors = append(req.Descriptors, drawDescriptor(r))
	}
	if r.IntN(3) == 0 {
		req.HitsAddend = uint32(r.IntN(5))
	}
	return req
}

func drawDescriptor(r *rand.Rand) *descriptors.RateLimitDescriptor {
	d := &descriptors.RateLimitDescriptor{}
	for range 1 + r.IntN(1+r.IntN(3)) {
		d.Entries = append(d.Entries, &descriptors.RateLimitDescriptor_Entry{Key: pick(r, keys), Value: pick(r, values)})
	}
	switch r.IntN(10) {
	case 0:
		d.Limit = &descriptors.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: uint32(r.IntN(6)), Unit: typev3.RateLimitUnit(1 + r.IntN(7))}
	case 1:
		d.Entries = nil
	}
	if r.IntN(4) == 0 {
		d.HitsAddend = wrapperspb.UInt64(uint64(r.IntN(4)))
	}
	return d
}

// drawInstant moves on to an instant at which no two units have windows that start
// together: there the service counts limits of two units in one counter.
func drawInstant(r *rand.Rand, now time.Time) time.Time {
	for {
		now = now.Add(time.Duration(r.Int64N(int64(pickStep(r)))))
		starts := map[int64]bool{}
		for _, length := range []int64{1, 60, 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400} {
			starts[now.Unix()/length*length] = true
		}
		if len(starts) == 7 {
			return now
		}
	}
}

func pickStep(r *rand.Rand) time.Duration {
	return []time.Duration{time.Millisecond, time.Millisecond, time.Second, time.Second, time.Minute, 24 * time.Hour}[r.IntN(6)] + 1
}

// TestBothAnswerAlike asks the service of envoyproxy/ratelimit and package envoy the same
// requests at the same instants, under random configurations.
func TestBothAnswerAlike(t *testing.T) {
	t.Setenv("LIMIT_RESPONSE_HEADERS_ENABLED", "true")
	logrus.SetLevel(logrus.ErrorLevel)
	const each = 200 // requests of a configuration
	over, limited := 0, 0
	for seed := range uint64(max(1, *requests/each)) {
		r := rand.New(rand.NewPCG(seed, 20))
		var text strings.Builder
		text.WriteString("domain: d\ndescriptors:\n")
		drawDescriptors(r, &text, "  ", 3)
		clock := &instant{now: time.Date(2026, 11, 27, 10, 20, 30, 0, time.UTC)}
		theirs, ours := upstreamOf("c.yaml", text.String(), clock), oursOf(t, text.String(), clock)
		for n := range each {
			clock.set(drawInstant(r, clock.Now()))
			req := drawRequest(r)
			want, wantErr := theirs.ShouldRateLimit(context.Background(), proto.Clone(req).(*pb.RateLimitRequest))
			got, err := ours.ShouldRateLimit(context.Background(), req)
			if (err == nil) != (wantErr == nil) || err != nil && !strings.HasSuffix(err.Error(), "desc = "+wantErr.Error()) || !proto.Equal(got, want) {
				t.Fatalf("seed %d, request %d at %s: %v\n got %v %v\nwant %v %v\n%s", seed, n, clock.Now(), req, got, err, want, wantErr, &text)
			}
			if got.GetOverallCode() == pb.RateLimitResponse_OVER_LIMIT {
				over++
			}
			for _, d := range got.GetStatuses() {
				if d.GetCurrentLimit() != nil {
					limited++
				}
			}
		}
	}
	if over < *requests/50 || limited < *requests/5 {
		t.Errorf("of %d requests %d were over their limit, and %d descriptors had a limit: too few to compare", *requests, over, limited)
	}
}

func oursOf(t *testing.T, text string, clock *instant) *envoy.Service {
	t.Helper()
	states, err := memorystore.New(&memorystore.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = states.Close() })
	loaded, err := envoy.Parse([]envoy.File{{Name: "c.yaml", Text: text}}, &envoy.ParseOptions{Strict: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s, err := envoy.New(states, loaded, &envoy.Options{Headers: &envoy.DefaultHeaders})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBothRefuseFilesAlike: with one text.
func TestBothRefuseFilesAlike(t *testing.T) {
	for _, text := range []string{
		"", "domain: ''", "- a", "domain: d\n\tdescriptors: []", "a", "domain: [}",
		"domain: d\ndescriptors: [{value: v}]",
		"domain: d\ndescriptors: [{key: k, value: v}, {key: k_v}]",
		"domain: d\ndescriptors: [{key: k, descriptors: [{key: a}, {key: a}]}]",
		"domain: d\ndescriptors: [{key: k, rate_limit: {unit: foo, requests_per_unit: 5}}]",
		"domain: d\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 5}}]",
		"domain: d\ndescriptors: [{key: k, rate_limit: {unlimited: true, unit: day}}]",
		"domain: d\ndescriptors: [{key: k, rate_limit: {unlimited: true, unit: other}}]",
		"domain: d\ndescriptors: [{key: k, rate_limit: {name: a, replaces: [{name: a}], unit: day}}]",
		"domain: d\ndescriptors: [{key: k, rate_limit: {replaces: [{name: \"\"}], unit: day}}]",
		"domain: d\ndescriptors: [{key: k, rate_limit: {replaces: [{}], unit: day}}]",
		"domain: d\ndescriptors: [{key: k, ratelimit: {unit: day}}]",
		"domain: d\ndescriptors: [{key: k, rate_limit: {weir: {limit: \"gcra:1/1s\"}}}]",
		"0.25: d", "domain: d\ndescriptors: [a, b]", "domain: d\ndescriptors: [[a]]", "domain: d\ndescriptors: [{key: k, value: 0.5}]",
		"domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: -1}}]",
		"domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 4294967296}}]",
		"domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: '5'}}]",
		"domain: d\ndescriptors: [{key: k, shadow_mode: maybe}]", "domain: d\ndomain: e", "domain: d\ndescriptors: [{key: 5, value: yes}]", "unit: day\ndomain: d",
	} {
		want := upstreamError("f.yaml", text)
		_, err := envoy.Parse([]envoy.File{{Name: "f.yaml", Text: text}}, &envoy.ParseOptions{Strict: true})
		if fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("%q:\n got %v\nwant %v", text, err, want)
		}
	}
}
