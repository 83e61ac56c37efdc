package trace

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// headed is a parser of a format whose first line that is not blank is a header. It is given that line before all others, and
// returns an error where the trace cannot be read with it.
type headed interface {
	header(line []byte) error
}

// readHeader gives the first line that is not blank to the parser. A trace without lines has no header, and needs none.
func (r *Reader) readHeader(h headed) error {
	for {
		line, long, err := r.record()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		r.counts.Lines++
		if long {
			return fmt.Errorf("trace: %s: the header cannot be read: %s", r.format.name, reasonTooLong)
		}
		if !isBlank(line) {
			r.counts.Headers++
			return h.header(line)
		}
		r.counts.Skipped++
	}
}

// header finds the columns. Names are compared exactly.
func (c *csvRows) header(record []byte) error {
	names, err := c.read(record)
	if err != nil {
		return fmt.Errorf("trace: csv: the header cannot be read: %s", reasonRowQuotes)
	}
	c.width = len(names)
	if c.time.name == "" {
		return optionError("time column: must be named: the header has %s", listColumns(names))
	}
	for _, column := range []*column{&c.time, &c.key, &c.cost} {
		if err := column.find(names); err != nil {
			return err
		}
	}
	return nil
}

// find finds the place of a column in the header.
func (c *column) find(names []string) error {
	c.place = -1
	if c.name == "" {
		return nil
	}
	for i, name := range names {
		if name != c.name {
			continue
		}
		if c.place >= 0 {
			return optionError("%s: the header has %q twice: it has %s", c.option, c.name, listColumns(names))
		}
		c.place = i
	}
	if c.place < 0 {
		return optionError("%s: the header has no %q: it has %s", c.option, c.name, listColumns(names))
	}
	return nil
}

const (
	maxColumnsShown = 50
	maxColumnShown  = 50 // bytes of its name
)

// listColumns lists the columns of a header for an error: quoted, so that a space in a name shows, and not without end.
func listColumns(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == maxColumnsShown {
			fmt.Fprintf(&b, "… (%d columns)", len(names))
			break
		}
		if len(name) > maxColumnShown {
			name = name[:maxColumnShown] + "…"
		}
		b.WriteString(strconv.Quote(name))
	}
	return b.String()
}
