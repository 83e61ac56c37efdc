package traffic

// Arrival is one request before anyone has decided on it.
type Arrival struct {
	At   int64  // µs since the start of the simulation
	Key  string // what is limited
	Cost int64  // units, from 0
}

// Source yields arrivals in time order: At never goes back. It works them out one
// at a time and stores none. One goroutine may use it at a time.
type Source interface {
	// Next returns the next arrival, or false when there are no more; then it
	// returns false forever. A source that can fail has an Err method too: see
	// [Err].
	Next() (Arrival, bool)
}

// Err returns why a source ended early, or nil where it ended by itself or has
// not ended. Only a trace can fail, which is read from outside, and what is built on
// one.
func Err(s Source) error {
	if f, ok := s.(interface{ Err() error }); ok {
		return f.Err()
	}
	return nil
}

// maxAt is the latest instant of an arrival, 2^53 − 1 µs. A source ends before it
// would pass it.
const maxAt int64 = 1<<53 - 1
