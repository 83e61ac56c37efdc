package service

import (
	"net/http"
	"strings"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

const rls = `
domain: mongo_cps
descriptors:
  - key: database
    rate_limit: {unit: hour, requests_per_unit: 2}
`

func TestEnvoyIsServedBesideIt(t *testing.T) {
	folder := files(t, "weir.yaml", free+"rls: {files: [rls.yaml], charge: exact}\n", "rls.yaml", rls)
	c := load(t, folder)
	s := run(t, c, nil)
	client := pb.NewRateLimitServiceClient(s.conn)
	request := &pb.RateLimitRequest{Domain: "mongo_cps", Descriptors: []*common.RateLimitDescriptor{{Entries: []*common.RateLimitDescriptor_Entry{{Key: "database", Value: "users"}}}}}
	for i, want := range []pb.RateLimitResponse_Code{pb.RateLimitResponse_OK, pb.RateLimitResponse_OK, pb.RateLimitResponse_OVER_LIMIT} {
		if r, err := client.ShouldRateLimit(t.Context(), request); err != nil || r.OverallCode != want {
			t.Errorf("request %d: %v, %v: want %v", i, r, err, want)
		}
	}
	eventually(t, "healthy", func() bool { code, body := s.get(t, "/healthcheck"); return code == http.StatusOK && body == "OK" })
	replace(t, folder+"/rls.yaml", strings.Replace(rls, "2}", "3}", 1))
	eventually(t, "the limit of the new file", func() bool {
		r, err := client.ShouldRateLimit(t.Context(), request)
		return err == nil && r.OverallCode == pb.RateLimitResponse_OK
	})
	replace(t, folder+"/rls.yaml", "domain: ''\n")
	eventually(t, "an error of the file", func() bool { return s.badReloads.Load() > 0 })
	if _, err := Explain(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), "rls.yaml") {
		t.Errorf("%v: want an error of the file", err)
	}
}
