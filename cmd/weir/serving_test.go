package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/api/client"
	"github.com/weirgo/weir/api/weirv1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// served is a weir serve of this process.
type served struct {
	grpc, http, admin string // addresses
}

// lines are written by one goroutine and read by another.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serving runs weir serve on free ports until the test ends.
func serving(t *testing.T, args ...string) served {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	log := &lines{}
	args = append([]string{"serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--set", "shutdown.drain=0s"}, args...)
	go func() { done <- run(ctx, args, strings.NewReader(""), io.Discard, log) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	line := regexp.MustCompile(`msg=serving grpc=(\S+) http=(\S+) admin=(\S+)`)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if found := line.FindStringSubmatch(log.String()); found != nil {
			return served{grpc: found[1], http: "http://" + found[2], admin: "http://" + found[3]}
		}
		select {
		case status := <-done:
			done <- status
			t.Fatalf("weir serve: status %d\n%s", status, log)
		default:
		}
	}
	t.Fatalf("weir serve does not serve after a minute\n%s", log)
	return served{}
}

// twice admits two requests of a user in a day.
const twice = "version: 1\nrules: [{id: user, key: [user], limit: 'sliding-log:2/24h'}]\n"

// TestGoClientAsksTheService asks weir serve through package client.
func TestGoClientAsksTheService(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "weir.yaml"), "version: 1\nlimits: {api: 'gcra:10/24h', tokens: 'fixed-window:1000/24h'}\npolicy: {file: policy.yaml}\nauth: {file: callers.yaml}\nsecret_file: secret\n")
	write(t, filepath.Join(folder, "policy.yaml"), twice)
	write(t, filepath.Join(folder, "secret"), "0123456789abcdef0123456789abcdef\n")
	write(t, filepath.Join(folder, "callers.yaml"), fmt.Sprintf("version: 1\ncallers: [{name: a, token_sha256: %x, role: write}]\n", sha256.Sum256([]byte("a token"))))
	s := serving(t, "--config", filepath.Join(folder, "weir.yaml"))
	ctx := t.Context()
	c, err := client.New(s.grpc, &client.Options{Plaintext: true, Token: "a token", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	once := client.WithIdempotencyKey(ctx, "once")
	for i, replayed := range []bool{false, true} {
		if d, err := c.AllowN(once, "api", "k", 4); err != nil || !d.Allowed || d.Limit != 10 || d.Remaining != 6 || d.Replayed != replayed || d.At.IsZero() {
			t.Errorf("AllowN %d: %+v, %v", i, d, err)
		}
	}
	if d, err := c.Allow(ctx, "api", "k"); err != nil || d.Remaining != 5 {
		t.Errorf("Allow: %+v, %v", d, err)
	}
	request := client.Request{Identifier: "me", Dimension: weirv1.Dimension_USER, Endpoint: "/"}
	for i, allowed := range []bool{true, true, false} {
		v, err := c.Check(ctx, request)
		if err != nil || v.Allowed != allowed || v.Rule != "user" || len(v.Rules) != 1 || v.PolicyVersion == "" || (v.RetryAfter > 0) == allowed {
			t.Errorf("Check %d: %+v, %v", i, v, err)
		}
	}
	if v, err := c.Quota(ctx, request); err != nil || v.Allowed || v.Remaining != 0 || v.Standing != weirv1.Standing_STANDING_THROTTLED {
		t.Errorf("Quota: %+v, %v", v, err)
	}
	if rules, err := c.ResetLimit(ctx, request); err != nil || len(rules) != 1 || rules[0] != "user" {
		t.Errorf("ResetLimit: %q, %v", rules, err)
	}
	if v, err := c.Quota(ctx, request); err != nil || v.Remaining != 2 {
		t.Errorf("Quota after the reset: %+v, %v", v, err)
	}
	r, err := c.Reserve(ctx, "tokens", "k", 500)
	if err != nil || !r.Decision.Allowed {
		t.Fatalf("Reserve: %+v, %v", r, err)
	}
	if settled, err := c.Resume(r.Token()).Settle(ctx, 200); err != nil || settled.Charged != 200 || settled.Decision == nil || settled.Decision.Remaining != 800 {
		t.Errorf("Settle: %+v, %v", settled, err)
	}
	if err := r.Cancel(ctx); err != nil {
		t.Errorf("Cancel of what is settled: %v", err)
	}
	if err := c.Reset(ctx, "tokens", "k"); err != nil {
		t.Errorf("Reset: %v", err)
	}
	if d, err := c.AllowN(ctx, "tokens", "k", 0); err != nil || d.Remaining != 1000 {
		t.Errorf("a look after the reset: %+v, %v", d, err)
	}

	var e *client.Error
	if _, err := c.AllowN(ctx, "api", "", -1); !errors.As(err, &e) || e.Code != codes.InvalidArgument || len(e.Fields) == 0 || e.MayHaveCounted {
		t.Errorf("what is not valid: %+v", err)
	}
	if _, err := c.Allow(ctx, "other", "k"); status.Code(err) != codes.NotFound {
		t.Errorf("a limit that is not there: %v", err)
	}
	other, err := client.New(s.grpc, &client.Options{Plaintext: true, Token: "another token", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Allow(ctx, "api", "k"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("another token: %v", err)
	}
}
