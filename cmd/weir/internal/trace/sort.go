package trace

import (
	"cmp"
	"io"
	"slices"
)

// record is a usable event in the sort: 24 bytes, whatever the length of its key.
type record struct {
	at   int64
	cost int64
	key  uint32 // its KeyIndex
}

// sorter is an external, stable merge sort by time. It gathers up to limit records in memory, a run, sorts it and writes it
// to a temporary file; the end is a merge of all runs. A trace of one run stays in memory and makes no file. On equal times
// the earlier record of a run and the earlier run go first: that is the order of the file.
//
// Memory is one run while gathering and about as much while merging: 24 MiB by default. Only where a trace has more than
// 6,000 runs (6·10^9 events by default) does each further run take a buffer of 4 KiB.
type sorter struct {
	limit    int // records in a run
	dir      string
	finished bool // everything was added
	run      []record
	taken    int    // how many of run were returned, where that is all
	spill    *spill // nil where one run was enough
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
func (s *sorter) finish() (err error) {
	s.finished = true
	if s.spill == nil {
		sortRun(s.run)
		return nil
	}
	if err = s.flush(); err != nil {
		return err
	}
	s.run = nil // its memory is for the buffers of the merge
	s.merge, err = newMerge(s.spill.runs(24 * s.limit))
	return err
}

// next returns the records in order, then io.EOF.
func (s *sorter) next() (record, error) {
	if s.spill != nil {
		return s.merge.next()
	}
	if s.taken == len(s.run) {
		return record{}, io.EOF
	}
	s.taken++
	return s.run[s.taken-1], nil
}

func (s *sorter) flush() (err error) {
	if s.spill == nil {
		if s.spill, err = newSpill(s.dir); err != nil {
			return err
		}
	}
	sortRun(s.run)
	err = s.spill.write(s.run)
	s.run = s.run[:0]
	return err
}

// close removes the temporary file and lets go of the memory. It may be called again.
func (s *sorter) close() error {
	s.finished, s.run, s.taken, s.merge = true, nil, 0, merge{}
	if s.spill == nil {
		return nil
	}
	return s.spill.close()
}

// sortRun sorts by time. Records of one time keep their order.
func sortRun(run []record) {
	slices.SortStableFunc(run, func(a, b record) int { return cmp.Compare(a.at, b.at) })
}

// merge merges sorted runs: a binary heap whose top is the run with the next record.
type merge struct {
	heap []*runReader
}

func newMerge(runs []*runReader) (merge, error) {
	m := merge{heap: make([]*runReader, 0, len(runs))}
	for _, r := range runs {
		if err := r.advance(); err != nil { // never io.EOF: no run is empty
			return merge{}, err
		}
		m.heap = append(m.heap, r)
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return m, nil
}

func (m *merge) next() (record, error) {
	if len(m.heap) == 0 {
		return record{}, io.EOF
	}
	top := m.heap[0]
	rec := top.rec
	switch err := top.advance(); err {
	case nil:
	case io.EOF:
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	default:
		return record{}, err
	}
	m.sink(0)
	return rec, nil
}

// sink lets the run at i down to its place.
func (m *merge) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(m.heap) {
			return
		}
		if right := child + 1; right < len(m.heap) && m.heap[right].before(m.heap[child]) {
			child = right
		}
		if !m.heap[child].before(m.heap[i]) {
			return
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}
