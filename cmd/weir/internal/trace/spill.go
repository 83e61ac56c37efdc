package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// recordSize is the size of a record in the temporary file: time, cost, key.
const recordSize = 8 + 8 + 4

const (
	minRunBuffer = 4 << 10  // bytes
	maxRunBuffer = 64 << 10 // bytes: larger ones gain nothing
)

var errShort = errors.New("trace: sort: the temporary file is shorter than what was written")

// spill is the temporary file with all runs of a sort, one behind the other.
type spill struct {
	file *os.File
	name string  // "" once the file has no name any more
	ends []int64 // where each run ends
	buf  []byte
}

func newSpill(dir string) (*spill, error) {
	file, err := os.CreateTemp(dir, "weir-sort-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("trace: sort: %w", err)
	}
	s := &spill{file: file, name: file.Name(), buf: make([]byte, 0, maxRunBuffer)}
	// Where an open file can be removed (not on Windows), its space comes back even if this process is killed.
	if os.Remove(s.name) == nil {
		s.name = ""
	}
	return s, nil
}

// write appends a run, which is not empty.
func (s *spill) write(run []record) error {
	var size int64
	if n := len(s.ends); n > 0 {
		size = s.ends[n-1]
	}
	for i := range run {
		s.buf = binary.LittleEndian.AppendUint64(s.buf, uint64(run[i].at))
		s.buf = binary.LittleEndian.AppendUint64(s.buf, uint64(run[i].cost))
		s.buf = binary.LittleEndian.AppendUint32(s.buf, run[i].key)
		if len(s.buf)+recordSize > cap(s.buf) || i == len(run)-1 {
			if _, err := s.file.Write(s.buf); err != nil {
				return fmt.Errorf("trace: sort: %w", err)
			}
			s.buf = s.buf[:0]
		}
	}
	s.ends = append(s.ends, size+int64(len(run))*recordSize)
	return nil
}

// runs returns a reader for each run. Their buffers take about budget bytes together.
func (s *spill) runs(budget int) []*runReader {
	s.buf = nil
	size := max(minRunBuffer, min(budget/len(s.ends), maxRunBuffer)) / recordSize * recordSize
	readers := make([]*runReader, len(s.ends))
	var start int64
	for i, end := range s.ends {
		readers[i] = &runReader{
			number: i, file: s.file, at: start, end: end,
			free: make([]byte, min(int64(size), end-start)),
		}
		start = end
	}
	return readers
}

// close removes the file. It may be called again.
func (s *spill) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	if s.name != "" {
		err = errors.Join(err, os.Remove(s.name))
		s.name = ""
	}
	if err != nil {
		return fmt.Errorf("trace: sort: %w", err)
	}
	return nil
}

// runReader reads one run of a temporary file.
type runReader struct {
	rec     record // the current one
	number  int    // of the run
	file    io.ReaderAt
	at, end int64  // what is left to be read into the buffer
	free    []byte // the whole buffer
	buf     []byte // what is read of it and not used
}

// advance goes to the next record, or returns io.EOF behind the last.
func (r *runReader) advance() error {
	if len(r.buf) == 0 {
		if r.at == r.end {
			return io.EOF
		}
		r.buf = r.free[:min(int64(len(r.free)), r.end-r.at)]
		n, err := r.file.ReadAt(r.buf, r.at)
		if n < len(r.buf) {
			if err == io.EOF {
				err = errShort
			}
			return fmt.Errorf("trace: sort: %w", err)
		}
		r.at += int64(n)
	}
	r.rec = record{
		at:   int64(binary.LittleEndian.Uint64(r.buf)),
		cost: int64(binary.LittleEndian.Uint64(r.buf[8:])),
		key:  binary.LittleEndian.Uint32(r.buf[16:]),
	}
	r.buf = r.buf[recordSize:]
	return nil
}

func (r *runReader) before(o *runReader) bool {
	return r.rec.at < o.rec.at || r.rec.at == o.rec.at && r.number < o.number
}
