package valkeystore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/clienttest"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store/script"
)

// openDedicated is open, of a client with exactly that many connections of its own, all free.
func openDedicated(tb testing.TB, addr string, connections int) (valkey.Client, *client) {
	tb.Helper()
	raw, c := open(tb, addr, valkey.ClientOption{})
	d := &c.dedicated
	d.use(raw)
	d.idle = time.Hour
	tb.Cleanup(func() { d.discard(nil) })
	var busy []*connection
	for range connections {
		servertest.Await(tb, "a connection is made", func() bool {
			d.mu.Lock()
			idle := d.count == len(busy) // none is being made
			if idle {
				d.answered = dedicatedCalls
			}
			d.mu.Unlock()
			if idle {
				d.extend()
			}
			return c.HonorsDeadline()
		})
		busy = append(busy, d.get())
	}
	for _, one := range busy {
		d.put(one)
	}
	return raw, c
}

// direct is a command whose caller makes the call itself.
func direct(words ...string) *script.Command {
	cmd := clienttest.Words(words...)
	cmd.Direct = true
	return cmd
}

// TestWhoseConnectionsAreTaken: the size of the pool is seen for a client of one server that is
// not wrapped. It fails where a newer valkey-go keeps the size in other fields.
func TestWhoseConnectionsAreTaken(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for name, test := range map[string]struct {
			opts valkey.ClientOption
			want int
		}{
			"default":  {valkey.ClientOption{}, valkey.DefaultPoolSize},
			"small":    {valkey.ClientOption{BlockingPoolSize: 8}, 8},
			"replicas": {valkey.ClientOption{Standalone: valkey.StandaloneOption{ReplicaAddress: []string{s.Addr()}}, SendToReplicas: func(valkey.Completed) bool { return false }}, 0},
		} {
			raw, _ := open(t, s.Addr(), test.opts)
			if got := poolSize(raw); got != test.want {
				t.Errorf("%s: %d, want %d", name, got, test.want)
			}
			if got := poolSize(wrapper{raw}); got != 0 {
				t.Errorf("%s, wrapped: %d", name, got)
			}
		}
	})
}

// TestWrongServerEndsAllConnections: the first refusal ends those that are free and those in
// use, and none of them is used again.
func TestWrongServerEndsAllConnections(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		next := servertest.Start(t, s.Kind(), nil)
		p := servertest.NewProxy(t, s.Addr())
		_, c := openDedicated(t, p.Addr(), maxDedicated)
		used := c.dedicated.get()
		host, port, _ := strings.Cut(next.Addr(), ":")
		s.Do("REPLICAOF", host, port)
		p.SetTarget(next.Addr())
		_, err := c.Do(context.Background(), direct("INCR", "k"))
		clienttest.WantClass(t, err, "reply READONLY")
		if c.HonorsDeadline() {
			t.Error("there is a connection after a refusal")
		}
		c.dedicated.put(used)
		if c.HonorsDeadline() {
			t.Error("a connection that was in use is used again")
		}
		c.Redial(context.Background())
		servertest.Await(t, "the shared connection leads to the new server", func() bool {
			_, err := c.Do(context.Background(), clienttest.Words("DEL", "k"))
			return err == nil
		})
		for range 10 {
			clienttest.Do(t, c, clienttest.Words("INCR", "k"))
		}
		if n := next.Do("GET", "k"); n != "10" {
			t.Errorf("the new server counts %v", n)
		}
	})
}

// TestEndedConnectionIsPassedOver: where a free connection has ended, the command is sent over
// the shared one, once.
func TestEndedConnectionIsPassedOver(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, cmd := range []*script.Command{direct("INCR", "k"), clienttest.Words("INCR", "k")} {
			_, c := openDedicated(t, s.Addr(), 2)
			for _, one := range c.dedicated.free {
				one.Close()
			}
			if n := clienttest.Do(t, c, cmd); n != "1" {
				t.Errorf("INCR: %s", n)
			}
			s.Do("DEL", "k")
		}
	})
}

// TestUnusedConnectionsGoBack: to the pool of the client, where nobody has used one for a while.
func TestUnusedConnectionsGoBack(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		_, c := openDedicated(t, s.Addr(), 3)
		d := &c.dedicated
		used := d.get()
		d.put(used)
		d.retire()
		if len(d.free) != 3 || d.timer == nil {
			t.Errorf("%d are left of 3, of which one was used", len(d.free))
		}
		used = d.get()
		d.used = false
		d.retire() // one is in use
		if len(d.free) != 0 || d.count != 1 || d.timer == nil {
			t.Errorf("%d of %d are free, timer %v", len(d.free), d.count, d.timer)
		}
		d.put(used)
		d.used = false
		d.retire()
		if len(d.free) != 0 || d.count != 0 || d.timer != nil {
			t.Errorf("%d of %d are free, timer %v", len(d.free), d.count, d.timer)
		}
	})
}

// TestDirectCallEndsInTimeWithoutAConnection: a call whose connection is still being made at its
// deadline sends nothing, neither then nor later.
func TestDirectCallEndsInTimeWithoutAConnection(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		p := servertest.NewProxy(t, s.Addr())
		_, c := openDedicated(t, p.Addr(), 1)
		within := func(timeout time.Duration, key string) error {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			_, err := c.Do(ctx, direct("INCR", key))
			return err
		}
		const short = 50 * time.Millisecond
		s.Freeze()
		err := within(time.Second, "sent") // long enough to send it on a busy machine
		clienttest.WantClass(t, err, "unknown")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the end of the context", err)
		}
		p.Cut()
		servertest.Await(t, "a connection is being made", func() bool {
			err := within(short, "lost") // the first may have met the connection that was cut
			return clienttest.Class(err) == "not sent" && errors.Is(err, context.DeadlineExceeded)
		})
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { clienttest.WantClass(t, within(short, "unsent"), "not sent") })
		}
		all.Wait()
		s.Thaw()
		servertest.Await(t, "the server answers", func() bool {
			_, err := c.Do(context.Background(), direct("PING"))
			return err == nil
		})
		if n := s.Do("EXISTS", "unsent"); n != int64(0) {
			t.Errorf("EXISTS %v: a command was sent after its caller had left", n)
		}
	})
}
