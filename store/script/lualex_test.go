package script

import (
	"fmt"
	"slices"
	"strings"
)

// A tiny reader of Lua 5.1, as much of it as the scripts use: it knows words,
// blocks and locals, and leaves expressions to the rules in luarules_test.go.

type luaKind int

const (
	luaName luaKind = iota
	luaKeyword
	luaNumber
	luaString
	luaSign
)

// luaToken is a word of Lua, and where it stands.
type luaToken struct {
	kind luaKind
	text string // of a string, what is between its quotes
	line int

	partner  int    // of a bracket, the other one
	within   string // the function around it, "" at the top
	loops    int    // how many loops are around it, in this function
	guarded  bool   // it is reached only in a call that takes
	declares bool   // it is a name that is made here
	known    bool   // it is the name of a local that can be seen here
	isKey    bool   // … which is an element of KEYS, or a parameter "key"
}

var luaKeywords = strings.Fields("and break do else elseif end false for function if in local nil not or repeat return then true until while")

// luaText is Lua in its tokens. Problems are what is wrong with it.
type luaText struct {
	tokens   []luaToken
	problems []string
	params   map[string]int // functions with a parameter "key", and its index
}

func readLua(text string) *luaText {
	l := &luaText{params: map[string]int{}}
	l.lex(text)
	if len(l.problems) == 0 {
		l.pairUp()
	}
	if len(l.problems) == 0 {
		l.scopes()
	}
	return l
}

func (l *luaText) report(line int, rule, format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf("%s: line %d: %s", rule, line, fmt.Sprintf(format, args...)))
}

// at is the text of a token, with an open quote before that of a string; "" beyond
// the ends.
func (l *luaText) at(i int) string {
	if i < 0 || i >= len(l.tokens) {
		return ""
	}
	if l.tokens[i].kind == luaString {
		return "'" + l.tokens[i].text
	}
	return l.tokens[i].text
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func (l *luaText) lex(text string) {
	line := 1
	for len(text) > 0 {
		c, n, kind := text[0], 1, luaSign
		switch {
		case c == '\n':
			line++
			text = text[1:]
			continue
		case c == ' ':
			text = text[1:]
			continue
		case strings.HasPrefix(text, "--"):
			if strings.HasPrefix(text, "--[") {
				l.report(line, "lua", "a long comment")
				return
			}
			_, text, _ = strings.Cut(text, "\n")
			line++
			continue
		case isLetter(c):
			for n < len(text) && (isLetter(text[n]) || isDigit(text[n])) {
				n++
			}
			if kind = luaName; slices.Contains(luaKeywords, text[:n]) {
				kind = luaKeyword
			}
		case isDigit(c):
			for n < len(text) && (isDigit(text[n]) || isLetter(text[n]) || text[n] == '.' && !strings.HasPrefix(text[n:], "..")) {
				n++
			}
			kind = luaNumber
			if strings.ContainsFunc(text[:n], func(r rune) bool { return r < '0' || r > '9' }) {
				l.report(line, "lua", "%s is not a whole decimal number", text[:n])
			}
		case c == '\'' || c == '"':
			for n < len(text) && text[n] != c && text[n] != '\n' {
				if text[n] == '\\' {
					n++
				}
				n++
			}
			if n >= len(text) || text[n] != c {
				l.report(line, "lua", "a string without an end")
				return
			}
			l.tokens = append(l.tokens, luaToken{kind: luaString, text: text[1:n], line: line})
			text = text[n+1:]
			continue
		case strings.HasPrefix(text, "..."):
			n = 3
		case len(text) > 1 && slices.Contains([]string{"..", "==", "~=", "<=", ">="}, text[:2]):
			n = 2
		case strings.HasPrefix(text, "//") || !strings.ContainsRune("+-*/%#<>=(){}[];:,.", rune(c)):
			l.report(line, "lua", "%q is no sign of Lua 5.1 that scripts use", c)
			return
		}
		l.tokens = append(l.tokens, luaToken{kind: kind, text: text[:n], line: line})
		text = text[n:]
	}
}

// pairUp finds the partners of brackets.
func (l *luaText) pairUp() {
	closes := map[string]string{")": "(", "]": "[", "}": "{"}
	var open []int
	for i := range l.tokens {
		switch at := l.at(i); at {
		case "(", "[", "{":
			open = append(open, i)
		case ")", "]", "}":
			if len(open) == 0 || l.at(open[len(open)-1]) != closes[at] {
				l.report(l.tokens[i].line, "lua", "%s closes nothing", at)
				return
			}
			first := open[len(open)-1]
			l.tokens[i].partner, l.tokens[first].partner = first, i
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		l.report(l.tokens[open[0]].line, "lua", "%s is not closed", l.at(open[0]))
	}
}

// luaBlock is what an "end" ends.
type luaBlock struct {
	function string
	loops    int
	guarded  bool
	locals   map[string]bool // whether each is a key
}

// scopes says for every token where it stands, and for every name whether it is
// that of a local.
func (l *luaText) scopes() {
	blocks := []luaBlock{{locals: map[string]bool{}}}
	top := func() *luaBlock { return &blocks[len(blocks)-1] }
	push := func(function string, loops int, guarded bool) {
		blocks = append(blocks, luaBlock{function, loops, guarded, map[string]bool{}})
	}
	pop := func(line int) {
		if blocks = blocks[:len(blocks)-1]; len(blocks) == 0 {
			l.report(line, "lua", "an end too many")
			push("", 0, false)
		}
	}
	var loopNames []string // of a for, until its do
	loop := false
	braces := 0
	for i := range l.tokens {
		t := &l.tokens[i]
		t.within, t.loops, t.guarded = top().function, top().loops, top().guarded
		switch l.at(i) {
		case "{":
			braces++
		case "}":
			braces--
		case "local":
			if l.at(i+1) == "function" {
				top().locals[l.at(i+2)] = false
				break
			}
			names := l.names(i + 1)
			values := l.values(i + 1 + 2*len(names))
			for k, name := range names {
				top().locals[name] = k < len(values) && l.isElementOfKeys(values[k])
			}
		case "function":
			name, first := l.at(i+1), i+2
			if name == "(" {
				name, first = top().function, i+1 // it belongs to the one around it
			} else if l.at(i-1) != "local" {
				l.report(t.line, "global", "function %s", name)
			}
			push(name, 0, top().guarded)
			for k, param := range l.names(first + 1) {
				isKey := param == "key"
				if top().locals[param] = isKey; isKey {
					l.params[name] = k
				}
			}
		case "for":
			loop, loopNames = true, l.names(i+1)
		case "while":
			loop = true
		case "do", "repeat":
			loops := top().loops
			if loop || l.at(i) == "repeat" {
				loops++
			}
			push(top().function, loops, top().guarded)
			for _, name := range loopNames {
				top().locals[name] = false
			}
			loop, loopNames = false, nil
		case "then":
			push(top().function, top().loops, top().guarded || l.takes(i))
		case "else":
			pop(t.line)
			push(top().function, top().loops, top().guarded)
		case "elseif", "end", "until":
			pop(t.line)
		}
		if t.kind != luaName || l.at(i-1) == "." || l.at(i-1) == ":" || braces > 0 && l.at(i+1) == "=" {
			continue // not a variable
		}
		for _, b := range slices.Backward(blocks) {
			if isKey, found := b.locals[t.text]; found {
				t.known, t.isKey = true, isKey
				break
			}
		}
		t.known = t.known || slices.Contains(loopNames, t.text)
	}
	if len(blocks) != 1 {
		l.report(0, "lua", "%d blocks without an end", len(blocks)-1)
	}
}

// names reads a list of names, as they are declared.
func (l *luaText) names(i int) (names []string) {
	for i < len(l.tokens) && l.tokens[i].kind == luaName {
		l.tokens[i].declares = true
		names = append(names, l.at(i))
		if l.at(i+1) != "," {
			break
		}
		i += 2
	}
	return names
}

// values returns where the values of a declaration begin, whose names end before
// i: a comma stands between each two.
func (l *luaText) values(i int) (starts []int) {
	if l.at(i-1) != "=" {
		return nil
	}
	for starts = append(starts, i); i < len(l.tokens); i++ {
		switch l.at(i) {
		case "(", "[", "{":
			i = l.tokens[i].partner
		case ",":
			starts = append(starts, i+1)
		case "local", "for", "if", "return", "end", "while", "repeat", "do", "=", "function":
			return starts
		}
	}
	return starts
}

// isElementOfKeys reports whether the expression at i is KEYS[…] and no more.
func (l *luaText) isElementOfKeys(i int) bool {
	if l.at(i) != "KEYS" || l.at(i+1) != "[" {
		return false
	}
	return !slices.Contains([]string{".", "[", "(", "..", "+", "and", "or"}, l.at(l.tokens[i+1].partner+1))
}

// takes reports whether the condition before a then at i holds only in a call that
// takes: one of a chain of ands is "writes", or that the second argument is not "".
func (l *luaText) takes(i int) bool {
	end, found := i, false
	for i--; ; i-- {
		switch at := l.at(i); at {
		case "or", "not":
			return false
		case "and", "if", "elseif":
			term := l.code(i+1, end)
			found = found || term == "writes" || term == "argv[2]~='" || term == "ARGV[2]~='"
			if end = i; at != "and" {
				return found
			}
		}
	}
}
