// Package trace reads request traces, such as access logs, as a stream of events to be decided again.
//
// # Formats
//
// The table in format.go has the formats: how a line is cut into fields, and which fields are the time, the client, the path and the user
// agent. Any of them may be compressed by gzip, in one member or several, and stand in the lines of a log daemon or a container
// runtime, see [Envelopes]. Options.LogFormat describes one more.
//
// # Time
//
// The time of an event is when its request began, as well as the log can tell. Where a log has the end and how long the request took, the
// difference is exact. A Common or Combined log of nginx has the end only. All times are cut down to whole µs, from the text and not
// through a float.
//
// # Order
//
// JSON Lines come in the order of the file: their time is what a clock showed, and a clock may go back. Log lines are
// written when a request ends, so that they are out of order by nature: they come sorted by time, as do those of CSV, and lines
// of one time in the order of the file. The sort spills to a temporary file where the trace is long. So memory grows with the
// number of distinct keys, not with the number of events.
//
// # Lines
//
// A line that cannot be used is never an error and never silent: it is counted, and the first ten are kept with
// number and reason. A line ends in LF or CRLF, or at the end of the input. A byte order mark at the very start is
// dropped. A line of nothing but spaces, tabs and carriage returns is skipped, and counted as skipped. A line longer
// than [MaxLine] is a bad line; the lines after it are read as usual. A record of CSV over several lines is one line here,
// with the number of its first.
//
// Where most lines are bad, or bad lines are good ones of another format, [Reader.Misfit] says so.
package trace

import (
	"errors"
	"io"
)

const (
	// MaxAt is the latest usable instant, in µs since the Unix epoch (in the year 2191).
	MaxAt = 7_000_000_000_000_000

	// MaxLine is the length of the longest usable line in bytes, its line end not counted.
	MaxLine = 1 << 20

	// MaxBadShown is how many bad lines are kept to be shown.
	MaxBadShown = 10
)

// Event is one request of a trace.
type Event struct {
	At   int64  // µs since the Unix epoch, 0 to MaxAt
	Key  string // whom the request counts against: never empty, any bytes; equal keys share one string
	Cost int64  // units asked for, 0 or more; always 1 in an access log; with Options.SettleColumn those to reserve

	// Both are 0 without Options.SettleColumn.
	End    int64 // µs since the Unix epoch, At to MaxAt: when the request ended; At where the trace does not tell
	Actual int64 // units that it cost in the end, 0 or more

	// KeyIndex numbers the distinct keys 0, 1, 2, … in the order of their first usable line, so that a caller can keep
	// what it knows about a key in a slice and save a map look-up per event. In a sorted trace the numbers of keys
	// still follow the file.
	KeyIndex int
}

// Counts says what became of the lines of a trace. Lines = Events + Bad + Skipped + Headers.
type Counts struct {
	Lines   int64 // all lines, also those too long to be read; a record of CSV is one line
	Events  int64 // usable lines
	Bad     int64 // lines that cannot be used
	Skipped int64 // blank lines
	Headers int64 // lines that are no requests by their format: the header of CSV, the lines of CloudFront that begin with #
	Keys    int   // distinct keys

	// OutOfOrder counts the events that are earlier than the event directly before them in the file, bad and blank
	// lines left aside. It tells how far a file is from sorted, whether or not it was sorted then.
	OutOfOrder int64
}

// BadLine is a line that cannot be used.
type BadLine struct {
	Input  string // its name, where there are several
	Number int64  // the first line of the input is 1, whatever lines are
	Text   string // how the line begins, without anything that would disturb a terminal
	Reason string // what is wrong with it; without any text of the line
}

// Reader reads the events of one trace. It is made by [Open] and is for one goroutine at a time, except for BytesRead.
type Reader struct {
	inputs   []Input // that were not opened
	several  bool    // whether there were more than one
	name     string  // of the input that is read
	closer   io.Closer
	format   *format
	envelope *envelope // nil for none
	raw      *counter
	lines    lines
	parser   *parser
	fields   fields // here because it would escape to the heap once per line as a variable
	keys     interner
	sort     *sorter // nil where events come in the order of the file

	counts           Counts
	bad              []BadLine
	others           others
	last             int64  // the time of the last usable event; 0, which no event precedes, before the first
	unit             string // of time that the first bad line would need; "" for none
	earliest, latest moment
	before           Counts // the input that is read
	unusable         []string
	err              error // the end, or what went wrong: stays
}

var errClosed = errors.New("trace: the reader is closed")

// Next returns the next event, and io.EOF after the last. Any other error means that the input could not be read on, or
// that the temporary file of the sort failed; it stays. Where the trace is sorted, the first call reads all of the
// input. Next allocates for a key that it sees for the first time, for a key with escapes in it, for the client of an
// access log, and for a record of CSV.
func (r *Reader) Next() (Event, error) {
	if r.err != nil {
		return Event{}, r.err
	}
	var rec record
	var err error
	if r.sort == nil {
		rec, err = r.read()
	} else {
		rec, err = r.nextSorted()
	}
	if err != nil {
		r.stop(err)
		return Event{}, r.err
	}
	return Event{At: rec.at, Key: r.keys.names[rec.key], Cost: rec.cost, End: rec.end, Actual: rec.actual, KeyIndex: int(rec.key)}, nil
}

func (r *Reader) nextSorted() (record, error) {
	for !r.sort.finished {
		rec, err := r.read()
		if err == io.EOF {
			err = r.sort.finish()
		} else if err == nil {
			err = r.sort.add(rec)
		}
		if err != nil {
			return record{}, err
		}
	}
	return r.sort.next()
}

// read returns the next usable line in the order of the file.
func (r *Reader) read() (record, error) {
	f := &r.fields
	for {
		line, long, err := r.record()
		if err == io.EOF {
			r.endInput()
		}
		if err == io.EOF && len(r.inputs) > 0 {
			if err := r.changeInput(); err != nil {
				return record{}, err
			}
			continue
		}
		if err == io.EOF {
			if err := r.parser.checkMembers(); err != nil {
				return record{}, err
			}
		}
		if err != nil {
			return record{}, r.inInput(err)
		}
		r.counts.Lines++
		if long {
			r.addBad(line, reasonTooLong)
			continue
		}
		if r.envelope != nil && !isBlank(line) {
			inner, ok := r.envelope.open(line)
			if !ok {
				r.addBad(line, reasonEnvelope)
				continue
			}
			line = inner
		}
		if isBlank(line) {
			r.counts.Skipped++
			continue
		}
		if reason := r.parser.parse(line, f); reason != "" {
			if reason == isHeader {
				r.counts.Headers++
			} else {
				r.addBad(line, reason)
			}
			continue
		}
		key, err := r.keys.index(f.key)
		if err != nil {
			return record{}, err
		}
		r.counts.Events++
		if f.at < r.last {
			r.counts.OutOfOrder++
		}
		r.last = f.at
		if r.counts.Events == 1 || f.at < r.earliest.at {
			r.earliest = moment{f.at, r.lines.number}
		}
		if f.at > r.latest.at {
			r.latest = moment{f.at, r.lines.number}
		}
		return record{at: f.at, cost: f.cost, end: f.end, actual: f.actual, key: key}, nil
	}
}

// Unusable returns the names of the inputs of which lines were read and none could be used.
func (r *Reader) Unusable() []string { return r.unusable }

// endInput notes what became of an input.
func (r *Reader) endInput() {
	if r.counts.Bad > r.before.Bad && r.counts.Events == r.before.Events {
		r.unusable = append(r.unusable, r.name)
	}
	r.before = r.counts
}

// changeInput goes to the next input. Nothing that the last one said about its lines counts there.
func (r *Reader) changeInput() error {
	if err := r.nextInput(); err != nil {
		return err
	}
	r.last = 0
	if err := r.parser.cutter.want(r.parser.names); err != nil {
		return err
	}
	return r.inInput(r.readHeader())
}

// reasonEnvelope is why a line cannot be used of which the lines before it have an envelope.
const reasonEnvelope = "what a log daemon or a container runtime wrote around the first lines is missing"

func (r *Reader) addBad(line []byte, reason string) {
	if reason == reasonLate && r.format.name == csvName && r.counts.Bad == 0 {
		r.unit = unitOf(r.parser.values[0])
	}
	r.counts.Bad++
	bad := func() BadLine {
		b := BadLine{Number: r.lines.number, Text: display(line), Reason: reason}
		if r.several {
			b.Input = r.name
		}
		return b
	}
	if len(r.bad) < MaxBadShown {
		r.bad = append(r.bad, bad())
	}
	if reason != reasonTooLong { // of which only the beginning is here
		r.others.see(line, r.format, bad)
	}
}

// Counts returns what was read so far. It is complete once Next has returned io.EOF; where the trace is sorted, as soon
// as Next has returned at all.
func (r *Reader) Counts() Counts {
	c := r.counts
	c.Keys = len(r.keys.names)
	return c
}

// Bad returns how many lines could not be used so far, and the first MaxBadShown of them.
func (r *Reader) Bad() (count int64, first []BadLine) { return r.counts.Bad, r.bad }

// Format returns the name of the format that is read: that which was asked for, or detected.
func (r *Reader) Format() string { return r.format.name }

// BytesRead returns how much of the input was read: of a compressed one, before it is unpacked. Measured against the size of a file
// it shows how far the reading is; events may be behind it by a buffer, and sorted events wait for all of it. It may be
// called from any goroutine at any time.
func (r *Reader) BytesRead() int64 { return r.raw.bytes.Load() }

// Envelope returns the name of what stands around each line, or "".
func (r *Reader) Envelope() string {
	if r.envelope == nil {
		return ""
	}
	return r.envelope.name
}

// Sorted reports whether the events come sorted by time and not in the order of the file.
func (r *Reader) Sorted() bool { return r.sort != nil }

// Close closes the input that is read, and removes the temporary file of the sort. Close is needed only where
// Next has not returned an error, io.EOF included; it may always be called, and more than once.
func (r *Reader) Close() error {
	r.closeInput()
	err := r.closeSort()
	if r.err == nil {
		r.err = errClosed
	}
	return err
}

// stop ends the reading for good. Nothing of the trace is lost where a file that was read to its end cannot be closed,
// yet a temporary file that stays on the disk should be known: so it is part of the error, unless that is io.EOF.
func (r *Reader) stop(err error) {
	r.closeInput()
	if closeErr := r.closeSort(); closeErr != nil && err != io.EOF {
		err = errors.Join(err, closeErr)
	}
	r.err = err
}

func (r *Reader) closeSort() error {
	if r.sort == nil {
		return nil
	}
	return r.sort.close()
}
