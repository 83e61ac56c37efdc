package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// pack compresses each text to a member of its own.
func pack(t *testing.T, texts ...string) string {
	t.Helper()
	var b bytes.Buffer
	for _, text := range texts {
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestInputIsUnpackedWhereItIsGzip(t *testing.T) {
	long := descending(10_000)
	for name, c := range map[string]struct{ raw, want string }{
		"nothing":             {"", ""},
		"plain":               {"abc", "abc"},
		"plain, one byte":     {"a", "a"},
		"plain, 1f":           {"\x1f", "\x1f"},
		"plain, 1f and more":  {"\x1fabc", "\x1fabc"},
		"plain, 1f twice":     {"\x1f\x1f\x8b", "\x1f\x1f\x8b"},
		"plain, 8b first":     {"\x8b\x1f", "\x8b\x1f"},
		"plain, long":         {long, long},
		"gzip":                {pack(t, "abc"), "abc"},
		"gzip of nothing":     {pack(t, ""), ""},
		"gzip, long":          {pack(t, long), long},
		"gzip in two members": {pack(t, "abc", "def"), "abcdef"},
		"gzip, empty members": {pack(t, "", "abc", "", long, ""), "abc" + long},
		"gzip in gzip":        {pack(t, pack(t, "abc")), pack(t, "abc")}, // once is enough: it says what is inside
	} {
		for how, r := range map[string]io.Reader{
			"at once":      strings.NewReader(c.raw),
			"byte by byte": iotest.OneByteReader(strings.NewReader(c.raw)),
			"half reads":   iotest.HalfReader(strings.NewReader(c.raw)),
			"end with eof": iotest.DataErrReader(strings.NewReader(c.raw)),
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				raw := &counter{r: r}
				in, err := unpacked(raw)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(in.r)
				if err != nil || string(got) != c.want {
					t.Errorf("%d bytes, %v, want %d", len(got), err, len(c.want))
				}
				if n := raw.bytes.Load(); n != int64(len(c.raw)) {
					t.Errorf("counted %d bytes of %d", n, len(c.raw))
				}
			})
		}
	}
}

// Where an input pauses, the lines before the pause must be had.
func TestInputIsNotHeldBack(t *testing.T) {
	r, err := Open(io.MultiReader(strings.NewReader(jsonLine+"\n"), stuck{}), &Options{Format: "jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := r.Next(); e.Key != "a" || err != nil {
		t.Errorf("%v, %v", e, err)
	}
	if _, err := r.Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("then %v", err)
	}
}

// Wherever a gzip file was cut off or changed, the events before are had, and then an error says so: never the end.
func TestBrokenGzipIsAnErrorAfterTheEventsBeforeIt(t *testing.T) {
	const events = 300
	whole := pack(t, descending(events), descending(events))
	read := func(raw, format string) (n int, err error) {
		r, err := Open(strings.NewReader(raw), &Options{Format: format})
		for err == nil {
			if _, err = r.Next(); err == nil {
				n++
			}
		}
		return n, err
	}
	last, step := 0, 1
	if testing.Short() {
		step = 29
	}
	for n := 2 + (len(whole)-3)%step; n < len(whole); n += step { // the last byte, too
		for _, format := range []string{"auto", "jsonl"} {
			got, err := read(whole[:n], format)
			if got == events && err == io.EOF && n == len(whole)/2 {
				continue // a member that is whole: nothing tells that there was another
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "the gzip data is cut off") {
				t.Fatalf("%s, cut off after %d bytes of %d: %d events, then %v", format, n, len(whole), got, err)
			}
			if format == "jsonl" {
				if got < last {
					t.Fatalf("cut off after %d bytes: %d events, with one byte less %d", n, got, last)
				}
				last = got
			}
		}
	}
	if last < 2*events-10 {
		t.Errorf("without the last byte only %d events", last)
	}
	if got, err := read(whole, "jsonl"); got != 2*events || err != io.EOF {
		t.Fatalf("whole: %d events, then %v", got, err)
	}
	for name, raw := range map[string]string{
		"checksum":         whole[:len(whole)-8] + "\x00\x00\x00\x00" + whole[len(whole)-4:],
		"something behind": whole + "something else",
		"zeros behind":     whole + strings.Repeat("\x00", 100),
		"header":           "\x1f\x8b\xff" + whole[3:],
		"data":             whole[:12] + "\xff\xff\xff\xff" + whole[16:],
	} {
		if got, err := read(raw, "jsonl"); err == io.EOF || err == nil || !strings.Contains(err.Error(), "the gzip data is damaged") {
			t.Errorf("%s: %d events, then %v", name, got, err)
		}
	}
}

func TestBrokenInputOfGzipIsToldFromBrokenGzip(t *testing.T) {
	raw := pack(t, descending(1000))
	r, err := Open(&failing{strings.NewReader(raw[:len(raw)-100]), errBroken}, &Options{Format: "jsonl"})
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, errBroken) || strings.Contains(err.Error(), "gzip") {
		t.Errorf("Next: %v", err)
	}
}

func TestEveryFormatMayBeCompressed(t *testing.T) {
	for format, text := range usual {
		opts := &Options{Format: format}
		if format == csvName {
			opts.TimeColumn = "time"
		}
		want, _ := readAll(t, text, opts)
		got, r := readAll(t, pack(t, text), opts)
		if len(got) == 0 || len(got) != len(want) || got[0] != want[0] {
			t.Errorf("%s: %d events, want %d", format, len(got), len(want))
		}
		if r.Format() != format {
			t.Errorf("%s: read as %s", format, r.Format())
		}
	}
}

func TestBytesReadCountsTheRawInput(t *testing.T) {
	text := descending(20_000)
	for name, raw := range map[string]string{"plain": text, "gzip": pack(t, text)} {
		r, err := Open(strings.NewReader(raw), &Options{Format: "jsonl"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if n := r.BytesRead(); n == 0 || n > 2*MaxLine {
			t.Errorf("%s: %d bytes after the first event", name, n)
		}
		drainReader(t, r)
		if n := r.BytesRead(); n != int64(len(raw)) {
			t.Errorf("%s: %d bytes at the end, want %d", name, n, len(raw))
		}
	}
}

func TestBytesReadMayBeCalledWhileAnotherGoroutineReads(t *testing.T) {
	text := descending(20_000)
	r, err := Open(strings.NewReader(text), &Options{Format: "jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := r.Next(); err != nil {
				ended <- err
				return
			}
		}
	}()
	var last int64
	for err = nil; err == nil; {
		select {
		case err = <-ended:
		default:
		}
		n := r.BytesRead()
		if n < last || n > int64(len(text)) {
			t.Fatalf("%d bytes, after %d", n, last)
		}
		last = n
	}
	if err != io.EOF || last != int64(len(text)) {
		t.Errorf("%d bytes, then %v", last, err)
	}
}
