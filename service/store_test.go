package service

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/internal/servertest"
)

// onServer is a configuration with a store on a server.
func onServer(addr, mode, more string) string {
	return free + "store: {url: 'redis://" + addr + "', timeout: 1s}\non_failure: " + mode + "\n" + more
}

// TestACutReplyIsChargedOnce: the request is repeated under its key.
func TestACutReplyIsChargedOnce(t *testing.T) {
	server := servertest.Start(t, servertest.Redis, nil)
	proxy := servertest.NewProxy(t, server.Addr())
	folder := files(t, "weir.yaml", onServer(proxy.Addr(), "closed", "policy: {file: policy.yaml}\n"), "policy.yaml", userPolicy)
	s := run(t, load(t, folder), nil)
	m := user("u")
	// answered asks until there is an answer: a busy machine may take longer than the time-out.
	answered := func(remaining int64) (last *weirv1.CheckResponse) {
		t.Helper()
		eventually(t, "an answer", func() bool {
			r, err := s.CheckRateLimit(t.Context(), m)
			last = r
			return err == nil
		})
		if last.Remaining != remaining {
			t.Fatalf("%v: want %d remaining: each key is charged once", last, remaining)
		}
		return last
	}
	m.IdempotencyKey = "before"
	answered(9)
	m.IdempotencyKey = "k"
	proxy.DropReplies(true)
	if r, err := s.CheckRateLimit(t.Context(), m); status.Code(err) != codes.Unavailable {
		t.Fatalf("%v, %v: want UNAVAILABLE", r, err)
	}
	proxy.DropReplies(false)
	proxy.Cut() // what was lost does not come back
	answered(8)
	if r := answered(8); !r.Replayed {
		t.Errorf("%v: want a replay", r)
	}
}

// TestRulesMayAskForLeasesWhereThereAreSome.
func TestRulesMayAskForLeasesWhereThereAreSome(t *testing.T) {
	server := servertest.Start(t, servertest.Redis, nil)
	folder := files(t, "weir.yaml", onServer(server.Addr(), "closed", "policy: {file: policy.yaml}\nlease: {}\n"),
		"policy.yaml", "version: 1\nrules: [{id: user, key: [user], limit: 'gcra:300/1h', lease: true}]\n")
	s := run(t, load(t, folder), nil)
	eventually(t, "an answer", func() bool {
		r, err := s.CheckRateLimit(t.Context(), user("u"))
		if err == nil && (!r.Allowed || r.Limit != 300) {
			t.Fatal(r)
		}
		return err == nil
	})
}

// TestReadinessFollowsTheFailureMode: a service that refuses everything is not ready, and
// one that answers by itself is.
func TestReadinessFollowsTheFailureMode(t *testing.T) {
	server := servertest.Start(t, servertest.Valkey, nil)
	services := map[string]*running{}
	for _, mode := range []string{"closed", "open", "local"} {
		folder := files(t, "weir.yaml", onServer(server.Addr(), mode, "policy: {file: policy.yaml}\nbreaker: {}\nlocal: {share: 2}\n"), "policy.yaml", userPolicy)
		services[mode] = run(t, load(t, folder), nil)
	}
	ready := func(mode string, want int) {
		t.Helper()
		eventually(t, mode, func() bool { code, _ := services[mode].get(t, "/readyz"); return code == want })
	}
	for mode := range services {
		ready(mode, http.StatusOK)
	}
	server.Stop()
	ready("closed", http.StatusServiceUnavailable)
	ready("open", http.StatusOK)
	ready("local", http.StatusOK)
	if _, err := services["closed"].CheckRateLimit(t.Context(), user("u")); status.Code(err) != codes.Unavailable {
		t.Errorf("closed: %v: want UNAVAILABLE", err)
	}
	if r, err := services["open"].CheckRateLimit(t.Context(), user("u")); err != nil || !r.Allowed || !r.Degraded || r.At != nil {
		t.Errorf("open: %v, %v: want a degraded admission", r, err)
	}
	if r, err := services["local"].CheckRateLimit(t.Context(), user("u")); err != nil || !r.Allowed || !r.Degraded || r.Limit != 5 {
		t.Errorf("local: %v, %v: want half of the limit", r, err)
	}
	server.Start()
	ready("closed", http.StatusOK)
}

func TestAServerThatIsNotThereIsAnError(t *testing.T) {
	c := load(t, files(t, "weir.yaml", onServer("127.0.0.1:1", "open", "")))
	if s, err := New(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), "store redis://127.0.0.1:1") {
		t.Errorf("%v, %v: want an error that names the store", s, err)
	}
}
