package sim

import (
	"encoding"
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
// of the right kind. It remembers where each stood, so that what is refused later is
// named with its line too.
//
// The library's own decoder gives no line for a text that a type refuses, such as a
// duration, and so this walks the syntax tree itself.
type decoder struct {
	lines map[string]*token.Position // by path
}

// SyntaxError is a place in a scenario's text that cannot be read.
type SyntaxError struct {
	Line, Column int    // from 1
	Path         string // such as traffic[0].process.rate; "" where there is none
	Cause        error
}

func (e *SyntaxError) Error() string {
	where := fmt.Sprintf("line %d, column %d: ", e.Line, e.Column)
	if e.Path != "" {
		where += e.Path + ": "
	}
	return "sim: " + where + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Cause }

func at(n ast.Node, path string, format string, args ...any) error {
	return atPosition(n.GetToken().Position, path, fmt.Errorf(format, args...))
}

func atPosition(p *token.Position, path string, cause error) error {
	return &SyntaxError{p.Line, p.Column, path, cause}
}

// decodeDocument reads one document into a struct.
func (d *decoder) decodeDocument(text []byte, into any) error {
	tokens := lexer.Tokenize(string(text))
	if err := checkNesting(tokens); err != nil {
		return err
	}
	file, err := parser.Parse(tokens, 0)
	if wrong := yaml.Error(nil); errors.As(err, &wrong) && wrong.GetToken() != nil {
		return atPosition(wrong.GetToken().Position, "", errors.New(wrong.GetMessage()))
	} else if err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return &SyntaxError{1, 1, "", fmt.Errorf("%d documents: one is allowed, and it must not be empty", len(file.Docs))}
	}
	d.lines = make(map[string]*token.Position)
	return d.value(file.Docs[0].Body, "", reflect.ValueOf(into).Elem())
}

// maxNesting is how many brackets may be open: the time to parse more grows with the
// square of them, and a scenario needs a few.
const maxNesting = 100

func checkNesting(tokens token.Tokens) error {
	open := 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			if open++; open > maxNesting {
				return atPosition(t.Position, "", fmt.Errorf("%d brackets are open: must be at most %d", open, maxNesting))
			}
		case token.SequenceEndType, token.MappingEndType:
			open--
		}
	}
	return nil
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	timeType     = reflect.TypeFor[time.Time]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (d *decoder) value(n ast.Node, path string, v reflect.Value) error {
	d.lines[path] = n.GetToken().Position
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(n, path, v.Elem())
	case v.Type() == durationType || v.Addr().Type().Implements(textType):
		return d.text(n, path, v)
	}
	switch v.Kind() {
	case reflect.Struct:
		return d.fields(n, path, v)
	case reflect.Slice:
		return d.items(n, path, v)
	}
	return d.scalar(n, path, v)
}

func (d *decoder) fields(n ast.Node, path string, v reflect.Value) error {
	var pairs []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		pairs = m.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{m}
	default:
		return at(n, path, "%s is not allowed: must be a mapping", n.Type())
	}
	known := map[string]int{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		known[name] = i
	}
	given := map[string]bool{}
	for _, pair := range pairs {
		name := pair.Key.GetToken().Value
		field := name
		if path != "" {
			field = path + "." + name
		}
		i, found := known[name]
		if !found {
			return at(pair.Key, path, "field %s is not allowed: must be one of %s", strconv.Quote(name), fieldNames(v.Type()))
		}
		if given[name] {
			return at(pair.Key, field, "the field is given twice")
		}
		given[name] = true
		if err := d.value(pair.Value, field, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func fieldNames(t reflect.Type) string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func (d *decoder) items(n ast.Node, path string, v reflect.Value) error {
	list, is := n.(*ast.SequenceNode)
	if !is {
		return at(n, path, "%s is not allowed: must be a list", n.Type())
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
	for i, item := range list.Values {
		if err := d.value(item, fmt.Sprintf("%s[%d]", path, i), v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// written returns the text of a scalar.
func written(n ast.Node) (text string, ok bool) {
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

func (d *decoder) text(n ast.Node, path string, v reflect.Value) error {
	text, ok := written(n)
	if !ok {
		return at(n, path, "%s is not allowed: must be a text", n.Type())
	}
	if v.Type() == durationType {
		span, err := time.ParseDuration(text)
		if err != nil {
			return at(n, path, "%s is not allowed: must be a duration such as 1m30s", strconv.Quote(text))
		}
		v.SetInt(int64(span))
		return nil
	}
	if v.Type() == timeType {
		moment, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return at(n, path, "%s is not allowed: must be RFC 3339, such as 2026-03-03T10:00:00Z", strconv.Quote(text))
		}
		v.Set(reflect.ValueOf(moment))
		return nil
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		return atPosition(n.GetToken().Position, path, err)
	}
	return nil
}

func (d *decoder) scalar(n ast.Node, path string, v reflect.Value) error {
	text, ok := written(n)
	number, isNumber := n.(*ast.IntegerNode)
	wanted, fits := "", false
	switch v.Kind() {
	case reflect.String:
		wanted, fits = "a text", ok
		v.SetString(text)
	case reflect.Bool:
		wanted = "true or false"
		if b, is := n.(*ast.BoolNode); is {
			fits = true
			v.SetBool(b.Value)
		}
	case reflect.Uint64:
		wanted = "a whole number from 0 to 2^64 - 1"
		if isNumber {
			whole, err := strconv.ParseUint(number.Token.Value, 10, 64)
			fits = err == nil
			v.SetUint(whole)
		}
	case reflect.Int64:
		wanted = "a whole number"
		if isNumber {
			whole, err := strconv.ParseInt(number.Token.Value, 10, 64)
			fits = err == nil
			v.SetInt(whole)
		}
	default:
		panic("sim: no rule to decode " + v.Type().String())
	}
	if !fits {
		if !ok {
			text = n.Type().String()
		}
		return at(n, path, "%s is not allowed: must be %s", strconv.Quote(text), wanted)
	}
	return nil
}
