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
	"github.com/weirgo/weir/internal/clienttest"
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
					clienttest.Do(t, c, clienttest.Words("GET", "k"))
					test.fault(t, now)
					now.p.Cut()
					err := untilNotSent(t, c)
					for until := time.Now().Add(10 * time.Second); !strings.Contains(err.Error(), test.text) && time.Now().Before(until); {
						err = untilNotSent(t, c) // the first may only have met the connection that was cut
					}
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
		_, err = c.Do(context.Background(), clienttest.Words("INCR", "k"))
		if clienttest.Class(err) == "not sent" {
			return err
		}
		clienttest.WantClass(tb, err, "unknown")
	}
	tb.Fatalf("20 times %s: %v", clienttest.Class(err), err)
	return nil
}

func TestRefusedConnection(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for mode, opts := range modes {
			_, c := open(t, s.Addr(), opts)
			clienttest.Do(t, c, clienttest.Words("GET", "k"))
			s.Kill()
			err := untilNotSent(t, c)
			for until := time.Now().Add(10 * time.Second); !errors.Is(err, syscall.ECONNREFUSED) && time.Now().Before(until); {
				err = untilNotSent(t, c) // the first may only have met the end of the connection
			}
			if !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s: %v", mode, err)
			}
			s.Start()
			if n := clienttest.Do(t, c, clienttest.Words("INCR", "k")); n != "1" {
				t.Errorf("%s: INCR after a restart: %s", mode, n)
			}
			s.Do("DEL", "k")
		}
	})
}

func TestCertificateErrorsAreOfTheHandshake(t *testing.T) {
	clienttest.WantClass(t, meaning(context.Background(), &tls.CertificateVerificationError{Err: errors.New("test")}, true), "not sent")
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
			clienttest.Do(t, ours[mode], clienttest.Words("GET", "k"))
		}
		s.Freeze()
		before := p.Requests()
		ctx, cancel := context.WithCancel(context.Background())
		for mode, c := range ours {
			running.Go(func() {
				_, err := c.Do(ctx, clienttest.Words("INCR", "k"))
				if clienttest.Class(err) != "unknown" {
					t.Errorf("%s: %s, %v", mode, clienttest.Class(err), err)
				}
			})
		}
		servertest.Await(t, "all commands are sent", func() bool { return p.Requests() == before+len(ours) })
		for _, client := range raw {
			running.Go(client.Close)
		}
		running.Wait()
		cancel()
		s.Thaw()
		servertest.Await(t, "the commands are carried out", func() bool { return s.Do("GET", "k") == strconv.Itoa(len(ours)) })
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
			clienttest.Do(t, c, clienttest.Words("PING"))
			s.Freeze()
			before, other := p.Requests(), make(chan error)
			short, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			go func() {
				servertest.Await(t, "the first is sent", func() bool { return p.Requests() > before })
				_, err := c.Do(context.Background(), clienttest.Words("INCR", "other"))
				other <- err
			}()
			_, err := c.Do(short, clienttest.Words("INCR", "short"))
			clienttest.WantClass(t, err, "unknown")
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
		if reply := clienttest.Do(t, newClient(&wrapper{raw}), clienttest.Words("PING")); reply != "PONG" {
			t.Errorf("PING: %q", reply)
		}
	})
}
