package trace

import "bytes"

// accessLog reads the Common and the Combined Log Format:
//
//	host ident user [10/Oct/2000:13:55:36 -0700] "request" status bytes
//	host ident user [10/Oct/2000:13:55:36 -0700] "request" status bytes "referer" "user-agent"
//
// The fields are separated by one space. More fields may follow, since servers are often told to add some: words, or quoted and
// closed. So a combined line is a good clf line too, but a clf line is no good combined one, and a line that was cut off
// inside quotes is neither.
//
// A user name may hold spaces and brackets. A server writes a quote in it as \", so the first date in brackets that is
// followed by a space and a bare quote is the date, and the user is what stands before it, from the third field on. A user
// that starts with "- " is refused: it shows a log with a virtual host before the host, whose keys would all be wrong.
//
// The request may be anything, also empty: only a key made of its path needs more of it.
type accessLog struct {
	key      Key
	combined bool
	line     logLine
	text     []byte // scratch for a key that does not stand in the line as it is
}

// logLine holds the fields of a line as they are written; of the quoted ones what is between the quotes.
type logLine struct {
	host, ident, user     []byte
	at                    int64
	request               []byte
	status, bytes         []byte
	referer, agent, extra []byte
}

const (
	reasonHost      = "there is no host before the first space"
	reasonDate      = `there is no [dd/Mon/yyyy:hh:mm:ss +hhmm] before a quoted request`
	reasonUser      = "ident or user is missing before the date"
	reasonVirtual   = "there are too many fields before the date (a virtual host first?)"
	reasonQuote     = "the request has no closing quote"
	reasonStatus    = "status is neither three digits nor -"
	reasonBytes     = "bytes is neither digits nor -"
	reasonReferer   = "there is no quoted referer, or it has no closing quote"
	reasonAgentForm = "there is no quoted user agent, or it has no closing quote"
	reasonExtra     = "what follows the last field is neither words nor closed quotes"
)

func (a *accessLog) parse(line []byte, f *fields) (reason string) {
	if reason = a.line.parse(line, a.combined); reason != "" {
		return reason
	}
	f.at, f.cost = a.line.at, 1
	f.key, reason = keyOf(a.key, a, &a.text)
	return reason
}

func (a *accessLog) host() ([]byte, string) { return a.line.host, "" }

func (a *accessLog) path() ([]byte, string) {
	request, ok := unescape(a.line.request)
	if !ok {
		return nil, reasonRequest
	}
	return requestPath(request)
}

func (a *accessLog) agent() ([]byte, string) {
	agent, ok := unescape(a.line.agent)
	switch {
	case !ok:
		return nil, reasonAgent
	case len(agent) == 0:
		return nil, reasonNoAgent
	}
	return agent, ""
}

func (l *logLine) parse(b []byte, combined bool) (reason string) {
	*l = logLine{}
	space := bytes.IndexByte(b, ' ')
	if space <= 0 {
		return reasonHost
	}
	date := findDate(b, space)
	if date < 0 {
		return reasonDate
	}
	if date == space {
		return reasonUser
	}
	var ok bool
	l.host = b[:space]
	l.ident, l.user, ok = bytes.Cut(b[space+1:date], []byte(" "))
	if !ok || len(l.ident) == 0 || len(l.user) == 0 {
		return reasonUser
	}
	if bytes.HasPrefix(l.user, []byte("- ")) {
		return reasonVirtual
	}
	if l.at, reason = parseDate(b[date+2 : date+2+dateLength]); reason != "" {
		return reason
	}
	rest := b[date+2+dateLength+1:]
	if l.request, rest, ok = cutQuoted(rest); !ok {
		return reasonQuote
	}
	if l.status, rest = cutWord(rest); !isStatus(l.status) {
		return reasonStatus
	}
	if l.bytes, rest = cutWord(rest); !isSize(l.bytes) {
		return reasonBytes
	}
	if combined {
		if l.referer, rest, ok = cutQuoted(rest); !ok {
			return reasonReferer
		}
		if l.agent, rest, ok = cutQuoted(rest); !ok {
			return reasonAgentForm
		}
	}
	l.extra = rest
	if !areFields(rest) {
		return reasonExtra
	}
	return ""
}

// looksLog reports whether a line has a request after something in brackets.
func looksLog(line []byte) bool {
	return bytes.Contains(line, []byte(`] "`)) && bytes.Contains(line, []byte(" ["))
}

// findDate returns the index of the space before ` [date] "`, at or after from, or -1.
func findDate(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		n := bytes.Index(b[i:], []byte(" ["))
		if n < 0 {
			return -1
		}
		i += n
		end := i + 2 + dateLength
		if end+3 <= len(b) && string(b[end:end+3]) == `] "` {
			return i
		}
	}
	return -1
}

// cutQuoted cuts ` "…"` off the front of b. A backslash in it hides the next byte.
func cutQuoted(b []byte) (text, rest []byte, ok bool) {
	if len(b) < 3 || b[0] != ' ' || b[1] != '"' {
		return nil, nil, false
	}
	b = b[2:]
	end := bytes.IndexByte(b, '"')
	if end >= 0 && bytes.IndexByte(b[:end], '\\') < 0 { // most fields
		return b[:end], b[end+1:], true
	}
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[:i], b[i+1:], true
		}
	}
	return nil, nil, false
}

// cutWord cuts a space and what follows it, up to the next space, off the front of b.
func cutWord(b []byte) (word, rest []byte) {
	if len(b) == 0 || b[0] != ' ' {
		return nil, nil
	}
	if n := bytes.IndexByte(b[1:], ' '); n >= 0 {
		return b[1 : 1+n], b[1+n:]
	}
	return b[1:], nil
}

func isStatus(b []byte) bool {
	return string(b) == "-" || len(b) == 3 && passDigits(b, 0) == 3
}

func isSize(b []byte) bool {
	return string(b) == "-" || len(b) > 0 && passDigits(b, 0) == len(b)
}

// areFields reports whether b is any number of fields, each after a space: closed quotes, or words without quotes. An
// empty word is one too, so that a space at the end of the line does no harm.
func areFields(b []byte) bool {
	for len(b) > 0 {
		if _, rest, ok := cutQuoted(b); ok {
			b = rest
			continue
		}
		if b[0] != ' ' {
			return false
		}
		var word []byte
		if word, b = cutWord(b); bytes.IndexByte(word, '"') >= 0 {
			return false
		}
	}
	return true
}
