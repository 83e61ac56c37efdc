//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/weirgo/weir/internal/storeurl"
)

// slowTrace replays a trace whose second line comes only when go is closed.
func slowTrace(t *testing.T, errs io.Writer, more <-chan struct{}) (status <-chan int) {
	t.Helper()
	in, out := io.Pipe()
	go func() {
		io.WriteString(out, oneEvent)
		<-more
		io.WriteString(out, oneEvent)
		out.Close()
	}()
	done := make(chan int, 1)
	go func() {
		done <- run(context.Background(), []string{"replay", "--format", "jsonl", "--limit", "gcra:1/1s", "-"}, in, io.Discard, errs)
	}()
	return done
}

// seenOn reads a terminal all the time, until it is closed, and tells when a text
// was seen.
func seenOn(master io.Reader, want string) <-chan struct{} {
	seen := make(chan struct{})
	go func() {
		var text bytes.Buffer
		buffer := make([]byte, 1024)
		for shown := false; ; {
			n, err := master.Read(buffer)
			text.Write(buffer[:n])
			if !shown && strings.Contains(text.String(), want) {
				shown = true
				close(seen)
			}
			if err != nil {
				return
			}
		}
	}()
	return seen
}

func TestProgressIsShownOnATerminal(t *testing.T) {
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer terminal.Close()
	more := make(chan struct{})
	status := slowTrace(t, terminal, more)

	// The trace does not go on before the bar was seen.
	select {
	case <-seenOn(master, "reading"):
	case <-time.After(30 * time.Second):
		t.Error("no progress bar")
	}
	close(more)
	if got := <-status; got != exitOK {
		t.Errorf("status %d", got)
	}
}

// The table of a verification comes at the end, where a bar is shown meanwhile.
func TestVerifyShowsProgressOnATerminal(t *testing.T) {
	leftToTheRaceRun(t)
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer terminal.Close()
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	status := make(chan int, 1)
	go func() {
		args := []string{"verify", "--store", storeurl.Memory, "--run", "^(take/one-instant|model/)", "--checks", "1000000"}
		status <- run(ctx, args, strings.NewReader(""), &out, terminal)
	}()
	select {
	case <-seenOn(master, "model/random-history"):
	case <-time.After(30 * time.Second):
		t.Error("no progress bar")
	}
	cancel()
	if got := <-status; got != exitInterrupted || !strings.Contains(out.String(), "\ntake/one-instant ") || strings.Contains(out.String(), "\nmodel/") {
		t.Errorf("status %d, %s", got, out.String())
	}

	shown := start("verify", "--store", storeurl.Memory, "--run", "^take/one-instant$", "--seed", "1")
	out.Reset()
	if got := run(t.Context(), []string{"verify", "--store", storeurl.Memory, "--run", "^take/one-instant$", "--seed", "1"}, strings.NewReader(""), &out, terminal); got != exitOK || withoutTimes(out.String()) != withoutTimes(shown.out) {
		t.Errorf("status %d, %s", got, out.String())
	}
}

func TestProgressIsNotShownOnAPipe(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	more := make(chan struct{})
	status := slowTrace(t, write, more)
	if shown := showProgress(write, nil); shown != nil {
		t.Error("a pipe was taken for a terminal")
	}
	close(more)
	if got := <-status; got != exitOK {
		t.Errorf("status %d", got)
	}
	write.Close()
	if text, err := io.ReadAll(read); err != nil || len(text) > 0 {
		t.Errorf("a pipe was shown %q (%v)", text, err)
	}
}

func TestPipeWithoutAReaderFailsTheReplay(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { // reads one byte and goes away
		reader, err := os.Open(name)
		if err == nil {
			_, err = reader.Read(make([]byte, 1))
			reader.Close()
		}
		gone <- err
	}()
	got := startWith(strings.Repeat(oneEvent, 200_000), "replay", "--limit", "gcra:1/1s", "--decisions", name, "-")
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
	if got.status != exitFailed || !strings.Contains(got.err, "--decisions: ") {
		t.Errorf("status %d, %s", got.status, got.err)
	}
}

func TestStandardOutputThatIsTheTraceIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(name, []byte(oneEvent), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var errs bytes.Buffer
	status := run(context.Background(), []string{"replay", "--limit", "gcra:1/1s", "--decisions", "-", name}, strings.NewReader(""), out, &errs)
	if text, err := os.ReadFile(name); status != exitUsage || err != nil || string(text) != oneEvent {
		t.Errorf("status %d, %s; the trace is %q (%v)", status, errs.String(), text, err)
	}
}
