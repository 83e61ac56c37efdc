package traffic

// Until returns the arrivals of a source that come before stop, in µs.
func Until(s Source, stop int64) Source { return &bounded{Source: s, stop: stop, left: -1} }

// Take returns the first n arrivals of a source; none where n is below 1.
func Take(s Source, n int64) Source { return &bounded{Source: s, stop: maxAt + 1, left: max(n, 0)} }

// bounded is a source cut off at an instant or after a number of arrivals. A left
// below 0 is no bound.
type bounded struct {
	Source
	stop, left int64
}

func (b *bounded) Next() (Arrival, bool) {
	if b.left == 0 {
		return Arrival{}, false
	}
	a, ok := b.Source.Next()
	if !ok || a.At >= b.stop {
		b.left = 0
		return Arrival{}, false
	}
	if b.left > 0 {
		b.left--
	}
	return a, true
}

// Err returns why the source ended early.
func (b *bounded) Err() error { return Err(b.Source) }
