package watch

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/valkey-io/valkey-go"

	"github.com/weirgo/weir/internal/servertest"
	redisstore "github.com/weirgo/weir/store/redis"
	"github.com/weirgo/weir/store/script"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// node is a watcher of a document, and its target.
func node(t *testing.T, s *script.Store, opts *Options) (*Watcher, *script.Document) {
	t.Helper()
	d, err := s.Document("policy")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	w, err := New(ctx, d, opts)
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, &target{}) }()
	t.Cleanup(func() { cancel(); <-done })
	return w, d
}

func onRedis(t *testing.T, addr string) *script.Store {
	t.Helper()
	logging.Disable()
	client := redis.NewClient(&redis.Options{Addr: addr, DialerRetries: 1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	s, err := redisstore.New(client, nil)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func onValkey(t *testing.T, addr string) *script.Store {
	t.Helper()
	client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
	must(t, err)
	t.Cleanup(client.Close)
	s, err := valkeystore.New(client, nil)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestDocumentReachesAllNodes: nodes with either client library have a new policy within
// 5 s; one that is cut off keeps the last good one and says its age.
func TestDocumentReachesAllNodes(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		writer, err := onRedis(t, server.Addr()).Document("policy")
		must(t, err)
		ctx := context.Background()
		if _, err := New(ctx, writer, nil); err == nil {
			t.Error("a server without a document has a policy")
		}
		_, err = writer.Write(ctx, []byte(text(1)), 0)
		must(t, err)
		cut := servertest.NewProxy(t, server.Addr())
		opts := &Options{Timeout: 500 * time.Millisecond}
		var nodes []*Watcher
		for _, s := range []*script.Store{onRedis(t, server.Addr()), onValkey(t, server.Addr()), onRedis(t, cut.Addr())} {
			w, _ := node(t, s, opts)
			nodes = append(nodes, w)
		}
		everywhere := func(limit int, nodes ...*Watcher) {
			t.Helper()
			wrote := time.Now()
			for i, w := range nodes {
				within(t, "a node has the policy", func() bool { return sameVersion(w, t, limit) && w.Status().Err == nil })
				// A busy machine may be late; without notification and polling it is never.
				t.Logf("node %d after %s", i, time.Since(wrote))
			}
		}
		_, err = writer.Write(ctx, []byte(text(2)), 1)
		must(t, err)
		everywhere(2, nodes...)

		cut.Refuse(true)
		cut.Cut()
		lost := time.Now()
		_, err = writer.Write(ctx, []byte(text(3)), 2)
		must(t, err)
		everywhere(3, nodes[:2]...)
		within(t, "the node that is cut off says so", func() bool { return nodes[2].Status().Err != nil })
		if s := nodes[2].Status(); !sameVersion(nodes[2], t, 2) || s.Revision != 2 || s.Seen.After(lost.Add(time.Second)) {
			t.Errorf("cut off: %+v", s)
		}
		cut.Refuse(false)
		everywhere(3, nodes...)

		// A text that is no policy reaches all, and changes none.
		_, err = writer.Write(ctx, []byte("version: 3\n"), 3)
		must(t, err)
		for _, w := range nodes {
			within(t, "a bad text is reported", func() bool { return w.Status().Err != nil })
			if !sameVersion(w, t, 3) {
				t.Error("a bad text took the policy with it")
			}
		}
		_, err = writer.Update(ctx, func([]byte) ([]byte, error) { return []byte(text(4)), nil })
		must(t, err)
		everywhere(4, nodes...)
	})
}
