package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// input reads what it is given, unpacked where that begins like gzip (1f 8b): one member or several, one behind the other. It counts
// the bytes before they are unpacked.
//
// A plain input goes through as it comes: no byte is copied, and no read waits for more than it was given, except for
// the second byte where the first is 1f.
type input struct {
	raw  counter
	from io.Reader // nil until the first bytes have told
}

// Read must be given room for two bytes the first time.
func (in *input) Read(p []byte) (n int, err error) {
	if in.from != nil {
		return in.from.Read(p)
	}
	for range maxNoRead {
		var more int
		more, err = in.raw.Read(p[n:])
		n += more
		if n != 1 || p[0] != 0x1f || err != nil {
			break
		}
	}
	if n == 0 {
		return 0, err
	}
	if in.from = &in.raw; n < 2 || p[0] != 0x1f || p[1] != 0x8b {
		return n, err
	}
	all := io.MultiReader(bytes.NewReader(bytes.Clone(p[:n])), &in.raw)
	in.from = &unpacker{raw: &in.raw, packed: bufio.NewReaderSize(all, firstBuffer)}
	return in.from.Read(p)
}

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
