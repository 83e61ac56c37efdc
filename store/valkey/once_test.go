package valkeystore

import (
	"context"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/servertest"
)

// faults lose the reply to a command that was carried out, and end when the client
// could send it again.
var faults = map[string]struct {
	set    func(p *servertest.Proxy, on bool)
	struck func(p *servertest.Proxy) int
}{
	"reply after the read time-out": {func(p *servertest.Proxy, on bool) {
		if p.DelayReplies(0); on {
			p.DelayReplies(time.Minute)
		}
	}, (*servertest.Proxy).Connections},
	"reply lost": {(*servertest.Proxy).DropReplies, (*servertest.Proxy).Dropped},
}

// For comparison, the same fault hits a command that is marked as one to repeat:
// it shows that the client does repeat here.
func TestCommandsAreSentOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
				for mode, opts := range few {
					t.Run(mode, func(t *testing.T) {
						t.Parallel()
						opts.ConnWriteTimeout = 300 * time.Millisecond
						opts.Dialer.KeepAlive = 100 * time.Millisecond // the pause before a PING
						count := func(key string, call func(raw valkey.Client, c *client)) any {
							p := servertest.NewProxy(t, s.Addr())
							raw, c := open(t, p.Addr(), opts)
							do(t, c, words("GET", "k"))
							before, done := fault.struck(p), make(chan struct{})
							fault.set(p, true)
							go func() {
								defer close(done)
								call(raw, c)
							}()
							await(t, "the fault strikes", func() bool {
								select {
								case <-done:
									return true
								default:
									return fault.struck(p) > before
								}
							})
							fault.set(p, false)
							<-done
							return s.Do("GET", key)
						}
						ours, theirs := "ours "+mode, "theirs "+mode
						if n := count(ours, func(_ valkey.Client, c *client) {
							_, err := c.Do(context.Background(), words("INCR", ours))
							wantClass(t, err, "unknown")
						}); n != "1" {
							t.Errorf("carried out %v times, want 1", n)
						}
						if n := count(theirs, func(raw valkey.Client, _ *client) {
							_ = raw.Do(context.Background(), raw.B().Arbitrary("INCR").Args(theirs).ReadOnly())
						}); n == "1" || n == nil {
							t.Errorf("marked as repeatable carried out %v times: this test shows nothing", n)
						}
					})
				}
			})
		})
	}
}

// A reply that says that nothing was carried out is no reason to send again either:
// that is for the store to decide.
func TestRefusalsAreNotRepeated(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		_, c := open(t, s.Addr(), valkey.ClientOption{})
		for _, code := range []string{"LOADING", "READONLY", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN", "NOREPLICAS", "BUSY"} {
			lua := "redis.call('INCR', KEYS[1]) return redis.error_reply('" + code + " test')"
			_, err := c.Do(context.Background(), eval(lua, code))
			wantClass(t, err, "reply "+code)
			if n := s.Do("GET", code); n != "1" {
				t.Errorf("%s: sent %v times, want 1", code, n)
			}
		}
	})
}

// valkey-go sends a command again where the end of its connection's lifetime
// comes before the reply.
func TestClientsWithALifetimeAreRefused(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		clustered := servertest.Start(t, s.Kind(), &servertest.Config{Args: []string{"--cluster-enabled", "yes"}})
		clustered.Do("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
		replica := valkey.StandaloneOption{ReplicaAddress: []string{s.Addr()}}
		for name, kind := range map[string]struct {
			addr string
			opts valkey.ClientOption
		}{
			"single":   {s.Addr(), valkey.ClientOption{ForceSingleClient: true}},
			"cluster":  {clustered.Addr(), valkey.ClientOption{}},
			"redirect": {s.Addr(), valkey.ClientOption{Standalone: valkey.StandaloneOption{EnableRedirect: true}}},
			"replicas": {s.Addr(), valkey.ClientOption{Standalone: replica, SendToReplicas: func(valkey.Completed) bool { return false }}},
		} {
			if name == "redirect" && s.Kind() == servertest.Redis {
				continue // unknown there
			}
			for _, lifetime := range []time.Duration{0, time.Hour} {
				kind.opts.ConnLifetime = lifetime
				raw, _ := open(t, kind.addr, kind.opts)
				if s, err := New(raw, nil); (s == nil) != (lifetime > 0) || (err == nil) != (lifetime == 0) {
					t.Errorf("%s with a lifetime of %v: %v", name, lifetime, err)
				}
			}
		}
	})
}
