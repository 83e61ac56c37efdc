package trace

import (
	"errors"
	"strings"
)

// enough is how many lines that are not blank decide about the format, if one of them is usable. Where none is, detect
// reads on to the first usable line, within the first MaxLine bytes.
const enough = 32

// errNoLines is the error of detect for an input without lines that are not blank. Such an input is a good one of any format.
var errNoLines = errors.New("trace: no lines")

// detected is what detect has found.
type detected struct {
	format   *format
	envelope *envelope // nil for none
}

// detect tells the format, which is one of some, and the envelope from the first lines, which stay to be read. The envelope is the one
// with which the most lines can be used, and none among equals.
//
// An input that fails behind a usable line is left to fail when it is read, after the events before.
func detect(l *lines, candidates []*format, envelopeName string) (best detected, err error) {
	best.format = candidates[0]
	if best.format.looks == nil {
		return best, nil // named, and in no envelope
	}
	var parsers []*parser
	for _, f := range candidates {
		parsers = append(parsers, detector(f))
	}
	choose := envelopeName == "" || envelopeName == auto
	var usable, all int64
	if choose || envelopeName == noEnvelope {
		var plain *format
		if plain, usable, all, err = vote(l, parsers, nil); plain != nil {
			best.format = plain
		}
	}
	for i := range envelopes {
		e := &envelopes[i]
		if e.name == envelopeName {
			best.envelope = e
		} else if !choose || err == errNoLines || usable == all && all > 0 {
			continue
		}
		f, n, _, failed := vote(l, parsers, e)
		if f != nil && (n > usable || !choose) {
			best, usable, err = detected{f, e}, n, failed
		} else if !choose {
			err = failed
		}
	}
	return best, err
}

// vote lets the first lines vote. Each votes for the first format that can use it. So a line of the combined format counts for
// combined and not for clf, which could use it too; and one line that was cut off after its Common fields does not turn a
// combined log into a Common one, in which it would pass as good. Where no line is usable, the lines vote by their looks, so that a
// trace of bad lines only is still a trace. The most votes win, the first of the formats among equals. A format that is named
// needs no votes, and no more than one line.
func vote(l *lines, parsers []*parser, e *envelope) (best *format, used, seen int64, err error) {
	usable, looks := make([]int64, len(parsers)), make([]int64, len(parsers))
	err = l.look(func(line []byte, _ int) bool {
		if isBlank(line) || len(line) > l.max {
			return true
		}
		seen++
		if e != nil {
			inner, ok := e.open(line)
			if line = inner; !ok || isBlank(line) {
				return used == 0 || seen < enough
			}
		}
		for i, p := range parsers {
			if p.parse(line, &fields{}) == "" {
				usable[i]++
				used++
				break
			}
			if p.format.looks.Match(line) {
				looks[i]++
			}
		}
		return used == 0 || seen < enough && len(parsers) > 1
	})
	winner := most(usable)
	if winner < 0 && err == nil {
		// What looks like JSON Lines is any JSON, and of another format where it looks like that too.
		if winner = most(looks[1:]) + 1; winner == 0 && looks[0] == 0 {
			winner = -1
		}
	}
	switch {
	case winner >= 0:
		return parsers[winner].format, used, seen, nil
	case err != nil:
		return nil, 0, seen, err
	case seen == 0 && l.r.Buffered() < l.r.Size():
		return nil, 0, 0, errNoLines
	case len(parsers) == 1:
		return parsers[0].format, 0, seen, nil
	case seen > 0:
		return nil, 0, seen, inputError("trace: format: cannot be told from the first lines: must be named with the option format (%s), the time column of csv, or a log format",
			strings.Join(Formats()[1:], ", "))
	}
	return nil, 0, 0, inputError("trace: format: cannot be told, must be named: no line in the first 1 MiB can be used")
}

// detector returns a parser of a format with a key that its lines have.
func detector(f *format) *parser {
	p, err := newParser(f, &Options{})
	if err != nil {
		panic(err) // a format does not have what it names itself
	}
	return p
}

// detectors returns a parser for each format that is ever detected.
func detectors() (all []*parser) {
	for i := range formats {
		if formats[i].looks != nil {
			all = append(all, detector(&formats[i]))
		}
	}
	return all
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
