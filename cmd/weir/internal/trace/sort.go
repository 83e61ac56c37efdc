package trace

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// record is a usable event in the sort: 40 bytes, whatever the length of its key.
type record struct {
	at, end      int64
	cost, actual int64
	key          uint32 // its KeyIndex
}

const (
	recordSize = 4*8 + 4 // bytes of a record in the temporary file

	minRunBuffer = 4 << 10  // bytes
	maxRunBuffer = 64 << 10 // bytes: larger ones gain nothing
)

var errShort = errors.New("trace: sort: the temporary file is shorter than what was written")

// sorter is an external, stable merge sort by time. It gathers up to limit records in memory, a run, sorts it and writes it
// to a temporary file; the end is a merge of all runs. A trace of one run stays in memory and makes no file. On equal times
// the earlier record of a run and the earlier run go first: that is the order of the file.
//
// Memory is one run while gathering and about as much while merging: 40 MiB by default. Only where a trace has more than
// 10,000 runs (10^10 events by default) does each further run take a buffer of 4 KiB.
type sorter struct {
	limit    int // records in a run
	dir      string
	finished bool // everything was added
	run      []record
	file     *os.File // nil where one run was enough
	name     string   // of the file; "" once it has none any more
	sizes    []int    // of the runs in the file, in records
	merge    merge
}

// add takes the next record in the order of the file.
func (s *sorter) add(rec record) error {
	if len(s.run) == s.limit {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.run = append(s.run, rec)
	return nil
}

// finish ends the adding.
func (s *sorter) finish() error {
	s.finished = true
	if s.file == nil {
		s.sortRun()
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	buffer := max(minRunBuffer, min(40*s.limit/len(s.sizes), maxRunBuffer))
	s.run = nil // its memory is for the buffers
	var start int64
	for number, size := range s.sizes {
		length := int64(size) * recordSize
		r := &run{number: number, left: size, from: bufio.NewReaderSize(io.NewSectionReader(s.file, start, length), buffer)}
		if err := r.advance(); err != nil { // never io.EOF: no run is empty
			return err
		}
		s.merge = append(s.merge, r)
		start += length
	}
	heap.Init(&s.merge)
	return nil
}

// next returns the records in order, then io.EOF.
func (s *sorter) next() (rec record, err error) {
	switch {
	case s.file != nil && len(s.merge) > 0:
		first := s.merge[0]
		rec = first.rec
		if err = first.advance(); err == nil {
			heap.Fix(&s.merge, 0)
		} else if err == io.EOF {
			heap.Pop(&s.merge)
			err = nil
		}
		return rec, err
	case len(s.run) > 0:
		rec, s.run = s.run[0], s.run[1:]
		return rec, nil
	}
	return rec, io.EOF
}

// sortRun sorts the run by time. Records of one time keep their order.
func (s *sorter) sortRun() {
	slices.SortStableFunc(s.run, func(a, b record) int { return cmp.Compare(a.at, b.at) })
}

// flush sorts the run, which is not empty, and moves it to the file.
func (s *sorter) flush() (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp(s.dir, "weir-sort-*.tmp"); err != nil {
			return fmt.Errorf("trace: sort: %w", err)
		}
		// Where an open file can be removed (not on Windows), its space comes back even if this process is killed.
		if s.name = s.file.Name(); os.Remove(s.name) == nil {
			s.name = ""
		}
	}
	s.sortRun()
	w := bufio.NewWriterSize(s.file, maxRunBuffer)
	text := make([]byte, 0, recordSize)
	for _, rec := range s.run {
		text = text[:0]
		for _, n := range []int64{rec.at, rec.end, rec.cost, rec.actual} {
			text = binary.LittleEndian.AppendUint64(text, uint64(n))
		}
		text = binary.LittleEndian.AppendUint32(text, rec.key)
		_, _ = w.Write(text) // Flush returns the first error
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("trace: sort: %w", err)
	}
	s.sizes = append(s.sizes, len(s.run))
	s.run = s.run[:0]
	return nil
}

// close removes the temporary file and lets go of the memory. It may be called again.
func (s *sorter) close() error {
	s.finished, s.run, s.merge = true, nil, nil
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

// run is a sorted run of the temporary file.
type run struct {
	rec    record // the current one
	number int
	left   int // records behind it
	from   *bufio.Reader
}

// advance goes to the next record, or returns io.EOF behind the last.
func (r *run) advance() error {
	if r.left == 0 {
		return io.EOF
	}
	r.left--
	text, err := r.from.Peek(recordSize)
	if err == io.EOF {
		return errShort
	}
	if err != nil {
		return fmt.Errorf("trace: sort: %w", err)
	}
	number := func(i int) int64 { return int64(binary.LittleEndian.Uint64(text[8*i:])) }
	r.rec = record{at: number(0), end: number(1), cost: number(2), actual: number(3), key: binary.LittleEndian.Uint32(text[32:])}
	_, err = r.from.Discard(recordSize)
	return err
}

// merge is a heap of runs: first is the one with the next record.
type merge []*run

func (m merge) Len() int      { return len(m) }
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)   { *m = append(*m, x.(*run)) }

func (m merge) Less(i, j int) bool {
	return m[i].rec.at < m[j].rec.at || m[i].rec.at == m[j].rec.at && m[i].number < m[j].number
}

func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
