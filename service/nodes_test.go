package service

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/service/audit"
	"github.com/weirgo/weir/service/config"
)

var (
	nodesLoad  = flag.Duration("nodes.load", 0, "how long TestNodesLoseNothing goes on after its events")
	nodesLimit = flag.Int64("nodes.limit", 150, "how many requests of a user TestNodesLoseNothing admits, before the policy changes")
)

// nodeVariable makes a node of the test binary: it has the name of the configuration.
const nodeVariable = "TEST_SERVICE_NODE"

func TestMain(m *testing.M) {
	if name := os.Getenv(nodeVariable); name != "" {
		if err := serveNode(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serveNode is a process that serves, and writes its addresses into a file.
func serveNode(name string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := config.Load(config.Source{File: name})
	if err != nil {
		return err
	}
	s, err := New(ctx, c, &Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	grpcAt, httpAt, _ := s.Addresses()
	addresses := filepath.Join(filepath.Dir(name), "addresses")
	if err := os.WriteFile(addresses+".new", []byte(grpcAt.String()+" "+httpAt.String()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(addresses+".new", addresses); err != nil {
		return err
	}
	return s.Run(ctx)
}

// node is a process of the service.
type node struct {
	folder string

	mu      sync.Mutex
	command *exec.Cmd
	client  weirv1.RateLimiterClient // nil while it is down
	conn    *grpc.ClientConn
	http    string
}

// start starts the process and waits until it is ready.
func (n *node) start(t *testing.T) {
	t.Helper()
	os.Remove(filepath.Join(n.folder, "addresses")) // of the process before
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), nodeVariable+"="+filepath.Join(n.folder, "weir.yaml"))
	command.Stderr = t.Output()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { command.Process.Kill(); command.Wait() })
	var at []string
	eventually(t, "a node listens", func() bool {
		text, err := os.ReadFile(filepath.Join(n.folder, "addresses"))
		at = strings.Fields(string(text))
		return err == nil && len(at) == 2
	})
	eventually(t, "a node is ready", func() bool {
		response, err := http.Get("http://" + at[1] + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	conn, err := grpc.NewClient(at[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.command, n.conn, n.client, n.http = command, conn, weirv1.NewRateLimiterClient(conn), at[1]
}

// end sends a signal to the process, and returns how it ended.
func (n *node) end(t *testing.T, s os.Signal) error {
	t.Helper()
	n.mu.Lock()
	command, conn := n.command, n.conn
	n.mu.Unlock()
	if err := command.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	err := command.Wait()
	n.mu.Lock()
	n.client = nil
	n.mu.Unlock()
	conn.Close()
	return err
}

func (n *node) asked() weirv1.RateLimiterClient {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.client
}

// load asks nodes for users, each request until it is answered, under its own key.
type nodeLoad struct {
	nodes    []*node
	admitted [4]atomic.Int64 // by user
	denied   [4]atomic.Int64
	repeats  atomic.Int64
}

func (l *nodeLoad) request(ctx context.Context, i int64) error {
	who := int(i % int64(len(l.admitted)))
	m := user(fmt.Sprintf("user-%d", who))
	m.IdempotencyKey = fmt.Sprintf("request-%d", i)
	for try := int64(0); ; try++ {
		client := l.nodes[(i+try)%int64(len(l.nodes))].asked()
		if client == nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			runtime.Gosched()
			continue
		}
		within, cancel := context.WithTimeout(ctx, 5*time.Second)
		r, err := client.CheckRateLimit(within, m)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			l.repeats.Add(1)
			continue
		case r.Degraded:
			return errors.New("a degraded answer")
		case r.Allowed:
			l.admitted[who].Add(1)
		default:
			l.denied[who].Add(1)
		}
		return nil
	}
}

// TestNodesLoseNothing runs three nodes on one server under load, restarts them one after
// the other, kills one, and changes the policy. Requests are repeated under their key
// until they are answered, so exactly as many are admitted as the limit says.
func TestNodesLoseNothing(t *testing.T) {
	server := servertest.Start(t, servertest.Valkey, nil)
	limits := "limit: 'sliding-log:%d/24h'"
	first, second := *nodesLimit, 2**nodesLimit
	policyOf := func(n int64) string {
		return fmt.Sprintf("version: 1\nrules: [{id: user, key: [user], "+limits+"}]\n", n)
	}
	text := func() string {
		return strings.Replace(free, "drain: 0s", "drain: 100ms", 1) +
			"store: {url: 'valkey://" + server.Addr() + "', timeout: 5s}\non_failure: closed\npolicy: {key: limits}\naudit: {folder: audit}\nidempotency: {ttl: 1h}\n"
	}
	// The document is written through a service of this process.
	operator := run(t, load(t, files(t, "weir.yaml", text())), nil)
	change := func(n int64) string {
		doc, err := operator.tenants[config.DefaultTenant].stack.server.Document("limits")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := doc.Update(t.Context(), func([]byte) ([]byte, error) { return []byte(policyOf(n)), nil }); err != nil {
			t.Fatal(err)
		}
		return compileVersion(t, policyOf(n))
	}
	change(first)
	l := &nodeLoad{}
	for range 3 {
		n := &node{folder: files(t, "weir.yaml", text())}
		n.start(t)
		l.nodes = append(l.nodes, n)
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 6 {
		workers.Go(func() {
			for ctx.Err() == nil {
				if err := l.request(ctx, next.Add(1)); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	beyond := func(counts *[4]atomic.Int64, least int64) func() bool {
		return func() bool {
			for i := range counts {
				if counts[i].Load() < least {
					return false
				}
			}
			return true
		}
	}
	eventually(t, "load", beyond(&l.admitted, 10))
	for i, n := range l.nodes {
		if err := n.end(t, syscall.SIGTERM); err != nil {
			t.Errorf("node %d: %v: want it to end with 0", i, err)
		}
		n.start(t)
	}
	if err := l.nodes[1].end(t, syscall.SIGKILL); err == nil {
		t.Error("a node that was killed has ended with 0")
	}
	l.nodes[1].start(t)
	changed := time.Now()
	version := change(second)
	for i, n := range l.nodes {
		eventually(t, fmt.Sprintf("node %d has the new policy", i), func() bool {
			client := n.asked()
			r, err := client.GetRemainingQuota(ctx, &weirv1.QuotaRequest{Identifier: "x", Dimension: weirv1.Dimension_USER, Endpoint: "/"})
			return err == nil && r.PolicyVersion == version
		})
	}
	t.Logf("all nodes have the new policy after %s", time.Since(changed))
	var before [4]int64
	eventually(t, "the new limit", beyond(&l.admitted, second))
	for i := range before {
		before[i] = l.denied[i].Load()
	}
	time.Sleep(*nodesLoad)
	eventually(t, "denials", func() bool {
		for i := range before {
			if l.denied[i].Load() < before[i]+5 {
				return false
			}
		}
		return true
	})
	stop()
	workers.Wait()
	for i := range l.admitted {
		if n := l.admitted[i].Load(); n != second {
			t.Errorf("user %d: %d admitted, want exactly %d", i, n, second)
		}
	}
	t.Logf("%d requests, of which %d were repeated", next.Load(), l.repeats.Load())
	for i, n := range l.nodes {
		if err := n.end(t, syscall.SIGTERM); err != nil {
			t.Errorf("node %d: %v: want it to end with 0", i, err)
		}
		auditHas(t, filepath.Join(n.folder, "audit"), version)
	}
}

func compileVersion(t *testing.T, text string) string {
	t.Helper()
	s, err := New(t.Context(), load(t, files(t, "weir.yaml", free+"policy: {file: policy.yaml}\n", "policy.yaml", text)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, err := s.Engine(config.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	return e.PolicyVersion()
}

// auditHas demands that an audit says when a node got a version of the policy.
func auditHas(t *testing.T, folder, version string) {
	t.Helper()
	log, err := audit.Open(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	page, err := log.Read(audit.Query{Tenant: config.DefaultTenant, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Entries {
		if e.Action == "policy.reload" && e.PolicyVersion == version && e.Result == audit.Done {
			return
		}
	}
	t.Errorf("%s: no line of the new policy among %d", folder, len(page.Entries))
}
