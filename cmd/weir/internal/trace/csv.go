package trace

import (
	"bytes"
	"encoding/csv"
	"strconv"
)

// csvRows reads CSV: a header that names the columns, then one event a record. Fields are separated by commas and may be
// quoted (RFC 4180); a quoted field may hold line ends. The header must be there. Which columns are read is said in
// Options; all others are ignored.
//
//   - The time is a date, as parseStamp reads it, or a number of seconds, in digits or with a point. With TimeUnit it is such a
//     number of that unit, and no date. It is cut down to whole µs, from its text and not through a float.
//   - The key is any text that is not empty. Without KeyColumn all events have the key "all".
//   - The cost is written in digits: a fraction or an exponent is refused even where the value is whole. Without CostColumn
//     it is 1.
//
// A record has as many fields as the header. Nothing is trimmed: a space beside a comma is part of the field.
type csvRows struct {
	time, key, cost column
	width           int          // fields of a record
	shift           int          // of the unit of time, for decimalMicros
	numbers         bool         // whether the time cannot be a date
	reader          *csv.Reader  // of source
	source          bytes.Reader // one record
	text            []byte       // what source reads
}

// column is a column that is read.
type column struct {
	option string // whose name it has, for errors
	name   string // in the header; "" where it is not wanted
	place  int    // in a record; -1 where it is not wanted
	value  []byte // of the current record
}

const (
	reasonRowQuotes = "a quote stands where none may, or is not closed"
	reasonRowWidth  = "the number of fields is not that of the header"
	reasonRowTime   = "the time is neither a date such as 2006-01-02T15:04:05.9Z nor a decimal number of seconds"
	reasonRowNumber = "the time is not a decimal number"
)

var allKey = []byte("all")

// timeUnits are the units that Options.TimeUnit knows, as powers of ten of a µs.
var timeUnits = map[string]int{"": 6, "s": 6, "ms": 3, "us": 0, "ns": -3}

func newCSV(o *Options) *csvRows {
	return &csvRows{
		time:    column{option: "time column", name: o.TimeColumn},
		key:     column{option: "key column", name: o.KeyColumn},
		cost:    column{option: "cost column", name: o.CostColumn},
		shift:   timeUnits[o.TimeUnit],
		numbers: o.TimeUnit != "",
	}
}

func (c *csvRows) parse(record []byte, f *fields) (reason string) {
	if bytes.IndexByte(record, '"') < 0 {
		reason = c.split(record)
	} else {
		reason = c.unquote(record)
	}
	if reason != "" {
		return reason
	}
	if f.at, reason = c.at(c.time.value); reason != "" {
		return reason
	}
	f.key, f.cost = allKey, 1
	if c.key.place >= 0 {
		if f.key = c.key.value; len(f.key) == 0 {
			return reasonKeyEmpty
		}
	}
	if c.cost.place >= 0 {
		f.cost, reason = parseCost(c.cost.value)
	}
	return reason
}

// split finds the values of a record without quotes.
func (c *csvRows) split(record []byte) (reason string) {
	n := 0
	for more := true; more; n++ {
		var value []byte
		value, record, more = bytes.Cut(record, []byte(","))
		if n == c.time.place {
			c.time.value = value
		}
		if n == c.key.place {
			c.key.value = value
		}
		if n == c.cost.place {
			c.cost.value = value
		}
	}
	if n != c.width {
		return reasonRowWidth
	}
	return ""
}

// unquote finds the values of any record.
func (c *csvRows) unquote(record []byte) (reason string) {
	row, err := c.read(record)
	if err != nil {
		return reasonRowQuotes
	}
	if len(row) != c.width {
		return reasonRowWidth
	}
	for _, column := range []*column{&c.time, &c.key, &c.cost} {
		if column.place >= 0 {
			column.value = []byte(row[column.place])
		}
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
	c.text = append(append(c.text[:0], record...), '\n') // with an end, so that it does not look for more
	c.source.Reset(c.text)
	if row, err = c.reader.Read(); err != nil {
		c.reader = nil
	}
	return row, err
}

func (c *csvRows) at(text []byte) (at int64, reason string) {
	if !c.numbers && looksStamp(text) {
		e, reason := parseStamp(text)
		if reason != "" {
			return 0, reason
		}
		return e.at()
	}
	at, ok := decimalMicros(text, c.shift)
	switch {
	case !ok && c.numbers:
		return 0, reasonRowNumber
	case !ok:
		return 0, reasonRowTime
	case at > MaxAt:
		return 0, reasonLate
	}
	return at, ""
}

// parseCost reads a cost, which is written in digits.
func parseCost(text []byte) (cost int64, reason string) {
	n := passDigits(text, 0)
	switch {
	case len(text) > 1 && text[0] == '-' && passDigits(text, 1) > 1:
		return 0, reasonCostNegative
	case n == 0:
		return 0, reasonCostKind
	case n < len(text) && (text[n] == '.' || text[n]|0x20 == 'e'):
		return 0, reasonCostFraction
	case n < len(text):
		return 0, reasonCostKind
	}
	cost, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, reasonCostLarge
	}
	return cost, ""
}
