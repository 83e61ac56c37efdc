package script

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// On a server to define a function costs as much as to call it, and a call of either
// as much as a small command. So the script for one op of a built-in kind has no
// functions on the way that most calls take: what the files in lua/ write as
// functions is unfolded here.

// code returns a file in lua/ without comments.
var code = remember(func(name string) string { return comments.ReplaceAllString(lua(name), "") })

// unfolded is code without calls of expressions.
var unfolded = remember(func(name string) string { return unfoldExpressions(code(name)) })

// complete is the Lua of a built-in kind with the functions that it needs.
var complete = remember(func(text string) string { return inLine(text, prelude) })

// prelude are the functions of prelude.lua.
var prelude = functionsOf(code("prelude"))

// remember makes f work once for each argument: stores come and go, what is embedded
// stays.
func remember[K comparable](f func(K) string) func(K) string {
	var known sync.Map // of string, by K
	return func(of K) string {
		if result, is := known.Load(of); is {
			return result.(string)
		}
		result, _ := known.LoadOrStore(of, f(of))
		return result.(string)
	}
}

// comments of files in lua/, where no string has two hyphens.
var comments = regexp.MustCompile(`(?m)^ *--.*\n|( |^)--[^'\n]*$`)

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

// expression is a function of prelude.lua that is one expression, its body.
type expression struct {
	params []string
	body   string
	calls  *regexp.Regexp // with variables for arguments
}

var expressions = func() (all []expression) {
	for _, f := range prelude {
		if words := strings.Fields(f.body); words[0] == "return" {
			calls := regexp.MustCompile(`(function )?\b` + f.name + `\(([a-z]\w*(?:, [a-z]\w*)*)\)`)
			all = append(all, expression{strings.Split(f.params, ", "), strings.Join(words[1:], " "), calls})
		}
	}
	return all
}()

// unfoldExpressions puts expressions in place of their calls.
func unfoldExpressions(text string) string {
	for _, e := range slices.Backward(expressions) { // each calls only those before it
		text = e.calls.ReplaceAllStringFunc(text, func(call string) string {
			m := e.calls.FindStringSubmatch(call)
			if m[1] != "" {
				return call // its definition
			}
			args := strings.Split(m[2], ", ")
			return "(" + variable.ReplaceAllStringFunc(e.body, func(name string) string {
				if i := slices.Index(e.params, name); i >= 0 {
					return args[i]
				}
				return name
			}) + ")"
		})
	}
	return text
}

// variable is a word outside of a format.
var variable = regexp.MustCompile(`%\d*d|\b[a-z]\w*\b`)

// unfoldDecide is the body of a decide in place of a call. The numbers of ARGV are in
// its parameters after the first two, and where it returns it leaves the block around
// it, with the verdict in one variable and what it returns beside it in results. Where
// it returns nil, that is the reply.
func unfoldDecide(decide function, count int, results string) string {
	params := strings.Split(decide.params, ", ")[2:]
	body := oneWord.ReplaceAllString(decide.body, "return true, $1, ")
	body = returns.ReplaceAllStringFunc(body, func(statement string) string {
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
	return "local " + strings.Join(params, ", ") + " = " + numbersOf(params, count) + "\n" + body
}

var returns = regexp.MustCompile(`(?m)\breturn ([^\n]*?)( end)?$`)

// oneWord returns a state that is one number: as an argument of a command, a server
// makes the same text of it, and mostly faster.
var oneWord = regexp.MustCompile(`\breturn true, text\((\w+)\), `)

// usual are the values that numbers of calls mostly have, by the name of the
// parameter: to compare costs less than to make a number of a text.
var usual = map[string]string{"cost": "1", "full_part": "0", "units": "1", "part": "0", "longest": "-1"}

// numbersOf are the numbers of a call, for parameters with those names.
func numbersOf(params []string, count int) string {
	all := make([]string, count)
	for i := range all {
		at := "argv[" + strconv.Itoa(3+i) + "]"
		all[i] = at + " + 0"
		if i < len(params) && usual[params[i]] != "" {
			n := usual[params[i]]
			all[i] = at + " == '" + n + "' and " + n + " or " + all[i]
		}
	}
	return strings.Join(all, ", ")
}

// inLine puts the functions that text calls in front of the lines that call them:
// where a line is in a branch that is seldom taken, they cost nothing elsewhere.
func inLine(text string, all []function) string {
	var b strings.Builder
	for line := range strings.Lines(unfoldExpressions(text)) {
		called, definitions := line, ""
		for _, f := range slices.Backward(all) { // each calls only those before it
			if strings.Contains(called, f.name+"(") {
				definition := unfoldExpressions(f.text) + "\n"
				definitions, called = definition+definitions, called+definition
			}
		}
		b.WriteString(definitions + line)
	}
	return b.String()
}

// byFullName calls functions of strings as they are called in the globals: for what is
// called once that costs as much as to give it a name.
func byFullName(text string) string { return ofStrings.ReplaceAllString(text, "${1}string.$2(") }

var ofStrings = regexp.MustCompile(`(^|[^.\w])(find|match|sub)\(`)
