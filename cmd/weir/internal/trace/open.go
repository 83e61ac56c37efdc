package trace

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Input is a part of a trace, such as one of several rotated logs.
type Input struct {
	Name string // for errors and bad lines; "" in none
	Open func() (io.ReadCloser, error)
}

// Open reads a trace of one input, which stays open. See OpenAll.
func Open(r io.Reader, opts *Options) (*Reader, error) {
	return OpenAll([]Input{{Open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}}, opts)
}

// OpenAll starts to read a trace of some inputs, which are opened one after the other and closed when they were read. Events of
// several inputs come sorted by time, those of one time in the order of the inputs. Nil options are all defaults. An input that begins
// like gzip is unpacked, whatever it is called.
//
// Where the format is to be detected, OpenAll reads from the first input that is not blank, up to some 32 lines, and for CSV the
// header. It fails where that fails, where no line tells a format, or where an option does not fit (an OptionError, which
// names it). A trace of no lines, or of blank ones, is one of no events in any format.
func OpenAll(inputs []Input, opts *Options) (*Reader, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &Reader{inputs: inputs, several: len(inputs) > 1, raw: &counter{}, keys: interner{byName: map[string]uint32{}}}
	err := r.open(&o)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Reader) open(o *Options) error {
	candidates, err := o.candidates()
	if err != nil {
		return err
	}
	if err := r.nextInput(); err != nil {
		return err
	}
	found, err := detect(&r.lines, candidates, o.Envelope)
	for err == errNoLines && len(r.inputs) > 0 {
		if err := r.skipInput(); err != nil {
			return err
		}
		found, err = detect(&r.lines, candidates, o.Envelope)
	}
	if err != nil && err != errNoLines {
		return r.inInput(err)
	}
	r.format, r.envelope = found.format, found.envelope
	if option := o.columnOption(); option != "" && r.format.name != csvName {
		return optionError(option, "%s has no columns to choose: must be left out", r.format.name)
	}
	if err := o.checkSettlement(r.format); err != nil {
		return err
	}
	if r.parser, err = newParser(r.format, o); err != nil {
		return err
	}
	if err := r.readHeader(); err != nil {
		return r.inInput(err)
	}
	if r.format.sorted || o.Sort || r.several {
		r.sort = &sorter{limit: o.RunEvents, dir: o.TempDir}
	}
	return nil
}

// candidates returns the formats that the trace may have.
func (o *Options) candidates() ([]*format, error) {
	if o.LogFormat != "" {
		if o.Format != "" && o.Format != auto {
			return nil, optionError("log format", "must be left out with the format %s", o.Format)
		}
		f, err := logFormat(o)
		return []*format{f}, err
	}
	name := o.Format
	if (name == "" || name == auto) && o.columnOption() != "" {
		name = csvName
	}
	var all []*format
	for i := range formats {
		f := &formats[i]
		if name == f.name || (name == "" || name == auto) && f.looks != nil {
			all = append(all, f)
		}
	}
	if all == nil {
		return nil, optionError("format", "%q is not one of %s", name, strings.Join(Formats(), ", "))
	}
	return all, nil
}

// nextInput goes to the next input.
func (r *Reader) nextInput() error {
	r.closeInput()
	in := r.inputs[0]
	r.inputs, r.name = r.inputs[1:], in.Name
	opened, err := in.Open()
	if err != nil {
		return err
	}
	r.closer, r.raw.r, r.raw.err = opened, opened, nil
	if r.lines, err = unpacked(r.raw); err != nil {
		return r.inInput(err)
	}
	return nil
}

// skipInput counts the blank lines of an input, and goes to the next.
func (r *Reader) skipInput() error {
	for {
		_, _, err := r.lines.next()
		if err == io.EOF {
			return r.nextInput()
		}
		if err != nil {
			return r.inInput(err)
		}
		r.counts.Lines++
		r.counts.Skipped++
	}
}

// inInput names the input in an error.
func (r *Reader) inInput(err error) error {
	if r.name == "" || err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("%s: %w", r.name, err)
}

// closeInput closes the input. Nothing is lost where a file that was read cannot be closed.
func (r *Reader) closeInput() {
	if r.closer != nil {
		_ = r.closer.Close()
		r.closer = nil
	}
}

// record returns the next record of the input: a line, or several of CSV.
func (r *Reader) record() (line []byte, long bool, err error) {
	if rows, ok := r.parser.cutter.(*csvRows); ok {
		return r.lines.record(func(record []byte) bool {
			_, err := rows.read(record)
			return err == nil
		})
	}
	return r.lines.next()
}

// readHeader gives the first line of the input that is not blank to a cutter that wants a header. An input without lines has no header,
// and needs none.
func (r *Reader) readHeader() error {
	cutter, ok := r.parser.cutter.(headed)
	for ok {
		line, long, err := r.record()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		r.counts.Lines++
		if long {
			return inputError("trace: %s: the header cannot be read: %s", r.format.name, reasonTooLong)
		}
		if !isBlank(line) {
			r.counts.Headers++
			return cutter.header(line)
		}
		r.counts.Skipped++
	}
	return nil
}
