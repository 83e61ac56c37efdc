//go:build !linux

package load

import "time"

// NewSleep returns a sleep for Options.Sleep, and what releases it.
func NewSleep() (sleep func(time.Duration), release func(), err error) {
	return time.Sleep, func() {}, nil
}
