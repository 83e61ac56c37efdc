package words

import (
	"fmt"
	"strconv"
	"strings"
)

// Mistake is the text of what is wrong with a field: its path, "" where the text as such is
// wrong, its value, what is wrong, and what is allowed. All may be "".
func Mistake(path, value, problem, allowed string) string {
	var b strings.Builder
	b.WriteString(path)
	if value != "" {
		b.WriteString(" " + strconv.Quote(value))
	}
	switch {
	case problem != "" && path != "":
		b.WriteString(": " + problem)
	case problem != "":
		b.WriteString(problem)
	default:
		b.WriteString(" is not allowed")
	}
	if allowed != "" {
		b.WriteString(": must be " + allowed)
	}
	return b.String()
}

// MostMistakes is how many errors the text of Mistakes has at most.
const MostMistakes = 20

// Mistakes is the text of the errors of a document, a line each: of the first 20. file is ""
// where the document comes from none.
func Mistakes[E error](of, file string, all []E) string {
	var b strings.Builder
	b.WriteString(of + ": ")
	if file != "" {
		b.WriteString(file + ": ")
	}
	for i, err := range all {
		if i == MostMistakes {
			fmt.Fprintf(&b, "\nand %d more", len(all)-i)
			break
		}
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(err.Error())
	}
	return b.String()
}
