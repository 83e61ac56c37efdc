package trace

import (
	"errors"
	"fmt"
	"strings"
)

// enough is how many lines that are not blank decide about the format, if one of them is usable. Where none is, detect
// reads on to the first usable line, within the first MaxLine bytes.
const enough = 32

// detect tells the format from the first lines, which stay to be read. Each line votes for the first format of the table
// that can use it. So a line of the combined format counts for combined and not for clf, which could use it too; and one line
// that was cut off after its Common fields does not turn a combined log into a Common one, in which it would pass as good. Where
// no line is usable, the lines vote by their looks, so that a trace of bad lines only is still a trace. The most votes win,
// the first of the table among equals.
//
// An input that fails behind a usable line is left to fail when it is read, after the events before.
func detect(l *lines) (*format, error) {
	parsers := detectors()
	usable, looks := make([]int64, len(formats)), make([]int64, len(formats))
	seen, found := 0, false
	err := l.look(func(line []byte, _ int) bool {
		if isBlank(line) || len(line) > l.max {
			return true
		}
		seen++
		for i, p := range parsers {
			if p != nil && p.parse(line, &fields{}) == "" {
				usable[i]++
				found = true
				break
			}
			if p != nil && formats[i].looks(line) {
				looks[i]++
			}
		}
		return seen < enough || !found
	})
	best := most(usable)
	if best < 0 {
		best = most(looks)
	}
	switch {
	case found:
		return &formats[best], nil
	case err != nil:
		return nil, err
	case best >= 0:
		return &formats[best], nil
	case seen > 0:
		return nil, fmt.Errorf("trace: format: cannot be told from the first lines, please name it: %s; csv needs the name of its time column",
			strings.Join(Formats()[1:], ", "))
	case l.r.Buffered() == l.r.Size():
		return nil, errors.New("trace: format: cannot be told, please name it: no line in the first 1 MiB can be used")
	}
	return &formats[0], nil // no lines: they are good ones of any format
}

// detectors returns a parser for each format, with the default key; nil for a format that is never detected.
func detectors() []*parser {
	parsers := make([]*parser, len(formats))
	for i := range formats {
		if formats[i].looks == nil {
			continue
		}
		p, err := newParser(&formats[i], &Options{})
		if err != nil {
			panic(err) // a format of the table does not have what it names
		}
		parsers[i] = p
	}
	return parsers
}

// most returns the index of the most votes, the first among equals, and -1 where there are none.
func most(votes []int64) (best int) {
	best = -1
	var votesOfBest int64
	for i, n := range votes {
		if n > votesOfBest {
			best, votesOfBest = i, n
		}
	}
	return best
}
