package api_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuf runs buf, which knows more rules than TestServiceStaysCompatible: its lint, its
// search for breaking changes, and its generation, which must equal what is checked in.
func TestBuf(t *testing.T) {
	buf := bufPath(t)
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), buf, args...)
		cmd.Env = append(os.Environ(), "GOWORK=off", "BUF_CACHE_DIR="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("buf %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	run("lint")
	run("format", "--diff", "--exit-code")
	run("breaking", "--against", imageFile)
	out := t.TempDir()
	run("generate", "--output", out)
	files, err := filepath.Glob("weirv1/*.pb.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(out, name)); err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("buf generates another %s", name)
		}
	}
}

// bufPath is where scripts/setup puts buf, or the one on the PATH.
func bufPath(t *testing.T) string {
	t.Helper()
	if path, err := filepath.Abs("../tools/buf/node_modules/.bin/buf"); err != nil {
		t.Fatal(err)
	} else if _, err := os.Stat(path); err == nil {
		return path
	}
	path, err := exec.LookPath("buf")
	if err != nil {
		t.Skip("buf is not installed: tools/buf has it, and scripts/setup installs it where npm is. Generated code and compatibility are tested without it")
	}
	return path
}
