package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/weirgo/weir/internal/document"
)

// File is a policy that was read from a text. It must not be changed.
type File struct {
	Policy   Policy
	Compiled *Compiled

	places map[string]document.Place // by Path.String()
}

// Load reads a policy from a file; see Parse.
func Load(name string, opts *CompileOptions) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	defer f.Close() // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, document.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("policy: %s: %w", name, err)
	}
	file, err := Parse(text, opts)
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		invalid.File = name
	}
	return file, err
}

// Parse reads a policy in YAML, of which JSON is a part, and compiles it. It is strict:
// an unknown field, a field that is given twice, and a value of another type are errors.
// Whatever is wrong is returned together, as an *InvalidError in the order of the text;
// each FieldError has its line and column. A wrong option is a store.ErrInvalid.
//
// The text is bounded: 4 MiB, 100 lists and mappings in each other, 2,000 fields
// in a mapping, and 500,000 values after aliases were followed. Parse does no I/O.
func Parse(text []byte, opts *CompileOptions) (*File, error) {
	root, mistakes := document.Parse(text)
	d := newDecoder()
	for _, m := range mistakes {
		d.add(&FieldError{Line: m.Line, Column: m.Column, Problem: m.Message})
	}
	if root == nil {
		return nil, &InvalidError{Fields: d.errs}
	}
	file := &File{places: d.places}
	d.decode(root, &file.Policy)
	compiled, err := Compile(file.Policy, opts)
	var invalid *InvalidError
	switch {
	case errors.As(err, &invalid):
		var found []*FieldError // apart from d.errs: of two errors of Compile none explains the other
		for _, e := range invalid.Fields {
			if _, given := d.places[e.Path.String()]; !given && e.Value == "0" { // a number that is not there
				e.Value, e.Problem = "", "missing"
			}
			if !d.explains(e) {
				d.locate(file, e)
				found = append(found, e)
			}
		}
		d.errs = append(d.errs, found...)
	case err != nil:
		return nil, err
	}
	if len(d.errs) > 0 {
		slices.SortStableFunc(d.errs, func(a, b *FieldError) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		return nil, &InvalidError{Fields: d.errs}
	}
	file.Compiled = compiled
	return file, nil
}

// locate adds the place to an error of Compile: of a name where that is what is wrong.
func (d *decoder) locate(f *File, e *FieldError) {
	e.Line, e.Column = f.Place(e.Path)
	if n := len(e.Path); n > 0 && e.Path[n-1] == any(e.Value) {
		if at, is := d.keys[e.Path.String()]; is {
			e.Line, e.Column = at.Line, at.Column
		}
	}
}

// Place returns line and column, from 1, at which a field stands in the text. A field
// that is not there has the place of what it would be a part of.
func (f *File) Place(p Path) (line, column int) {
	for n := len(p); n >= 0; n-- {
		if at, found := f.places[p[:n].String()]; found {
			return at.Line, at.Column
		}
	}
	return 1, 1
}
