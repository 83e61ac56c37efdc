package acceptance_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
)

// silentListener accepts connections and never answers.
func silentListener(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var accepted []net.Conn
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			accepted = append(accepted, conn)
			mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
		for _, conn := range accepted {
			_ = conn.Close()
		}
	})
	return l.Addr().String()
}

// TestOutcomeIsKnownWhereNothingWasSent: connections end, and new ones get as far as the
// greeting: nothing is charged, and the error says so. Something in front of the server
// that accepts and closes is the same.
func TestOutcomeIsKnownWhereNothingWasSent(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(t *testing.T, p *servertest.Proxy){
		"accepts and closes": func(_ *testing.T, p *servertest.Proxy) { p.Refuse(true) },
		"accepts and hangs":  func(t *testing.T, p *servertest.Proxy) { p.SetTarget(silentListener(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, allPairs(), nil, func(t *testing.T, e *env) {
				const callers, rounds, units = 64, 20, 1_000_000
				const calls = 2 + 8 // that a key may have in flight, and abandoned ones
				p := servertest.NewProxy(t, e.server.Addr())
				direct := e.store(t, nil)
				s := e.dial(t, dial{addr: p.Addr(), plain: true, answer: 3 * time.Second}, nil)
				a := longest("gcra", units)
				l, err := weir.New(s, weir.Limit{Name: "limit", Algorithm: a}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				servertest.Await(t, "a first answer", func() bool {
					_, err := l.Allow(context.Background(), "k")
					return err == nil
				})
				slot := op("k", "limit", a, 1).Slot
				before := remaining(t, direct, slot)
				fail(t, p)
				p.Cut()
				got := &answers{}
				var all sync.WaitGroup
				for range callers {
					all.Go(func() {
						for range rounds {
							begin := time.Now()
							_, err := l.Allow(context.Background(), "k")
							got.add(time.Since(begin), err)
						}
					})
				}
				all.Wait()
				charged := before - remaining(t, direct, slot)
				t.Logf("%d answers, %d charged, errors %v", len(got.took), charged, got.failed)
				// A client library does not say whether it has sent a command that it was
				// given: those are unknown, and nothing else is.
				if charged != 0 || len(got.took) != 0 || got.failed["unknown"] > calls*callers || got.failed["unavailable"] < (rounds-calls)*callers {
					t.Errorf("%d answers, %d charged, errors %v; want nothing charged, and known", len(got.took), charged, got.failed)
				}
			})
		})
	}
}
