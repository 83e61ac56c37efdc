package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/internal/document"
	"github.com/weirgo/weir/internal/document/words"
)

// decoder fills a Config from a tree of nodes. It refuses unknown fields and values of
// another type, and goes on behind them.
type decoder struct {
	folder  string                    // of the file, which relative paths are below
	sources map[*document.Node]string // of nodes that come from no file
	places  map[string]place          // of fields, by path
	errs    []*FieldError
}

type place struct {
	document.Place
	source string
}

func (d *decoder) refuse(at place, e FieldError) {
	e.Line, e.Column, e.Source = at.Line, at.Column, at.source
	d.errs = append(d.errs, &e)
}

// at is the place of a field, or of what it would be a part of.
func (d *decoder) at(path string) place {
	for {
		if at, found := d.places[path]; found {
			return at
		}
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return d.places[""]
		}
		path = path[:i]
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// field is a field of a struct of this package.
type field struct {
	name  string
	path  bool // it is the name of a file or a folder
	index int
}

func fieldsOf(t reflect.Type) (all []field) {
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" {
			all = append(all, field{name, t.Field(i).Tag.Get("kind") == "path", i})
		}
	}
	return all
}

func (d *decoder) structure(n *document.Node, path string, v reflect.Value) {
	if n.Kind != document.Mapping {
		d.wrong(n, path, "a mapping")
		return
	}
	known := fieldsOf(v.Type())
	for _, f := range n.Fields {
		below := join(path, f.Name)
		at := place{f.Place, d.sources[f.Value]}
		d.places[below] = place{f.Value.Place, d.sources[f.Value]}
		if k := f.Value.Kind; k == document.Mapping || k == document.List {
			d.places[below] = at
		}
		found := false
		for _, k := range known {
			if k.name == f.Name {
				found = true
				d.value(f.Value, below, v.Field(k.index), k.path)
			}
		}
		if !found {
			names := make([]string, len(known))
			for i, k := range known {
				names[i] = k.name
			}
			e := FieldError{Path: below, Problem: "unknown field", Allowed: "one of " + strings.Join(names, ", ")}
			if near := words.Nearest(f.Name, names); near != "" {
				e.Allowed += "; did you mean " + strconv.Quote(near) + "?"
			}
			d.refuse(at, e)
		}
	}
}

// wrong refuses a node that is not what has to stand there.
func (d *decoder) wrong(n *document.Node, path, allowed string) {
	e := FieldError{Path: path, Value: n.Text, Allowed: allowed}
	if n.Text == "" {
		e.Problem = n.Kind.String() + " is not allowed"
	}
	d.refuse(place{n.Place, d.sources[n]}, e)
}

func (d *decoder) value(n *document.Node, path string, v reflect.Value, isPath bool) {
	switch v.Kind() {
	case reflect.Pointer: // what is on where it is there
		v.Set(reflect.New(v.Type().Elem()))
		if n.Kind != document.Null {
			d.structure(n, path, v.Elem())
		}
	case reflect.Struct:
		d.structure(n, path, v)
	case reflect.Map:
		if n.Kind != document.Mapping {
			d.wrong(n, path, "a mapping")
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for _, f := range n.Fields {
			element := reflect.New(v.Type().Elem()).Elem()
			d.places[join(path, f.Name)] = place{f.Place, d.sources[f.Value]}
			d.value(f.Value, join(path, f.Name), element, isPath)
			v.SetMapIndex(reflect.ValueOf(f.Name), element)
		}
	case reflect.Slice:
		d.list(n, path, v, isPath)
	default:
		d.scalar(n, path, v, isPath)
	}
}

// list reads a list of texts; from a variable or a flag, with commas between.
func (d *decoder) list(n *document.Node, path string, v reflect.Value, isPath bool) {
	items := n.Items
	if source := d.sources[n]; source != "" {
		for text := range strings.SplitSeq(n.Text, ",") {
			item := &document.Node{Kind: document.Text, Text: text}
			d.sources[item] = source
			items = append(items, item)
		}
	} else if n.Kind != document.List {
		d.wrong(n, path, "a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		d.scalar(item, fmt.Sprintf("%s[%d]", path, i), v.Index(i), isPath)
	}
}

func (d *decoder) scalar(n *document.Node, path string, v reflect.Value, isPath bool) {
	given := d.sources[n] != "" // then it is text, whatever it means
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		duration, err := time.ParseDuration(n.Text)
		if n.Kind != document.Text && n.Text != "0" || err != nil || duration < 0 {
			d.wrong(n, path, "a duration of 0s or more, such as 250ms")
			return
		}
		v.SetInt(int64(duration))
	case v.Kind() == reflect.String:
		if n.Kind != document.Text {
			d.wrong(n, path, "a text")
			return
		}
		text := n.Text
		if isPath && text != "" && !given && !filepath.IsAbs(text) {
			text = filepath.Join(d.folder, text)
		}
		v.SetString(text)
	case v.Kind() == reflect.Int:
		i, err := strconv.ParseInt(n.Text, 10, 64)
		if n.Kind != document.Integer && !given || err != nil {
			d.wrong(n, path, "a whole number")
			return
		}
		v.SetInt(i)
	case v.Kind() == reflect.Float64:
		f, err := strconv.ParseFloat(n.Text, 64)
		if n.Kind != document.Integer && n.Kind != document.Float && !given || err != nil {
			d.wrong(n, path, "a number")
			return
		}
		v.SetFloat(f)
	case v.Kind() == reflect.Bool:
		b, is := map[string]bool{"true": true, "false": false}[n.Text]
		if n.Kind != document.Bool && !given || !is {
			d.wrong(n, path, "true or false")
			return
		}
		v.SetBool(b)
	default:
		panic("config: no rule to decode " + v.Type().String())
	}
}
