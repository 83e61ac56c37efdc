package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/internal/document"
)

// decoder fills structs from YAML, strictly: every field must be known, given once and
// of the right type. It notes the place of each field, for errors that come later.
//
// The library's own decoder gives no line for a text that a type refuses, such as a
// duration. So the decoder walks the syntax tree itself.
type decoder struct {
	places map[string]place // by path
}

// place is where a field stands in a text.
type place = document.Place

var (
	durationType       = reflect.TypeFor[time.Duration]()
	timeType           = reflect.TypeFor[time.Time]()
	rateType           = reflect.TypeFor[Rate]()
	decimalType        = reflect.TypeFor[Decimal]()
	decimalPointerType = reflect.TypeFor[*Decimal]()
)

func refuseAt(p document.Place, path, value, allowed string) error {
	return &Error{Line: p.Line, Column: p.Column, Path: path, Value: value, Allowed: allowed}
}

func causeAt(p document.Place, path string, format string, args ...any) error {
	return &Error{Line: p.Line, Column: p.Column, Path: path, Cause: fmt.Errorf(format, args...)}
}

// decode reads one document into a struct, and returns the places of its fields.
func decode(text []byte, into any) (map[string]place, error) {
	root, errs := document.Parse(text)
	if len(errs) > 0 {
		return nil, causeAt(errs[0].Place, "", "%s", errs[0].Message)
	}
	d := decoder{places: make(map[string]place)}
	return d.places, d.value(root, "", reflect.ValueOf(into).Elem())
}

func (d *decoder) value(n *document.Node, path string, v reflect.Value) error {
	d.places[path] = n.Place
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	wrong := func(allowed string) error { return refuseAt(n.Place, path, n.Kind.String(), allowed) }
	isText := v.Type() == timeType || v.Type() == rateType
	switch {
	case v.Kind() == reflect.Struct && !isText:
		if n.Kind != document.Mapping {
			return wrong("a mapping")
		}
		return d.fields(n.Fields, path, v)
	case v.Kind() == reflect.Slice:
		if n.Kind != document.List {
			return wrong("a list")
		}
		v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
		for i, item := range n.Items {
			if err := d.value(item, fmt.Sprintf("%s[%d]", path, i), v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case v.Kind() == reflect.Map: // of texts
		if n.Kind != document.Mapping {
			return wrong("a mapping")
		}
		v.Set(reflect.MakeMapWithSize(v.Type(), len(n.Fields)))
		for _, f := range n.Fields {
			text := reflect.New(v.Type().Elem()).Elem()
			if err := d.value(f.Value, join(path, f.Name), text); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(f.Name), text)
		}
		return nil
	case n.Kind == document.Null || n.Kind == document.List || n.Kind == document.Mapping:
		return wrong("a text or a number")
	}
	allowed, err := set(n, v)
	if err != nil {
		var refused *Error // of a rate or a decimal
		if errors.As(err, &refused) {
			return refuseAt(n.Place, path, refused.Value, refused.Allowed)
		}
		return refuseAt(n.Place, path, strconv.Quote(n.Text), allowed)
	}
	return nil
}

func (d *decoder) fields(given []document.Field, path string, v reflect.Value) error {
	s := schemas[v.Type()]
next:
	for _, g := range given {
		var names []string
		for i := range s.fields {
			if f := &s.fields[i]; f.name == g.Name {
				if err := d.value(g.Value, join(path, g.Name), v.Field(f.index)); err != nil {
					return err
				}
				continue next
			}
			names = append(names, s.fields[i].name)
		}
		return causeAt(g.Place, path, "field %q is not allowed: must be one of %s", g.Name, strings.Join(names, ", "))
	}
	return nil
}

var errType = errors.New("another type")

// set sets a value to a scalar, and returns what is allowed where that fails.
func set(n *document.Node, v reflect.Value) (allowed string, err error) {
	text := n.Text
	switch p := v.Addr().Interface().(type) {
	case *time.Duration:
		*p, err = time.ParseDuration(text)
		return "a duration such as 1m30s", err
	case *time.Time:
		*p, err = time.Parse(time.RFC3339, text)
		return "RFC 3339, such as 2026-03-03T10:00:00Z", err
	case *Rate:
		*p, err = parseRate(text)
		return "", err
	case *Decimal:
		return "", p.UnmarshalText([]byte(text))
	case *string:
		*p = text
		return "", nil
	case *bool:
		if n.Kind != document.Bool {
			return "true or false", errType
		}
		*p = text == "true"
		return "", nil
	}
	if n.Kind != document.Integer {
		err = errType
	}
	switch p := v.Addr().Interface().(type) {
	case *uint64:
		if err == nil {
			*p, err = strconv.ParseUint(text, 10, 64)
		}
		return "a whole number from 0 to 2^64 - 1", err
	case *int64:
		if err == nil {
			*p, err = strconv.ParseInt(text, 10, 64)
		}
		return "a whole number", err
	}
	panic("scenario: no rule to decode " + v.Type().String())
}
