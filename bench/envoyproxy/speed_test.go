package envoyproxy

import (
	"context"
	"fmt"
	"math/rand"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/redis"
	"github.com/envoyproxy/ratelimit/src/settings"
	"github.com/envoyproxy/ratelimit/src/stats"
	"github.com/envoyproxy/ratelimit/src/utils"
	gostats "github.com/lyft/gostats"
	goredis "github.com/redis/go-redis/v9"
	"github.com/sirupsen/logrus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	descriptors "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/service/envoy"
	redisstore "github.com/weirgo/weir/store/redis"
)

// BenchmarkShouldRateLimit asks both services through gRPC on the loopback interface, each
// with a Redis server, from 64 callers in one process: one key, and 100,000 keys.
func BenchmarkShouldRateLimit(b *testing.B) {
	logrus.SetLevel(logrus.ErrorLevel)
	const text = "domain: d\ndescriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 4000000000}}]\n"
	for _, keys := range []int{1, 100_000} {
		for _, of := range []struct {
			name string
			open func(b *testing.B, addr, text string) pb.RateLimitServiceServer
		}{{"weir", openOurs}, {"envoyproxy", openTheirs}} {
			b.Run(fmt.Sprintf("keys=%d/%s", keys, of.name), func(b *testing.B) {
				server := servertest.Start(b, servertest.Redis, nil)
				ask(b, serve(b, of.open(b, server.Addr(), text)), keys)
			})
		}
	}
}

func ask(b *testing.B, client pb.RateLimitServiceClient, keys int) {
	var next atomic.Int64
	b.SetParallelism(32) // of 2 processors
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			user := strconv.FormatInt(next.Add(7919)%int64(keys), 10)
			answer, err := client.ShouldRateLimit(context.Background(), &pb.RateLimitRequest{Domain: "d", Descriptors: []*descriptors.RateLimitDescriptor{
				{Entries: []*descriptors.RateLimitDescriptor_Entry{{Key: "user", Value: user}}},
			}})
			if err != nil || answer.GetOverallCode() != pb.RateLimitResponse_OK {
				b.Error(answer, err)
				return
			}
		}
	})
}

// serve serves s on the loopback interface and returns a client.
func serve(b *testing.B, s pb.RateLimitServiceServer) pb.RateLimitServiceClient {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterRateLimitServiceServer(server, s)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		<-done
	})
	return pb.NewRateLimitServiceClient(conn)
}

func openOurs(b *testing.B, addr, text string) pb.RateLimitServiceServer {
	b.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	b.Cleanup(func() { _ = client.Close() })
	states, err := redisstore.New(client, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = states.Close() })
	loaded, err := envoy.Parse([]envoy.File{{Name: "c.yaml", Text: text}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	s, err := envoy.New(states, loaded, nil)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// openTheirs has the settings that the service has by itself: a pool of 10 connections, no
// window for pipelines, no local cache.
func openTheirs(b *testing.B, addr, text string) pb.RateLimitServiceServer {
	b.Helper()
	set := settings.NewSettings()
	scope := gostats.NewStore(gostats.NewNullSink(), false)
	manager := stats.NewStatManager(scope, set)
	client := redis.NewClientImpl(scope, false, "", "tcp", "SINGLE", addr, set.RedisPoolSize, set.RedisPipelineWindow, set.RedisPipelineLimit,
		nil, false, nil, 10*time.Second, set.RedisPoolOnEmptyBehavior, "")
	b.Cleanup(func() { _ = client.Close() })
	clock := utils.NewTimeSourceImpl()
	cache := redis.NewFixedRateLimitCacheImpl(client, nil, clock, rand.New(utils.NewLockedSource(1)), 300, nil, 0.8, "", manager, false)
	return serviceOn(cache, manager, "c.yaml", text, clock)
}
