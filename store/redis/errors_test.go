package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/internal/clienttest"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

func TestCommandsWithoutConnectionAreNotSent(t *testing.T) {
	users := &servertest.Config{
		Users: []string{"app on >secret ~* +incr +hello +select"},
		Args:  []string{"--maxclients", "10"},
	}
	servertest.Each(t, users, func(t *testing.T, s *servertest.Server) {
		stopped := servertest.Start(t, s.Kind(), nil)
		stopped.Stop()
		secured := servertest.Start(t, s.Kind(), &servertest.Config{TLS: true})
		p := servertest.NewProxy(t, s.Addr())
		p.Refuse(true)
		silent := listen(t)
		errHook := errors.New("hook")
		for name, test := range map[string]struct {
			opts    redis.Options
			prepare func(raw *redis.Client)
			want    error  // one of the chain, if any is known
			text    string // part of the message
		}{
			"refused":        {opts: redis.Options{Addr: stopped.Addr()}, want: syscall.ECONNREFUSED},
			"closed at once": {opts: redis.Options{Addr: p.Addr()}},
			"no answer":      {opts: redis.Options{Addr: silent, ReadTimeout: 50 * time.Millisecond}},
			"dial time-out": {opts: redis.Options{Addr: s.Addr(), DialTimeout: time.Nanosecond},
				want: context.DeadlineExceeded},
			"unknown host":     {opts: redis.Options{Addr: "host.invalid:6379"}, text: "host.invalid"},
			"certificate":      {opts: redis.Options{Addr: secured.Addr(), TLSConfig: new(tls.Config)}, text: "certificate"},
			"no TLS":           {opts: redis.Options{Addr: secured.Addr()}},
			"wrong password":   {opts: redis.Options{Addr: s.Addr(), Username: "app", Password: "wrong"}, text: "WRONGPASS"},
			"forbidden select": {opts: redis.Options{Addr: s.Addr(), DB: 99}, text: "out of range"},
			"pool time-out": {
				opts:    redis.Options{Addr: s.Addr(), PoolSize: 1, PoolTimeout: time.Millisecond},
				prepare: func(raw *redis.Client) { hold(t, raw) }, want: redis.ErrPoolTimeout},
			"pool exhausted": {
				opts:    redis.Options{Addr: s.Addr(), PoolSize: 2, MaxActiveConns: 1, PoolTimeout: time.Millisecond},
				prepare: func(raw *redis.Client) { hold(t, raw) }, want: redis.ErrPoolExhausted},
			"closed client": {opts: redis.Options{Addr: s.Addr()},
				prepare: func(raw *redis.Client) { _ = raw.Close() }, want: redis.ErrClosed},
			"on connect": {opts: redis.Options{Addr: s.Addr(),
				OnConnect: func(context.Context, *redis.Conn) error { return errHook }}, want: errHook},
			"hook": {opts: redis.Options{Addr: s.Addr()},
				prepare: func(raw *redis.Client) { raw.AddHook(refuser{errHook}) }, want: errHook},
			"limiter": {opts: redis.Options{Addr: s.Addr(), Limiter: refuser{errHook}}, want: errHook},
		} {
			raw, c := open(t, &test.opts)
			if test.prepare != nil {
				test.prepare(raw)
			}
			_, err := c.Do(context.Background(), clienttest.Words("INCR", "k"))
			clienttest.WantClass(t, err, "not sent")
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: %v, want %v %s", name, err, test.want, test.text)
			}
		}
		if n := s.Do("GET", "k"); n != nil {
			t.Errorf("%v commands were carried out", n)
		}
	})
}

// B128.
func TestTooManyClients(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, identity := range []bool{true, false} {
			_, other := open(t, &redis.Options{Addr: s.Addr()})
			clienttest.Do(t, other, clienttest.Words("PING"))
			clienttest.Do(t, other, clienttest.Words("CONFIG", "SET", "maxclients", "1"))
			_, c := open(t, &redis.Options{Addr: s.Addr(), DisableIdentity: !identity})
			_, err := c.Do(context.Background(), clienttest.Words("INCR", "k"))
			// The reply to HELLO is an error, after which go-redis goes on.
			// If the command is the next thing that it sends, it may have
			// been sent.
			if got := clienttest.Class(err); got != "not sent" && (identity || got != "unknown") {
				t.Errorf("identity %v, %s: %v", identity, got, err)
			}
			clienttest.Do(t, other, clienttest.Words("CONFIG", "SET", "maxclients", "100"))
		}
	})
}

func TestDeadConnectionsAreNotUsed(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		raw, c := open(t, &redis.Options{Addr: s.Addr()})
		warm(t, raw, 5)
		s.Kill()
		_, err := c.Do(context.Background(), clienttest.Words("INCR", "k"))
		clienttest.WantClass(t, err, "not sent")
		s.Start()
		// The pool notices each dead connection before it is used.
		if n := clienttest.Do(t, c, clienttest.Words("INCR", "k")); n != "1" {
			t.Errorf("INCR after a restart: %s", n)
		}
	})
}

// refuser is a hook and a limiter that lets nothing through.
type refuser struct{ err error }

var (
	_ redis.Hook    = refuser{}
	_ redis.Limiter = refuser{}
)

func (r refuser) Allow() error                                { return r.err }
func (r refuser) ReportResult(error)                          {}
func (r refuser) DialHook(next redis.DialHook) redis.DialHook { return next }
func (r refuser) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error { return r.err }
}
func (r refuser) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// listen returns an address where connections are accepted and nobody answers.
func listen(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func TestNewRefusesWhatItCannotUse(t *testing.T) {
	raw, _ := open(t, &redis.Options{})
	batched, err := raw.AutoPipeline()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]redis.UniversalClient{
		"nil": nil, "nil of a type": (*redis.ClusterClient)(nil), "auto-pipelined": batched,
	} {
		s, err := New(c, nil)
		var input *store.InputError
		if s != nil || !errors.As(err, &input) || input.Field != "client" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s, err := New(raw, &Options{Share: -1}); s != nil || !errors.Is(err, store.ErrInvalid) {
		t.Errorf("Share -1: %v", err)
	}
}
