package clienttest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store/script"
)

// Behind an address that stays, the server that was the primary is one no more.
func primaryBecomesAReplica(t *testing.T, lib *Library) {
	leave(t, lib, "READONLY", func(old, next *servertest.Server) { follow(old, next) })
}

// A replica that has lost its primary answers MASTERDOWN, for as long as it has.
func replicaLosesItsPrimary(t *testing.T, lib *Library) {
	lost := map[servertest.Kind]*servertest.Server{}
	for _, kind := range servertest.Kinds() {
		lost[kind] = servertest.Start(t, kind, nil)
		lost[kind].Stop()
	}
	leave(t, lib, "MASTERDOWN", func(old, _ *servertest.Server) {
		old.Do("CONFIG", "SET", "replica-serve-stale-data", "no")
		follow(old, lost[old.Kind()])
	})
}

// leave lets a server become a useless one behind a client's back, and wants one
// failed call and, after a Redial, none.
func leave(t *testing.T, lib *Library, code string, fall func(old, next *servertest.Server)) {
	// A user who may do what the test needs and nothing else: no PING, no QUIT.
	limited := &servertest.Config{Users: []string{"app on >secret ~* +eval +incr"}}
	servertest.Each(t, limited, func(t *testing.T, old *servertest.Server) {
		next := servertest.Start(t, old.Kind(), limited)
		p := servertest.NewProxy(t, old.Addr())
		ways := []At{{Addr: p.Addr(), Mode: lib.Modes[0]}} // who may do everything
		for _, mode := range lib.Modes {
			ways = append(ways, At{Addr: p.Addr(), Mode: mode, User: "app", Password: "secret"})
		}
		cmd := Eval("return redis.call('INCR', KEYS[1])", "k")
		for _, at := range ways {
			p.SetTarget(old.Addr())
			o := lib.Open(t, at)
			c := o.Client.(script.Redialer)
			Do(t, c, cmd)
			piped, cancel := context.WithCancel(context.Background())
			for _, ctx := range []context.Context{context.Background(), piped} {
				o.Warm(t, 5)
				p.SetTarget(next.Addr())
				fall(old, next)
				if _, err := c.Do(ctx, cmd); Class(err) != "reply "+code {
					t.Errorf("%+v: %v, want %s", at, err, code)
				}
				c.Redial(ctx)
				for range 9 { // more than there were connections
					if _, err := c.Do(ctx, cmd); err != nil {
						t.Errorf("%+v, after %s: %v", at, code, err)
					}
				}
				back(t, c, p, old, next, cmd)
			}
			cancel()
		}
	})
}

// back leads the client to the first server again, by the same way.
func back(t *testing.T, c script.Redialer, p *servertest.Proxy, old, next *servertest.Server, cmd *script.Command) {
	t.Helper()
	old.Do("REPLICAOF", "NO", "ONE")
	p.SetTarget(old.Addr())
	follow(next, old)
	servertest.Await(t, "the client has changed back", func() bool {
		_, err := c.Do(context.Background(), cmd)
		if err != nil {
			c.Redial(context.Background())
		}
		return err == nil
	})
	next.Do("REPLICAOF", "NO", "ONE")
}

// In a cluster, a command goes to the node of its first key, at once.
func clusterFindsItsKeys(t *testing.T, lib *Library) {
	servertest.EachCluster(t, 3, nil, func(t *testing.T, cluster *servertest.Cluster) {
		for _, mode := range lib.ClusterModes {
			c := lib.Open(t, At{Cluster: cluster.Addrs(), Mode: mode}).Client
			if !c.(script.Sharded).Sharded() {
				t.Errorf("%s: a client of a cluster is none of several servers", mode)
			}
			Keyless(t, c)
			nodes := map[*servertest.Server]bool{}
			for i := range 32 {
				tag := fmt.Sprint("{", i, "}")
				nodes[cluster.Node(tag)] = true
				KeysOfOneTag(t, c, tag)
			}
			if len(nodes) != 3 {
				t.Errorf("the keys lie on %d nodes", len(nodes))
			}
			_, err := c.Do(context.Background(), Eval("return 1", "a", "b"))
			WantClass(t, err, "reply CROSSSLOT")
		}
		for _, node := range cluster.Nodes() {
			info, _ := node.Do("INFO", "errorstats").(string)
			if !strings.HasPrefix(info, "# Errorstats") || strings.Contains(info, "MOVED") {
				t.Errorf("a node was asked for keys of another, or does not tell: %q", info)
			}
		}
	})
}

// Keyless sends commands without a key, which any server may have.
func Keyless(t *testing.T, c script.Client) {
	t.Helper()
	for _, test := range []struct {
		cmd  *script.Command
		want string
	}{
		{&script.Command{Args: []string{"PING"}}, "PONG"},
		{&script.Command{Args: []string{"ECHO", "text"}}, "text"},
		{Eval("return 'no keys'"), "no keys"},
	} {
		if got := Do(t, c, test.cmd); got != test.want {
			t.Errorf("%s: %q, want %q", test.cmd.Args, got, test.want)
		}
	}
}

// KeysOfOneTag sends commands with keys that begin with a tag. The first is the key
// by which their server is found.
func KeysOfOneTag(t *testing.T, c script.Client, tag string) {
	t.Helper()
	one, two := tag+"1", tag+"2"
	for _, test := range []struct {
		cmd  *script.Command
		want string
	}{
		{Words("SET", one, "v"), "OK"},
		{Words("SET", two, "w"), "OK"},
		{Words("GET", one), "v"}, // it is the last word, too
		{&script.Command{Args: []string{"EVAL_RO", "return redis.call('GET', KEYS[2])", "2", one, two, "x"}, Key: 3}, "w"},
		{Eval("return #KEYS", one, two), "2"},
		{Words("DEL", one, two, tag+"3"), "2"},
	} {
		if got := Do(t, c, test.cmd); got != test.want {
			t.Errorf("%s: %q, want %q", test.cmd.Args, got, test.want)
		}
	}
}
