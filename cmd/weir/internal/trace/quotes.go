package trace

import "bytes"

// quotes says what the quotes of a line of CSV do at its end.
type quotes uint8

const (
	quotesClosed quotes = iota // the record ends with the line
	quotesOpen                 // it goes on in the next line
	quotesBroken               // a quote stands where none may
)

// scanQuotes follows the quotes of a line, which begins inside of quotes or at the start of a field. A field is quoted if it begins with
// a quote; a quote in it is written twice; no other field may hold one (RFC 4180).
func scanQuotes(line []byte, inside bool) quotes {
	for {
		if !inside {
			field, rest, more := bytes.Cut(line, []byte(","))
			if len(field) == 0 || field[0] != '"' {
				switch {
				case bytes.IndexByte(field, '"') >= 0:
					return quotesBroken
				case !more:
					return quotesClosed
				}
				line = rest
				continue
			}
			line = line[1:]
		}
		n := bytes.IndexByte(line, '"')
		if n < 0 {
			return quotesOpen
		}
		line = line[n+1:]
		switch {
		case len(line) == 0:
			return quotesClosed
		case line[0] == '"':
			inside = true
		case line[0] == ',':
			inside = false
		default:
			return quotesBroken
		}
		line = line[1:]
	}
}

// record returns the next record of CSV, without its line end: a line, or several where a quoted field goes over their ends. A quote
// that is not closed as it must be, or not before the input ends, or not within the longest line, takes in nothing: then
// its line is returned alone, as a record that cannot be used, and the lines after it are read as usual.
func (l *lines) record() (record []byte, long bool, err error) {
	record, long, err = l.next()
	if err != nil || long || bytes.IndexByte(record, '"') < 0 || scanQuotes(record, false) != quotesOpen {
		return record, long, err
	}
	l.start = l.begin // back to before the line, to look at it together with those after it
	l.read--
	state, n := quotesClosed, 0
	err = l.look(func(line []byte) bool {
		state = scanQuotes(line, state == quotesOpen)
		n++
		return state == quotesOpen
	})
	if err != nil {
		return nil, false, err
	}
	if state != quotesClosed {
		return l.next()
	}
	record, _, _ = l.next() // cannot fail: as all of these lines, it is in the buffer, and stays where it is
	begin := l.begin
	for range n - 1 {
		record, _, _ = l.next()
	}
	l.number -= int64(n - 1)
	return l.buf[begin : l.begin+len(record)], false, nil
}
