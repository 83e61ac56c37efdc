package trace

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	reasonNoDate    = `there is no [dd/Mon/yyyy:hh:mm:ss +hhmm] before a quoted request`
	reasonVirtual   = "there are too many fields before the date: is there something before the host?"
	reasonUserQuote = "the user holds a quote that is not escaped"
	reasonSecond    = "there is a second date or request, as a client can forge where a server does not escape what it writes"
	reasonStatus    = "status is neither three digits nor -"
	reasonBytes     = "bytes is neither digits nor -"
	reasonCode      = "response_code is not written in digits"
	reasonExtra     = "what follows the last field is neither words nor closed quotes"
)

// layout cuts lines of text by a template such as `$host [$time] "$request"`: a field is where its name stands, and all else must be
// in the line as it is in the template.
//
//   - A field between quotes ends at the next quote.
//   - Any other is a word: it ends at a space, or at what follows it in the template, and holds no quote.
//   - The user may hold spaces and brackets. It ends at the first date in brackets with a bare quote behind it.
type layout struct {
	layoutOptions
	fields []layoutField
	tail   string // what follows the last field
}

// layoutOptions say how a server writes its fields.
type layoutOptions struct {
	backslash bool // a backslash in quotes hides the next byte, and the decoder has the escapes
	loose     bool // a word may stand in quotes
	more      bool // more fields may follow: words, or quoted and closed
	decoder        // of a field
}

// fieldKind says where a field ends.
type fieldKind uint8

const (
	word      fieldKind = iota // at a space, or at what follows it in the template
	quoted                     // at the next quote
	spaced                     // at what follows it in the template: it may hold spaces, and be empty
	untilDate                  // at the first date in brackets with a bare quote behind it: the user
)

// layoutField is a field of a template.
type layoutField struct {
	name   string
	before string // what stands before it, behind the field before
	kind   fieldKind
	check  func(value []byte) (reason string) // nil for any value
	reason string                             // why there is no such field
	slot   int                                // of values; -1 where it is not wanted
}

// checks are of fields by their names. A value that fails shows that the fields are not where the template has them.
var checks = map[string]func(value []byte) (reason string){
	"status": func(b []byte) string {
		if string(b) != "-" && (len(b) != 3 || !areDigits(b)) {
			return reasonStatus
		}
		return ""
	},
	"bytes": func(b []byte) string {
		if string(b) != "-" && !areDigits(b) {
			return reasonBytes
		}
		return ""
	},
	"response_code": func(b []byte) string {
		if !areDigits(b) {
			return reasonCode
		}
		return ""
	},
	"ident": func(b []byte) string {
		if len(b) < 2 { // most idents
			return ""
		}
		if _, isAddress := addressOf(string(b)); isAddress {
			return reasonVirtual
		}
		return ""
	},
	"host": func(b []byte) string {
		if bytes.HasSuffix(b, []byte(",")) {
			return "host is a list, not one address"
		}
		return ""
	},
}

// checkUser refuses a user that shows another format: with a virtual host, or a prefix of a log daemon, before the host, the fields
// behind would be taken for the user and every line would have the wrong key. It refuses a quote without a backslash, which no
// server writes that escapes what its clients send.
func checkUser(b []byte) string {
	if !bytes.ContainsAny(b, ` "`) { // most users
		return ""
	}
	words := bytes.Split(b, []byte(" "))
	for i, word := range words {
		_, isAddress := addressOf(string(word))
		if len(words) > 1 && (isAddress || string(word) == "-" && (i == 0 || i > 1)) {
			return reasonVirtual
		}
	}
	if string(b) != `""` && (&layout{layoutOptions: layoutOptions{backslash: true}}).quote(b) >= 0 {
		return reasonUserQuote
	}
	return ""
}

// variable is a field in a template: $name or ${name}.
var variable = regexp.MustCompile(`\$(?:(\w+)|\{([^}]+)\})`)

// newLayout reads a template.
func newLayout(template string, o layoutOptions) *layout {
	l := &layout{layoutOptions: o}
	end := 0
	for _, at := range variable.FindAllStringSubmatchIndex(template, -1) {
		name := template[max(at[2], at[4]):max(at[3], at[5])]
		f := layoutField{name: name, before: template[end:at[0]], check: checks[name], slot: -1}
		switch end = at[1]; {
		case strings.HasSuffix(f.before, `"`):
			f.kind, f.reason = quoted, name+" is not in quotes, or has no closing quote"
		case strings.HasSuffix(f.before, "[") || name == "time_local":
			f.kind, f.reason = spaced, name+" is missing"
		case name == "captures":
			f.kind, f.reason = spaced, name+" is missing"
		default:
			f.reason = name + " is missing, or is not one word"
		}
		l.fields = append(l.fields, f)
	}
	l.tail = template[end:]
	for i := 0; i+2 < len(l.fields); i++ {
		if f := &l.fields[i]; (f.name == "user" || f.name == "remote_user") && l.fields[i+1].kind == spaced {
			f.kind, f.check, f.reason = untilDate, checkUser, reasonNoDate
		}
	}
	return l
}

func (l *layout) has(name string) bool { return slices.Contains(l.names(), name) }

// first returns the first of some names that is one of a field, or "".
func (l *layout) first(names []string) string {
	if i := slices.IndexFunc(names, l.has); i >= 0 {
		return names[i]
	}
	return ""
}

// names returns the fields in order.
func (l *layout) names() (names []string) {
	for _, f := range l.fields {
		names = append(names, f.name)
	}
	return names
}

func (l *layout) want(names []string) error {
	for slot, name := range names {
		i := slices.IndexFunc(l.fields, func(f layoutField) bool { return f.name == name })
		if i < 0 {
			return fmt.Errorf("no %q: must be host, path, host+path, or a field: %s", name, strings.Join(l.names(), ", "))
		}
		l.fields[i].slot = slot
	}
	return nil
}

func (l *layout) cut(line []byte, values [][]byte) (reason string) {
	rest := line
	for i := range l.fields {
		f := &l.fields[i]
		value, after, ok := l.field(i, rest)
		if f.check != nil {
			if reason = f.check(value); reason != "" {
				return reason
			}
		}
		if !ok {
			return f.reason
		}
		if f.slot >= 0 {
			values[f.slot] = value
		}
		rest = after
	}
	rest, ok := bytes.CutPrefix(rest, []byte(l.tail))
	if l.more && ok {
		return checkMore(rest)
	}
	if !ok || len(bytes.TrimRight(rest, " ")) > 0 {
		return reasonExtra
	}
	return ""
}

// field cuts what stands before a field and the field off the front of b.
func (l *layout) field(i int, b []byte) (value, rest []byte, ok bool) {
	f := &l.fields[i]
	b, ok = bytes.CutPrefix(b, []byte(f.before))
	switch {
	case !ok:
		return nil, nil, false
	case f.kind == quoted:
		end := l.quote(b)
		return b[:max(0, end)], b[max(0, end):], end >= 0
	case l.loose && len(b) > 0 && b[0] == '"':
		end := l.quote(b[1:]) + 1
		return b[1:max(1, end)], b[end+1:], end > 0
	case f.kind == untilDate:
		end := l.userEnd(i, b)
		return b[:max(0, end)], b[max(0, end):], end > 0
	}
	next := l.tail
	if i+1 < len(l.fields) {
		next = l.fields[i+1].before
	}
	end := bytes.Index(b, []byte(next))
	if next == "" || end < 0 { // and then what follows is not there, which the next field says
		if end = bytes.IndexByte(b, ' '); end < 0 {
			end = len(b)
		}
	}
	return b[:end], b[end:], f.kind == spaced || end > 0 && !bytes.ContainsAny(b[:end], ` "`)
}

// quote returns the index of the quote that closes a field, or -1.
func (l *layout) quote(b []byte) int {
	end := bytes.IndexByte(b, '"')
	if end < 0 || !l.backslash || bytes.IndexByte(b[:end], '\\') < 0 { // most fields
		return end
	}
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// userEnd returns where the user ends: before the first ` [date] "`. -1 is nowhere.
func (l *layout) userEnd(user int, b []byte) int {
	before, after := l.fields[user+1].before, l.fields[user+2].before
	for i := 0; ; i++ {
		n := bytes.Index(b[i:], []byte(before))
		if n < 0 {
			return -1
		}
		i += n
		if end := i + len(before) + dateLength; end < len(b) && bytes.HasPrefix(b[end:], []byte(after)) {
			return i
		}
	}
}

// checkMore returns what is wrong with fields that follow, each after a space: closed quotes, or words without quotes. An empty word
// is one too, so that a space at the end of the line does no harm. A date in brackets or a request in quotes is no further field, but
// shows that the fields before may be what a client wrote.
func checkMore(b []byte) (reason string) {
	escaped := layout{layoutOptions: layoutOptions{backslash: true}}
	for len(b) > 0 {
		if b[0] != ' ' {
			return reasonExtra
		}
		if b = b[1:]; len(b) > 0 && b[0] == '"' {
			end := escaped.quote(b[1:])
			if end < 0 {
				return reasonExtra
			}
			if _, reason := requestPath(b[1 : 1+end]); reason == "" {
				return reasonSecond
			}
			b = b[1+end+1:]
			continue
		}
		if _, reason := date(b[min(1, len(b)):min(1+dateLength, len(b))]); reason == "" && b[0] == '[' {
			return reasonSecond
		}
		end := bytes.IndexByte(b, ' ')
		if end < 0 {
			end = len(b)
		}
		if bytes.IndexByte(b[:end], '"') >= 0 {
			return reasonExtra
		}
		b = b[end:]
	}
	return ""
}
