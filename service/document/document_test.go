package document_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/valkey-io/valkey-go"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/service/document"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	redisstore "github.com/weirgo/weir/store/redis"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// each runs a test on the documents of memory, Redis and Valkey, through both clients.
func each(t *testing.T, test func(t *testing.T, docs document.Documents)) {
	t.Run("memory", func(t *testing.T) { test(t, new(document.Memory).Document) })
	of := func(t *testing.T, s store.Store) document.Documents {
		docs, has := document.Of(s)
		if !has {
			t.Fatal("a store on a server has no documents")
		}
		return docs
	}
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		logging.Disable()
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), DialerRetries: 1, ContextTimeoutEnabled: true})
		t.Cleanup(func() { client.Close() })
		one := weir.Must(redisstore.New(client, &redisstore.Options{Prefix: "one:"}))
		t.Cleanup(func() { one.Close() })
		other := weir.Must(valkey.NewClient(valkey.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true, ForceSingleClient: true}))
		t.Cleanup(other.Close)
		two := weir.Must(valkeystore.New(other, &valkeystore.Options{Prefix: "two:"}))
		t.Cleanup(func() { two.Close() })
		t.Run("go-redis", func(t *testing.T) { test(t, of(t, one)) })
		t.Run("valkey-go", func(t *testing.T) { test(t, of(t, two)) })
	})
}

// TestDocumentsAreWrittenByCompareAndSet: no writing is lost, and none is made twice.
func TestDocumentsAreWrittenByCompareAndSet(t *testing.T) {
	each(t, func(t *testing.T, docs document.Documents) {
		ctx := context.Background()
		d, err := docs("a.b-C_1")
		if err != nil {
			t.Fatal(err)
		}
		if text, revision, err := d.Read(ctx); text != nil || revision != 0 || err != nil {
			t.Fatalf("%q %d %v before the first writing", text, revision, err)
		}
		if _, err := d.Write(ctx, []byte("x"), 1); !errors.Is(err, store.ErrContention) {
			t.Errorf("a writing of another revision: %v", err)
		}
		if next, err := d.Write(ctx, []byte("0"), 0); next != 1 || err != nil {
			t.Fatal(next, err)
		}
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				for range 5 {
					_, err := d.Update(ctx, func(text []byte) ([]byte, error) {
						n, err := strconv.Atoi(string(text))
						return []byte(strconv.Itoa(n + 1)), err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		if text, revision, err := d.Read(ctx); string(text) != "20" || revision != 21 || err != nil {
			t.Errorf("%q in revision %d, %v", text, revision, err)
		}
		stop := errors.New("stop")
		if _, err := d.Update(ctx, func([]byte) ([]byte, error) { return nil, stop }); err != stop {
			t.Errorf("the error of a change is %v", err)
		}
		other, err := docs("other")
		if err != nil {
			t.Fatal(err)
		}
		if _, revision, _ := other.Read(ctx); revision != 0 {
			t.Error("documents of two names share a text")
		}
		if _, err := docs("a/b"); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("a name that is not valid: %v", err)
		}
	})
}

// TestReadersAreNotified of each writing, soon after.
func TestReadersAreNotified(t *testing.T) {
	each(t, func(t *testing.T, docs document.Documents) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		d, err := docs("d")
		if err != nil {
			t.Fatal(err)
		}
		woken := make(chan struct{}, 1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = d.Notify(ctx, func() {
				select {
				case woken <- struct{}{}:
				default:
				}
			})
		}()
		<-woken // from now on
		if _, err := d.Write(ctx, []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
		for {
			if _, revision, err := d.Read(ctx); revision == 1 && err == nil {
				break
			}
		}
		select {
		case <-woken:
		case <-ctx.Done():
			t.Error("no notification")
		}
		cancel()
		<-done
	})
}

func TestAStoreInMemoryHasNoDocuments(t *testing.T) {
	s := weir.Must(memorystore.New(nil))
	defer s.Close()
	if _, has := document.Of(s); has {
		t.Error("documents of a store in memory")
	}
}
