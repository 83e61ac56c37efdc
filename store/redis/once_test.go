package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/internal/servertest"
)

// impatient repeats as much as go-redis can.
func impatient(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, MaxRetries: 2, MinRetryBackoff: -1, MaxRetryBackoff: -1,
		ReadTimeout: 500 * time.Millisecond, PoolSize: 30,
	}
}

// The same faults, for a command of ours and for one of the library's own. The
// second shows that the client does repeat here.
func TestCommandsAreSentOnce(t *testing.T) {
	t.Parallel()
	faults := map[string]func(p *servertest.Proxy, on bool){
		"reply after the read time-out": func(p *servertest.Proxy, on bool) {
			if p.DelayReplies(0); on {
				p.DelayReplies(time.Minute)
			}
		},
		"reply lost": func(p *servertest.Proxy, on bool) { p.DropReplies(on) },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
				p := servertest.NewProxy(t, s.Addr())
				raw, c := open(t, impatient(p.Addr()))
				warm(t, raw, 3)
				fault(p, true)
				_, err := c.Do(context.Background(), words("INCR", "ours"))
				wantClass(t, err, "unknown")
				if err := raw.Incr(context.Background(), "theirs").Err(); err == nil {
					t.Error("the fault does not work")
				}
				fault(p, false)
				if n := s.Do("GET", "ours"); n != "1" {
					t.Errorf("carried out %v times, want 1", n)
				}
				if n := s.Do("GET", "theirs"); n == "1" || n == nil {
					t.Errorf("without our wrapping carried out %v times: this test shows nothing", n)
				}
			})
		})
	}
}

// A reply that says that nothing was carried out is no reason to send again either:
// that is for the store to decide.
func TestRefusalsAreNotRepeated(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		raw, c := open(t, impatient(s.Addr()))
		for _, code := range []string{"LOADING", "READONLY", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN", "NOREPLICAS", "BUSY"} {
			lua := "redis.call('INCR', KEYS[1]) return redis.error_reply('" + code + " test')"
			_, err := c.Do(context.Background(), eval(lua, "ours"+code))
			wantClass(t, err, "reply "+code)
			if n := s.Do("GET", "ours"+code); n != "1" {
				t.Errorf("%s: sent %v times, want 1", code, n)
			}
			if err := raw.Eval(context.Background(), lua, []string{"theirs" + code}).Err(); err == nil {
				t.Errorf("%s: no error", code)
			}
			if n := s.Do("GET", "theirs"+code); n == "1" && code != "BUSY" {
				t.Errorf("%s: without our wrapping sent %v times: this test shows nothing", code, n)
			}
		}
	})
}
