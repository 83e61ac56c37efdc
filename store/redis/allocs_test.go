package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/internal/clienttest"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/internal/servertest"
)

// What go-redis needs for a call is about 5 allocations. Ours come on top.
func TestCallsDoNotAllocate(t *testing.T) {
	race.SkipAllocations(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		raw, c := open(t, &redis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true})
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		cmd := clienttest.Decision(s)
		args := make([]any, len(cmd.Args))
		for i := range args {
			args[i] = cmd.Args[i]
		}
		theirs := testing.AllocsPerRun(1000, func() {
			if err := raw.Process(ctx, redis.NewStringCmd(ctx, args...)); err != nil {
				t.Fatal(err)
			}
		})
		all := testing.AllocsPerRun(1000, func() {
			if _, err := c.Do(ctx, cmd); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%v allocations, %v of them are go-redis", all, theirs)
		if all > theirs || all > 5 {
			t.Errorf("%v allocations, %v of them are go-redis; want 5 and no more than those", all, theirs)
		}
	})
}
