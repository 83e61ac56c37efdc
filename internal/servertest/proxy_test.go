package servertest

import (
	"sync"
	"testing"
	"time"
)

func TestProxyCarries(t *testing.T) {
	Each(t, nil, func(t *testing.T, s *Server) {
		p := NewProxy(t, s.Addr())
		c := connect(t, "tcp", p.Addr())
		for range 3 {
			if got, err := c.do("ECHO", "hello"); got != "hello" || err != nil {
				t.Fatal(got, err)
			}
		}
		if p.Connections() != 1 || p.Requests() != 3 || p.Dropped() != 0 {
			t.Errorf("counted %d connections, %d requests, %d dropped", p.Connections(), p.Requests(), p.Dropped())
		}
	})
}

func TestProxyDropsRepliesOfRequestsThatWereServed(t *testing.T) {
	Each(t, nil, func(t *testing.T, s *Server) {
		p := NewProxy(t, s.Addr())
		c := connect(t, "tcp", p.Addr())
		p.DropReplies(true)
		if got, err := c.do("INCR", "n"); err == nil {
			t.Errorf("the reply came through: %v", got)
		}
		if got := s.Do("GET", "n"); got != "1" || p.Dropped() != 1 {
			t.Errorf("n is %v, %d dropped", got, p.Dropped())
		}
		p.DropReplies(false)
		if got, err := ask(t, "tcp", p.Addr(), "INCR", "n"); got != int64(2) || err != nil {
			t.Errorf("after healing: %v, %v", got, err)
		}
	})
}

func TestProxyDelaysReplies(t *testing.T) {
	s := Start(t, Redis, nil)
	p := NewProxy(t, s.Addr())
	const delay = 30 * time.Millisecond
	p.DelayReplies(delay)
	c := connect(t, "tcp", p.Addr())
	start := time.Now()
	if _, err := c.do("PING"); err != nil || time.Since(start) < delay {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	p.DelayReplies(time.Hour)
	var all sync.WaitGroup
	all.Go(func() {
		if got, err := c.do("INCR", "n"); err == nil {
			t.Errorf("the reply came through: %v", got)
		}
	})
	Await(t, "the request arrives", func() bool { return s.Do("GET", "n") == "1" })
	p.Cut() // also ends the delay
	all.Wait()
}

func TestProxyRefusesNewConnectionsOnly(t *testing.T) {
	s := Start(t, Redis, nil)
	p := NewProxy(t, s.Addr())
	old := connect(t, "tcp", p.Addr())
	if _, err := old.do("PING"); err != nil {
		t.Fatal(err)
	}
	p.Refuse(true)
	if _, err := ask(t, "tcp", p.Addr(), "PING"); err == nil {
		t.Error("a new connection works")
	}
	if _, err := old.do("PING"); err != nil {
		t.Errorf("an open connection does not: %v", err)
	}
	p.Cut()
	if _, err := old.do("PING"); err == nil {
		t.Error("an open connection works after Cut")
	}
	p.Refuse(false)
	if _, err := ask(t, "tcp", p.Addr(), "PING"); err != nil {
		t.Errorf("after healing: %v", err)
	}
}

func TestProxyChangesTarget(t *testing.T) {
	a, b := Start(t, Redis, nil), Start(t, Valkey, nil)
	a.Do("SET", "name", "a")
	b.Do("SET", "name", "b")
	p := NewProxy(t, a.Addr())
	old := connect(t, "tcp", p.Addr())
	for _, want := range []string{"a", "b"} {
		if got, err := ask(t, "tcp", p.Addr(), "GET", "name"); got != want || err != nil {
			t.Errorf("a new connection leads to %v, %v, want %s", got, err, want)
		}
		if got, err := old.do("GET", "name"); got != "a" || err != nil {
			t.Errorf("the old connection leads to %v, %v", got, err)
		}
		p.SetTarget(b.Addr())
	}
	b.Stop()
	if _, err := ask(t, "tcp", p.Addr(), "PING"); err == nil {
		t.Error("a connection to a stopped server works")
	}
}
