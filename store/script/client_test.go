package script

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachServer is servertest.Each with the servers side by side; with -short, Redis alone where int
// has 64 bits: package valkey asks both.
func eachServer(t *testing.T, cfg *servertest.Config, f func(t *testing.T, s *servertest.Server)) {
	t.Helper()
	for _, kind := range servertest.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			if testing.Short() && strconv.IntSize == 64 && kind != servertest.Redis {
				t.Skip("-short: one kind of server")
			}
			s := servertest.Start(t, kind, cfg)
			t.Parallel()
			f(t, s)
		})
	}
}

// fewer is n, and under -short a fifth of it.
func fewer(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// wire is a Client of a few lines: what is tested here is not a client library.
type wire struct {
	addr  string
	login []string // user and password, if any

	// busy bounds the connections, as the pool of a client library does: a
	// server refuses thousands of them at once.
	busy chan struct{}

	mu   sync.Mutex
	idle []*wireConn
}

// dialWire returns a client of a server, for the default user or for another.
func dialWire(tb testing.TB, s *servertest.Server, login ...string) *wire {
	w := &wire{addr: s.Socket(), login: login, busy: make(chan struct{}, 64)}
	tb.Cleanup(func() {
		for _, c := range w.idle {
			c.Close()
		}
	})
	return w
}

type wireConn struct {
	net.Conn
	in *bufio.Reader
}

func (w *wire) Do(_ context.Context, c *Command) (string, error) {
	w.busy <- struct{}{}
	defer func() { <-w.busy }()
	conn, err := w.take()
	if err != nil {
		return "", err
	}
	reply, err := conn.do(c.Args)
	if _, refused := err.(*ServerError); err != nil && !refused {
		conn.Close()
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = append(w.idle, conn)
	return reply, err
}

func (w *wire) take() (*wireConn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := len(w.idle) - 1; last >= 0 {
		conn := w.idle[last]
		w.idle = w.idle[:last]
		return conn, nil
	}
	dialled, err := net.Dial("unix", w.addr)
	if err != nil {
		return nil, err
	}
	conn := &wireConn{dialled, bufio.NewReader(dialled)}
	if w.login != nil {
		_, err = conn.do(append([]string{"AUTH"}, w.login...))
	}
	return conn, err
}

func (c *wireConn) do(args []string) (string, error) {
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(args))
	for _, arg := range args {
		request.WriteString("$" + strconv.Itoa(len(arg)) + "\r\n" + arg + "\r\n")
	}
	if _, err := io.WriteString(c, request.String()); err != nil {
		return "", err
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	switch rest := line[1:]; line[0] {
	case '-':
		return "", &ServerError{Message: rest}
	case '$':
		n, err := strconv.Atoi(rest)
		if n < 0 || err != nil {
			return "", err
		}
		body := make([]byte, n+2)
		_, err = io.ReadFull(c.in, body)
		return string(body[:n]), err
	default:
		return rest, nil
	}
}

// ask sends one command that must succeed.
func (w *wire) ask(tb testing.TB, args ...string) string {
	tb.Helper()
	reply, err := w.Do(context.Background(), &Command{Args: args})
	if err != nil {
		tb.Fatalf("%s: %v", args[0], err)
	}
	return reply
}

// run runs Lua.
func (w *wire) run(tb testing.TB, lua string, keys, args []string) string {
	tb.Helper()
	all := append([]string{"EVAL", lua, strconv.Itoa(len(keys))}, keys...)
	return w.ask(tb, append(all, args...)...)
}

// clientFunc is a Client for which a test answers.
type clientFunc func(ctx context.Context, c *Command) (string, error)

// unused is the client of a store that sends nothing.
var unused = clientFunc(func(context.Context, *Command) (string, error) { return "", errors.New("no server") })

func (f clientFunc) Do(ctx context.Context, c *Command) (string, error) { return f(ctx, c) }

// open returns a store that is closed with the test.
func open(tb testing.TB, c Client, opts *Options) *Store {
	tb.Helper()
	s, err := New(c, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// oneOp is a request of one unit.
func oneOp(key string, a algorithm.Algorithm) []store.Op {
	return []store.Op{{Slot: store.Slot{Key: key, Algorithm: a}, Request: algorithm.Request{Cost: 1}}}
}

// manualClock shows what it was set to.
type manualClock struct {
	mu sync.Mutex
	at algorithm.Instant
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at.Time()
}

func (c *manualClock) set(at algorithm.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}
