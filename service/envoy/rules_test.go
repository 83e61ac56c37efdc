package envoy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// step is a request and the codes that are answered.
type step struct{ request, want string }

func run(t *testing.T, s *Service, steps ...step) {
	t.Helper()
	for i, step := range steps {
		if got := codesOf(s.askOne(t, step.request)); got != step.want {
			t.Errorf("step %d: %s: %s, want %s", i+1, step.request, got, step.want)
		}
	}
}

const wildcards = `
domain: d
descriptors:
  - {key: p, value: "/a/*", rate_limit: {unit: day, requests_per_unit: 10}}
  - {key: p, value: "/a/b/*", rate_limit: {unit: day, requests_per_unit: 20}}
  - {key: p, value: "*z*z", rate_limit: {unit: day, requests_per_unit: 30}}
  - {key: p, value: "/a/b/c", rate_limit: {unit: day, requests_per_unit: 40}}
  - {key: p, rate_limit: {unit: day, requests_per_unit: 50}}
  - key: q
    value: "x*"
    share_threshold: true
    descriptors:
      - {key: user, rate_limit: {unit: day, requests_per_unit: 2}}
  - {key: "w*", rate_limit: {unit: day, requests_per_unit: 60}}
`

// TestWildcardsMatchInTheOrderOfTheFile: an exact value goes before them, and a key without
// a value after them.
func TestWildcardsMatchInTheOrderOfTheFile(t *testing.T) {
	s, _ := serviceOf(t, wildcards, nil)
	run(t, s,
		step{"d p=/a/b/x", "OK OK:9"},  // the first, though the second is closer
		step{"d p=/a/b/c", "OK OK:39"}, // exact
		step{"d p=/a/", "OK OK:9"},     // a star is zero bytes, too
		step{"d p=zz", "OK OK:29"},
		step{"d p=z", "OK OK:49"}, // parts do not overlap
		step{"d p=azbz", "OK OK:29"},
		step{"d p=zbza", "OK OK:49"},
		step{"d p=", "OK OK:49"},
		step{"d weight=1", "OK OK:59"}, // a star in a key
		// What a wildcard above shares is shared below, by each user.
		step{"d q=x1,user=a", "OK OK:1"},
		step{"d q=x2,user=a", "OK OK:0"},
		step{"d q=x3,user=a", "OVER_LIMIT OVER_LIMIT:0"},
		step{"d q=x3,user=b", "OK OK:1"},
	)
}

// TestOneStateTwiceInARequest: each descriptor counts, in its order.
func TestOneStateTwiceInARequest(t *testing.T) {
	s, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), nil)
	run(t, s,
		step{"c ip=x ip=x ip=x", "OVER_LIMIT OK:1 OK:0 OVER_LIMIT:0"},
		step{"c files=files/1 files=files/2", "OK OK:1 OK:0"},
		step{"c five=x@2 five=x@-1 five=x@0", "OK OK:3 OK:4 OK:4"},
	)
	exact, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), &Options{Charge: ChargeExact})
	run(t, exact,
		step{"c ip=x ip=x ip=x", "OVER_LIMIT OVER_LIMIT:2 OVER_LIMIT:2 OVER_LIMIT:2"},
		step{"c ip=x ip=x", "OK OK:0 OK:0"},
	)
	_, err := exact.ShouldRateLimit(context.Background(), requestOf(t, "c ip=x ip=x!9/MINUTE"))
	if status.Code(err) != codes.Unknown || !strings.Contains(err.Error(), "descriptor 1") {
		t.Error(err)
	}
}

// TestNegativeHitsGiveBack: down to nothing used, and the answer is OK, whatever is left.
func TestNegativeHitsGiveBack(t *testing.T) {
	for _, charge := range []Charge{ChargeUpstream, ChargeExact} {
		s, clk := serviceOf(t, readFile(t, "testdata/pairs.yaml"), &Options{Charge: charge})
		run(t, s,
			step{"c five=x@4", "OK OK:1"},
			step{"c five=x@-3", "OK OK:4"},
			step{"c five=x@-3", "OK OK:5"},
			step{"c five=x@5", "OK OK:0"},
			step{"c five=x@-0", "OK OK:0"},
			step{"c five=x@-18446744073709551615", "OK OK:5"},
		)
		clk.Add(60e9)
		run(t, s, step{"c five=x@-1", "OK OK:5"}, step{"c five=x", "OK OK:4"})
	}
	over, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), nil)
	run(t, over, step{"c five=x@9", "OVER_LIMIT OVER_LIMIT:0"}, step{"c five=x@-1", "OK OK:0"}, step{"c five=x@-3", "OK OK:0"}, step{"c five=x@0", "OK OK:0"})
}

// TestNegativeHitsOfADeniedRequestAreGivenBack: what was given back is given back.
func TestNegativeHitsOfADeniedRequestAreGivenBack(t *testing.T) {
	s, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), &Options{Charge: ChargeExact})
	run(t, s, step{"c five=x@4", "OK OK:1"}, step{"c ip=x@9 five=x@-2", "OVER_LIMIT OVER_LIMIT:2 OK:3"})
}

func TestHugeHitsAreOverTheLimit(t *testing.T) {
	for _, charge := range []Charge{ChargeUpstream, ChargeExact} {
		s, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), &Options{Charge: charge})
		// The charge that no count holds leaves the others alone.
		want := map[Charge]string{ChargeUpstream: "OVER_LIMIT OVER_LIMIT:5 OK:1", ChargeExact: "OVER_LIMIT OVER_LIMIT:5 OK:2"}[charge]
		run(t, s, step{"c five=x@18446744073709551615 ip=x", want})
	}
}

// TestZeroIsAlwaysOver: but a look at a limit of 0 is over only after somebody came.
func TestZeroIsAlwaysOver(t *testing.T) {
	s, _ := serviceOf(t, "domain: d\ndescriptors: [{key: none, rate_limit: {unit: day, requests_per_unit: 0}}]", nil)
	run(t, s, step{"d none=x@0", "OK OK:0"}, step{"d none=x", "OVER_LIMIT OVER_LIMIT:0"}, step{"d none=x@0", "OVER_LIMIT OVER_LIMIT:0"})
	exact, _ := serviceOf(t, "domain: d\ndescriptors: [{key: none, rate_limit: {unit: day, requests_per_unit: 0}}]", &Options{Charge: ChargeExact})
	run(t, exact, step{"d none=x@0", "OK OK:0"}, step{"d none=x", "OVER_LIMIT OVER_LIMIT:0"}, step{"d none=x@0", "OK OK:0"})
}

func TestOverrideWithAMultiplier(t *testing.T) {
	s, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), nil)
	answer := s.askOne(t, "c ip=x!7/MINUTE*5")
	if d := answer.GetStatuses()[0]; d.GetCurrentLimit().GetUnitMultiplier().GetValue() != 5 || d.GetDurationUntilReset().GetSeconds() != 300-30 || d.GetLimitRemaining() != 6 {
		t.Error(d)
	}
	for request, want := range map[string]string{
		"c ip=x!7/MINUTE*0": "rate limit unit multiplier 0 is not allowed: must be 1 to 576000 for MINUTE",
		"c ip=x!7/YEAR*2":   "rate limit unit multiplier 2 is not allowed: must be 1 to 1 for YEAR",
		"c ip=x!7/UNKNOWN":  "invalid rate limit unit 'UNKNOWN'",
	} {
		_, err := s.ShouldRateLimit(context.Background(), requestOf(t, request))
		if status.Code(err) != codes.Unknown || status.Convert(err).Message() != want {
			t.Errorf("%s: %v, want %s", request, err, want)
		}
	}
	if got := s.Stats().RequestErrors; got != 3 {
		t.Errorf("%d request errors, want 3", got)
	}
	run(t, s, step{"c -!1/DAY", "OK OK:0"}, step{"c -!1/DAY", "OVER_LIMIT OVER_LIMIT:0"})
	// An override switches the shadow off.
	run(t, s, step{"c shadow=x!1/DAY", "OK OK:0"}, step{"c shadow=x!1/DAY", "OVER_LIMIT OVER_LIMIT:0"})
}

// TestExactSparesWhatShadowAndQuotaLetPass: what is over in shadow or quota mode is not
// charged, and the others are.
func TestExactSparesWhatShadowAndQuotaLetPass(t *testing.T) {
	s, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), &Options{Charge: ChargeExact})
	run(t, s,
		step{"c shadow=x five=x", "OK OK:0 OK:4"},
		step{"c shadow=x five=x", "OK OK:0 OK:3"},
		step{"c service=s1 service=s2 five=x", "OK OK:0 OK:1 OK:2"},
		step{"c service=s1 service=s2 five=x", "OK OVER_LIMIT:0 OK:0 OK:1"},
		step{"c service=s1 service=s2 five=x", "OVER_LIMIT OVER_LIMIT:0 OVER_LIMIT:0 OK:1"},
		step{"c shadow=x five=x@2", "OVER_LIMIT OK:0 OVER_LIMIT:1"},
		step{"c five=x", "OK OK:0"},
	)
}

// TestGlobalShadow: only the overall code is forced.
func TestGlobalShadow(t *testing.T) {
	s, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), &Options{Shadow: true})
	run(t, s, step{"c one=x", "OK OK:0"}, step{"c one=x", "OK OVER_LIMIT:0"})
	if got := s.Stats().GlobalShadow; got != 1 {
		t.Errorf("counted %d, want 1", got)
	}
}

// TestGlobalQuota: a descriptor without a limit passes, too; one that is unlimited is not
// asked.
func TestGlobalQuota(t *testing.T) {
	s, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), &Options{Quota: true})
	run(t, s,
		step{"c one=x", "OK OK:0"},
		step{"c one=x ip=x", "OK OVER_LIMIT:0 OK:1"},
		step{"c one=x nope=x", "OK OVER_LIMIT:0 OK"},
		step{"c one=x", "OVER_LIMIT OVER_LIMIT:0"},
		step{"c one=x free=x", "OVER_LIMIT OVER_LIMIT:0 OK"},
	)
}

func headersOf(r *pb.RateLimitResponse) string {
	var b strings.Builder
	for _, h := range r.GetResponseHeadersToAdd() {
		b.WriteString(h.GetKey() + ": " + h.GetValue() + "; ")
	}
	return b.String()
}

// TestHeadersShowWhatIsNextToItsLimit: what is over goes before what has nothing left, and
// the last that is over before the others.
func TestHeadersShowWhatIsNextToItsLimit(t *testing.T) {
	s, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), &Options{Headers: &DefaultHeaders})
	for _, step := range []step{
		{"c ip=x", "RateLimit-Limit: 2; RateLimit-Remaining: 1; RateLimit-Reset: 30; "},
		{"c five=x named=x ip=y", "RateLimit-Limit: 2; RateLimit-Remaining: 1; RateLimit-Reset: 30; "},
		{"c nope=x", ""},
		{"c free=x", ""},
		{"c one=x ip=z@3 five=z@6", "RateLimit-Limit: 5; RateLimit-Remaining: 0; RateLimit-Reset: 30; "},
	} {
		if got := headersOf(s.askOne(t, step.request)); got != step.want {
			t.Errorf("%s: %s, want %s", step.request, got, step.want)
		}
	}
}

func TestDynamicMetadata(t *testing.T) {
	s, _ := serviceOf(t, `
domain: d
descriptors:
  - {key: a, metadata: {svc: {name: m1, list: [1, {x: z}]}}, rate_limit: {unit: day, requests_per_unit: 2}}
  - {key: b, metadata: {svc: {name: m2, more: true}, 5: five}, rate_limit: {unit: day, requests_per_unit: 1}}
`, &Options{DynamicMetadata: true})
	for _, c := range []struct{ request, want string }{
		{"d a=1 b=1", `{"domain":"d","descriptors":[{"entries":["a=1"]},{"entries":["b=1"]}],"metadata":{"svc":{"name":"m1","list":[1,{"x":"z"}],"more":true},"5":"five"}}`},
		{"d a=1@0 b=1 hits=2", `{"domain":"d","hitsAddend":2,"descriptors":[{"entries":["a=1"],"hitsAddend":0},{"entries":["b=1"]}],"metadata":{"svc":{"name":"m1","list":[1,{"x":"z"}]}}}`},
		{"d nope=1", `{"domain":"d","descriptors":[{"entries":["nope=1"]}]}`},
	} {
		text, err := s.askOne(t, c.request).GetDynamicMetadata().MarshalJSON()
		if diff := cmp.Diff(canonical(t, c.want), canonical(t, string(must(t, text, err)))); diff != "" {
			t.Errorf("%s: %s", c.request, diff)
		}
	}
}

// TestEveryAlgorithmDecides: the extension, in both charges. A look at a debt is over.
func TestEveryAlgorithmDecides(t *testing.T) {
	for _, f := range algorithm.Families() {
		rate, unit, multiplier, longest := ":10/2m", pb.RateLimitResponse_RateLimit_MINUTE, uint32(2), int64(240)
		if f.Calendar {
			rate, unit, multiplier, longest = ":10/quarter", pb.RateLimitResponse_RateLimit_MONTH, 3, 92*86_400
		}
		for _, charge := range []Charge{ChargeUpstream, ChargeExact} {
			s, clk := serviceOf(t, "domain: d\ndescriptors: [{key: k, rate_limit: {name: n, weir: {limit: \""+f.Name+rate+"\"}}}]", &Options{Charge: charge})
			answer := s.askOne(t, "d k=x@4")
			if l := answer.GetStatuses()[0].GetCurrentLimit(); l.GetRequestsPerUnit() != 10 || l.GetUnit() != unit || l.GetUnitMultiplier().GetValue() != multiplier || l.GetName() != "n" {
				t.Errorf("%s: shown as %v", f.Name, l)
			}
			if d := answer.GetStatuses()[0].GetDurationUntilReset().GetSeconds(); d < 1 || d > longest {
				t.Errorf("%s: until reset %d s", f.Name, d)
			}
			run(t, s, step{"d k=x@6", "OK OK:0"}, step{"d k=x@0", "OK OK:0"}, step{"d k=x@3", "OVER_LIMIT OVER_LIMIT:0"},
				step{"d k=x@0", map[Charge]string{ChargeUpstream: "OVER_LIMIT OVER_LIMIT:0", ChargeExact: "OK OK:0"}[charge]})
			if f.Log {
				_, err := s.ShouldRateLimit(context.Background(), requestOf(t, "d k=x@-1"))
				if err == nil || !strings.Contains(err.Error(), "sliding-log") {
					t.Error(err)
				}
			} else {
				run(t, s, step{"d k=x@-13", "OK OK:10"})
			}
			clk.Add(time.Duration(longest) * time.Second)
			run(t, s, step{"d k=x", "OK OK:9"})
		}
	}
}

// broken is a store that does not answer, or keeps each key on a node of its own.
type broken struct {
	store.Store
	err   error
	calls int
}

func (b *broken) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	b.calls++
	if b.err != nil && (!errors.Is(b.err, store.ErrCrossNode) || len(ops) > 1) {
		return 0, false, b.err
	}
	return b.Store.Apply(ctx, ops)
}

func (b *broken) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	if b.err != nil && (!errors.Is(b.err, store.ErrCrossNode) || len(ops) > 1) {
		return 0, b.err
	}
	return b.Store.Peek(ctx, ops)
}

func onBroken(t *testing.T, err error, charge Charge) (*Service, *broken) {
	b := &broken{Store: inMemory(t, mockClock()), err: err}
	config, err := Parse([]File{{"c.yaml", readFile(t, "testdata/pairs.yaml")}}, nil)
	must(t, config, err)
	s, err := New(b, config, &Options{Charge: charge})
	return must(t, s, err), b
}

func TestStoreThatFailsIsAnError(t *testing.T) {
	for _, charge := range []Charge{ChargeUpstream, ChargeExact} {
		s, b := onBroken(t, store.ErrUnavailable, charge)
		for _, request := range []string{"c ip=x", "c ip=x five=x", "c ip=x@-1"} {
			_, err := s.ShouldRateLimit(context.Background(), requestOf(t, request))
			if status.Code(err) != codes.Unknown || !strings.Contains(err.Error(), "unavailable") {
				t.Errorf("%s: %v", request, err)
			}
		}
		if got := s.Stats().StoreErrors; got != 3 {
			t.Errorf("counted %d, want 3", got)
		}
		// What needs no store is answered.
		b.calls = 0
		run(t, s, step{"c free=x nope=x", "OK OK OK"})
		if b.calls != 0 {
			t.Errorf("%d calls for nothing", b.calls)
		}
	}
}

// TestClusterChargesEachNode: nodes share no call.
func TestClusterChargesEachNode(t *testing.T) {
	s, b := onBroken(t, store.ErrCrossNode, ChargeUpstream)
	run(t, s, step{"c ip=x@2 five=x@2 named=x", "OK OK:0 OK:3 OK:3"}, step{"c ip=x@-1 five=x@-1", "OK OK:1 OK:4"}, step{"c ip=x", "OK OK:0"})
	if b.calls != 1+3+2+1 {
		t.Errorf("%d calls", b.calls)
	}
	exact, _ := onBroken(t, store.ErrCrossNode, ChargeExact)
	if _, err := exact.ShouldRateLimit(context.Background(), requestOf(t, "c ip=x five=x")); status.Code(err) != codes.Unknown || !strings.Contains(err.Error(), "different nodes") {
		t.Error(err)
	}
}

func TestManyDescriptors(t *testing.T) {
	s, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), nil)
	req := &pb.RateLimitRequest{Domain: "c"}
	for i := range 2*store.MaxOps + 1 {
		req.Descriptors = append(req.Descriptors, descriptorOf(t, "five="+algorithm.Instant(i).String()))
	}
	answer, err := s.ShouldRateLimit(context.Background(), req)
	if must(t, answer, err); len(answer.GetStatuses()) != len(req.Descriptors) {
		t.Errorf("%d statuses", len(answer.GetStatuses()))
	}
	for i, d := range answer.GetStatuses() {
		if d.GetLimitRemaining() != 4 {
			t.Fatalf("descriptor %d: %v", i, d)
		}
	}
}

// TestManyDescriptorsOfOneState: each is charged, and their number costs no more than calls
// to the store: with work between them that grows with it, the test takes minutes.
func TestManyDescriptorsOfOneState(t *testing.T) {
	const many = 20_000
	s, _ := serviceOf(t, "domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 19999}}]", nil)
	req := &pb.RateLimitRequest{Domain: "d"}
	for range many {
		req.Descriptors = append(req.Descriptors, descriptorOf(t, "k=x"))
	}
	answer, err := s.ShouldRateLimit(context.Background(), req)
	for i, d := range must(t, answer, err).GetStatuses() {
		if left := uint32(max(0, many-2-i)); d.GetLimitRemaining() != left || (d.GetCode() == pb.RateLimitResponse_OVER_LIMIT) != (i == many-1) {
			t.Fatalf("descriptor %d: %v, want %d remaining", i, d, left)
		}
	}
}

// TestLoadKeepsWhatDecides: a mistake is counted and changes nothing.
func TestLoadKeepsWhatDecides(t *testing.T) {
	s, err := New(inMemory(t, mockClock()), nil, nil)
	must(t, s, err)
	_, err = s.ShouldRateLimit(context.Background(), requestOf(t, "d k=x"))
	if status.Convert(err).Message() != "no rate limit configuration loaded" {
		t.Error(err)
	}
	good := []File{{"1.yaml", "domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 2}}]"}}
	if err := s.Load(good); err != nil {
		t.Fatal(err)
	}
	if err := s.Load([]File{{"1.yaml", "domain: [}"}}); err == nil {
		t.Error("a mistake was loaded")
	}
	run(t, s, step{"d k=x", "OK OK:1"})
	if err := s.Load(nil); err != nil {
		t.Fatal(err)
	}
	run(t, s, step{"d k=x", "OK OK"})
	if err := s.Load(good); err != nil {
		t.Fatal(err)
	}
	run(t, s, step{"d k=x", "OK OK:0"}) // the state stayed
	if diff := cmp.Diff(Stats{ConfigLoads: 3, ConfigLoadErrors: 1, RequestErrors: 1}, s.Stats()); diff != "" {
		t.Error(diff)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	states := inMemory(t, mockClock())
	if _, err := New(nil, nil, nil); err == nil {
		t.Error("no store was taken")
	}
	for _, opts := range []*Options{{Charge: 2}, {Charge: -1}, {Headers: &Headers{Limit: "a", Reset: "b"}}} {
		if _, err := New(states, nil, opts); err == nil {
			t.Errorf("%+v was taken", opts)
		}
	}
}

// TestMetadataOfAnAnswerIsItsOwn: whoever changes it changes no other answer.
func TestMetadataOfAnAnswerIsItsOwn(t *testing.T) {
	s, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), &Options{DynamicMetadata: true})
	first := s.askOne(t, "c meta=1")
	first.DynamicMetadata.Fields["metadata"].GetStructValue().Fields["svc"].GetStructValue().Fields["name"] = nil
	second := s.askOne(t, "c meta=2")
	service := second.GetDynamicMetadata().GetFields()["metadata"].GetStructValue().GetFields()["svc"].GetStructValue()
	if got := service.GetFields()["name"].GetStringValue(); got != "m1" {
		t.Errorf("got %q, want m1", got)
	}
}
