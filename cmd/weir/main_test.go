package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

const sample = "../../examples/accesslog/access.log"

// result is what a run of the command gave.
type result struct {
	status   int
	out, err string
}

// start runs the command without input.
func start(args ...string) result { return startWith("", args...) }

// startWith runs the command with standard input.
func startWith(input string, args ...string) result {
	var out, errs bytes.Buffer
	status := run(context.Background(), args, strings.NewReader(input), &out, &errs)
	return result{status, out.String(), errs.String()}
}

// replayed returns the standard output of a replay of an input, which succeeds.
func replayed(t *testing.T, input string, args ...string) string {
	t.Helper()
	got := startWith(input, append([]string{"replay", "-"}, args...)...)
	if got.status != exitOK {
		t.Fatalf("%q: status %d, %s", args, got.status, got.err)
	}
	return got.out
}

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatalf(string, ...any)
}

func write(t failer, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatalf("%v", err)
	}
}

func read(t failer, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(content)
}

// wantGolden compares with a file in testdata, or rewrites it.
func wantGolden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		write(t, name, got)
	}
	if want := read(t, name); got != want {
		t.Errorf("%s: %s\nIf that is right: go test ./cmd/weir -update", name, difference(got, want))
	}
}

// broken is a writer at whose other end nobody reads any more.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// stuck is an input that gives a text and then nothing more, such as a pipe
// whose writer sleeps. At that point it calls then.
type stuck struct {
	text    io.Reader
	then    func()
	release chan struct{}
}

func newStuck(t *testing.T, text string, then func()) *stuck {
	s := &stuck{strings.NewReader(text), then, make(chan struct{})}
	t.Cleanup(func() { close(s.release) })
	return s
}

func (s *stuck) Read(p []byte) (int, error) {
	if n, _ := s.text.Read(p); n > 0 {
		return n, nil
	}
	s.then()
	<-s.release
	return 0, io.EOF
}
