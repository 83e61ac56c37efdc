package clienttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// document returns a document through a client of its own.
func document(tb testing.TB, lib *Library, addr string) *script.Document {
	tb.Helper()
	d, err := open(tb, lib.Open(tb, At{Addr: addr, Mode: lib.Modes[0]}), nil).Document("policy")
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// documentIsWrittenAndRead: each writing has its revision, and who has not read the
// last one is refused.
func documentIsWrittenAndRead(t *testing.T, lib *Library) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		ctx := context.Background()
		d := document(t, lib, server.Addr())
		wants := func(text string, revision int64) {
			t.Helper()
			got, at, err := d.Read(ctx)
			if err != nil || at != revision || string(got) != text {
				t.Fatalf("%q in revision %d (%v), want %q in %d", got, at, err, text, revision)
			}
		}
		wants("", 0)
		for i, text := range []string{"a", "", "two\nlines\n", "\x00\xff{}", strings.Repeat("x", 1<<20)} {
			if next, err := d.Write(ctx, []byte(text), int64(i)); err != nil || next != int64(i+1) {
				t.Fatalf("revision %d, %v", next, err)
			}
			wants(text, int64(i+1))
		}
		for _, stale := range []int64{0, 4, 6} {
			if _, err := d.Write(ctx, []byte("stale"), stale); !errors.Is(err, store.ErrContention) {
				t.Errorf("written over revision 5 by who has read %d: %v", stale, err)
			}
		}
		_, at, err := d.Read(ctx)
		if err != nil || at != 5 {
			t.Errorf("revision %d, %v", at, err)
		}
		for _, damage := range [][]string{{"SET", "wdocument:policy", "no revision"}, {"SET", "wdocument:policy", "0\nx"}, {"LPUSH", "wdocument:policy", "x"}} {
			server.Do("DEL", "wdocument:policy")
			server.Do(damage...)
			if _, _, err := d.Read(ctx); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%q is read: %v", damage, err)
			}
			if _, err := d.Write(ctx, []byte("x"), 1); !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrContention) {
				t.Errorf("%q is written over: %v", damage, err)
			}
		}
	})
}

// documentLosesNoWriter: writers at the same time, each of whom adds a line.
func documentLosesNoWriter(t *testing.T, lib *Library) {
	const writers, lines = 4, 10
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		var done sync.WaitGroup
		for w := range writers {
			d := document(t, lib, server.Addr())
			done.Go(func() {
				for l := range lines {
					line := fmt.Sprintf("%d.%d\n", w, l)
					if _, err := d.Update(context.Background(), func(text []byte) ([]byte, error) { return append(text, line...), nil }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		done.Wait()
		text, revision, err := document(t, lib, server.Addr()).Read(context.Background())
		if err != nil || revision != writers*lines {
			t.Fatalf("revision %d, %v", revision, err)
		}
		for w := range writers {
			for l := range lines {
				if line := fmt.Appendf(nil, "%d.%d\n", w, l); bytes.Count(text, line) != 1 {
					t.Errorf("%s %d times", line, bytes.Count(text, line))
				}
			}
		}
		d := document(t, lib, server.Addr())
		refusal := errors.New("no")
		if _, err := d.Update(context.Background(), func([]byte) ([]byte, error) { return nil, refusal }); err != refusal {
			t.Error(err)
		}
	})
}

// documentNotifiesItsReaders, also after the server was away.
func documentNotifiesItsReaders(t *testing.T, lib *Library) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		p := servertest.NewProxy(t, server.Addr())
		reader, writer := document(t, lib, p.Addr()), document(t, lib, server.Addr())
		ctx, cancel := context.WithCancel(context.Background())
		var notified atomic.Int64
		ended := make(chan error, 1)
		go func() {
			for { // as a watcher does
				err := reader.Notify(ctx, func() { notified.Add(1) })
				if ctx.Err() != nil {
					ended <- err
					return
				}
			}
		}()
		servertest.Await(t, "the reader has subscribed", func() bool { return notified.Load() > 0 })
		for i := range int64(3) {
			before := notified.Load()
			if _, err := writer.Write(ctx, []byte("x"), i); err != nil {
				t.Fatal(err)
			}
			servertest.Await(t, "the reader is notified", func() bool { return notified.Load() > before })
		}
		before := notified.Load()
		p.Cut()
		servertest.Await(t, "the reader has subscribed anew", func() bool { return notified.Load() > before })
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Notify ended with %v", err)
		}
		// A second reader that subscribes later is notified: by then the first would be, too.
		after, others := notified.Load(), atomic.Int64{}
		ctx, cancel = context.WithCancel(context.Background())
		defer cancel()
		go func() { ended <- document(t, lib, server.Addr()).Notify(ctx, func() { others.Add(1) }) }()
		servertest.Await(t, "another reader has subscribed", func() bool { return others.Load() > 0 })
		before = others.Load()
		if _, err := writer.Write(ctx, []byte("x"), 3); err != nil {
			t.Fatal(err)
		}
		servertest.Await(t, "the other reader is notified", func() bool { return others.Load() > before })
		if notified.Load() != after {
			t.Error("notified after the end")
		}
		cancel()
		<-ended
	})
}
