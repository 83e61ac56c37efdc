package script

import (
	"regexp"
	"slices"
	"strings"
)

// On a server to define a function costs as much as to call it, and a call of either
// as much as a small command. So the script for one op of a built-in kind has no
// functions on the way that most calls take: what the files in lua/ write as
// functions is unfolded here.

// code returns a file in lua/ as it is sent: without comments, and with text, which
// is one expression, in place of its calls.
func code(name string) string {
	return textCall.ReplaceAllStringFunc(withoutComments(lua(name)), func(call string) string {
		m := textCall.FindStringSubmatch(call)
		if m[1] != "" {
			return call // its definition
		}
		return unfoldText(m[2])
	})
}

var (
	comments = regexp.MustCompile(`(?m)^ *--.*\n|( |^)--[^'\n]*$`)
	textCall = regexp.MustCompile(`(function )?\btext\(([a-z]\w*)\)`)
)

// withoutComments is for files in lua/, where no string has two hyphens.
func withoutComments(text string) string { return comments.ReplaceAllString(text, "") }

// function is a function of Lua as the files in lua/ write them, from the first
// column to the last end.
type function struct{ name, params, body, text string }

var functions = regexp.MustCompile(`(?ms)^local function (\w+)\(([^)]*)\)\n(.*?)^end$`)

func functionsOf(text string) (all []function) {
	for _, m := range functions.FindAllStringSubmatch(text, -1) {
		all = append(all, function{m[1], m[2], m[3], m[0]})
	}
	return all
}

// take removes the function of that name.
func take(all []function, name string) (function, []function) {
	i := slices.IndexFunc(all, func(f function) bool { return f.name == name })
	if i < 0 {
		panic("script: no function " + name) // in the files that are embedded
	}
	return all[i], slices.Delete(slices.Clone(all), i, i+1)
}

// unfoldText is the expression of text for the variable x.
func unfoldText(x string) string {
	expression := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(textFunction.body), "return "))
	return "(" + regexp.MustCompile(`\bx\b`).ReplaceAllLiteralString(expression, x) + ")"
}

var textFunction, _ = take(functionsOf(withoutComments(lua("prelude"))), "text")

// unfoldDecide is the body of a decide in place of a call. The numbers of ARGV are in
// its parameters after the first two, and where it returns it leaves the block around
// it, with the verdict in one variable and what it returns beside it in results. Where
// it returns nil, that is the reply.
func unfoldDecide(decide function, numbers []string, results string) string {
	params := strings.Split(decide.params, ", ")[2:]
	body := returns.ReplaceAllStringFunc(decide.body, func(statement string) string {
		m := returns.FindStringSubmatch(statement)
		verdict, others, more := strings.Cut(m[1], ", ")
		then := "\n"
		if m[2] != "" {
			then = "; "
		}
		leave := "break" + m[2]
		if more {
			leave = results + " = " + others + then + leave
		}
		switch {
		case verdict == "nil":
			return "return '!'" + m[2]
		case verdict == "true":
			return leave
		case verdict == "false":
			return "verdict = '-'" + then + leave
		case strings.HasPrefix(verdict, "call("):
			return statement // it fails again, and ends the script
		}
		panic("script: decide returns " + m[1]) // in the files that are embedded
	})
	return "local " + strings.Join(params, ", ") + " = " + strings.Join(numbers, ", ") + "\n" + body
}

var returns = regexp.MustCompile(`(?m)\breturn ([^\n]*?)( end)?$`)

// define puts the functions that text calls in front of the lines that call them:
// where a line is in a branch that is seldom taken, they cost nothing elsewhere.
func define(text string, all []function) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		called := line
		var definitions string
		for _, f := range slices.Backward(all) { // each calls only those before it
			if strings.Contains(called, f.name+"(") {
				definitions, called = f.text+"\n"+definitions, called+f.text
			}
		}
		b.WriteString(definitions + line)
	}
	return b.String()
}
