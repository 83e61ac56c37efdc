package redisstore

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store/script"
)

// cluster is a cluster of one server, which is enough to have slots.
var cluster = &servertest.Config{Args: []string{"--cluster-enabled", "yes"}}

func TestClusterAndRingClients(t *testing.T) {
	t.Parallel() // it waits for the cluster
	servertest.Each(t, cluster, func(t *testing.T, s *servertest.Server) {
		s.Do("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
		await(t, "the cluster serves its slots", func() bool {
			info, _ := s.Do("CLUSTER", "INFO").(string)
			return strings.Contains(info, "cluster_state:ok")
		})
		dynamic := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.Addr()}, ReadOnly: true, RouteRandomly: true})
		dynamic.SetCommandInfoResolver(dynamic.NewDynamicResolver())
		for name, raw := range map[string]redis.UniversalClient{
			"cluster": redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.Addr()}}),
			"dynamic": dynamic,
			"ring":    redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": s.Addr()}}),
		} {
			defer raw.Close()
			c := newClient(raw)
			for _, test := range []struct {
				cmd  *script.Command
				want string
			}{
				{words("SET", "{t}1", "v"), "OK"},
				{words("SET", "{t}2", "v"), "OK"},
				{words("GET", "{t}1"), "v"},
				{&script.Command{Args: []string{"EVAL_RO", "return redis.call('GET', KEYS[2])", "2", "{t}1", "{t}2", "x"}, Key: 3}, "v"},
				{eval("return #KEYS", "{t}1", "{t}2"), "2"},
				{eval("return 'no keys'"), "no keys"},
				{words("DEL", "{t}1", "{t}2", "{t}3"), "2"},
				{&script.Command{Args: []string{"PING"}}, "PONG"},
				{&script.Command{Args: []string{"ECHO", "text"}}, "text"},
			} {
				if got := do(t, c, test.cmd); got != test.want {
					t.Errorf("%s, %s: %q, want %q", name, test.cmd.Args, got, test.want)
				}
			}
			_, err := c.Do(context.Background(), eval("return 1", "a", "b"))
			wantClass(t, err, "reply CROSSSLOT")
		}
	})
}

// A ring shows whether the key is found: it chooses the server by it.
func TestFirstKeyDecidesWhere(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, one *servertest.Server) {
		two := servertest.Start(t, one.Kind(), nil)
		raw := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": one.Addr(), "two": two.Addr()}})
		defer raw.Close()
		c := newClient(raw)
		for i := range 32 {
			key := strconv.Itoa(i)
			if err := raw.Set(context.Background(), key, "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			for _, cmd := range []*script.Command{
				words("GET", key), // it is the last word, too
				{Args: []string{"EVAL", "return redis.call('GET', KEYS[1])", "1", key, "argument"}, Key: 3},
			} {
				if got := do(t, c, cmd); got != "v" {
					t.Errorf("%s of key %s: %q", cmd.Args[0], key, got)
				}
			}
		}
		if one.Do("DBSIZE") == int64(0) || two.Do("DBSIZE") == int64(0) {
			t.Error("all keys are on one server: this test shows nothing")
		}
	})
}
