package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
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
type place struct{ Line, Column int }

var (
	durationType       = reflect.TypeFor[time.Duration]()
	timeType           = reflect.TypeFor[time.Time]()
	rateType           = reflect.TypeFor[Rate]()
	decimalType        = reflect.TypeFor[Decimal]()
	decimalPointerType = reflect.TypeFor[*Decimal]()
)

func refuseAt(p *token.Position, path, value, allowed string) error {
	return &Error{Line: p.Line, Column: p.Column, Path: path, Value: value, Allowed: allowed}
}

func causeAt(p *token.Position, path string, format string, args ...any) error {
	return &Error{Line: p.Line, Column: p.Column, Path: path, Cause: fmt.Errorf(format, args...)}
}

// decode reads one document into a struct, and returns the places of its fields.
func decode(text []byte, into any) (map[string]place, error) {
	tokens := lexer.Tokenize(string(text))
	if err := checkNesting(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if wrong := yaml.Error(nil); errors.As(err, &wrong) && wrong.GetToken() != nil {
		return nil, causeAt(wrong.GetToken().Position, "", "%s", wrong.GetMessage())
	} else if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, &Error{Line: 1, Column: 1, Value: fmt.Sprint(len(file.Docs), " documents"), Allowed: "one, which is not empty"}
	}
	d := decoder{places: make(map[string]place)}
	return d.places, d.value(file.Docs[0].Body, "", reflect.ValueOf(into).Elem())
}

// maxNesting bounds how many brackets are open: the time to parse more grows with the
// square of their number, and a scenario needs a few.
const maxNesting = 100

func checkNesting(tokens token.Tokens) error {
	open := 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			if open++; open > maxNesting {
				return causeAt(t.Position, "", "%d brackets are open: must be at most %d", open, maxNesting)
			}
		case token.SequenceEndType, token.MappingEndType:
			open--
		}
	}
	return nil
}

func (d *decoder) value(n ast.Node, path string, v reflect.Value) error {
	at := n.GetToken().Position
	d.places[path] = place{at.Line, at.Column}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	wrong := func(allowed string) error { return refuseAt(at, path, strings.ToLower(n.Type().String()), allowed) }
	isText := v.Type() == timeType || v.Type() == rateType
	switch {
	case v.Kind() == reflect.Struct && !isText:
		pairs, is := pairsOf(n)
		if !is {
			return wrong("a mapping")
		}
		return d.fields(pairs, path, v)
	case v.Kind() == reflect.Slice:
		list, is := n.(*ast.SequenceNode)
		if !is {
			return wrong("a list")
		}
		v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
		for i, item := range list.Values {
			if err := d.value(item, fmt.Sprintf("%s[%d]", path, i), v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	text, is := scalar(n)
	if !is {
		return wrong("a text or a number")
	}
	allowed, err := set(n, text, v)
	if err != nil {
		var refused *Error // of a rate or a decimal
		if errors.As(err, &refused) {
			return refuseAt(at, path, refused.Value, refused.Allowed)
		}
		return refuseAt(at, path, strconv.Quote(text), allowed)
	}
	return nil
}

func pairsOf(n ast.Node) (pairs []*ast.MappingValueNode, is bool) {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}, true
	}
	return nil, false
}

func (d *decoder) fields(pairs []*ast.MappingValueNode, path string, v reflect.Value) error {
	s := schemas[v.Type()]
	given := map[string]bool{}
next:
	for _, pair := range pairs {
		name, at := pair.Key.GetToken().Value, pair.Key.GetToken().Position
		if given[name] {
			return causeAt(at, join(path, name), "the field is given twice")
		}
		given[name] = true
		var names []string
		for i := range s.fields {
			if f := &s.fields[i]; f.name == name {
				if err := d.value(pair.Value, join(path, name), v.Field(f.index)); err != nil {
					return err
				}
				continue next
			}
			names = append(names, s.fields[i].name)
		}
		return causeAt(at, path, "field %q is not allowed: must be one of %s", name, strings.Join(names, ", "))
	}
	return nil
}

// scalar returns the text of a scalar.
func scalar(n ast.Node) (text string, is bool) {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, true
	case *ast.LiteralNode:
		return s.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

var errType = errors.New("another type")

// set sets a value to a scalar, and returns what is allowed where that fails.
func set(n ast.Node, text string, v reflect.Value) (allowed string, err error) {
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
		b, is := n.(*ast.BoolNode)
		if !is {
			return "true or false", errType
		}
		*p = b.Value
		return "", nil
	}
	if _, is := n.(*ast.IntegerNode); !is {
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
