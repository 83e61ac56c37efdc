package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weirgo/weir/internal/document/words"
)

// Path is where in a policy a field stands: names and keys are strings, positions in
// lists ints, from the outside in.
type Path []any

// String returns the path as text, such as rules[3].match.endpoints[0]. A key that is no
// name is quoted: rules[2].endpoints["POST /api/orders"].
func (p Path) String() string {
	var b strings.Builder
	for _, element := range p {
		switch e := element.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", e)
		case string:
			switch {
			case !words.IsName(e):
				fmt.Fprintf(&b, "[%s]", strconv.Quote(e))
			case b.Len() > 0:
				b.WriteString("." + e)
			default:
				b.WriteString(e)
			}
		}
	}
	return b.String()
}

// with returns a path below p. It never shares memory with another.
func (p Path) with(elements ...any) Path {
	return append(append(make(Path, 0, len(p)+len(elements)), p...), elements...)
}

// FieldError is one thing that is wrong in a policy.
type FieldError struct {
	// Line and Column are where it stands in the text, from 1; 0 for a Policy that was
	// not read from one.
	Line, Column int
	// Path is the field; empty where the text as such is wrong.
	Path Path
	// Value is what stands there, as text; "" where something is missing or too much.
	Value string
	// Problem says what is wrong, or "" where Allowed says it.
	Problem string
	// Allowed is what may stand there.
	Allowed string
	// Suggestion is what was perhaps meant, or "".
	Suggestion string
	// Unknown reports that there is no such field.
	Unknown bool
}

func (e *FieldError) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	b.WriteString(words.Mistake(e.Path.String(), e.Value, e.Problem, e.Allowed))
	if e.Suggestion != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Suggestion)
	}
	return b.String()
}

// InvalidError is everything that is wrong in a policy, in the order of its fields, or of
// the text that it was read from. Its text has the first 20 errors.
type InvalidError struct {
	// File is the name of the file; "" where the policy comes from none.
	File   string
	Fields []*FieldError
}

func (e *InvalidError) Error() string { return words.Mistakes("policy", e.File, e.Fields) }

// Unwrap returns the errors, for errors.As.
func (e *InvalidError) Unwrap() []error {
	all := make([]error, len(e.Fields))
	for i, f := range e.Fields {
		all[i] = f
	}
	return all
}
