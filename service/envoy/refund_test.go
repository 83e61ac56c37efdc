package envoy

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// givesNothingBack is a store that fails where units are given back.
type givesNothingBack struct{ store.Store }

func (s givesNothingBack) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	for i := range ops {
		if ops[i].Request.Verb == algorithm.Refund {
			return 0, false, store.ErrUnavailable
		}
	}
	return s.Store.Apply(ctx, ops)
}

// observed keeps what an Observer gets.
type observed struct{ all []weir.Observation }

func (o *observed) Observe(_ context.Context, seen weir.Observation) { o.all = append(o.all, seen) }

// TestChargedRequestIsAnsweredWhereARefundFails: an error would tell the caller that nothing
// was decided, and Envoy would let a denied request pass. What was not given back has no
// numbers, and is counted.
func TestChargedRequestIsAnsweredWhereARefundFails(t *testing.T) {
	config, err := Parse([]File{{"c.yaml", readFile(t, "testdata/pairs.yaml")}}, nil)
	must(t, config, err)
	seen := &observed{}
	s, err := New(givesNothingBack{inMemory(t, mockClock())}, config, &Options{Charge: ChargeExact, Headers: &DefaultHeaders, DynamicMetadata: true, Observer: seen})
	must(t, s, err)
	run(t, s, step{"c ip=x@2 five=x@-1", "OK OK:0 OK"}, step{"c ip=x five=x@-1", "OVER_LIMIT OVER_LIMIT:0 OK"})
	if got := s.Stats().StoreErrors; got != 2 {
		t.Errorf("%d errors of the store, want 2", got)
	}
	for i, failed := range []bool{false, true, false, true} {
		if err := seen.all[i].Err; errors.Is(err, store.ErrUnavailable) != failed {
			t.Errorf("observation %d: %v, want an error: %t", i, err, failed)
		}
	}
	if _, err := s.ShouldRateLimit(t.Context(), requestOf(t, "c five=x@-1")); err == nil {
		t.Error("a request of which nothing was decided has an answer")
	}
}

// TestMetadataHasOnlyNumbersOfJSON: others would make /json answer 500.
func TestMetadataHasOnlyNumbersOfJSON(t *testing.T) {
	const file = "domain: d\ndescriptors: [{key: k, metadata: {a: [{b: %}]}, rate_limit: {unit: day, requests_per_unit: 2}}]"
	for text, want := range map[string]string{
		".nan": "NaN", ".inf": "+Inf", "-.inf": "-Inf",
	} {
		_, err := Parse([]File{{"f.yaml", strings.Replace(file, "%", text, 1)}}, nil)
		if want := "f.yaml: error parsing metadata: number " + want + " is not allowed: must be finite"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	s, _ := serviceOf(t, strings.Replace(file, "%", "1.5", 1), &Options{DynamicMetadata: true})
	if _, err := protojson.Marshal(s.askOne(t, "d k=x")); err != nil {
		t.Error(err)
	}
}
