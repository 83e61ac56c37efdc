package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// lastSeq returns the number of the last line of a day that can be read; 0 where there is
// none.
func (l *Log) lastSeq(date string) (last int64, err error) {
	err = l.lines(date, 0, func(e Entry) bool { last = max(last, e.Seq); return true })
	return last, err
}

// openDay opens the file of a day for reading, and returns its size. f is nil where the day has
// become too old, and its file is gone.
func (l *Log) openDay(date string) (f *os.File, size int64, err error) {
	f, err = os.Open(l.path(date))
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("audit: %w", err)
	}
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		f.Close() // nothing was written
		return nil, 0, fmt.Errorf("audit: %w", err)
	}
	return f, size, nil
}

// lines calls each for the entries of a day, until it returns false. Lines that cannot be
// read are passed over.
func (l *Log) lines(date string, from int64, each func(Entry) bool) error {
	f, size, err := l.openDay(date)
	if f == nil {
		return err
	}
	defer f.Close() // nothing was written
	start, err := behind(f, size, from)
	if err != nil {
		return fmt.Errorf("audit: %s: %w", f.Name(), err)
	}
	r := newLineReader(io.NewSectionReader(f, start, size-start))
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("audit: %s: %w", f.Name(), err)
		}
		e, is := entry(line)
		if !is || e.Seq <= from {
			continue
		}
		if !each(e) {
			return nil
		}
	}
}

// entry reads a line; false where it cannot be read.
func entry(line []byte) (e Entry, is bool) {
	return e, json.Unmarshal(line, &e) == nil && e.Seq > 0
}

// nearEnough is how far before the line that is searched for a search may end.
const nearEnough = 64 << 10

// behind returns where a line of a file begins, such that no line before it has a Seq above
// from: near to the first that has. It halves what is left, since lines are in their order.
func behind(f io.ReaderAt, size, from int64) (start int64, err error) {
	for high := size; from > 0 && high-start > nearEnough; {
		middle := start + (high-start)/2
		r := newLineReader(io.NewSectionReader(f, middle, high-middle))
		at, found := middle, false
		var e Entry
		for first := true; !found; first = false {
			line, err := r.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return 0, err
			}
			if !first { // that is a part of one
				e, found = entry(line)
			}
			if !found {
				at += int64(len(line)) + 1
			}
		}
		if found && e.Seq <= from {
			start = at
		} else {
			high = middle
		}
	}
	return start, nil
}

// backwards calls each for the entries of a day, the newest first, until it returns false.
func (l *Log) backwards(date string, each func(Entry) bool) error {
	f, size, err := l.openDay(date)
	if f == nil {
		return err
	}
	defer f.Close() // nothing was written
	if err := backwards(f, size, each); err != nil {
		return fmt.Errorf("audit: %s: %w", f.Name(), err)
	}
	return nil
}

// readBack is how many bytes of a file are read backwards in one go.
const readBack = 64 << 10

// backwards calls each for the entries of a file, the last first, until it returns false. Lines
// that cannot be read are passed over.
func backwards(f io.ReaderAt, size int64, each func(Entry) bool) error {
	var rest []byte // the end of a line that begins before the bytes that were read
	for end := size; end > 0; end = max(end-readBack, 0) {
		start := max(end-readBack, 0)
		part := make([]byte, end-start)
		n, err := f.ReadAt(part, start)
		if err != nil && !errors.Is(err, io.EOF) { // the file is shorter where a line was cut off that could not be written
			return err
		}
		part = append(part[:n], rest...)
		for i := bytes.LastIndexByte(part, '\n'); i >= 0; i = bytes.LastIndexByte(part, '\n') {
			if e, is := entry(part[i+1:]); is && !each(e) {
				return nil
			}
			part = part[:i]
		}
		if rest = part; len(rest) > maxLine { // no line that was written is as long
			rest = nil
		}
	}
	if e, is := entry(rest); is {
		each(e)
	}
	return nil
}

// lineReader reads lines.
type lineReader struct {
	r      io.Reader
	buffer []byte
	rest   []byte
	eof    bool
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{r: r, buffer: make([]byte, 64<<10)} }

// next returns the next line without its end, valid until the next call.
func (l *lineReader) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.rest, '\n'); i >= 0 {
			line := l.rest[:i]
			l.rest = l.rest[i+1:]
			return line, nil
		}
		if l.eof {
			return nil, io.EOF // a line without an end is being written
		}
		kept := copy(l.buffer, l.rest)
		if kept >= 2*maxLine {
			return nil, fmt.Errorf("a line of more than %d bytes", 2*maxLine)
		}
		if kept == len(l.buffer) {
			l.buffer = append(l.buffer, make([]byte, len(l.buffer))...)
		}
		n, err := l.r.Read(l.buffer[kept:])
		l.rest = l.buffer[:kept+n]
		if errors.Is(err, io.EOF) {
			l.eof = true
		} else if err != nil {
			return nil, err
		}
	}
}
