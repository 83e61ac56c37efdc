package servertest

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait for a server: long, because the machine may be busy
// with other tests, and reached only where something is wrong.
const patience = time.Minute

// Server is one server process, or the place of one that was stopped: port,
// socket and folder stay the same until the end of the test.
//
// A method that cannot do its work fails the test at once, so call them from the
// goroutine of the test; Try, Addr, Socket and Pid may be called from anywhere.
// Stop, Kill, Start, Restart, Freeze and Thaw may be called from other goroutines
// too, one at a time, as long as they succeed.
type Server struct {
	tb      testing.TB
	kind    Kind
	program string
	args    []string // the file of settings and Config.Args
	dir     string
	addr    string
	bus     string      // the port of a node of a cluster for the others, or ""
	tls     *tls.Config // nil without TLS

	mu      sync.Mutex
	process *process // nil while the server is stopped
}

// Start starts a server and returns when it answers. It lives until the test
// ends, and ends with the test binary in any case. Nil cfg is a plain server.
//
// Without the server program the test is skipped, with a message that says how
// to install it, or fails if WEIR_SERVERS=required is in the environment. If the
// test fails, the end of the server's log is part of its output.
//
// A start takes about 20 ms, a Stop or a Kill 2 ms and a Do 0.2 ms. Settings
// beside the default ones: no persistence, no wait for replicas at a stop, DEBUG
// commands allowed.
func Start(tb testing.TB, kind Kind, cfg *Config) *Server {
	tb.Helper()
	if cfg == nil {
		cfg = &Config{}
	}
	s := &Server{tb: tb, kind: kind, program: find(tb, kind), dir: tempDir(tb)}
	tb.Cleanup(s.close)
	s.addr = reservePort(tb)
	if cfg.Cluster {
		// The usual one is 10,000 above the port, which may be none.
		_, s.bus, _ = net.SplitHostPort(reservePort(tb))
	}
	if err := s.configure(cfg); err != nil {
		tb.Fatalf("servertest: configure %s: %v", kind, err)
	}
	s.Start()
	info, _ := s.Do("INFO", "server").(string)
	if masquerades(kind, info) {
		tb.Fatalf("servertest: %s is not %s:\n%s", s.program, kind, info)
	}
	return s
}

// Kind returns what kind of server it is.
func (s *Server) Kind() Kind { return s.kind }

// Addr returns the address, 127.0.0.1:port.
func (s *Server) Addr() string { return s.addr }

// Socket returns the path of the Unix socket, which every server has.
func (s *Server) Socket() string { return filepath.Join(s.dir, "socket") }

// TLSConfig returns a configuration that trusts the server. It is nil unless
// Config.TLS was set. The caller may change it: each call returns a copy.
func (s *Server) TLSConfig() *tls.Config { return s.tls.Clone() }

// Pid returns the id of the process, 0 while there is none.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	return s.process.pid()
}

// Stop asks the server to end, as an operator would, and waits for it. Nothing
// is saved. A frozen server is thawed first. Stopping twice is fine.
func (s *Server) Stop() {
	s.tb.Helper()
	s.end(func(p *process) error {
		if err := p.thaw(); err != nil {
			return err
		}
		// The command is seen at once, the signal 100 ms later at worst, but also by
		// a server that takes no commands.
		if c, err := s.dial(time.Second); err == nil {
			_, _ = c.do("SHUTDOWN", "NOSAVE") // no reply is its success
			c.Close()
		}
		return p.terminate()
	})
}

// Kill ends the server at once, whatever it is doing, and waits for its end.
func (s *Server) Kill() {
	s.tb.Helper()
	s.end((*process).kill)
}

func (s *Server) end(how func(*process) error) {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	err := how(s.process)
	s.process = nil
	if err != nil {
		s.tb.Errorf("servertest: end %s: %v", s.kind, err)
	}
}

// Start starts a stopped or killed server again, on the same port and in the same
// folder, and returns when it answers. It has no data, no scripts and no
// connections. Starting a running server is fine and does nothing.
func (s *Server) Start() {
	s.tb.Helper()
	s.start()
}

// start starts the process with more arguments.
func (s *Server) start(args ...string) {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return
	}
	p, err := startProcess(s.program, slices.Concat(s.args, args), s.logFile())
	if err == nil {
		s.process, err = p, s.awaitReady(p)
	}
	if err != nil {
		s.tb.Fatalf("servertest: start %s: %v%s", s.kind, err, s.log())
	}
}

// Restart stops the server and starts it again without its data.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	s.Start()
}

// RestartWithData saves the data, stops the server and starts it again with
// them. Scripts and connections are gone. Only this restart gets the data back.
func (s *Server) RestartWithData() {
	s.tb.Helper()
	s.Do("SAVE")
	s.Stop()
	s.Start()
	if err := os.Remove(filepath.Join(s.dir, "dump.rdb")); err != nil {
		s.tb.Fatalf("servertest: forget saved data: %v", err)
	}
}

// Freeze stops the process where it is: connections stay open, and nothing
// answers until Thaw.
func (s *Server) Freeze() {
	s.tb.Helper()
	s.signal("freeze", (*process).freeze)
}

// Thaw lets a frozen process go on.
func (s *Server) Thaw() {
	s.tb.Helper()
	s.signal("thaw", (*process).thaw)
}

func (s *Server) signal(what string, f func(*process) error) {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		s.tb.Fatalf("servertest: %s %s: it is not running", what, s.kind)
	}
	if err := f(s.process); err != nil {
		s.tb.Fatalf("servertest: %s %s: %v", what, s.kind, err)
	}
}

// Do sends a command over a connection of its own and returns the reply: string,
// int64, []any or nil. An error reply fails the test. State of a connection, such
// as SELECT or MULTI, is gone with the next Do.
func (s *Server) Do(args ...string) any {
	s.tb.Helper()
	reply, err := s.Try(args...)
	if err != nil {
		s.tb.Fatalf("servertest: %s on %s: %v", args[0], s.kind, err)
	}
	return reply
}

// Try is Do that returns errors: a ReplyError is the server's answer, any other
// error means that there was none. It is safe for concurrent use.
func (s *Server) Try(args ...string) (any, error) {
	c, err := s.dial(patience)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.do(args...)
}

// dial connects to the socket: it works whatever the port speaks.
func (s *Server) dial(timeout time.Duration) (*conn, error) {
	c, err := dial("unix", s.Socket(), timeout)
	if err != nil {
		return nil, err
	}
	if _, err := c.do("AUTH", controlUser, "any"); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// awaitReady returns nil as soon as the server answers a PING.
func (s *Server) awaitReady(p *process) error {
	deadline := time.Now().Add(patience)
	retry := time.NewTicker(time.Millisecond)
	defer retry.Stop()
	for {
		c, err := s.dial(time.Until(deadline))
		if err == nil {
			_, err = c.do("PING") // an error while it loads data
			c.Close()
		}
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer within %v: %w", patience, err)
		}
		select {
		case <-p.done:
			return fmt.Errorf("it ended: %v", p.state())
		case <-retry.C:
		}
	}
}

// controlUser is who Do, Try and Monitor are.
const controlUser = "servertest"

// configure writes the file of settings.
func (s *Server) configure(cfg *Config) error {
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	settings := []string{
		"bind 127.0.0.1",
		"dir " + strconv.Quote(s.dir),
		"unixsocket " + strconv.Quote(s.Socket()),
		"unixsocketperm 700",
		`save ""`,
		"appendonly no",
		"shutdown-timeout 0",
		"enable-debug-command local",
		"user " + controlUser + " on nopass ~* &* +@all",
	}
	if cfg.Cluster {
		settings = append(settings, "cluster-enabled yes", "cluster-port "+s.bus, "cluster-announce-ip 127.0.0.1")
	}
	for _, user := range cfg.Users {
		settings = append(settings, "user "+user)
	}
	if cfg.TLS {
		certificate, err := writeCertificate(s.dir)
		if err != nil {
			return err
		}
		s.tls = certificate.trust
		settings = append(settings, "port 0", "tls-port "+port, "tls-auth-clients no",
			"tls-cert-file "+strconv.Quote(certificate.file), "tls-key-file "+strconv.Quote(certificate.keyFile))
	} else {
		settings = append(settings, "port "+port)
	}
	file := filepath.Join(s.dir, "settings.conf")
	s.args = append([]string{file}, cfg.Args...)
	return os.WriteFile(file, []byte(strings.Join(settings, "\n")+"\n"), 0o600)
}

// close ends the server and removes what it left.
func (s *Server) close() {
	s.end((*process).kill)
	if s.tb.Failed() {
		s.tb.Logf("servertest: %s %s%s", s.kind, s.addr, s.log())
	}
	// A child that saves the data outlives a killed server, and writes for a moment.
	err := os.RemoveAll(s.dir)
	for until := time.Now().Add(patience); err != nil && time.Now().Before(until); err = os.RemoveAll(s.dir) {
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		s.tb.Errorf("servertest: %v", err)
	}
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// log returns the end of the server's log, on lines of its own.
func (s *Server) log() string {
	const atMost = 8 << 10
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return "\nno log: " + err.Error()
	}
	if len(text) > atMost {
		text = text[len(text)-atMost:]
	}
	return "\nits log:\n" + string(text)
}

// tempDir makes a folder with a short path: that of a Unix socket has room for
// about 100 bytes, which the folders of testing.TB often exceed.
func tempDir(tb testing.TB) string {
	tb.Helper()
	parent := ""
	if len(os.TempDir()) > 60 {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "weir")
	if err != nil {
		tb.Fatalf("servertest: %v", err)
	}
	return dir
}
