package inflightserver_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/resilience/inflight"
	inflightserver "github.com/weirgo/weir/resilience/inflight/server"
	redisstore "github.com/weirgo/weir/store/redis"
)

func ExampleNew() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	defer client.Close()
	s, err := redisstore.New(client, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	holders, err := inflightserver.New(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter, err := inflight.New(holders, inflight.Limit{Name: "reports", Units: 20}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	hold, err := limiter.Acquire(ctx, "user:42")
	if err != nil {
		fmt.Println("the server does not answer:", err)
		return
	}
	defer func() { _ = hold.Release(ctx) }()
	fmt.Println(hold.Allowed())
}
