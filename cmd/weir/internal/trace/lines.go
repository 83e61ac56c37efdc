package trace

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	reasonTooLong = "line is longer than 1 MiB"

	maxDisplay = 120 // bytes of a bad line that are shown
)

// lines cuts the input into lines. A line that does not fit in the buffer is passed over without being held.
type lines struct {
	r      *bufio.Reader
	max    int   // the longest usable line
	read   int64 // lines returned
	number int64 // of the first line of what was returned last; the first line of the input is 1
	marked bool  // the byte order mark is behind us
}

func newLines(r io.Reader, max int) lines {
	return lines{r: bufio.NewReaderSize(r, max+2), max: max} // +2: the line end
}

// next returns the next line without its end. The slice is valid until the next call. Of a line that is too long it
// returns the beginning only. An input that fails in the middle of a line gives the error, not half the line.
func (l *lines) next() (line []byte, long bool, err error) {
	l.skipMark()
	line, err = l.r.ReadSlice('\n')
	for head := line; err == bufio.ErrBufferFull; line = head {
		if !long {
			long, head = true, bytes.Clone(line[:min(len(line), 2*maxDisplay)])
		}
		_, err = l.r.ReadSlice('\n')
	}
	if err != nil && err != io.EOF {
		return nil, false, fmt.Errorf("trace: read after line %d: %w", l.read, err)
	}
	if len(line) == 0 {
		return nil, false, err
	}
	l.read++
	l.number = l.read
	if long {
		return line, true, nil
	}
	if line = trimEnd(line); len(line) > l.max {
		return line[:min(len(line), 2*maxDisplay)], true, nil
	}
	return line, false, nil
}

// record returns the next record of CSV, without its line end: a line, or several where a quoted field goes over their ends. A
// record ends at the first line end with an even number of quotes before it. Where there is none before the input ends, or in the
// longest line, or where complete refuses what stands before it, the first line is returned alone and the lines after it
// are read as usual, so that one quote too many costs one line.
func (l *lines) record(complete func(record []byte) bool) (record []byte, long bool, err error) {
	size, count, quotes := 0, 0, 0
	err = l.look(func(line []byte, end int) bool {
		size, count = end, count+1
		quotes += bytes.Count(line, []byte(`"`))
		return quotes%2 == 1
	})
	if err != nil {
		return nil, false, err
	}
	if count < 2 || quotes%2 == 1 {
		return l.next()
	}
	record, _ = l.r.Peek(size) // cannot fail: look has just seen it
	if record = trimEnd(record); len(record) > l.max || !complete(record) {
		return l.next()
	}
	l.number = l.read + 1
	l.read += int64(count)
	_, _ = l.r.Discard(size) // it is in the buffer, and stays where it is
	return record, false, nil
}

// look shows the lines to come, and where each ends, without consuming them, until visit wants no more, or the input ends, or the
// buffer is full.
func (l *lines) look(visit func(line []byte, end int) (more bool)) error {
	l.skipMark()
	for seen := 0; ; {
		buf, _ := l.r.Peek(l.r.Buffered())
		end, last := seen+bytes.IndexByte(buf[seen:], '\n')+1, false
		if end == seen {
			_, err := l.r.Peek(len(buf) + 1)
			if err == nil {
				continue
			}
			if err == bufio.ErrBufferFull {
				return nil
			}
			if err != io.EOF {
				return fmt.Errorf("trace: read after line %d: %w", l.read, err)
			}
			buf, _ = l.r.Peek(l.r.Buffered()) // it may have moved
			end, last = len(buf), true
		}
		if seen == end || !visit(trimEnd(buf[seen:end]), end) || last {
			return nil
		}
		seen = end
	}
}

func (l *lines) skipMark() {
	if l.marked {
		return
	}
	l.marked = true
	if mark, _ := l.r.Peek(3); string(mark) == "\xef\xbb\xbf" { // an error comes again with the next read
		_, _ = l.r.Discard(3)
	}
}

// trimEnd cuts a line end off.
func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

func isBlank(line []byte) bool { return len(bytes.Trim(line, " \t\r")) == 0 }

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
