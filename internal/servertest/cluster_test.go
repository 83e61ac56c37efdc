package servertest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestClusterSharesItsSlots(t *testing.T) {
	EachCluster(t, 3, nil, func(t *testing.T, c *Cluster) {
		if len(c.Addrs()) != 3 || len(c.Nodes()) != 3 {
			t.Fatalf("nodes at %v", c.Addrs())
		}
		keys := map[*Server]int{}
		for i := range 50 {
			key := fmt.Sprint("key ", i)
			owner := c.Node(key)
			keys[owner]++
			for _, s := range c.Nodes() {
				var moved ReplyError
				_, err := s.Try("SET", key, "v")
				switch {
				case s == owner && err != nil:
					t.Errorf("%q on its node: %v", key, err)
				case s != owner && (!errors.As(err, &moved) || !strings.HasSuffix(moved.Error(), owner.Addr())):
					t.Errorf("%q on another node: %v, want MOVED to %s", key, err, owner.Addr())
				}
			}
		}
		if len(keys) != 3 {
			t.Errorf("all keys are on %d nodes", len(keys))
		}
		var refused ReplyError
		if _, err := c.Node("a").Try("MGET", "a", "b"); !errors.As(err, &refused) || !strings.HasPrefix(refused.Error(), "CROSSSLOT") {
			t.Errorf("keys of two slots: %v", err)
		}
	})
}

func TestClusterOfOne(t *testing.T) {
	EachCluster(t, 1, &Config{Args: []string{"--maxmemory", "200mb"}}, func(t *testing.T, c *Cluster) {
		s := c.Node("k")
		if got := s.Do("SET", "k", "v"); got != "OK" {
			t.Errorf("SET: %v", got)
		}
		s.Restart()
		c.await(s)
		if got := s.Do("GET", "k"); got != nil {
			t.Errorf("after a restart: %v", got)
		}
		if got := s.Do("CONFIG", "GET", "maxmemory").([]any); got[1] != "209715200" {
			t.Errorf("maxmemory is %v", got[1])
		}
	})
}
