//go:build !unix || aix || (solaris && !illumos)

package audit

import "os"

// lock opens a file. There are no locks here.
func lock(name string) (*os.File, error) { return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600) }
