package servertest

import (
	"errors"
	"fmt"
	"strconv"
)

// Atomically runs commands in one MULTI and EXEC, over a connection of its own, and
// returns their replies: no command of another client runs between them. A reply of
// the transaction that is an error fails the test.
func (s *Server) Atomically(commands ...[]string) []any {
	s.tb.Helper()
	replies, err := s.transaction(commands)
	if err != nil {
		s.tb.Fatalf("servertest: transaction on %s: %v", s.kind, err)
	}
	return replies
}

func (s *Server) transaction(commands [][]string) ([]any, error) {
	c, err := s.dial(patience)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.do("MULTI"); err != nil {
		return nil, err
	}
	for _, command := range commands {
		if _, err := c.do(command...); err != nil {
			return nil, err
		}
	}
	reply, err := c.do("EXEC")
	if err != nil {
		return nil, err
	}
	replies, _ := reply.([]any)
	if len(replies) != len(commands) {
		return nil, fmt.Errorf("%d replies to %d commands", len(replies), len(commands))
	}
	for _, reply := range replies {
		if refused, is := reply.(ReplyError); is {
			err = errors.Join(err, refused)
		}
	}
	return replies, err
}

// DoAll is Do for several commands, one after the other over one connection.
func (s *Server) DoAll(commands ...[]string) []any {
	s.tb.Helper()
	c, err := s.dial(patience)
	if err != nil {
		s.tb.Fatalf("servertest: %s: %v", s.kind, err)
	}
	defer c.Close()
	var replies []any
	for _, command := range commands {
		reply, err := c.do(command...)
		if err != nil {
			s.tb.Fatalf("servertest: %s on %s: %v", command[0], s.kind, err)
		}
		replies = append(replies, reply)
	}
	return replies
}

// StartUnreachable is Start with the port closed: connections to Addr are refused,
// and Do, Try and Atomically work. So a test can look at what a restart has left,
// before any client changes it. A port that speaks TLS is not supported.
func (s *Server) StartUnreachable() {
	s.tb.Helper()
	if s.tls != nil {
		s.tb.Fatalf("servertest: start %s unreachable: not with TLS", s.kind)
	}
	s.start("--port", "0")
}

// Open opens the port that StartUnreachable has left closed.
func (s *Server) Open() {
	s.tb.Helper()
	s.Do("CONFIG", "SET", "port", strconv.Itoa(s.port()))
}
