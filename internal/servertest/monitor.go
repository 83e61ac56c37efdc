package servertest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Monitor is a stream of all commands that a server runs, those of scripts
// included: what proves that a refusal writes nothing.
type Monitor struct {
	tb      testing.TB
	server  *Server
	conn    *conn
	markers int
}

// Monitor starts a stream. It ends with Stop or with the test. Its methods are
// for one goroutine, that of the test.
func (s *Server) Monitor(tb testing.TB) *Monitor {
	tb.Helper()
	c, err := s.dial(patience)
	if err == nil {
		_, err = c.do("MONITOR")
	}
	if err != nil {
		tb.Fatalf("servertest: monitor %s: %v", s.kind, err)
	}
	m := &Monitor{tb: tb, server: s, conn: c}
	tb.Cleanup(m.Stop)
	return m
}

// Lines returns the commands that the server has run since the last Lines, or
// since the start, one a line, as MONITOR prints them:
//
//	1339518083.107412 [0 127.0.0.1:60866] "set" "key" "value"
//
// Every command whose reply was seen before the call is among them: the server
// is sent a marker, and what comes before it in the stream is returned. In place
// of an address, commands of scripts have "lua". AUTH is left out, because Do and
// Try begin with it.
func (m *Monitor) Lines() []string {
	m.tb.Helper()
	m.markers++
	marker := fmt.Sprintf("servertest marker %p %d", m, m.markers)
	m.server.Do("ECHO", marker)
	if err := m.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		m.tb.Fatalf("servertest: monitor %s: %v", m.server.kind, err)
	}
	var lines []string
	for {
		reply, err := m.conn.read()
		if err != nil {
			m.tb.Fatalf("servertest: monitor %s: %v", m.server.kind, err)
		}
		line, _ := reply.(string)
		if strings.Contains(line, marker) {
			return lines
		}
		if !strings.Contains(line, `] "AUTH" `) {
			lines = append(lines, line)
		}
	}
}

// Stop ends the stream. Stopping twice is fine.
func (m *Monitor) Stop() { _ = m.conn.Close() }
