package redisstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	redisstore "github.com/weirgo/weir/store/redis"
)

func ExampleNew() {
	client := redis.NewClient(&redis.Options{
		Addr:                  "127.0.0.1:6379",
		ContextTimeoutEnabled: true,
		DialerRetries:         1,
	})
	defer client.Close()
	s, err := redisstore.New(client, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	limiter, err := weir.New(s, weir.Limit{Name: "api", Algorithm: algorithm.Must(algorithm.NewGCRA(algorithm.PerMinute(100), 20))}, nil)
	if err != nil {
		log.Fatal(err)
	}
	d, err := limiter.Allow(context.Background(), "user:1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Allowed)
}
