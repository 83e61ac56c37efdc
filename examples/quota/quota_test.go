package quota_test

import (
	"errors"
	"fmt"
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

func TestQuotaKeepsTheLaws(t *testing.T) {
	conformance.TestFamily(t, algorithm.Family{
		Name: "quota", Kind: quota.Kind,
		Build: func(r algorithm.Rate, _ int64) (algorithm.Algorithm, error) { return quota.New(r.Units, r.Per) },
	})
}

func TestQuotaScript(t *testing.T) {
	limit := algorithm.Must(quota.New(5, 7*time.Microsecond))
	before := algorithm.Must(quota.New(1000, 7*24*time.Hour))
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { client.Close() })
		newStore := func(tb testing.TB, clk clock.Clock) store.Store {
			s, err := redisstore.New(client, &redisstore.Options{
				Clock:   clk,
				Scripts: []script.Source{quota.Script()},
			})
			if err != nil {
				tb.Fatal(err)
			}
			return s
		}
		inspect := func(tb conformance.TB, _ store.Store, slot store.Slot) (conformance.Stored, bool) {
			name := fmt.Sprintf("w{%s}:%s:%s", slot.Key, quota.Kind, slot.Limit)
			left, err := client.PTTL(t.Context(), name).Result()
			if err != nil {
				tb.Fatal(err)
			}
			text, _ := client.Get(t.Context(), name).Result() // "" where there is none
			return conformance.Stored{Text: text, TTL: left}, left > 0
		}
		conformance.TestScript(t, newStore, &conformance.Config{Inspect: inspect}, limit, before)
	})
}

func TestQuotaRefusesBadParameters(t *testing.T) {
	for _, bad := range []struct {
		limit  int64
		length time.Duration
	}{
		{0, time.Hour},
		{-1, time.Hour},
		{algorithm.MaxUnits + 1, time.Hour},
		{1, 0},
		{1, -time.Hour},
		{1, time.Microsecond + 1},
		{1, algorithm.MaxPeriod + time.Microsecond},
	} {
		var refused *algorithm.ParameterError
		if _, err := quota.New(bad.limit, bad.length); !errors.As(err, &refused) {
			t.Errorf("%d in %v: error %v", bad.limit, bad.length, err)
		}
	}
}

func TestQuotaKnowsItsStates(t *testing.T) {
	q := algorithm.Must(quota.New(5, time.Hour))
	for text, good := range map[string]bool{"": true, "0 1": true, "7000000000000000 5": true, "1": false, "1 0": false, "1 2 3": false, "-1 2": false, "7000000000000001 2": false} {
		s, err := algorithm.ParseState(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.CheckState(s); (err == nil) != good {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
