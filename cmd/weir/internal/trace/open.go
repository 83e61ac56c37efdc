package trace

import (
	"fmt"
	"io"
	"strings"
)

// Open starts to read a trace. Nil options are all defaults. An input that begins like gzip is unpacked, whatever it is called.
// Where the format is to be detected Open reads from r at once, up to some 32 lines, and for CSV the header. It fails where r
// does before that, where no line tells a format, or where an option does not fit (an OptionError, which names it). An
// input of no lines, or of blank ones, is a trace of no events in any format.
func Open(r io.Reader, opts *Options) (*Reader, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	t := &Reader{raw: &counter{r: r}, keys: interner{byName: map[string]uint32{}}}
	t.lines = unpacked(t.raw)
	if err := t.choose(&o); err != nil {
		return nil, err
	}
	if option := o.columnOption(); option != "" && t.format.name != csvName {
		return nil, optionError("%s: %s has no columns to choose: must be left out", option, t.format.name)
	}
	var err error
	if t.parser, err = newParser(t.format, &o); err != nil {
		return nil, err
	}
	if h, ok := t.parser.cutter.(headed); ok {
		if err := t.readHeader(h); err != nil {
			return nil, err
		}
	}
	if t.format.sorted || o.Sort {
		if o.RunEvents == 0 {
			o.RunEvents = defaultRun
		}
		t.sort = &sorter{limit: o.RunEvents, dir: o.TempDir}
	}
	return t, nil
}

// choose sets the format to the one named, or to the one that the options ask for, or to the one detected.
func (r *Reader) choose(o *Options) (err error) {
	name := o.Format
	if name == "" || name == auto {
		if o.columnOption() == "" {
			r.format, err = detect(&r.lines)
			return err
		}
		name = csvName
	}
	for i := range formats {
		if formats[i].name == name {
			r.format = &formats[i]
			return nil
		}
	}
	return optionError("format: %q is not one of %s", name, strings.Join(Formats(), ", "))
}

// record returns the next record: a line, or several of CSV.
func (r *Reader) record() (line []byte, long bool, err error) {
	if rows, ok := r.parser.cutter.(*csvRows); ok {
		return r.lines.record(func(record []byte) bool {
			_, err := rows.read(record)
			return err == nil
		})
	}
	return r.lines.next()
}

// readHeader gives the first line that is not blank to the cutter. A trace without lines has no header, and needs none.
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
