package traffic

// Until returns the arrivals of a source that come before stop, in µs.
func Until(s Source, stop int64) Source { return &bounded{Source: s, stop: stop} }

// bounded is a source cut off at an instant.
type bounded struct {
	Source
	stop int64
	over bool
}

func (b *bounded) Next() (Arrival, bool) {
	if b.over {
		return Arrival{}, false
	}
	a, ok := b.Source.Next()
	if !ok || a.At >= b.stop {
		b.over = true
		return Arrival{}, false
	}
	return a, true
}

// Err returns why the source ended early.
func (b *bounded) Err() error { return Err(b.Source) }
