package valkeystore

import (
	"context"
	"crypto/tls"
	"errors"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

func TestCommandsWithoutConnectionAreNotSent(t *testing.T) {
	t.Parallel()
	type scene struct {
		s   *servertest.Server
		p   *servertest.Proxy
		raw valkey.Client
	}
	secured := &servertest.Config{TLS: true}
	for name, test := range map[string]struct {
		cfg   *servertest.Config
		fault func(t *testing.T, now *scene)
		want  error  // one of the chain, if any is known
		text  string // part of the message
	}{
		"wrong password": {
			fault: func(_ *testing.T, now *scene) { now.s.Do("ACL", "SETUSER", "app", "resetpass", ">other") },
			text:  "WRONGPASS",
		},
		"certificate": {
			cfg: secured,
			fault: func(t *testing.T, now *scene) {
				now.p.SetTarget(servertest.Start(t, now.s.Kind(), secured).Addr())
			},
			text: "certificate",
		},
		"closed client": {
			fault: func(_ *testing.T, now *scene) { now.raw.Close() },
			want:  valkey.ErrClosing,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for mode, opts := range few {
				servertest.Each(t, test.cfg, func(t *testing.T, s *servertest.Server) {
					s.Do("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all")
					now := &scene{s: s, p: servertest.NewProxy(t, s.Addr())}
					opts.Username, opts.Password = "app", "secret"
					opts.TLSConfig = s.TLSConfig()
					var c *client
					now.raw, c = open(t, now.p.Addr(), opts)
					do(t, c, words("GET", "k"))
					test.fault(t, now)
					now.p.Cut()
					err := untilNotSent(t, c)
					if test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
						t.Errorf("%s: %v, want %v %s", mode, err, test.want, test.text)
					}
				})
			}
		})
	}
}

// untilNotSent returns the first error that says that nothing was sent. Until the
// client has noticed the end of its connection, nobody can know.
func untilNotSent(tb testing.TB, c *client) (err error) {
	tb.Helper()
	for range 20 {
		_, err = c.Do(context.Background(), words("INCR", "k"))
		if class(err) == "not sent" {
			return err
		}
		wantClass(tb, err, "unknown")
	}
	tb.Fatalf("20 times %s: %v", class(err), err)
	return nil
}

func TestRefusedConnection(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for mode, opts := range modes {
			_, c := open(t, s.Addr(), opts)
			do(t, c, words("GET", "k"))
			s.Kill()
			if err := untilNotSent(t, c); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s: %v", mode, err)
			}
			s.Start()
			if n := do(t, c, words("INCR", "k")); n != "1" {
				t.Errorf("%s: INCR after a restart: %s", mode, n)
			}
			s.Do("DEL", "k")
		}
	})
}

func TestCertificateErrorsAreOfTheHandshake(t *testing.T) {
	wantClass(t, meaning(context.Background(), &tls.CertificateVerificationError{Err: errors.New("test")}, true), "not sent")
}

// A command that is on its way when the client is closed may be carried out. For
// a second, closing waits for the reply.
func TestCloseLeavesCommandsUnknown(t *testing.T) {
	t.Parallel()
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		p := servertest.NewProxy(t, s.Addr())
		var running sync.WaitGroup
		raw := map[string]valkey.Client{}
		ours := map[string]*client{}
		for mode, opts := range modes {
			opts.ConnWriteTimeout = 2 * time.Second
			raw[mode], ours[mode] = open(t, p.Addr(), opts)
			do(t, ours[mode], words("GET", "k"))
		}
		s.Freeze()
		before := p.Requests()
		ctx, cancel := context.WithCancel(context.Background())
		for mode, c := range ours {
			running.Go(func() {
				_, err := c.Do(ctx, words("INCR", "k"))
				if class(err) != "unknown" {
					t.Errorf("%s: %s, %v", mode, class(err), err)
				}
			})
		}
		await(t, "all commands are sent", func() bool { return p.Requests() == before+len(ours) })
		for _, client := range raw {
			running.Go(client.Close)
		}
		running.Wait()
		cancel()
		s.Thaw()
		await(t, "the commands are carried out", func() bool { return s.Do("GET", "k") == strconv.Itoa(len(ours)) })
	})
}

func TestEndedContextSendsNothing(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		p := servertest.NewProxy(t, s.Addr())
		_, c := open(t, p.Addr(), valkey.ClientOption{})
		do(t, c, words("PING"))
		before := p.Requests()
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		late, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
		defer cancel()
		for _, ctx := range []context.Context{cancelled, late} {
			_, err := c.Do(ctx, words("INCR", "k"))
			wantClass(t, err, "not sent")
			if !errors.Is(err, ctx.Err()) {
				t.Errorf("%v does not match %v", err, ctx.Err())
			}
		}
		if sent := p.Requests() - before; sent != 0 {
			t.Errorf("%d requests", sent)
		}
	})
}

// The end of a context ends the call, and is no end of that of others who share
// the connection.
func TestDeadlineIsOfItsCaller(t *testing.T) {
	t.Parallel()
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for mode, opts := range few {
			p := servertest.NewProxy(t, s.Addr())
			opts.ConnWriteTimeout = time.Second
			opts.Dialer.KeepAlive = 100 * time.Millisecond
			_, c := open(t, p.Addr(), opts)
			do(t, c, words("PING"))
			s.Freeze()
			before, other := p.Requests(), make(chan error)
			short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			go func() {
				await(t, "the first is sent", func() bool { return p.Requests() > before })
				_, err := c.Do(context.Background(), words("INCR", "other"))
				other <- err
			}()
			_, err := c.Do(short, words("INCR", "short"))
			wantClass(t, err, "unknown")
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", mode, err)
			}
			if err := <-other; err == nil || isContext(err) {
				t.Errorf("%s, without a deadline: %v", mode, err)
			}
			s.Thaw()
			cancel()
		}
	})
}

func TestNewRefusesWhatItCannotUse(t *testing.T) {
	s, err := New(nil, nil)
	var input *store.InputError
	if s != nil || !errors.As(err, &input) || input.Field != "client" {
		t.Errorf("nil: %v", err)
	}
	var none *wrapper
	if s, err := New(none, nil); s != nil || !errors.As(err, &input) || input.Field != "client" {
		t.Errorf("nil of a type: %v", err)
	}
}

// wrapper is a client as an application makes its own.
type wrapper struct{ valkey.Client }

func TestWrappedClients(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		raw, _ := open(t, server.Addr(), valkey.ClientOption{})
		if _, err := New(wrapper{raw}, nil); err != nil {
			t.Error(err)
		}
		if s, err := New(wrapper{raw}, &Options{Share: -1}); s != nil || !errors.Is(err, store.ErrInvalid) {
			t.Errorf("Share -1: %v", err)
		}
		if reply := do(t, newClient(&wrapper{raw}), words("PING")); reply != "PONG" {
			t.Errorf("PING: %q", reply)
		}
	})
}
