package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/api/client"
	memorystore "github.com/weirgo/weir/store/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// The service cannot be reached, and the limits of this process answer for it.
func ExampleNew() {
	counts := weir.Must(memorystore.New(nil))
	defer counts.Close()
	c, err := client.New("passthrough:///limits.example.com:8081", &client.Options{
		Token:     "the token of this program",
		OnFailure: weir.FailLocal,
		Local:     &client.Local{Store: counts, Limits: []weir.Limit{weir.Must(weir.ParseLimit("api", "gcra:2/1m"))}},
		Dial: []grpc.DialOption{grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			return nil, errors.New("no network in an example")
		})},
	})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	for range 3 {
		d, err := c.Allow(context.Background(), "api", "user:42")
		if err != nil {
			panic(err)
		}
		var cause *client.Error
		fmt.Println(d.Allowed, d.Degraded, errors.As(d.Cause, &cause) && cause.Code == codes.Unavailable)
	}
	// Output:
	// true true true
	// true true true
	// false true true
}
