package valkeystore

import (
	"context"
	"errors"
	"testing"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/clienttest"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store/script"
)

func TestSlotIsThatOfTheFirstKey(t *testing.T) {
	cfg := &servertest.Config{Args: []string{"--cluster-require-full-coverage", "no"}}
	servertest.EachCluster(t, 1, cfg, func(t *testing.T, cluster *servertest.Cluster) {
		raw, c := open(t, cluster.Addrs()[0], valkey.ClientOption{})
		if !c.Sharded() || newClient(&wrapper{raw}).Sharded() != c.Sharded() {
			t.Fatalf("the client is %s", raw.Mode())
		}
		for _, cmd := range []*script.Command{
			clienttest.Words("GET", "{t}1"), clienttest.Words("DEL", "{t}1", "{t}2"), clienttest.Eval("return 1", "{t}1", "{t}2"),
			{Args: []string{"EVALSHA", "sha", "1", "key", "argument"}, Key: 3},
		} {
			got, want := c.build(cmd, false), raw.B().Get().Key(cmd.Args[cmd.Key]).Build()
			if got.Slot() != want.Slot() {
				t.Errorf("%s: slot %d, want %d", cmd.Args, got.Slot(), want.Slot())
			}
		}
		c.Redial(context.Background()) // it has none to end
		clienttest.Do(t, c, clienttest.Words("GET", "bar"))
	})
}

func TestSlotThatNobodyServesIsNotSent(t *testing.T) {
	cfg := &servertest.Config{Args: []string{"--cluster-require-full-coverage", "no"}}
	servertest.EachCluster(t, 1, cfg, func(t *testing.T, cluster *servertest.Cluster) {
		cluster.Nodes()[0].Do("CLUSTER", "DELSLOTS", "5061")
		_, c := open(t, cluster.Addrs()[0], valkey.ClientOption{})
		clienttest.Do(t, c, clienttest.Words("GET", "foo"))
		_, err := c.Do(context.Background(), clienttest.Words("GET", "bar")) // in slot 5061
		clienttest.WantClass(t, err, "not sent")
		if !errors.Is(err, valkey.ErrNoSlot) {
			t.Errorf("a slot that nobody serves: %v", err)
		}
	})
}
