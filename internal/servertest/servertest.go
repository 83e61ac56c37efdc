// Package servertest starts real Redis and Valkey servers for tests: processes
// of their own on free loopback ports, with nothing on disk that outlives the
// test: single ones, a primary with replicas and Sentinels, and clusters whose slots
// can be moved; and a proxy that loses and delays what goes over the wire.
package servertest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Kind is a server program. The zero Kind is none of them.
type Kind string

// The two kinds of server.
const (
	Redis  Kind = "redis"
	Valkey Kind = "valkey"
)

// Kinds returns all kinds, in the order in which Each runs them.
func Kinds() []Kind { return []Kind{Redis, Valkey} }

// String returns the name that subtests carry: "redis" or "valkey".
func (k Kind) String() string { return string(k) }

// program is what the kind's Debian package calls its server.
func (k Kind) program() string { return string(k) + "-server" }

// Config says how a server differs from a plain one. Nil is a plain one.
type Config struct {
	// Args are more arguments of the server, such as "--maxmemory", "2mb".
	// They come last, so they win over what this package sets.
	Args []string

	// Users are ACL rules, one user each: "app on >secret ~w{* +evalsha".
	// The methods of Server have a user of their own, servertest, so that a rule
	// may also limit or switch off the default user.
	Users []string

	// TLS makes the port speak TLS and nothing else; see Server.TLSConfig. The
	// Unix socket stays as it is.
	TLS bool

	// Cluster makes the server a node of a cluster. It has no slots, and knows no
	// other node; StartCluster is for a whole one.
	Cluster bool
}

// Each runs f as a subtest for each kind, named "redis" and "valkey", with a
// server of its own.
func Each(t *testing.T, cfg *Config, f func(t *testing.T, s *Server)) {
	t.Helper()
	for _, kind := range Kinds() {
		t.Run(kind.String(), func(t *testing.T) { f(t, Start(t, kind, cfg)) })
	}
}

// required is the value of WEIR_SERVERS that turns a skip into a failure.
const required = "required"

// find returns the path of the kind's program. Without one the test is skipped,
// or fails where WEIR_SERVERS=required is in the environment.
func find(tb testing.TB, kind Kind) string {
	tb.Helper()
	program, err := exec.LookPath(kind.program())
	if err == nil {
		return program
	}
	const help = "servertest: no %s here (%v): scripts/setup servers installs it"
	if os.Getenv("WEIR_SERVERS") == required {
		tb.Fatalf(help, kind.program(), err)
	}
	tb.Skipf(help, kind.program(), err)
	return ""
}

// masquerades says whether the program that answers is not of the kind: some
// systems offer Valkey under the name of Redis.
func masquerades(kind Kind, info string) bool {
	return strings.Contains(info, "valkey_version:") != (kind == Valkey)
}

// Await asks again until the answer is yes.
func Await(tb testing.TB, what string, yes func() bool) {
	tb.Helper()
	deadline := time.Now().Add(patience)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !yes() {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %v: %s", patience, what)
		}
		<-again.C
	}
}
