package servertest

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// StartReplica starts a replica of a server and returns when it has the data. cfg
// is for the replica. A replica that is started again has lost its primary: Follow.
func StartReplica(tb testing.TB, primary *Server, cfg *Config) *Server {
	tb.Helper()
	s := Start(tb, primary.kind, cfg)
	s.Follow(primary)
	return s
}

// Follow makes the server a replica of another and returns when it has the data. Its
// own data are gone.
func (s *Server) Follow(primary *Server) {
	s.tb.Helper()
	// A primary waits five seconds for more replicas before it sends its data.
	primary.Do("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	s.Do("REPLICAOF", "127.0.0.1", strconv.Itoa(primary.port()))
	s.await("a replica with its data", func() bool { return s.info("replication", "master_link_status:up") })
}

// AwaitReceived waits until a replica has taken in all that its primary has sent, where
// the primary sends no more: it is frozen.
func (s *Server) AwaitReceived() {
	s.tb.Helper()
	// What answers a command has read what lay ready from its primary, too.
	const rounds = 20
	last, same := int64(-1), 0
	s.await("a replica that has received everything", func() bool {
		if now := offset(s.Do("INFO", "replication"), "slave_repl_offset:"); now != last || now < 0 {
			last, same = now, 0
		}
		same++
		return same > rounds
	})
}

// Received reports whether a replica has all that its primary has written so far.
func (s *Server) Received(primary *Server) bool {
	s.tb.Helper()
	return offset(s.Do("INFO", "replication"), "slave_repl_offset:") >= offset(primary.Do("INFO", "replication"), "master_repl_offset:")
}

// offset returns a number of INFO, and -1 where it is not there.
func offset(info any, field string) int64 {
	text, _ := info.(string)
	for line := range strings.Lines(text) {
		if rest, is := strings.CutPrefix(strings.TrimSpace(line), field); is {
			if n, err := strconv.ParseInt(rest, 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}

// AwaitReplica waits until the server is a replica. It tries again after an error, as
// AwaitPrimary does.
func (s *Server) AwaitReplica() {
	s.tb.Helper()
	s.await("a replica", func() bool {
		info, err := s.Try("INFO", "replication")
		return err == nil && hasLine(info, "role:slave")
	})
}

// IsPrimary reports whether the server is a primary.
func (s *Server) IsPrimary() bool {
	s.tb.Helper()
	return s.info("replication", "role:master")
}

// AwaitPrimary waits until the server is a primary. It tries again after an error: a
// Sentinel that promotes a server closes the connections of all its clients.
func (s *Server) AwaitPrimary() {
	s.tb.Helper()
	s.await("a primary", func() bool {
		info, err := s.Try("INFO", "replication")
		return err == nil && hasLine(info, "role:master")
	})
}

// AwaitPromoted waits until one of several replicas is a primary, and returns it.
func AwaitPromoted(tb testing.TB, replicas []*Server) (promoted *Server) {
	tb.Helper()
	Await(tb, "a replica is promoted", func() bool {
		for _, s := range replicas {
			info, err := s.Try("INFO", "replication")
			if err == nil && hasLine(info, "role:master") {
				promoted = s
			}
		}
		return promoted != nil
	})
	return promoted
}

// info reports whether a section of INFO has a line.
func (s *Server) info(section, line string) bool {
	s.tb.Helper()
	return hasLine(s.Do("INFO", section), line)
}

func hasLine(info any, line string) bool {
	text, _ := info.(string)
	return slices.Contains(strings.Split(text, "\r\n"), line)
}

// await asks again until the answer is yes.
func (s *Server) await(what string, yes func() bool) {
	s.tb.Helper()
	Await(s.tb, fmt.Sprintf("%s %s is %s", s.kind, s.addr, what), yes)
}

// port returns the port of Addr.
func (s *Server) port() int {
	_, text, _ := net.SplitHostPort(s.addr)
	port, err := strconv.Atoi(text)
	if err != nil {
		s.tb.Fatalf("servertest: address %s: %v", s.addr, err)
	}
	return port
}
