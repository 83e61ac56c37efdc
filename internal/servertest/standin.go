package servertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// StandIn is a server that answers some commands itself, and lets another answer the
// rest. It speaks RESP2. It is safe for concurrent use, and ends with the test.
type StandIn struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex
	answer func(args []string) (reply any, own bool)
	open   map[net.Conn]bool
}

// NewStandIn starts a stand-in for a server.
func NewStandIn(tb testing.TB, s *Server) *StandIn {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("servertest: stand-in: %v", err)
	}
	n := &StandIn{listener: listener, target: s.Addr(), open: map[net.Conn]bool{}}
	n.running.Go(n.accept)
	tb.Cleanup(func() {
		_ = listener.Close()
		n.mu.Lock()
		for c := range n.open {
			_ = c.Close()
		}
		n.open = nil
		n.mu.Unlock()
		n.running.Wait()
	})
	return n
}

// Addr returns the address that clients connect to.
func (n *StandIn) Addr() string { return n.listener.Addr().String() }

// Answer sets what answers: where own is true, reply is the answer, a string, int64,
// []any, nil or a ReplyError. It is called for one command at a time.
func (n *StandIn) Answer(f func(args []string) (reply any, own bool)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = f
}

func (n *StandIn) accept() {
	for {
		client, err := n.listener.Accept()
		if err != nil {
			return // closed by the end of the test
		}
		n.mu.Lock()
		if n.open == nil {
			_ = client.Close()
		} else {
			n.open[client] = true
			n.running.Go(func() { n.serve(client) })
		}
		n.mu.Unlock()
	}
}

// serve answers the commands of a connection until one side ends it.
func (n *StandIn) serve(client net.Conn) {
	defer client.Close()
	server, err := dial("tcp", n.target, time.Hour)
	if err != nil {
		return
	}
	defer server.Close()
	asked := &conn{client, bufio.NewReader(client)}
	for {
		request, err := asked.read()
		words, _ := request.([]any)
		if err != nil || len(words) == 0 {
			return
		}
		args := make([]string, len(words))
		for i, word := range words {
			args[i], _ = word.(string)
		}
		reply, err := n.reply(server, args)
		if err != nil {
			return
		}
		if _, err := io.WriteString(client, encode(reply)); err != nil {
			return
		}
	}
}

func (n *StandIn) reply(server *conn, args []string) (any, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.answer != nil {
		if reply, own := n.answer(args); own {
			return reply, nil
		}
	}
	if strings.EqualFold(args[0], "HELLO") {
		return ReplyError("ERR unknown command 'HELLO'"), nil
	}
	reply, err := server.do(args...)
	if refused, is := err.(ReplyError); is {
		return refused, nil
	}
	return reply, err
}

// encode writes a reply as a server does.
func encode(reply any) string {
	switch reply := reply.(type) {
	case nil:
		return "$-1\r\n"
	case int64:
		return fmt.Sprintf(":%d\r\n", reply)
	case ReplyError:
		return fmt.Sprintf("-%s\r\n", reply)
	case []any:
		var b strings.Builder
		fmt.Fprintf(&b, "*%d\r\n", len(reply))
		for _, one := range reply {
			b.WriteString(encode(one))
		}
		return b.String()
	}
	text := fmt.Sprint(reply)
	if text == "OK" || text == "PONG" {
		return "+" + text + "\r\n"
	}
	return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
}
