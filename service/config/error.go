package config

import (
	"fmt"
	"strconv"
	"strings"
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
	var b strings.Builder
	switch {
	case e.Source != "":
		b.WriteString(e.Source + ": ")
	case e.Line > 0:
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	b.WriteString(e.Path)
	if e.Value != "" {
		b.WriteString(" " + strconv.Quote(e.Value))
	}
	switch {
	case e.Problem != "" && e.Path != "":
		b.WriteString(": " + e.Problem)
	case e.Problem != "":
		b.WriteString(e.Problem)
	default:
		b.WriteString(" is not allowed")
	}
	if e.Allowed != "" {
		b.WriteString(": must be " + e.Allowed)
	}
	return b.String()
}

// Error is everything that is wrong in a configuration, in the order of its text.
type Error struct {
	// File is the name of the file; "" where there is none.
	File   string
	Fields []*FieldError
}

const mostShown = 20

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("config: ")
	if e.File != "" {
		b.WriteString(e.File + ": ")
	}
	for i, f := range e.Fields {
		if i == mostShown {
			fmt.Fprintf(&b, "\nand %d more", len(e.Fields)-i)
			break
		}
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(f.Error())
	}
	return b.String()
}
