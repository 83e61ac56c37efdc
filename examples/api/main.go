// Command api is a limited HTTP API with three tiers of users, and a page of another
// origin that calls it and shows how much of each limit is left. The limits are in
// limits.yaml.
//
//	go run ./examples/api
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	memorystore "github.com/weirgo/weir/store/memory"
)

//go:embed limits.yaml
var limits []byte

func main() {
	apiAddress := flag.String("listen", "127.0.0.1:8080", "the `address` of the API; port 0 is any")
	pageAddress := flag.String("page", "127.0.0.1:8081", "the `address` of the page; port 0 is any")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *apiAddress, *pageAddress); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, apiAddress, pageAddress string) error {
	states, err := memorystore.New(nil)
	if err != nil {
		return err
	}
	defer states.Close()
	apiListener, err := net.Listen("tcp", apiAddress)
	if err != nil {
		return err
	}
	defer apiListener.Close()
	pageListener, err := net.Listen("tcp", pageAddress)
	if err != nil {
		return err
	}
	defer pageListener.Close()
	apiOrigin, pageOrigin := "http://"+apiListener.Addr().String(), "http://"+pageListener.Addr().String()
	api, err := newAPI(states, limits, pageOrigin)
	if err != nil {
		return err
	}
	fmt.Println("the API: ", apiOrigin+"/api/orders")
	fmt.Println("the page:", pageOrigin)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	for l, h := range map[net.Listener]http.Handler{apiListener: api, pageListener: newPage(apiOrigin)} {
		go func() {
			defer cancel() // one does not go on without the other
			ended <- serve(ctx, l, h)
		}()
	}
	return errors.Join(<-ended, <-ended)
}

// serve serves until ctx ends, and then ends what is under way.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(ending)
	})
	if err := server.Serve(l); stop() || !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
