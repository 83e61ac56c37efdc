package storeurl

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// names are what the schemes of each kind of server begin with: without and with TLS.
var names = map[servertest.Kind][2]string{servertest.Redis: {"redis", "rediss"}, servertest.Valkey: {"valkey", "valkeys"}}

// works connects and takes a unit of 20 keys, twice.
func works(t *testing.T, text string, opts *Options) {
	t.Helper()
	u, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := u.Connect(ctx, opts)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer c.Close()
	states, err := c.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer states.Close()
	if _, err := states.Check(ctx); err != nil {
		t.Errorf("%s: check: %v", text, err)
	}
	gcra := algorithm.Must(algorithm.ParseSpec("gcra:5/24h"))
	for i := range 40 {
		ops := []store.Op{{Slot: store.Slot{Key: fmt.Sprint(text, i%20), Limit: "l", Algorithm: gcra}, Request: algorithm.Request{Cost: 1}}}
		if _, committed, err := states.Apply(ctx, ops); err != nil || !committed || ops[0].Outcome.Remaining != 4-int64(i/20) {
			t.Fatalf("%s: %v, %v, %+v", text, committed, err, ops[0].Outcome)
		}
	}
	for i := range 20 { // each on the node that has it
		key := fmt.Sprint("other", i)
		for _, step := range []struct {
			args []string
			want any
		}{{[]string{"SET", key, "1", "PX", "60000"}, "OK"}, {[]string{"GET", key}, "1"}, {[]string{"DEL", key}, int64(1)}, {[]string{"GET", key}, nil}} {
			if got, err := c.Do(ctx, step.args...); err != nil || got != step.want {
				t.Fatalf("%s: %v: %v, %v", text, step.args, got, err)
			}
		}
	}
	if inUse, idle := c.Pool(); inUse+idle == 0 {
		t.Errorf("%s: no connection is open", text)
	}
	if memory, err := c.Memory(ctx); err != nil || len(memory) == 0 {
		t.Errorf("%s: memory %v, %v", text, memory, err)
	} else {
		for node, used := range memory {
			if used < 100_000 || (node != "") != u.Sharded() {
				t.Errorf("%s: node %q uses %d bytes", text, node, used)
			}
		}
	}
	two := make([]store.Op, 2)
	for i := range two {
		two[i] = store.Op{Slot: store.Slot{Key: fmt.Sprint("two", i), Limit: "l", Algorithm: gcra}}
	}
	if _, err := states.Peek(ctx, two); (err != nil) != u.Sharded() {
		t.Errorf("%s: two keys: %v", text, err)
	}
}

func TestURLOfSentinelLeadsToThePrimary(t *testing.T) {
	const user = "ann on >s3cret ~* &* +@all"
	for _, kind := range servertest.Kinds() {
		t.Run(kind.String()+"/primary", func(t *testing.T) {
			primary := servertest.Start(t, kind, &servertest.Config{Users: []string{user}})
			servertest.StartReplica(t, primary, nil)
			watching := servertest.StartSentinels(t, 3, primary, 1, time.Minute)
			name := names[kind][0]
			hosts := strings.Join(watching.Addrs(), ",")
			works(t, name+"-sentinel://"+hosts+"/"+servertest.PrimaryName, nil)
			works(t, name+"-sentinel://ann:s3cret@"+hosts+"/"+servertest.PrimaryName+"/0", &Options{Sequential: true})
			if n := primary.Do("DBSIZE"); n != int64(40) {
				t.Errorf("the primary has %v keys, want 40", n)
			}
			for _, wrong := range []string{"://" + hosts + "/other", "://127.0.0.1:1/" + servertest.PrimaryName, "://ann:wrong@" + hosts + "/" + servertest.PrimaryName} {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				u, err := Parse(name + "-sentinel" + wrong)
				if err != nil {
					t.Fatal(err)
				}
				if c, err := u.Connect(ctx, nil); err == nil {
					c.Close()
					t.Errorf("%s: connected", u)
				} else if strings.Contains(err.Error(), "wrong@") {
					t.Errorf("%s: %v", u, err)
				}
				cancel()
			}
		})
	}
}

func TestURLOfClusterLeadsToAllNodes(t *testing.T) {
	servertest.EachCluster(t, 3, nil, func(t *testing.T, c *servertest.Cluster) {
		name := names[c.Nodes()[0].Kind()][0]
		works(t, name+"-cluster://"+strings.Join(c.Addrs(), ","), nil)
		works(t, name+"-cluster://127.0.0.1:1,"+c.Addrs()[1], &Options{Sequential: true})
		for i, node := range c.Nodes() {
			if n := node.Do("DBSIZE"); n == int64(0) {
				t.Errorf("node %d has no key", i)
			}
		}
		single := servertest.Start(t, c.Nodes()[0].Kind(), nil)
		u, err := Parse(name + "-cluster://" + single.Addr())
		if err != nil {
			t.Fatal(err)
		}
		if c, err := u.Connect(t.Context(), nil); err == nil {
			c.Close()
			t.Error("a server that is no cluster was taken for one")
		}
	})
}

func TestURLWithTLSVerifiesEveryServer(t *testing.T) {
	servertest.Each(t, &servertest.Config{TLS: true}, func(t *testing.T, s *servertest.Server) {
		url := names[s.Kind()][1] + "://" + s.Addr()
		works(t, url, &Options{TLS: s.TLSConfig()})
		u, err := Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		for _, config := range []*tls.Config{nil, {MinVersion: tls.VersionTLS12}} {
			if c, err := u.Connect(t.Context(), &Options{TLS: config}); err == nil {
				c.Close()
				t.Error("a certificate that nobody signed was trusted")
			}
		}
	})
}
