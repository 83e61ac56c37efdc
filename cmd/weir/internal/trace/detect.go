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
// the first of the table among equals. The key matters only to a trace without lines.
func detect(l *lines, k Key) (*format, error) {
	parsers := make([]parser, len(formats))
	for i := range formats {
		parsers[i] = formats[i].parser(KeyDefault)
	}
	usable, looks := make([]int, len(formats)), make([]int, len(formats))
	seen, found := 0, false
	var first string // why no format can use the first line
	err := l.look(func(line []byte) bool {
		if isBlank(line) || len(line) > l.max {
			return true
		}
		seen++
		reasons, used := make([]string, 0, len(formats)), false
		for i := range formats {
			var f fields
			reason := parsers[i].parse(line, &f)
			if reason == "" {
				usable[i]++
				used = true
				break
			}
			reasons = append(reasons, formats[i].name+": "+reason)
			if formats[i].looks(line) {
				looks[i]++
			}
		}
		found = found || used
		if seen == 1 {
			first = strings.Join(reasons, "; ")
		}
		return seen < enough || !found
	})
	if err != nil {
		return nil, err
	}
	best := most(usable)
	if usable[best] == 0 {
		best = most(looks)
	}
	if usable[best] > 0 || looks[best] > 0 {
		return &formats[best], nil
	}
	if seen > 0 {
		return nil, fmt.Errorf("trace: format: cannot be told from the first lines, please name it (first line: %s)", first)
	}
	if l.err == nil { // the input goes on after a full buffer
		return nil, errors.New("trace: format: cannot be told, please name it: no line in the first 1 MiB can be used")
	}
	return emptyFormat(k), nil
}

// emptyFormat is the format of a trace without lines: any that has the key, so that an empty log is not an error.
func emptyFormat(k Key) *format {
	for i := range formats {
		if hasKey(&formats[i], k) {
			return &formats[i]
		}
	}
	return &formats[0] // an unknown Key, which Open refuses
}

func most(votes []int) (best int) {
	for i, n := range votes {
		if n > votes[best] {
			best = i
		}
	}
	return best
}
