package traffic

// Merge returns the arrivals of several sources as one, in time order. Of arrivals
// at the same instant, those of the source that is named first come first. It asks
// each source for one arrival ahead. When all have ended, [Err] returns the error of
// the first source that has one.
func Merge(sources ...Source) Source {
	m := &merged{sources: sources, next: make([]Arrival, len(sources))}
	for i, s := range sources {
		if a, ok := s.Next(); ok {
			m.next[i] = a
			m.heads = append(m.heads, head{a.At, i})
		}
	}
	for i := len(m.heads)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return m
}

type merged struct {
	sources []Source
	next    []Arrival // of each source
	heads   []head    // a heap: the earliest comes first
}

// head is when the next arrival of a source is.
type head struct {
	at     int64
	source int
}

func (h head) before(o head) bool { return h.at < o.at || h.at == o.at && h.source < o.source }

func (m *merged) Next() (Arrival, bool) {
	if len(m.heads) == 0 {
		return Arrival{}, false
	}
	i := m.heads[0].source
	a := m.next[i]
	if following, ok := m.sources[i].Next(); ok {
		m.next[i] = following
		m.heads[0].at = following.At
	} else {
		last := len(m.heads) - 1
		m.heads[0] = m.heads[last]
		m.heads = m.heads[:last]
	}
	m.sink(0)
	return a, true
}

// sink restores the heap below i.
func (m *merged) sink(i int) {
	h := m.heads
	if i >= len(h) {
		return
	}
	moved := h[i]
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(moved) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = moved
}

func (m *merged) Err() error {
	for _, s := range m.sources {
		if err := Err(s); err != nil {
			return err
		}
	}
	return nil
}
