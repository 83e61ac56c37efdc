package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/weirgo/weir/api/weirv1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const recordedFile = "testdata/recorded.json"

// recorded is a call as clients and servers of some version have sent it.
type recorded struct {
	Name    string
	Method  string // full
	Request recordedMessage
	Answer  recordedMessage
}

// recordedMessage is a message in both forms.
type recordedMessage struct {
	Binary []byte // base64 in the file
	JSON   json.RawMessage
}

// samples are calls that set every field of every message. A call that is recorded is
// never recorded anew: give a changed one another name.
func samples() []sample {
	const us = time.Microsecond
	at := timestamppb.New(time.Unix(1_764_288_000, 123_456_000))
	rule := func(id string) *weirv1.RuleDecision {
		return &weirv1.RuleDecision{Allowed: true, CurrentCount: 1, Limit: 10, Remaining: 9, ResetAt: 1_764_288_007, RetryAfter: 1, RetryAfterExact: durationpb.New(500_001 * us), ResetAfterExact: durationpb.New(6 * time.Second), Delay: durationpb.New(us), RuleId: id}
	}
	allow := func() *weirv1.AllowResponse {
		return &weirv1.AllowResponse{Allowed: true, CurrentCount: 1, Limit: 10, Remaining: 9, ResetAt: 1_764_288_007, RetryAfter: 1, RetryAfterExact: durationpb.New(us), ResetAfterExact: durationpb.New(6 * time.Second), Delay: durationpb.New(us), At: at, Degraded: true, Replayed: true}
	}
	attributes := map[string]string{"org": "acme"}
	return []sample{
		{"check with everything", "CheckRateLimit",
			&weirv1.CheckRequest{Identifier: "me", Dimension: weirv1.Dimension_USER, Endpoint: "/api/orders", Cost: proto.Int64(3), Timestamp: 1_764_288_000_123_456, Method: "POST", Attributes: attributes, IdempotencyKey: "k-1"},
			&weirv1.CheckResponse{Allowed: true, CurrentCount: 1, Limit: 10, Remaining: 9, ResetAt: 1_764_288_007, RetryAfter: 1, RetryAfterExact: durationpb.New(us), ResetAfterExact: durationpb.New(6 * time.Second), Delay: durationpb.New(us), At: at,
				RuleId: "api", Decisions: []*weirv1.RuleDecision{rule("api"), rule("org/day")}, Standing: weirv1.Standing_STANDING_WARNING, Degraded: true, PolicyVersion: "0123456789ab", Replayed: true}},
		{"check with the least", "CheckRateLimit", &weirv1.CheckRequest{Identifier: "2001:db8::1", Dimension: weirv1.Dimension_IP, Endpoint: "/"}, &weirv1.CheckResponse{Allowed: true, PolicyVersion: "1"}},
		{"look that is denied for good", "CheckRateLimit", &weirv1.CheckRequest{Identifier: "k", Dimension: weirv1.Dimension_API_KEY, Endpoint: "/", Cost: proto.Int64(0)},
			&weirv1.CheckResponse{Limit: 10, Remaining: 10, RetryAfter: -1, Standing: weirv1.Standing_STANDING_THROTTLED}},
		{"quota", "GetRemainingQuota", &weirv1.QuotaRequest{Identifier: "acme", Dimension: weirv1.Dimension_ORG, Endpoint: "/", Method: "GET", Attributes: attributes},
			&weirv1.QuotaResponse{Allowed: true, CurrentCount: 1, Limit: 10, Remaining: 9, ResetAt: 1_764_288_007, RetryAfter: 1, RetryAfterExact: durationpb.New(us), ResetAfterExact: durationpb.New(6 * time.Second), Delay: durationpb.New(us), At: at,
				RuleId: "api", Decisions: []*weirv1.RuleDecision{rule("api")}, Standing: weirv1.Standing_STANDING_NORMAL, Degraded: true, PolicyVersion: "0123456789ab"}},
		{"allow", "Allow", &weirv1.AllowRequest{LimitName: "api", Key: "user:42"}, allow()},
		{"allow n", "AllowN", &weirv1.AllowNRequest{LimitName: "api", Key: "user:42", N: 1_000_000_000_000}, &weirv1.AllowResponse{Limit: 10, Remaining: 10, RetryAfter: -1}},
		{"reset of a limit", "Reset", &weirv1.ResetRequest{Target: &weirv1.ResetRequest_Limit{Limit: &weirv1.LimitKey{LimitName: "api", Key: "user:42"}}}, &weirv1.ResetResponse{}},
		{"reset by the policy", "ResetLimit", &weirv1.ResetRequest{Target: &weirv1.ResetRequest_Subject{Subject: &weirv1.Subject{Identifier: "me", Dimension: weirv1.Dimension_USER, Endpoint: "/", Method: "GET", Attributes: attributes}}},
			&weirv1.ResetResponse{RuleIds: []string{"api", "org"}}},
		{"reserve", "Reserve", &weirv1.ReserveRequest{LimitName: "tokens", Key: "user:42", N: 500}, &weirv1.ReserveResponse{Reservation: "weir-reservation-1.e30.AA", Decision: allow()}},
		{"settle", "Settle", &weirv1.SettleRequest{Reservation: "weir-reservation-1.e30.AA", Actual: 700}, &weirv1.SettleResponse{Charged: 600, Clamped: true, Degraded: true, Decision: allow()}},
		{"cancel", "Cancel", &weirv1.CancelRequest{Reservation: "weir-reservation-1.e30.AA"}, &weirv1.CancelResponse{}},
	}
}

type sample struct {
	name, method    string
	request, answer proto.Message
}

func record(t *testing.T, m proto.Message) recordedMessage {
	t.Helper()
	binary, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return recordedMessage{binary, text}
}

// TestRecordedCallsStayReadable reads calls that were recorded by earlier versions: both
// forms must mean the same, with no field that is not known, and mean it still.
func TestRecordedCallsStayReadable(t *testing.T) {
	var calls []recorded
	text, err := os.ReadFile(recordedFile)
	if err == nil {
		err = json.Unmarshal(text, &calls)
	}
	if err != nil && !(*update && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	service := weirv1.File_weir_v1_ratelimiter_proto.Services().ByName("RateLimiter")
	for _, s := range samples() {
		if slices.ContainsFunc(calls, func(c recorded) bool { return c.Name == s.name }) {
			continue
		}
		if !*update {
			t.Errorf("%s is not recorded: go test . -run TestRecordedCallsStayReadable -update", s.name)
		}
		calls = append(calls, recorded{s.name, "/weir.v1.RateLimiter/" + s.method, record(t, s.request), record(t, s.answer)})
	}
	if *update {
		if text, err = json.MarshalIndent(calls, "", " "); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(recordedFile, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	seen := map[protoreflect.FullName]bool{}
	for _, c := range calls {
		i := slices.IndexFunc(samples(), func(s sample) bool { return s.name == c.Name })
		if i < 0 {
			t.Errorf("%s: it is recorded, but no sample says what it means", c.Name)
			continue
		}
		s := samples()[i]
		m := service.Methods().ByName(protoreflect.Name(s.method))
		if m == nil || c.Method != "/"+string(service.FullName())+"/"+string(m.Name()) {
			t.Errorf("%s: there is no method %s", c.Name, c.Method)
			continue
		}
		read(t, c.Name+"/request", m.Input(), c.Request, s.request, seen)
		read(t, c.Name+"/answer", m.Output(), c.Answer, s.answer, seen)
	}
	messages := weirv1.File_weir_v1_ratelimiter_proto.Messages()
	for i := range messages.Len() {
		fields := messages.Get(i).Fields()
		for j := range fields.Len() {
			if name := fields.Get(j).FullName(); !seen[name] {
				t.Errorf("no recorded call has %s", name)
			}
		}
	}
}

// read reads both forms of a message, and notes the fields that it has.
func read(t *testing.T, name string, d protoreflect.MessageDescriptor, m recordedMessage, want proto.Message, seen map[protoreflect.FullName]bool) {
	t.Helper()
	typ, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		t.Fatal(err)
	}
	fromBinary, fromJSON := typ.New().Interface(), typ.New().Interface()
	if err := proto.Unmarshal(m.Binary, fromBinary); err != nil {
		t.Errorf("%s: binary: %v", name, err)
	}
	if err := protojson.Unmarshal(m.JSON, fromJSON); err != nil {
		t.Errorf("%s: JSON: %v", name, err)
	}
	if !proto.Equal(fromBinary, want) {
		t.Errorf("%s: binary means %v, want %v", name, fromBinary, want)
	}
	if !proto.Equal(fromJSON, want) {
		t.Errorf("%s: JSON means %v, want %v", name, fromJSON, want)
	}
	now := record(t, want)
	if !bytes.Equal(now.Binary, m.Binary) {
		t.Errorf("%s: other bytes are sent now: %x, recorded are %x", name, now.Binary, m.Binary)
	}
	if compact(t, now.JSON) != compact(t, m.JSON) {
		t.Errorf("%s: other JSON is sent now: %s, recorded is %s", name, now.JSON, m.JSON)
	}
	note(fromBinary.ProtoReflect(), seen)
}

func note(m protoreflect.Message, seen map[protoreflect.FullName]bool) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		seen[f.FullName()] = true
		switch {
		case f.IsMap() || f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				note(v.List().Get(i).Message(), seen)
			}
		default:
			note(v.Message(), seen)
		}
		return true
	})
}

// compact is JSON without the spaces that protojson varies on purpose.
func compact(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
