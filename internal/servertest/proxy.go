package servertest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy is a wire that can be cut: a TCP proxy before a server, on a loopback port
// of its own. It does not look into what it carries. It is safe for concurrent
// use, and all of it ends with the test.
type Proxy struct {
	listener net.Listener
	ended    context.Context // done when the test ends
	running  sync.WaitGroup  // all goroutines

	mu       sync.Mutex
	target   string
	refuse   bool
	drop     bool
	delay    time.Duration
	links    map[*link]bool
	accepted int
	requests int
	dropped  int
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	once           sync.Once
	closed         chan struct{}
	forgotten      atomic.Bool // what arrives is thrown away
}

// NewProxy starts a proxy to a host:port. It accepts connections whether or not
// there is a server behind it, and closes those that it cannot connect.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("servertest: proxy: %v", err)
	}
	ctx, end := context.WithCancel(context.Background())
	p := &Proxy{listener: listener, ended: ctx, target: target, links: map[*link]bool{}}
	p.running.Go(p.accept)
	tb.Cleanup(func() {
		end()
		_ = listener.Close()
		p.Cut()
		p.running.Wait()
	})
	return p
}

// Addr returns the address that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// SetTarget makes new connections lead to another host:port. Those that are open
// stay where they are.
func (p *Proxy) SetTarget(addr string) { p.set(func() { p.target = addr }) }

// Refuse says whether new connections are closed at once.
func (p *Proxy) Refuse(on bool) { p.set(func() { p.refuse = on }) }

// DropReplies says whether replies are lost: requests still reach the server, and
// when it has answered, the answer is swallowed and the connection closed. That
// holds for all connections, also the first answer of a new one.
func (p *Proxy) DropReplies(on bool) { p.set(func() { p.drop = on }) }

// DelayReplies holds every reply, or part of one, back for a time; 0 for none.
func (p *Proxy) DelayReplies(d time.Duration) { p.set(func() { p.delay = d }) }

// Cut closes all connections that are open.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Forget loses all connections that are open without closing them, as a NAT does with
// idle ones: what either side sends is thrown away, and neither is told. Connections
// that are opened later work.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.forgotten.Store(true)
	}
}

// Open returns how many connections are open, forgotten ones included.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Connections returns how many connections were accepted so far, those included
// that were refused.
func (p *Proxy) Connections() int { return p.count(&p.accepted) }

// Requests returns how often bytes came from clients so far. A client that waits
// for each reply sends each request at once, so for it these are round trips.
func (p *Proxy) Requests() int { return p.count(&p.requests) }

// Dropped returns how many connections DropReplies has closed so far.
func (p *Proxy) Dropped() int { return p.count(&p.dropped) }

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *Proxy) count(n *int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *n
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed by the end of the test
		}
		p.mu.Lock()
		p.accepted++
		refuse, target := p.refuse, p.target
		p.mu.Unlock()
		if refuse {
			_ = client.Close()
			continue
		}
		p.running.Go(func() { p.carry(client, target) })
	}
}

// carry connects a client with the target until one of them has enough.
func (p *Proxy) carry(client net.Conn, target string) {
	l := &link{client: client, closed: make(chan struct{})}
	var dialer net.Dialer
	server, err := dialer.DialContext(p.ended, "tcp", target)
	if err != nil {
		_ = client.Close()
		return
	}
	l.server = server
	defer l.close()
	p.set(func() { p.links[l] = true })
	defer p.set(func() { delete(p.links, l) })
	if p.ended.Err() != nil {
		return // the last Cut may have come before this link was known
	}
	p.running.Go(func() {
		defer l.close()
		l.pump(client, server, func(int) bool {
			p.set(func() { p.requests++ })
			return true
		})
	})
	l.pump(server, client, func(int) bool { return p.deliver(l) })
}

// pump moves bytes until an end or until allow refuses the ones just read. It throws
// away what a forgotten connection carries.
func (l *link) pump(from, to net.Conn, allow func(n int) bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !l.forgotten.Load() {
			if !allow(n) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// deliver says whether a reply may go to the client, after the delay that is set.
func (p *Proxy) deliver(l *link) bool {
	p.mu.Lock()
	drop, delay := p.drop, p.delay
	if drop {
		p.dropped++
	}
	p.mu.Unlock()
	if drop {
		return false
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.closed:
			return false
		}
	}
	return true
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.closed)
		_ = l.client.Close()
		_ = l.server.Close()
	})
}
