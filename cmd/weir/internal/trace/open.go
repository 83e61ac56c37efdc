package trace

import (
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
	t := &Reader{input: &input{raw: counter{r: r}}, keys: interner{byName: map[string]uint32{}}}
	t.lines = newLines(t.input, MaxLine)
	if err := t.choose(&o); err != nil {
		return nil, err
	}
	if err := o.checkFor(t.format); err != nil {
		return nil, err
	}
	t.parser = t.format.parser(&o)
	if h, ok := t.parser.(headed); ok {
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
			r.format, err = detect(&r.lines, o.Key)
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
	if r.format.records {
		return r.lines.record()
	}
	return r.lines.next()
}
