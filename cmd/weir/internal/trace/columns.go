package trace

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	reasonRowQuotes   = "a quote stands where none may, or is not closed"
	reasonRowWidth    = "the number of fields is not that of the header"
	reasonNoFields    = "there is no usable #Fields line before"
	reasonFieldsTwice = "#Fields names a field twice"
)

// columns cuts lines of values with a tab or a space between them. Their order is fixed, or that of the last line before of the form
//
//	#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem …
//
// The files of several hours may stand one behind the other, also where their fields differ. Lines that begin with # are no requests; of
// those only #Fields says anything. A field with a space in its name is two columns, with a space between.
type columns struct {
	separator string
	fixed     []string // the names; nil where they are in the log
	decoder

	wanted []string
	places [][]int // of the columns of each wanted field in a line; nil where it is absent
	width  int     // how many fields a line has; 0 while that is not known
	joined []byte  // scratch
}

func (c *columns) want(names []string) error {
	c.wanted, c.width = names, 0
	if c.fixed != nil {
		c.header(c.fixed)
	}
	for i, places := range c.places {
		if c.fixed != nil && places == nil {
			return fmt.Errorf("no %q: must be host, path, host+path, user-agent, or a field: %s", names[i], strings.Join(c.fixed, ", "))
		}
	}
	return nil
}

func (c *columns) cut(line []byte, values [][]byte) (reason string) {
	if line[0] == '#' && c.fixed == nil {
		if names, ok := bytes.CutPrefix(line, []byte("#Fields:")); ok {
			return c.header(strings.Fields(string(names)))
		}
		return isHeader
	}
	if c.width == 0 {
		return reasonNoFields
	}
	row := bytes.Split(line, []byte(c.separator))
	if len(row) != c.width {
		return reasonRowWidth
	}
	for i, places := range c.places {
		switch len(places) {
		case 1:
			values[i] = row[places[0]]
		case 2:
			c.joined = append(append(append(c.joined[:0], row[places[0]]...), ' '), row[places[1]]...)
			values[i] = c.joined
		}
	}
	return ""
}

// header takes the names of the fields. Where they cannot be used, neither can the lines after it.
func (c *columns) header(names []string) (reason string) {
	c.width, c.places = 0, make([][]int, len(c.wanted))
	for i, wanted := range c.wanted {
		for _, name := range strings.Split(wanted, " ") {
			place := slices.Index(names, name)
			if place < 0 {
				c.places[i] = nil
				break
			}
			if slices.Contains(names[place+1:], name) {
				return reasonFieldsTwice
			}
			c.places[i] = append(c.places[i], place)
		}
	}
	c.width = len(names)
	return isHeader
}

// csvRows cuts records of CSV (RFC 4180): a header that names the columns, then one event a record, with as many fields. Nothing is
// trimmed: a space beside a comma is part of the field.
type csvRows struct {
	decoder
	options []string // that name the first of the wanted; the key is made of the others
	wanted  []string
	places  []int
	width   int
	reader  *csv.Reader  // of source
	source  bytes.Reader // one record
	record  []byte       // what source reads
	values  []byte       // what the values are in
}

func (c *csvRows) want(names []string) error {
	c.wanted = names
	return nil
}

func (c *csvRows) cut(record []byte, values [][]byte) (reason string) {
	row, err := c.read(record)
	if err != nil {
		return reasonRowQuotes
	}
	if len(row) != c.width {
		return reasonRowWidth
	}
	c.values = c.values[:0]
	for i, place := range c.places {
		start := len(c.values)
		c.values = append(c.values, row[place]...)
		values[i] = c.values[start:len(c.values):len(c.values)]
	}
	return ""
}

// read leaves a record to encoding/csv. The reader is used again, for it is costly to make; not after an error, when it
// may hold the rest of the record.
func (c *csvRows) read(record []byte) (row []string, err error) {
	if c.reader == nil {
		c.reader = csv.NewReader(&c.source)
		c.reader.FieldsPerRecord = -1
		c.reader.ReuseRecord = true
	}
	c.record = append(append(c.record[:0], record...), '\n') // with an end, so that it does not look for more
	c.source.Reset(c.record)
	if row, err = c.reader.Read(); err != nil {
		c.reader = nil
	}
	return row, err
}

// header finds the columns. Names are compared exactly.
func (c *csvRows) header(record []byte) error {
	names, err := c.read(record)
	if err != nil {
		return inputError("trace: csv: the header cannot be read: %s", reasonRowQuotes)
	}
	c.width = len(names)
	c.places = make([]int, len(c.wanted))
	for i, name := range c.wanted {
		option := "key"
		if i < len(c.options) {
			option = c.options[i]
		}
		place := slices.Index(names, name)
		switch {
		case name == "":
			return optionError(option, "must be named: the header has %s", listColumns(names))
		case place < 0:
			return optionError(option, "the header has no %q: it has %s", name, listColumns(names))
		case slices.Contains(names[place+1:], name):
			return optionError(option, "the header has %q twice: it has %s", name, listColumns(names))
		}
		c.places[i] = place
	}
	return nil
}

const (
	maxColumnsShown = 50
	maxColumnShown  = 50 // bytes of its name
)

// listColumns lists the columns of a header for an error: quoted, so that a space in a name shows, and not without end.
func listColumns(names []string) string {
	var shown []string
	for i, name := range names {
		if i == maxColumnsShown {
			shown = append(shown, fmt.Sprintf("… (%d columns)", len(names)))
			break
		}
		if len(name) > maxColumnShown {
			name = name[:maxColumnShown] + "…"
		}
		shown = append(shown, strconv.Quote(name))
	}
	return strings.Join(shown, ", ")
}
