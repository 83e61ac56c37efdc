package trace

import "sync"

const (
	batchEvents = 512
	batches     = 2 // that wait: one more is with the consumer, and one is being filled
)

// Ahead reads a trace in a goroutine of its own, a little ahead of its consumer, so that reading and deciding take the
// time of the slower of the two and not of their sum, where there are two processors. The events are those of the reader, in
// the same order; those of a pipe come by the batch of 512. Next and Close are for one goroutine.
type Ahead struct {
	reader *Reader
	full   chan batch
	stop   chan struct{}
	done   sync.WaitGroup
	batch  batch // without the events that were returned
}

// batch is a number of events, and how the trace ended after them, or nil.
type batch struct {
	events []Event
	err    error
}

// NewAhead starts to read. The reader belongs to it until Next has returned an error or Close was called: only then may the other
// methods of the reader be called again. BytesRead may be called at any time.
func NewAhead(r *Reader) *Ahead {
	a := &Ahead{reader: r, full: make(chan batch, batches), stop: make(chan struct{})}
	a.done.Go(a.fill)
	return a
}

// Next returns what Reader.Next would.
func (a *Ahead) Next() (e Event, err error) {
	for len(a.batch.events) == 0 {
		if a.batch.err != nil {
			return Event{}, a.batch.err
		}
		a.batch = <-a.full
	}
	e, a.batch.events = a.batch.events[0], a.batch.events[1:]
	return e, nil
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
	if a.batch.err == nil || len(a.batch.events) > 0 {
		a.batch = batch{err: errClosed}
	}
	return a.reader.Close()
}

func (a *Ahead) fill() {
	for {
		b := batch{events: make([]Event, 0, batchEvents)}
		for b.err == nil && len(b.events) < batchEvents {
			var e Event
			if e, b.err = a.reader.Next(); b.err == nil {
				b.events = append(b.events, e)
			}
		}
		select {
		case <-a.stop:
			return
		case a.full <- b:
		}
		if b.err != nil {
			return // the reader is not touched again
		}
	}
}
