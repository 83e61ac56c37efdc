package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/service/config"
)

// free are listeners on free ports.
const free = "version: 1\nlisten: {grpc: '127.0.0.1:0', http: '127.0.0.1:0', admin: '127.0.0.1:0'}\nshutdown: {drain: 0s, timeout: 20s}\n"

const userPolicy = "version: 1\nrules: [{id: user, key: [user], limit: 'gcra:10/1h'}]\n"

// files writes files into a folder, and returns its name.
func files(t testing.TB, pairs ...string) string {
	t.Helper()
	folder := t.TempDir()
	for i := 0; i < len(pairs); i += 2 {
		if err := os.WriteFile(filepath.Join(folder, pairs[i]), []byte(pairs[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func load(t testing.TB, folder string) *config.Config {
	t.Helper()
	c, err := config.Load(config.Source{File: filepath.Join(folder, "weir.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// running is a Service that runs.
type running struct {
	*Service
	weirv1.RateLimiterClient
	conn *grpc.ClientConn
	stop context.CancelFunc
	done chan error
}

// run runs a service until the test ends or stops it.
func run(t testing.TB, c *config.Config, opts *Options) *running {
	t.Helper()
	if opts == nil {
		opts = &Options{}
	}
	return runLogged(t, c, opts, slog.New(slog.NewTextHandler(t.Output(), nil)))
}

func runLogged(t testing.TB, c *config.Config, opts *Options, log *slog.Logger) *running {
	t.Helper()
	opts.Logger = log
	s, err := New(t.Context(), c, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Service: s, stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- s.Run(ctx) }()
	at, _, _ := s.Addresses()
	if r.conn, err = grpc.NewClient(at.String(), grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	r.RateLimiterClient = weirv1.NewRateLimiterClient(r.conn)
	t.Cleanup(func() {
		cancel()
		r.wait(t)
		r.conn.Close()
	})
	return r
}

// wait returns when Run has returned, with what.
func (r *running) wait(t testing.TB) error {
	t.Helper()
	select {
	case err := <-r.done:
		r.done <- err
		return err
	case <-time.After(time.Minute):
		t.Fatal("Run does not return")
		return nil
	}
}

// get asks the listener http.
func (r *running) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	_, at, _ := r.Addresses()
	response, err := http.Get("http://" + at.String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(text))
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

func user(name string) *weirv1.CheckRequest {
	return &weirv1.CheckRequest{Identifier: name, Dimension: weirv1.Dimension_USER, Endpoint: "/"}
}

// callers is a table; each caller is "name role tenant", and its token "token-NAME".
func callers(all ...string) string {
	var b strings.Builder
	b.WriteString("version: 1\ncallers:\n")
	for _, c := range all {
		f := strings.Fields(c)
		sum := sha256.Sum256([]byte("token-" + f[0]))
		fmt.Fprintf(&b, "  - {name: %s, role: %s, tenant: %s, token_sha256: %s}\n", f[0], f[1], f[2], hex.EncodeToString(sum[:]))
	}
	return b.String()
}

// replace writes a file as editors do: another one that takes its place.
func replace(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}
