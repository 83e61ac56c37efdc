package config

import (
	"fmt"

	"github.com/weirgo/weir/internal/document/words"
)

// FieldError is one thing that is wrong in a configuration.
type FieldError struct {
	// Line and Column are where it stands in the file, from 1; 0 where it stands in none.
	Line, Column int
	// Source is the variable or the flag that has the value; "" for the file.
	Source string
	// Path is the field, such as store.url; "" where the text as such is wrong.
	Path string
	// Value is what stands there; "" where it is missing, or may be a secret.
	Value string
	// Problem says what is wrong, and Allowed what may stand there; one of them may be "".
	Problem, Allowed string
}

func (e *FieldError) Error() string {
	text := words.Mistake(e.Path, e.Value, e.Problem, e.Allowed)
	switch {
	case e.Source != "":
		return e.Source + ": " + text
	case e.Line > 0:
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, text)
	}
	return text
}

// Error is everything that is wrong in a configuration, in the order of its text.
type Error struct {
	// File is the name of the file; "" where there is none.
	File   string
	Fields []*FieldError
}

func (e *Error) Error() string { return words.Mistakes("config", e.File, e.Fields) }
