package valkeystore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

func ExampleNew() {
	client, err := valkey.NewClient(valkey.ClientOption{
		InitAddress:  []string{"127.0.0.1:6379"},
		DisableCache: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	s, err := valkeystore.New(client, nil)
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
