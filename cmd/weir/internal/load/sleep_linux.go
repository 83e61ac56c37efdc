package load

import (
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// NewSleep returns a sleep for Options.Sleep that ends within microseconds, and what
// releases it. time.Sleep ends up to a millisecond late on a machine that has nothing
// else to do, since epoll counts in milliseconds: a timer of the kernel does not.
func NewSleep() (sleep func(time.Duration), release func(), err error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, nil, os.NewSyscallError("timerfd_create", err)
	}
	timer := os.NewFile(uintptr(fd), "timer")
	var expired [8]byte
	sleep = func(d time.Duration) {
		if d <= 0 {
			return
		}
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
		err := unix.TimerfdSettime(fd, 0, &spec, nil)
		if err == nil {
			_, err = timer.Read(expired[:]) // waits, as for a connection
		}
		if err != nil || binary.NativeEndian.Uint64(expired[:]) == 0 {
			time.Sleep(d)
		}
	}
	return sleep, func() { timer.Close() }, nil
}
