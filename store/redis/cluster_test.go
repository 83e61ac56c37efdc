package redisstore

import (
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/internal/clienttest"
	"github.com/weirgo/weir/internal/servertest"
)

// A ring chooses the server by the key, and no server tells it when that is wrong.
func TestRingFindsItsKeys(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, one *servertest.Server) {
		two := servertest.Start(t, one.Kind(), nil)
		raw := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": one.Addr(), "two": two.Addr()}})
		defer raw.Close()
		c := newClient(raw)
		if !c.Sharded() {
			t.Error("a ring is none of several servers")
		}
		clienttest.Keyless(t, c)
		for i := range 32 {
			tag := "{" + strconv.Itoa(i) + "}"
			clienttest.KeysOfOneTag(t, c, tag)
			if err := raw.Set(t.Context(), tag, "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if got := clienttest.Do(t, c, clienttest.Eval("return redis.call('GET', KEYS[1])", tag)); got != "v" {
				t.Errorf("%s: %q, go-redis has put it elsewhere", tag, got)
			}
		}
		if one.Do("DBSIZE") == int64(0) || two.Do("DBSIZE") == int64(0) {
			t.Error("all keys are on one server: this test shows nothing")
		}
		c.Redial(t.Context()) // it has none to end
	})
}

// wrapper is a client as an application makes its own.
type wrapper struct{ redis.UniversalClient }

func TestOnlyAClientIsOneServer(t *testing.T) {
	raw, c := open(t, new(redis.Options))
	if c.Sharded() {
		t.Error("a client of one server says that there are several")
	}
	if !newClient(wrapper{raw}).Sharded() {
		t.Error("a wrapped client may be anything")
	}
}
