package quota_test

import (
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/examples/quota"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
	"github.com/weirgo/weir/store/script"
)

var (
	perWeek = algorithm.Must(quota.New(1000, 7*24*time.Hour))
	short   = algorithm.Must(quota.New(5, 7*time.Microsecond))
)

func TestQuotaKeepsTheLaws(t *testing.T) {
	conformance.TestAlgorithm(t, short)
}

func TestQuotaScript(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		conformance.TestScript(t, func(tb testing.TB, clk clock.Clock) store.Store {
			client := redis.NewClient(&redis.Options{Addr: server.Addr()})
			tb.Cleanup(func() { client.Close() })
			s, err := redisstore.New(client, &redisstore.Options{
				Clock:   clk,
				Scripts: []script.Source{quota.Script()},
			})
			if err != nil {
				tb.Fatal(err)
			}
			return s
		}, short, perWeek)
	})
}
