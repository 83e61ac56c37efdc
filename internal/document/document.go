// Package document reads one document in YAML, of which JSON is a part, into a tree
// whose nodes know their place. It is strict and bounded: a field that is given twice, a
// tag, a second document and a text that would cost too much are errors, and an alias
// counts as often as it is used.
package document

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/weirgo/weir/internal/document/size"
)

// Kind is what a node is.
type Kind int

// The kinds of nodes.
const (
	Null Kind = iota
	Text
	Integer
	Float
	Bool
	List
	Mapping
)

func (k Kind) String() string {
	return []string{"nothing", "a text", "a whole number", "a number", "true or false", "a list", "a mapping"}[k]
}

// Place is where something stands in a text: line and column, from 1.
type Place struct{ Line, Column int }

// Node is a value.
type Node struct {
	Place
	Kind   Kind
	Text   string  // of a scalar, as it was written, without quotes
	Items  []*Node // of a list
	Fields []Field // of a mapping, in the order of the text; what was merged comes last
}

// Field is a field of a mapping.
type Field struct {
	Name  string
	Place Place // of the name
	Value *Node
}

// Error is a mistake in a text.
type Error struct {
	Place
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Bounds of a text: far more than people write, and little enough that no text costs
// more than seconds.
const (
	MaxBytes = size.MaxDocument
	maxDepth = 100     // of lists and mappings in each other
	maxNodes = 500_000 // after aliases were followed
	maxWords = 500_000 // tokens
	// maxFields is the most fields of a mapping: the parser's time grows with the square
	// of their number.
	maxFields = 2000
)

// Parse reads a text. It returns every mistake that it finds; after a mistake in the
// syntax, and where a bound is passed, that is the only one, and the node is nil.
func Parse(text []byte) (*Node, []*Error) {
	start := Place{1, 1}
	if len(text) > MaxBytes {
		return nil, fatal(start, "the text has %d bytes: must be at most %d", len(text), MaxBytes)
	}
	if p, is := unreadable(text); is {
		return nil, fatal(p, "a byte that is no text: must be UTF-8 without control characters")
	}
	tokens := lexer.Tokenize(string(text))
	if err := checkBounds(tokens); err != nil {
		return nil, []*Error{err}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if i := slices.IndexFunc(tokens, func(t *token.Token) bool { return t.Type == token.TagType }); err != nil && i >= 0 {
		return nil, fatal(placeOf(tokens[i]), tagRefused) // in brackets a tag takes what closes them
	}
	if wrong := yaml.Error(nil); errors.As(err, &wrong) && wrong.GetToken() != nil {
		return nil, fatal(placeOf(wrong.GetToken()), "%s", wrong.GetMessage())
	} else if err != nil {
		return nil, fatal(start, "%v", err)
	}
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil })
	if len(docs) != 1 {
		return nil, fatal(start, "%d documents: must be one, which is not empty", len(docs))
	}
	b := builder{anchors: map[string]*anchor{}}
	root := b.node(docs[0].Body, 0)
	if b.stopped != nil {
		return nil, []*Error{b.stopped}
	}
	return root, b.errs
}

// tagRefused does not show the tag: it may be a value that is meant to be excluded.
const tagRefused = "a value that begins with ! is a YAML tag, which is not allowed: write a text in quotes, such as \"!name\""

func fatal(p Place, format string, args ...any) []*Error {
	return []*Error{{p, fmt.Sprintf(format, args...)}}
}

func placeOf(t *token.Token) Place { return Place{t.Position.Line, t.Position.Column} }

// unreadable returns the place of the first byte that is no text. A byte order mark is
// allowed nowhere: the parser takes it for a part of the first name.
func unreadable(text []byte) (p Place, is bool) {
	p = Place{1, 1}
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1, r == '\ufeff', r == 0x7f, r < ' ' && r != '\t' && r != '\n' && r != '\r':
			return p, true
		case r == '\n':
			p = Place{p.Line + 1, 1}
		default:
			p.Column++
		}
		text = text[n:]
	}
	return p, false
}

// builder makes nodes of the syntax tree.
type builder struct {
	anchors map[string]*anchor // by name; the last one of a name counts
	nodes   int
	errs    []*Error
	stopped *Error // a bound was passed
}

// anchor is a value that aliases stand for, as it was read where it stands.
type anchor struct {
	value *Node // nil while it is read
	nodes int   // that it is made of
}

func (b *builder) refuse(t *token.Token, format string, args ...any) {
	b.errs = append(b.errs, &Error{placeOf(t), fmt.Sprintf(format, args...)})
}

func (b *builder) stop(t *token.Token, format string, args ...any) {
	if b.stopped == nil {
		b.stopped = &Error{placeOf(t), fmt.Sprintf(format, args...)}
	}
}

// node makes a node. After a bound was passed it makes nothing.
func (b *builder) node(n ast.Node, depth int) *Node {
	made := &Node{Place: placeOf(n.GetToken())}
	if b.nodes++; b.nodes > maxNodes {
		b.stop(n.GetToken(), "aliases make more than %d values of this text", maxNodes)
	}
	if depth > maxDepth {
		b.stop(n.GetToken(), "%d lists and mappings in each other: must be at most %d", depth, maxDepth)
	}
	if b.stopped != nil {
		return made
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		name, before := n.Name.GetToken().Value, b.nodes
		if n.Value == nil {
			delete(b.anchors, name)
			return made
		}
		a := &anchor{}
		b.anchors[name] = a
		a.value = b.node(n.Value, depth)
		a.nodes = b.nodes - before
		return a.value
	case *ast.AliasNode:
		return b.alias(n, depth)
	case *ast.TagNode:
		b.refuse(n.GetToken(), tagRefused)
	case *ast.SequenceNode:
		made.Kind = List
		for _, item := range n.Values {
			made.Items = append(made.Items, b.node(item, depth+1))
		}
	case *ast.MappingNode:
		made.Kind = Mapping
		if len(n.Values) > 0 && !n.IsFlowStyle {
			made.Place = placeOf(n.Values[0].Key.GetToken())
		}
		b.fields(made, n.Values, depth)
	case *ast.MappingValueNode:
		made.Kind, made.Place = Mapping, placeOf(n.Key.GetToken())
		b.fields(made, []*ast.MappingValueNode{n}, depth)
	default:
		var known bool
		if made.Kind, made.Text, known = scalar(n); !known {
			b.refuse(n.GetToken(), "%q is not allowed here", n.GetToken().Value)
		}
	}
	return made
}

var (
	decimal    = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// scalar returns the kind and the text of a scalar.
func scalar(n ast.Node) (kind Kind, text string, known bool) {
	text = n.GetToken().Value
	switch n := n.(type) {
	case *ast.NullNode:
		return Null, "", true
	case *ast.StringNode:
		if n.GetToken().Type == token.StringType && jsonNumber.MatchString(text) {
			return Float, text, true // 1e3, which the parser takes for a text
		}
		return Text, n.Value, true
	case *ast.LiteralNode:
		return Text, n.Value.Value, true
	case *ast.IntegerNode:
		if !decimal.MatchString(text) { // 0x10, 017 and 1_000 mean different things to different readers
			return Float, text, true
		}
		return Integer, text, true
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return Float, text, true
	case *ast.BoolNode:
		return Bool, text, true
	}
	return Null, "", false
}

func (b *builder) alias(n *ast.AliasNode, depth int) *Node {
	made := &Node{Place: placeOf(n.GetToken())}
	name := n.Value.GetToken().Value
	a, known := b.anchors[name]
	switch {
	case !known:
		b.refuse(n.Value.GetToken(), "no anchor &%s stands before this alias", name)
		return made
	case a.value == nil:
		b.refuse(n.Value.GetToken(), "the alias *%s is a part of its own anchor", name)
		return made
	}
	if b.nodes += a.nodes; b.nodes > maxNodes {
		b.stop(n.GetToken(), "aliases make more than %d values of this text", maxNodes)
		return made
	}
	if deepest := depth + a.value.height(); deepest > maxDepth {
		b.stop(n.GetToken(), "%d lists and mappings in each other: must be at most %d", deepest, maxDepth)
	}
	return a.value
}

// height returns how many lists and mappings lie in each other below a node.
func (n *Node) height() int {
	most := 0
	for _, item := range n.Items {
		most = max(most, 1+item.height())
	}
	for _, f := range n.Fields {
		most = max(most, 1+f.Value.height())
	}
	return most
}

// fields adds the fields of a mapping: its own, and then what is merged into it.
func (b *builder) fields(into *Node, pairs []*ast.MappingValueNode, depth int) {
	first := map[string]Place{}
	var merged []*Node
	for _, pair := range pairs {
		key := pair.Key.GetToken()
		value := pair.Value
		if value == nil {
			value = ast.Null(key)
		}
		if _, merge := pair.Key.(*ast.MergeKeyNode); merge {
			merged = append(merged, b.node(value, depth+1))
			continue
		}
		kind, name, known := scalar(pair.Key)
		if !known || kind == Null {
			b.refuse(key, "a name of a field must be a text")
			continue
		}
		if at, twice := first[name]; twice {
			b.refuse(key, "the field %q is given twice: it stands in line %d already", name, at.Line)
			continue
		}
		first[name] = placeOf(key)
		into.Fields = append(into.Fields, Field{name, placeOf(key), b.node(value, depth+1)})
	}
	for _, m := range merged {
		b.merge(into, m, first)
	}
}

// merge adds the fields of a mapping, or of a list of mappings, that are not given yet.
func (b *builder) merge(into, from *Node, given map[string]Place) {
	switch from.Kind {
	case List:
		for _, item := range from.Items {
			if item.Kind == List {
				b.errs = append(b.errs, &Error{item.Place, "what << merges must be a mapping or a list of mappings"})
				continue
			}
			b.merge(into, item, given)
		}
	case Mapping:
		for _, f := range from.Fields {
			if _, has := given[f.Name]; !has {
				given[f.Name] = f.Place
				into.Fields = append(into.Fields, f)
			}
		}
	default:
		b.errs = append(b.errs, &Error{from.Place, "what << merges must be a mapping or a list of mappings"})
	}
}
