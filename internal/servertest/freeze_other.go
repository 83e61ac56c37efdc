//go:build !unix

package servertest

import "errors"

// No server runs here; the package must only compile, for the tests to skip.
func (p *process) freeze() error { return errors.ErrUnsupported }
func (p *process) thaw() error   { return nil }
