//go:build unix

package watch

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAFileThatIsNoneIsRefused: a pipe would wait for somebody who writes, and a folder has
// no text. The error names it.
func TestAFileThatIsNoneIsRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, t.TempDir()} {
		if _, _, err := File(name).Read(context.Background()); err == nil || !strings.Contains(err.Error(), name+" is no regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
