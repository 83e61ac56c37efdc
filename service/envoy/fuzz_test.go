package envoy

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// services are the services that a fuzzed request is sent to: one for each charge, with
// everything that answers may have.
func services(f *testing.F) []*Service {
	var all []*Service
	for _, charge := range []Charge{ChargeUpstream, ChargeExact} {
		s, _ := serviceOf(f, readFile(f, "testdata/pairs.yaml"), &Options{Charge: charge, Headers: &DefaultHeaders, DynamicMetadata: true})
		all = append(all, s)
	}
	return all
}

var requests = []string{
	"c ip=x", "c ip=x ip=x five=y@0 hits=3", "c free=x shadow=x service=s1 service=s2", "c five=x@-9", "c -", "c ip=x!1/DAY*3",
	"nosuch a=b", "c k1=v1,user=b k2=v2,user=b", "c files=files/a", "c five=x@18446744073709551615",
}

// check checks what holds for every request: it is answered, or refused with Unknown.
func check(t *testing.T, s *Service, req *pb.RateLimitRequest) {
	answer, err := s.ShouldRateLimit(context.Background(), req)
	if err != nil {
		if status.Code(err) != codes.Unknown {
			t.Errorf("%v", err)
		}
		return
	}
	if len(answer.GetStatuses()) != len(req.GetDescriptors()) {
		t.Errorf("%d statuses for %d descriptors", len(answer.GetStatuses()), len(req.GetDescriptors()))
	}
	for _, d := range answer.GetStatuses() {
		limit := d.GetCurrentLimit()
		if d.GetCode() == pb.RateLimitResponse_UNKNOWN || limit != nil && (d.GetLimitRemaining() > limit.GetRequestsPerUnit() || d.GetDurationUntilReset().GetSeconds() < 1) {
			t.Errorf("%v", d)
		}
	}
	if _, err := proto.Marshal(answer); err != nil {
		t.Error(err)
	}
}

// FuzzMessage decides whatever comes over the wire.
func FuzzMessage(f *testing.F) {
	for _, text := range requests {
		data, err := proto.Marshal(requestOf(f, text))
		f.Add(must(f, data, err))
	}
	all := services(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var req pb.RateLimitRequest
		if proto.Unmarshal(data, &req) != nil {
			return
		}
		for _, s := range all {
			check(t, s, &req)
		}
	})
}

// FuzzJSON posts any body to /json: it is answered, or refused with 400.
func FuzzJSON(f *testing.F) {
	for _, text := range requests {
		data, err := protojson.Marshal(requestOf(f, text))
		f.Add(string(must(f, data, err)))
	}
	f.Add(`{"domain": "c", "descriptors": [null]}`)
	f.Add(`{"domain": "c", "descriptors": [{"entries": [null, {}]}]}`)
	all := services(f)
	f.Fuzz(func(t *testing.T, body string) {
		for _, s := range all {
			w := httptest.NewRecorder()
			s.JSONHandler().ServeHTTP(w, httptest.NewRequest("POST", "/json", strings.NewReader(body)))
			if w.Code != http.StatusOK && w.Code != http.StatusTooManyRequests && w.Code != http.StatusBadRequest {
				t.Errorf("status %d", w.Code)
			}
		}
	})
}

// FuzzConfig reads any file, and decides by what it reads.
func FuzzConfig(f *testing.F) {
	f.Add(readFile(f, "testdata/pairs.yaml"), "five", "x")
	f.Add(wildcards, "p", "/a/b")
	f.Add("domain: c\ndescriptors: [{key: '*', value: '**', share_threshold: true, rate_limit: {weir: {limit: 'gcra:5/1s,burst=2'}}}]", "a", "b")
	states := inMemory(f, mockClock())
	f.Fuzz(func(t *testing.T, text, key, value string) {
		config, err := Parse([]File{{"f", text}}, nil)
		if err != nil {
			return
		}
		s, err := New(states, config, nil)
		must(t, s, err)
		for _, domain := range config.names {
			req := requestOf(t, "c -")
			req.Domain, req.Descriptors = domain, append(req.Descriptors, descriptorOf(t, "k=v"))
			req.Descriptors[1].Entries[0].Key, req.Descriptors[1].Entries[0].Value = key, value
			if _, err := s.ShouldRateLimit(context.Background(), req); err != nil {
				t.Error(err)
			}
		}
		_ = config.Dump()
	})
}
