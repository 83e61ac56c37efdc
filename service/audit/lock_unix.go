//go:build unix && !aix && (!solaris || illumos)

package audit

import (
	"errors"
	"os"
	"syscall"
)

// lock opens a file that nobody else has open. The system unlocks it when the process ends,
// in whatever way.
func lock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		switch err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return f, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			err = ErrInUse
		}
		return nil, errors.Join(err, f.Close())
	}
}
