package servertest

import (
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
)

// dieWithParent lets the kernel kill the child when the thread that started it
// ends: with a test binary that is killed or panics, no server stays behind.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// reservePort returns a loopback address that is the caller's until the test
// ends. It holds a socket that is bound and does not listen. With SO_REUSEADDR on
// both sides a server can bind and listen beside it, but the kernel gives the port
// to nobody who asks for any free one, not even while the server is stopped.
func reservePort(tb testing.TB) string {
	tb.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatalf("servertest: %v", os.NewSyscallError("socket", err))
	}
	tb.Cleanup(func() { _ = syscall.Close(socket) })
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		tb.Fatalf("servertest: %v", os.NewSyscallError("setsockopt", err))
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		tb.Fatalf("servertest: %v", os.NewSyscallError("bind", err))
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		tb.Fatalf("servertest: %v", os.NewSyscallError("getsockname", err))
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port))
}
