package trace

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	reasonTooLong = "line is longer than 1 MiB"

	firstBuffer = 64 << 10 // bytes; doubled for a line that needs it, up to MaxLine
	maxDisplay  = 120      // bytes of a bad line that are shown
	maxNoRead   = 100      // empty reads in a row before the input counts as broken, as in bufio
)

// lines cuts the input into lines. It holds one buffer, and a line that does not fit in it at its largest is passed over
// without being held.
type lines struct {
	r       io.Reader
	buf     []byte
	begin   int   // where the line begins that next has just returned, unless it was too long
	start   int   // buf[start:end] is read but not consumed
	end     int   //
	max     int   // the longest usable line
	read    int64 // lines returned
	number  int64 // of the first line of what was returned last; the first line of the input is 1
	err     error // from r, io.EOF included: seen when the buffer is used up
	started bool  // the byte order mark is behind us
}

func newLines(r io.Reader, max int) lines {
	return lines{r: r, max: max, buf: make([]byte, min(firstBuffer, max+2))} // +2: the line end
}

// next returns the next line without its end. The slice is valid until the next call. Of a line that is too long it
// returns the beginning only. An input that fails in the middle of a line gives the error, not half the line.
func (l *lines) next() (line []byte, long bool, err error) {
	l.skipBOM()
	searched := 0
	for {
		if i := bytes.IndexByte(l.buf[l.start+searched:l.end], '\n'); i >= 0 {
			l.begin = l.start
			line = l.buf[l.start : l.start+searched+i]
			l.start += len(line) + 1
			break
		}
		if l.err != nil {
			if l.err != io.EOF {
				return nil, false, fmt.Errorf("trace: read after line %d: %w", l.read, l.err)
			}
			if l.start == l.end {
				return nil, false, io.EOF
			}
			l.begin = l.start
			line = l.buf[l.start:l.end]
			l.start = l.end
			break
		}
		searched = l.end - l.start
		if searched == l.max+2 {
			return l.passLong()
		}
		l.fill()
	}
	l.read++
	l.number = l.read
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if len(line) > l.max {
		return line[:min(len(line), 2*maxDisplay)], true, nil
	}
	return line, false, nil
}

// passLong drops the rest of a line of which a full buffer has shown no end.
func (l *lines) passLong() (line []byte, long bool, err error) {
	head := bytes.Clone(l.buf[l.start:min(l.end, l.start+2*maxDisplay)])
	for {
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			l.start += i + 1
			break
		}
		l.start, l.end = 0, 0
		if l.err == io.EOF {
			break
		}
		if l.err != nil {
			return nil, false, fmt.Errorf("trace: read after line %d: %w", l.read, l.err)
		}
		l.fill()
	}
	l.read++
	l.number = l.read
	return head, true, nil
}

// fill reads once more into the buffer, which it moves or enlarges first where there is no room. It must not be called
// on a full buffer of the largest size.
func (l *lines) fill() {
	if l.end == len(l.buf) {
		to := l.buf
		if l.start == 0 {
			to = make([]byte, min(2*len(l.buf), l.max+2))
		}
		l.end = copy(to, l.buf[l.start:l.end])
		l.start, l.buf = 0, to
	}
	for range maxNoRead {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

func (l *lines) skipBOM() {
	if l.started {
		return
	}
	l.started = true
	for l.end < 3 && l.err == nil {
		l.fill()
	}
	if bytes.HasPrefix(l.buf[:l.end], []byte("\xef\xbb\xbf")) {
		l.start = 3
	}
}

// look shows the lines to come, without consuming them, until visit wants no more, or the input ends, or the largest
// buffer is full. It must be called before next.
func (l *lines) look(visit func(line []byte) (more bool)) error {
	l.skipBOM()
	for seen := 0; ; {
		i := bytes.IndexByte(l.buf[l.start+seen:l.end], '\n')
		if i < 0 && l.err == nil && l.end-l.start < l.max+2 {
			l.fill()
			continue
		}
		line := l.buf[l.start+seen : l.end]
		switch {
		case i >= 0:
			line = line[:i]
		case l.err == nil: // full
			return nil
		case l.err != io.EOF:
			return fmt.Errorf("trace: read: %w", l.err)
		}
		if !visit(bytes.TrimSuffix(line, []byte("\r"))) || i < 0 {
			return nil
		}
		seen += i + 1
	}
}

func isBlank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// display returns the beginning of a line so that it can be shown on a terminal: what is not printable is written as
// \xNN, byte by byte.
func display(line []byte) string {
	var b strings.Builder
	for len(line) > 0 {
		c, n := utf8.DecodeRune(line)
		if b.Len()+n > maxDisplay {
			b.WriteString("…")
			break
		}
		if c == utf8.RuneError && n == 1 || !unicode.IsPrint(c) {
			for _, x := range line[:n] {
				fmt.Fprintf(&b, `\x%02x`, x)
			}
		} else {
			b.Write(line[:n])
		}
		line = line[n:]
	}
	return b.String()
}
