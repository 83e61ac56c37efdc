package servertest

import (
	"crypto/tls"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServerAnswersOnPortAndSocket(t *testing.T) {
	Each(t, nil, func(t *testing.T, s *Server) {
		for network, addr := range map[string]string{"tcp": s.Addr(), "unix": s.Socket()} {
			if reply, err := ask(t, network, addr, "PING"); reply != "PONG" || err != nil {
				t.Errorf("PING on %s %s: %v, %v", network, addr, reply, err)
			}
		}
		if len(s.Socket()) >= 100 {
			t.Errorf("the path of the socket is too long for a socket: %s", s.Socket())
		}
		if !strings.Contains(t.Name(), "/"+s.Kind().String()) {
			t.Errorf("%s runs on %s", t.Name(), s.Kind())
		}
	})
}

func TestServersAreSeparate(t *testing.T) {
	a, b := Start(t, Redis, nil), Start(t, Redis, nil)
	if a.Addr() == b.Addr() || a.Socket() == b.Socket() || a.Pid() == b.Pid() {
		t.Fatalf("two servers share something: %s %s", a.Addr(), b.Addr())
	}
	a.Do("SET", "k", "v")
	if got := b.Do("GET", "k"); got != nil {
		t.Errorf("a key of one server is in the other: %v", got)
	}
}

func TestReplies(t *testing.T) {
	Each(t, nil, func(t *testing.T, s *Server) {
		if got := s.Do("SET", "k", "two\r\nlines"); got != "OK" {
			t.Errorf("SET: %v", got)
		}
		if got := s.Do("GET", "k"); got != "two\r\nlines" {
			t.Errorf("GET: %q", got)
		}
		if got := s.Do("STRLEN", "k"); got != int64(10) {
			t.Errorf("STRLEN: %v", got)
		}
		list, ok := s.Do("MGET", "k", "none").([]any)
		if !ok || len(list) != 2 || list[0] != "two\r\nlines" || list[1] != nil {
			t.Errorf("MGET: %v", list)
		}
		var refused ReplyError
		if _, err := s.Try("INCR", "k"); !errors.As(err, &refused) || !strings.HasPrefix(refused.Error(), "ERR ") {
			t.Errorf("INCR of a text: %v", err)
		}
		s.Stop()
		if _, err := s.Try("PING"); err == nil || errors.As(err, &refused) {
			t.Errorf("PING of a stopped server: %v", err)
		}
	})
}

func TestArgsWinOverDefaults(t *testing.T) {
	Each(t, &Config{Args: []string{"--maxmemory", "2mb", "--appendonly", "yes"}}, func(t *testing.T, s *Server) {
		for setting, want := range map[string]string{"maxmemory": "2097152", "appendonly": "yes"} {
			if got := s.Do("CONFIG", "GET", setting).([]any); got[1] != want {
				t.Errorf("%s is %v, want %s", setting, got[1], want)
			}
		}
	})
}

func TestUsersHaveTheirRules(t *testing.T) {
	cfg := &Config{Users: []string{"app on >secret ~w{* +get +ping", "default off"}}
	Each(t, cfg, func(t *testing.T, s *Server) {
		s.Do("SET", "w{k}", "v") // not the default user
		if _, err := ask(t, "tcp", s.Addr(), "PING"); err == nil {
			t.Error("the default user is on")
		}
		c := connect(t, "tcp", s.Addr())
		if _, err := c.do("AUTH", "app", "secret"); err != nil {
			t.Fatal(err)
		}
		if got, err := c.do("GET", "w{k}"); got != "v" || err != nil {
			t.Errorf("GET of an allowed key: %v, %v", got, err)
		}
		for _, command := range [][]string{{"GET", "other"}, {"SET", "w{k}", "w"}} {
			if _, err := c.do(command...); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
				t.Errorf("%v: %v", command, err)
			}
		}
	})
}

func TestTLS(t *testing.T) {
	Each(t, &Config{TLS: true}, func(t *testing.T, s *Server) {
		c, err := tls.Dial("tcp", s.Addr(), s.TLSConfig())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("PING\r\n")); err != nil {
			t.Fatal(err)
		}
		pong := make([]byte, len("+PONG\r\n"))
		if _, err := c.Read(pong); err != nil || string(pong) != "+PONG\r\n" {
			t.Errorf("PING: %q, %v", pong, err)
		}
		if c, err := tls.Dial("tcp", s.Addr(), nil); err == nil {
			c.Close()
			t.Error("a client that does not know the certificate trusts it")
		}
	})
	if s := Start(t, Redis, nil); s.TLSConfig() != nil {
		t.Error("a plain server has a TLS configuration")
	}
}

func TestRestarts(t *testing.T) {
	Each(t, nil, func(t *testing.T, s *Server) {
		addr, socket := s.Addr(), s.Socket()
		steps := []struct {
			name string
			do   func()
			want any
		}{
			{"start of a running server", s.Start, "v"},
			{"restart with data", s.RestartWithData, "v"},
			{"restart", s.Restart, nil},
			{"kill and start", func() { s.Kill(); s.Kill(); s.Start() }, nil},
			{"restart with data, then kill and start", func() { s.RestartWithData(); s.Kill(); s.Start() }, nil},
			{"stop and start", func() { s.Stop(); s.Stop(); s.Start() }, nil},
		}
		for _, step := range steps {
			s.Do("SET", "k", "v")
			step.do()
			if got := s.Do("GET", "k"); got != step.want {
				t.Errorf("after %s the key is %v, want %v", step.name, got, step.want)
			}
			if got, err := ask(t, "tcp", addr, "PING"); got != "PONG" || err != nil || s.Addr() != addr || s.Socket() != socket {
				t.Errorf("after %s: %v, %v", step.name, got, err)
			}
		}
	})
}

func TestFrozenServerAnswersAfterThaw(t *testing.T) {
	Each(t, nil, func(t *testing.T, s *Server) {
		c := connect(t, "tcp", s.Addr())
		s.Freeze()
		answer := make(chan error)
		go func() {
			_, err := c.do("PING")
			answer <- err
		}()
		if probe, err := s.dial(20 * time.Millisecond); err == nil {
			probe.Close()
			t.Error("a frozen server answers")
		}
		select {
		case err := <-answer:
			t.Errorf("a frozen server answers: %v", err)
		default:
		}
		s.Thaw()
		if err := <-answer; err != nil {
			t.Error(err)
		}
	})
}

func TestMonitorShowsCommandsOnce(t *testing.T) {
	Each(t, nil, func(t *testing.T, s *Server) {
		m := s.Monitor(t)
		if got := m.Lines(); len(got) != 0 {
			t.Errorf("before any command: %q", got)
		}
		s.Do("EVAL", "return redis.call('SET', KEYS[1], 'v')", "1", "k")
		got := m.Lines()
		if len(got) != 2 || !strings.Contains(got[0], `"EVAL"`) || !strings.Contains(got[1], ` lua] "SET" "k" "v"`) {
			t.Errorf("a script that sets: %q", got)
		}
		if got := m.Lines(); len(got) != 0 {
			t.Errorf("nothing since: %q", got)
		}
		m.Stop()
	})
}

func TestTryIsSafeForConcurrentUse(t *testing.T) {
	s := Start(t, Valkey, nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if _, err := s.Try("INCR", "n"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := s.Do("GET", "n"); got != "160" {
		t.Errorf("160 INCR made %v", got)
	}
}

func connect(t *testing.T, network, addr string) *conn {
	t.Helper()
	c, err := dial(network, addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func ask(t *testing.T, network, addr string, args ...string) (any, error) {
	t.Helper()
	return connect(t, network, addr).do(args...)
}
