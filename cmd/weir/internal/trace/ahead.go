package trace

import "sync"

const (
	batchEvents = 512
	batches     = 3 // one with the consumer, one ready, one being filled
)

// Ahead reads a trace in a goroutine of its own, a little ahead of its consumer, so that reading and deciding take the
// time of the slower of the two and not of their sum, where there are two processors. The events are those of the reader, in
// the same order; those of a pipe come by the batch of 512. Next and Close are for one goroutine.
type Ahead struct {
	reader *Reader
	full   chan batch
	free   chan []Event
	stop   chan struct{}
	done   sync.WaitGroup
	batch  batch
	taken  int // events of batch.events that were returned
}

// batch is a number of events, and how the trace ended after them, or nil.
type batch struct {
	events []Event
	err    error
}

// NewAhead starts to read. The reader belongs to it until Next has returned an error or Close was called: only then may the other
// methods of the reader be called again. BytesRead may be called at any time.
func NewAhead(r *Reader) *Ahead {
	a := &Ahead{
		reader: r,
		full:   make(chan batch, batches),
		free:   make(chan []Event, batches),
		stop:   make(chan struct{}),
	}
	for range batches {
		a.free <- make([]Event, 0, batchEvents)
	}
	a.done.Go(a.fill)
	return a
}

// Next returns what Reader.Next would.
func (a *Ahead) Next() (Event, error) {
	for a.taken == len(a.batch.events) {
		if a.batch.err != nil {
			return Event{}, a.batch.err
		}
		if a.batch.events != nil {
			a.free <- a.batch.events[:0] // never blocks: there are no more batches than room
		}
		a.batch = <-a.full
		a.taken = 0
	}
	a.taken++
	return a.batch.events[a.taken-1], nil
}

// Close stops the goroutine and closes the reader, as Reader.Close does. It waits for a read of the input that is under way. It
// may always be called, and more than once.
func (a *Ahead) Close() error {
	select {
	case <-a.stop:
	default:
		close(a.stop)
	}
	a.done.Wait()
	if a.batch.err == nil || a.taken < len(a.batch.events) {
		a.batch, a.taken = batch{err: errClosed}, 0
	}
	return a.reader.Close()
}

func (a *Ahead) fill() {
	for {
		var b batch
		select {
		case <-a.stop:
			return
		case b.events = <-a.free:
		}
		for b.err == nil && len(b.events) < cap(b.events) {
			var e Event
			if e, b.err = a.reader.Next(); b.err == nil {
				b.events = append(b.events, e)
			}
		}
		a.full <- b // never blocks; after an error the reader is not touched again
		if b.err != nil {
			return
		}
	}
}
