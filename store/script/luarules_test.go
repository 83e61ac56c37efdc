package script

import (
	"regexp"
	"slices"
	"strings"
)

// luaWrites says of every command that scripts may send whether it writes.
var luaWrites = map[string]bool{
	"TIME": false, "GET": false, "LLEN": false, "LRANGE": false, "LINDEX": false,
	"SET": true, "DEL": true, "RPUSH": true, "LSET": true, "LTRIM": true, "PEXPIRE": true,
}

// luaGlobals are the globals of the server that scripts may read.
var luaGlobals = strings.Fields("KEYS ARGV redis math string table tonumber type unpack pcall error")

// luaStrings are expressions that are strings, or that .. refuses, so that .. cannot
// cut digits off them.
var luaStrings = map[string]string{
	"digest":     "an argument",
	"state":      "the text of a state, or false",
	"shown":      "the instant as it was given, the words of TIME, or made by format",
	"element":    "an element of a list",
	"first":      "an element of a list",
	"final":      "an element of a list",
	"whole":      "an element of a list",
	"word":       "a word of a state",
	"stamp":      "digits of a word",
	"digits":     "digits of a word",
	"heading":    "digits of a word",
	"sums":       "made by format",
	"time[1]":    "a word of TIME",
	"time[2]":    "a word of TIME",
	"opened":     "a word of a state, or made by format",
	"head":       "an element of a list, or made by format",
	"tail":       "an element of a list, or made by format",
	"before":     "the text of a state, or what a log shows of it",
	"verdict":    "a sign",
	"mark":       "a sign",
	"sign":       "a sign",
	"seconds":    "the instant as it was given, or a word of TIME",
	"colon":      "a sign, or nothing",
	"words":      "texts of a list, joined",
	"why":        "the text of an error",
	"micros":     "a word of TIME, or nothing",
	"command":    "the name of a command",
	"reply.err":  "the text of an error",
	"remembered": "what is stored of an ID",
}

// luaFormats make text of numbers without cutting them: %.0f of any whole number, and
// %d of those below 2^31, which stand behind a condition that says so.
var luaFormats = regexp.MustCompile(`^([ +:]?%\.0f ?)+$|^%d%08d( %d){0,3}$`)

// luaTables are tables of nothing but strings: table.concat cuts digits as .. does.
var luaTables = map[string]string{
	"elements": "what LRANGE answers",
	"failed":   "texts of errors",
	"out":      "texts of states",
	"reply":    "texts of states",
	"replies":  "texts of groups",
}

// luaExempt are calls that the rules cannot follow.
var luaExempt = map[string]string{
	"try(command,": "attempt, whose calls are looked at instead",
	"one.decide(":  "a log gets its key where others get their state",
	"one.write(":   "the key is that of commit",
}

// checkLua returns what is wrong with a script; peek says that it must not write.
func checkLua(text string, peek bool) []string {
	l := readLua(text)
	if len(l.problems) > 0 {
		return l.problems
	}
	for i := range l.tokens {
		l.checkName(i)
		l.checkText(i)
		l.checkDivision(i)
		l.checkCall(i)
	}
	l.checkTime()
	if peek {
		l.checkPeek()
	}
	return l.problems
}

// checkName: no global is made or changed, and none read but those that there are.
func (l *luaText) checkName(i int) {
	t := l.tokens[i]
	if t.kind != luaName || t.declares || t.known || l.at(i-1) == "." || l.at(i-1) == ":" || l.at(i-1) == "function" {
		return
	}
	if l.at(i+1) == "=" && (l.at(i-1) == "{" || l.at(i-1) == ",") {
		return // a field of a table
	}
	end := l.chainEnd(i)
	switch {
	case l.at(end+1) == "=":
		l.report(t.line, "global", "%s is written", t.text)
	case !slices.Contains(luaGlobals, t.text):
		l.report(t.line, "global", "%s is read", t.text)
	case t.text == "redis" && l.code(i-3, i+3) != "local call=redis.call" && l.code(i-3, i+3) != "local try=redis.pcall":
		l.report(t.line, "call", "redis is used but for the two helpers")
	}
}

// checkText: a number becomes text through text alone.
func (l *luaText) checkText(i int) {
	t := l.tokens[i]
	switch at := l.at(i); {
	case at == "tostring":
		l.report(t.line, "text", "tostring")
	case at == "format" && !luaFormats.MatchString(strings.TrimPrefix(l.at(i+2), "'")):
		l.report(t.line, "text", "format of %s", l.at(i+2))
	case at == "..":
		if !l.isString(l.chainStart(i-1), i-1) {
			l.report(t.line, "text", ".. after what may be a number")
		}
		if !l.isString(i+1, l.chainEnd(i+1)) {
			l.report(t.line, "text", ".. before what may be a number")
		}
	case at == "concat" && l.at(i-1) == ".":
		if luaTables[l.at(i+2)] == "" || l.at(i+3) != "," {
			l.report(t.line, "text", "table.concat of %s, which may hold numbers", l.at(i+2))
		}
	}
}

// isString reports whether the expression from first to last is text for sure, or
// nothing that .. takes.
func (l *luaText) isString(first, last int) bool {
	const arithmetic = "+ - * / % #"
	if slices.Contains(strings.Fields(arithmetic), l.at(first-1)) || slices.Contains(strings.Fields(arithmetic), l.at(last+1)) {
		return false
	}
	if first == last && l.tokens[first].kind == luaString {
		return true
	}
	if l.at(first) == "(" && l.tokens[first].partner == last {
		return l.isChoiceOfStrings(first+1, last)
	}
	called := l.at(last) == ")" && l.tokens[last].partner == first+1
	if called && l.at(first) == "text" || slices.Contains([]string{"string.format(", "string.sub(", "table.concat("}, l.code(first, first+4)) {
		return true
	}
	return luaStrings[l.code(first, last+1)] != ""
}

// isChoiceOfStrings is isString for "a and b or c": a condition is never the result
// where it is followed by "and".
func (l *luaText) isChoiceOfStrings(first, end int) bool {
	for i := first; i <= end; i++ {
		switch l.at(i) {
		case "(", "[", "{":
			i = l.tokens[i].partner
		case "and":
			first = i + 1
		case "or", ")":
			if !l.isString(first, i-1) {
				return false
			}
			first = i + 1
		}
	}
	return true
}

// checkDivision: a division is the last thing in a floor, so that it is exact.
func (l *luaText) checkDivision(i int) {
	if l.at(i) != "/" {
		return
	}
	end := l.chainEnd(i + 1)
	if l.at(end+1) == ")" {
		if open := l.tokens[end+1].partner; l.at(open-1) == "floor" {
			return
		}
	}
	l.report(l.tokens[i].line, "division", "it is not the last thing in a floor")
}

// checkCall: commands are known by their name, and their key is one of KEYS.
func (l *luaText) checkCall(i int) {
	name, t := l.at(i), l.tokens[i]
	if t.kind != luaName || t.declares || l.at(i-1) == "function" || luaExempt[l.code(i, i+4)] != "" {
		return
	}
	sends := (name == "call" || name == "try") && l.at(i-1) != "." || name == "attempt"
	position, hasKey := l.params[name]
	if l.at(i+1) != "(" {
		if sends {
			l.report(t.line, "call", "%s gets another name", name)
		}
		return
	}
	if sends {
		command := strings.TrimPrefix(l.at(i+2), "'")
		if _, found := luaWrites[command]; !found {
			l.report(t.line, "call", "%s is no command that scripts send", l.at(i+2))
			return
		}
		position, hasKey = 1, command != "TIME"
	}
	if !hasKey || luaExempt[l.code(i-2, i+2)] != "" {
		return
	}
	if args := l.args(i + 1); position >= len(args) || !l.isKeyAt(args[position]) {
		l.report(t.line, "key", "%s of what may not be one of KEYS", name)
	}
}

// args returns where the arguments of a call begin, whose bracket is at i.
func (l *luaText) args(i int) []int {
	starts := []int{i + 1}
	for k := i + 1; k < l.tokens[i].partner; k++ {
		switch l.at(k) {
		case "(", "[", "{":
			k = l.tokens[k].partner
		case ",":
			starts = append(starts, k+1)
		}
	}
	return starts
}

// isKeyAt reports whether an argument is an element of KEYS, a local or parameter
// that is, or an element of a table of them.
func (l *luaText) isKeyAt(i int) bool {
	end := l.chainEnd(i)
	if after := l.at(end + 1); after != "," && after != ")" {
		return false
	}
	if l.at(i+1) == "[" && l.tokens[i+1].partner == end {
		return l.at(i) == "KEYS" || l.isTableOfKeys(l.at(i))
	}
	return end == i && l.tokens[i].isKey
}

// isTableOfKeys reports whether nothing but keys is ever put into a table.
func (l *luaText) isTableOfKeys(name string) bool {
	filled := false
	for i := range l.tokens {
		if l.at(i) == name && l.at(i+1) == "[" && l.at(l.tokens[i+1].partner+1) == "=" {
			if filled = l.tokens[l.tokens[i+1].partner+2].isKey; !filled {
				return false
			}
		}
	}
	return filled
}

// checkTime: the clock is read at one place, once.
func (l *luaText) checkTime() {
	reads := 0
	for i := range l.tokens {
		t := l.tokens[i]
		asks := l.at(i) == "'TIME" && t.within != "clock" || l.at(i) == "clock" && l.at(i-1) != "function"
		if !asks {
			continue
		}
		if reads++; reads > 1 || t.within != "" || t.loops > 0 {
			l.report(t.line, "time", "the clock may be read twice")
		}
	}
}

// checkPeek: where nothing may be written, no command that writes is reached.
func (l *luaText) checkPeek() {
	writers := map[string]bool{}
	for known := -1; len(writers) > known; {
		known = len(writers)
		for i := range l.tokens {
			if within := l.tokens[i].within; within != "" && l.writes(i, writers) {
				writers[within] = true
			}
		}
	}
	for i, t := range l.tokens {
		if t.within == "" && l.writes(i, writers) {
			l.report(t.line, "peek", "%s is reached", t.text)
		}
	}
}

// writes reports whether the token at i sends a command that writes or calls one of
// the writers, and is reached.
func (l *luaText) writes(i int, writers map[string]bool) bool {
	t := l.tokens[i]
	sends := t.kind == luaString && luaWrites[t.text] && (l.at(i-2) == "call" || l.at(i-2) == "try")
	calls := t.kind == luaName && writers[t.text] && l.at(i+1) == "(" && l.at(i-1) != "function"
	return (sends || calls) && !t.guarded && luaExempt[l.code(i, i+4)] == ""
}

// code is the text of the tokens from first up to end, without spaces but between
// words.
func (l *luaText) code(first, end int) string {
	var code strings.Builder
	for i := first; i < end; i++ {
		if code.WriteString(l.at(i)); l.at(i) == "local" {
			code.WriteByte(' ')
		}
	}
	return code.String()
}

// chainEnd returns the last token of the name, call, index or bracket that begins
// at i.
func (l *luaText) chainEnd(i int) int {
	if l.at(i) == "(" || l.at(i) == "{" {
		i = l.tokens[i].partner
	} else if i >= len(l.tokens) || l.tokens[i].kind != luaName {
		return i
	}
	for {
		switch l.at(i + 1) {
		case ".", ":":
			i += 2
		case "(", "[":
			i = l.tokens[i+1].partner
		default:
			return i
		}
	}
}

// chainStart returns the first token of what ends at i.
func (l *luaText) chainStart(i int) int {
	for i > 0 {
		switch at := l.at(i); {
		case at == ")" || at == "]":
			i = l.tokens[i].partner
			before := i > 0 && (l.tokens[i-1].kind == luaName || l.at(i-1) == ")" || l.at(i-1) == "]")
			if !before {
				return i
			}
			i--
		case l.at(i-1) == "." && l.tokens[i].kind == luaName:
			i -= 2
		default:
			return i
		}
	}
	return i
}
