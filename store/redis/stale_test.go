package redisstore

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/internal/servertest"
)

// limited is a user who may do what the test needs and nothing else: no PING.
var limited = &servertest.Config{Users: []string{"app on >secret ~* +incr"}}

func TestFailOverBehindAnAddress(t *testing.T) {
	servertest.Each(t, limited, func(t *testing.T, old *servertest.Server) {
		next := servertest.Start(t, old.Kind(), limited)
		p := servertest.NewProxy(t, old.Addr())
		for _, user := range []redis.Options{{}, {Username: "app", Password: "secret"}} {
			user.Addr = p.Addr()
			raw, c := open(t, &user)
			p.SetTarget(old.Addr())
			warm(t, raw, 10)
			do(t, c, words("INCR", "k"))
			follow(old, next)
			p.SetTarget(next.Addr())
			_, err := c.Do(context.Background(), words("INCR", "k"))
			wantClass(t, err, "reply READONLY")
			c.Redial(context.Background())
			for range 12 { // more than there were connections
				do(t, c, words("INCR", "k"))
			}
			old.Do("REPLICAOF", "NO", "ONE")
		}
	})
}

// A replica that has lost its primary answers MASTERDOWN, for as long as it has.
func TestReplicaWithoutPrimaryIsLeft(t *testing.T) {
	t.Parallel()
	servertest.Each(t, nil, func(t *testing.T, old *servertest.Server) {
		next := servertest.Start(t, old.Kind(), nil)
		lost := servertest.Start(t, old.Kind(), nil)
		lost.Stop()
		p := servertest.NewProxy(t, old.Addr())
		raw, c := open(t, &redis.Options{Addr: p.Addr()})
		warm(t, raw, 5)
		old.Do("CONFIG", "SET", "replica-serve-stale-data", "no")
		follow(old, lost)
		p.SetTarget(next.Addr())
		_, err := c.Do(context.Background(), eval("return redis.call('INCR', KEYS[1])", "k"))
		wantClass(t, err, "reply MASTERDOWN")
		c.Redial(context.Background())
		for range 7 {
			do(t, c, eval("return redis.call('INCR', KEYS[1])", "k"))
		}
	})
}
