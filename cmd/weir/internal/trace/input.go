package trace

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
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

// unpacked returns the lines of an input, which is unpacked where it begins like gzip (1f 8b): one member or several, one behind
// the other.
func unpacked(raw *counter) lines {
	l := newLines(raw, MaxLine)
	if magic, _ := l.r.Peek(2); string(magic) == "\x1f\x8b" { // an error comes again with the next read
		return newLines(&counter{r: &unpacker{raw: raw, packed: l.r}}, MaxLine)
	}
	return l
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
		return fmt.Errorf("the gzip data is cut off: %w", err)
	}
	return fmt.Errorf("the gzip data is damaged: %w", err)
}
