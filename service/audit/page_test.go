package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// counted counts what is read.
type counted struct {
	io.ReaderAt
	bytes int64
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.bytes += int64(n)
	return n, err
}

// lines writes entries from a number on, with lines between them that cannot be read, and
// some that are long.
func lines(t *testing.T, from, n int64) []byte {
	t.Helper()
	var b bytes.Buffer
	for seq := from; seq < from+n; seq++ {
		text, err := json.Marshal(Entry{Seq: seq, Tenant: "a", Target: strings.Repeat("x", int(seq%7*seq%400))})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
		if seq%5 == 0 {
			b.WriteString(string(text[:len(text)/2]) + "\n\n")
		}
	}
	return b.Bytes()
}

// TestAPageIsFoundInAFewReads: its cost does not grow with what is before it.
func TestAPageIsFoundInAFewReads(t *testing.T) {
	const n = 50_000
	text := lines(t, 1, n)
	for _, from := range []int64{0, 1, 2, n / 3, n - 1, n, 2 * n} {
		f := &counted{ReaderAt: bytes.NewReader(text)}
		start, err := behind(f, int64(len(text)), from)
		if err != nil {
			t.Fatal(err)
		}
		if start > 0 && text[start-1] != '\n' {
			t.Errorf("after %d: %d is not where a line begins", from, start)
		}
		next := from + 1
		for line := range bytes.Lines(text[:start]) {
			if e, is := entry(line); is && e.Seq >= next {
				t.Fatalf("after %d: line %d is passed over", from, e.Seq)
			}
		}
		if i := bytes.Index(text, fmt.Appendf(nil, `"seq":%d,`, next)); i >= 0 && int64(i)-start > 2*nearEnough {
			t.Errorf("after %d: starts %d bytes before the line", from, int64(i)-start)
		}
		if f.bytes > 3<<20 {
			t.Errorf("after %d: %d of %d bytes were read", from, f.bytes, len(text))
		}
	}
}

// TestPagesAreTheWholeLog: over several files, with lines that cannot be read.
func TestPagesAreTheWholeLog(t *testing.T) {
	folder := t.TempDir()
	for i, date := range []string{"2026-11-27", "2026-11-28", "2026-11-29"} {
		if err := os.WriteFile(filepath.Join(folder, prefix+date+suffix), lines(t, int64(1+1500*i), 1500), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, folder, at(noon))
	next := int64(1)
	for after := int64(0); ; {
		page, err := l.Read(Query{Tenant: "a", After: after, Limit: 97})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			if e.Seq != next {
				t.Fatalf("line %d follows %d", e.Seq, next-1)
			}
			next++
		}
		if after = page.Next; after == 0 {
			break
		}
	}
	if next != 4501 {
		t.Errorf("%d lines, want 4500", next-1)
	}
}

// TestTheLastEntriesAreReadFromTheEnd: in the order of the lines, but backwards, whatever lies
// between them, and without what is before them.
func TestTheLastEntriesAreReadFromTheEnd(t *testing.T) {
	const n = 3_000
	text := append(lines(t, 1, n), bytes.Repeat([]byte{'x'}, 3*maxLine)...) // a line of somebody else, without an end
	for _, want := range []int64{1, 100, n} {
		f := &counted{ReaderAt: bytes.NewReader(text)}
		next := int64(n)
		err := backwards(f, int64(len(text)), func(e Entry) bool {
			if e.Seq != next {
				t.Fatalf("the entry %d, want %d", e.Seq, next)
			}
			next--
			return n-next < want
		})
		if err != nil || n-next != want {
			t.Errorf("%d entries, %v; want %d", n-next, err, want)
		}
		if most := int64(3*maxLine + 2*readBack + want*int64(len(text)-3*maxLine)/n*3); f.bytes > most {
			t.Errorf("%d bytes were read for %d entries, want at most %d", f.bytes, want, most)
		}
	}
}

// TestAFileThatIsCutWhileItIsReadHasItsWholeLines: a line that could not be written is cut off,
// also after a reader has asked for the size of the file.
func TestAFileThatIsCutWhileItIsReadHasItsWholeLines(t *testing.T) {
	const n = 500
	text := lines(t, 1, n)
	for _, cut := range []int{0, 1, 2, readBack - 1, readBack, readBack + 1, len(text) - readBack, len(text) / 2, len(text) - 1} {
		f, size := bytes.NewReader(text[:len(text)-cut]), int64(len(text))
		var want, got []int64
		for line := range bytes.Lines(text[:len(text)-cut]) {
			if e, is := entry(line); is {
				want = append(want, e.Seq)
			}
		}
		if err := backwards(f, size, func(e Entry) bool { got = append(got, e.Seq); return true }); err != nil {
			t.Errorf("%d bytes are cut off: %v", cut, err)
		}
		slices.Reverse(got)
		if !slices.Equal(got, want) {
			t.Errorf("%d bytes are cut off: read from the end %d entries, want %d", cut, len(got), len(want))
		}
		if _, err := behind(f, size, n/2); err != nil {
			t.Errorf("%d bytes are cut off: a page: %v", cut, err)
		}
	}
}
