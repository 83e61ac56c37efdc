package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"sync/atomic"
)

// counter counts the bytes of a reader, and keeps its error.
type counter struct {
	r     io.Reader
	bytes atomic.Int64
	err   error
}

func (c *counter) Read(p []byte) (n int, err error) {
	if c.err != nil {
		return 0, c.err
	}
	n, c.err = c.r.Read(p)
	c.bytes.Add(int64(n))
	return n, c.err
}

// foreign are beginnings of inputs that must be unpacked by somebody else.
var foreign = map[string]string{
	"\x28\xb5\x2f\xfd": "compressed with zstd", "BZh": "compressed with bzip2", "\xfd7zXZ\x00": "compressed with xz",
	"PK\x03\x04": "a zip archive", "\xff\xfe": "UTF-16 text", "\xfe\xff": "UTF-16 text",
}

// unpacked returns the lines of an input, which is unpacked where it begins like gzip (1f 8b): one member or several, one behind
// the other. It looks only at what one read has returned, so that nothing waits for more, and leaves its errors to the lines.
func unpacked(raw *counter) (lines, error) {
	l := newLines(raw, MaxLine)
	head, _ := l.r.Peek(2)
	if string(head) == "\x1f\x8b" {
		l = newLines(&counter{r: &unpacker{raw: raw, packed: l.r}}, MaxLine)
		_, _ = l.r.Peek(1)
	}
	head, _ = l.r.Peek(min(l.r.Buffered(), 512))
	for magic, what := range foreign {
		if bytes.HasPrefix(head, []byte(magic)) {
			return l, inputError("trace: the input is %s: must be text, or text compressed with gzip", what)
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return l, inputError("trace: the input is a tar archive: must be text, or text compressed with gzip")
	}
	return l, nil
}

// unpacker reads gzip. What was unpacked before an error is returned before it.
type unpacker struct {
	raw    *counter
	packed *bufio.Reader
	gzip   *gzip.Reader // nil before the header was read
}

func (u *unpacker) Read(p []byte) (n int, err error) {
	if u.gzip == nil {
		if u.gzip, err = gzip.NewReader(u.packed); err != nil {
			return 0, u.explain(err)
		}
	}
	n, err = u.gzip.Read(p)
	return n, u.explain(err)
}

// explain says whether the packed bytes are missing or wrong. An error of the raw input is left as it is.
func (u *unpacker) explain(err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case u.raw.err != nil && u.raw.err != io.EOF && errors.Is(err, u.raw.err):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return inputError("the gzip data is cut off: %w", err)
	}
	return inputError("the gzip data is damaged: %w", err)
}
