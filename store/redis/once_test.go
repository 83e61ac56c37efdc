package redisstore

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/internal/clienttest"
	"github.com/weirgo/weir/internal/servertest"
)

// The suite shows that refusals are not repeated; this, that go-redis would.
func TestRefusalsWouldBeRepeated(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		raw, c := open(t, &redis.Options{Addr: s.Addr(), MaxRetries: 2, MinRetryBackoff: -1, MaxRetryBackoff: -1})
		for _, code := range []string{"LOADING", "READONLY", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN"} {
			lua := "redis.call('INCR', KEYS[1]) return redis.error_reply('" + code + " test')"
			if err := raw.Eval(context.Background(), lua, []string{"theirs" + code}).Err(); err == nil {
				t.Errorf("%s: no error", code)
			}
			_, err := c.Do(context.Background(), clienttest.Eval(lua, "ours"+code))
			clienttest.WantClass(t, err, "reply "+code)
			if theirs, ours := s.Do("GET", "theirs"+code), s.Do("GET", "ours"+code); theirs != "3" || ours != "1" {
				t.Errorf("%s: sent %v times, and %v times without our wrapping; want 1 and 3", code, ours, theirs)
			}
		}
	})
}
