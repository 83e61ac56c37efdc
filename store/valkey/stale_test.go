package valkeystore

import (
	"context"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store/script"
)

// leave lets a server become a useless one behind a client's back, and wants one
// failed call and then none.
func leave(t *testing.T, prepare func(old *servertest.Server), code string, lost *servertest.Server) {
	// A user who may do what the test needs and nothing else: no PING, no QUIT.
	limited := &servertest.Config{Users: []string{"app on >secret ~* +eval +incr"}}
	servertest.Each(t, limited, func(t *testing.T, old *servertest.Server) {
		next := servertest.Start(t, old.Kind(), limited)
		primary := next
		if lost != nil {
			primary = lost
		}
		p := servertest.NewProxy(t, old.Addr())
		for mode, opts := range modes {
			opts.Username, opts.Password = "app", "secret"
			p.SetTarget(old.Addr())
			_, c := open(t, p.Addr(), opts)
			cmd := eval("return redis.call('INCR', KEYS[1])", "k")
			do(t, c, cmd)
			piped, cancel := context.WithCancel(context.Background())
			for _, ctx := range []context.Context{context.Background(), piped} {
				p.SetTarget(next.Addr())
				follow(old, primary)
				prepare(old)
				if _, err := c.Do(ctx, cmd); class(err) != "reply "+code {
					t.Errorf("%s: %v, want %s", mode, err, code)
				}
				c.Redial(ctx)
				for range 9 {
					if _, err := c.Do(ctx, cmd); err != nil {
						t.Errorf("%s, after %s: %v", mode, code, err)
					}
				}
				back(t, c, p, old, next, cmd)
			}
			cancel()
		}
	})
}

// back leads the client to the first server again, by the same way.
func back(t *testing.T, c *client, p *servertest.Proxy, old, next *servertest.Server, cmd *script.Command) {
	t.Helper()
	old.Do("REPLICAOF", "NO", "ONE")
	p.SetTarget(old.Addr())
	follow(next, old)
	await(t, "the client has changed back", func() bool {
		_, err := c.Do(context.Background(), cmd)
		if err != nil {
			c.Redial(context.Background())
		}
		return err == nil
	})
	next.Do("REPLICAOF", "NO", "ONE")
}

func TestFailOverBehindAnAddress(t *testing.T) {
	t.Parallel()
	leave(t, func(*servertest.Server) {}, "READONLY", nil)
}

// A replica that has lost its primary answers MASTERDOWN, for as long as it has.
func TestReplicaWithoutPrimaryIsLeft(t *testing.T) {
	t.Parallel()
	lost := servertest.Start(t, servertest.Valkey, nil)
	lost.Stop()
	leave(t, func(old *servertest.Server) { old.Do("CONFIG", "SET", "replica-serve-stale-data", "no") }, "MASTERDOWN", lost)
}
