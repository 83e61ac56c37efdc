//go:build !linux

package servertest

import (
	"net"
	"syscall"
	"testing"
)

// dieWithParent is for Linux only. Elsewhere a server outlives a test binary that
// is killed; one that ends in order stops its servers.
func dieWithParent() *syscall.SysProcAttr { return nil }

// reservePort returns a loopback address that was free a moment ago. Another
// process may take it before the server does; the start then fails and says so.
func reservePort(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("servertest: %v", err)
	}
	defer l.Close()
	return l.Addr().String()
}
