//go:build unix && !aix && (!solaris || illumos)

package audit

import (
	"errors"
	"testing"
)

// TestAFolderHasOneLog: two would write over each other's lines.
func TestAFolderHasOneLog(t *testing.T) {
	folder := t.TempDir()
	first := open(t, folder, at(noon))
	if l, err := Open(folder, nil); !errors.Is(err, ErrInUse) {
		t.Fatalf("%v, %v: want ErrInUse", l, err)
	}
	if _, err := first.Write(Entry{Action: "a"}); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if got := len(read(t, open(t, folder, at(noon)), Query{}).Entries); got != 1 {
		t.Errorf("%d lines for whoever comes next, want 1", got)
	}
}
