package trace

import "bytes"

// envoyLog reads the default format of Envoy's access log, and nothing else:
//
//	[2016-04-15T20:17:00.310Z] "POST /p HTTP/2" 204 - 154 0 226 100 "xff" "user agent" "id" "authority" "upstream"
//
// The time is when the request started. Envoy escapes nothing, so that a quote inside a field makes a bad line: which fields it
// would shift is up to the client.
//
// The host is the last address of x-forwarded-for. That is the address from which this Envoy, or the proxy before it where Envoy
// does not append one, has received the request. Those before it are what a client may have made up: a limit by the first would be no
// limit for whoever sends a new one with every request. Where there is another proxy of one's own in front, the key is
// that proxy, and such a log is better read as CSV. "-" means that there was no x-forwarded-for.
type envoyLog struct {
	key       Key
	text      []byte // scratch for a key that does not stand in the line as it is
	request   []byte
	forwarded []byte
	device    []byte // the user agent
}

const (
	reasonEnvoyTime   = "the line does not begin with [yyyy-mm-ddThh:mm:ss.sssZ]"
	reasonEnvoyQuote  = "the request is not quoted, or a quote stands inside a field"
	reasonEnvoyWords  = "there are not six words after the request: status, flags, 2 sizes, 2 times"
	reasonEnvoyQuotes = "there are not five quoted fields at the end, or a quote stands inside one"
	reasonForwarded   = "the last address of x-forwarded-for is empty"
)

func (e *envoyLog) parse(line []byte, f *fields) (reason string) {
	stamp, rest, ok := bytes.Cut(line, []byte("]"))
	if !ok || len(stamp) == 0 || stamp[0] != '[' {
		return reasonEnvoyTime
	}
	at, reason := parseStamp(stamp[1:])
	if reason == reasonStampForm {
		return reasonEnvoyTime
	}
	if reason != "" {
		return reason
	}
	f.cost = 1
	if f.at, reason = at.at(); reason != "" {
		return reason
	}
	if e.request, rest, ok = cutPlainQuoted(rest); !ok {
		return reasonEnvoyQuote
	}
	for i := range 6 {
		var word []byte
		word, rest = cutWord(rest)
		if len(word) == 0 || bytes.IndexByte(word, '"') >= 0 || i == 0 && !areDigits(word) {
			return reasonEnvoyWords
		}
	}
	for i := range 5 {
		var field []byte
		if field, rest, ok = cutPlainQuoted(rest); !ok {
			return reasonEnvoyQuotes
		}
		switch i {
		case 0:
			e.forwarded = field
		case 1:
			e.device = field
		}
	}
	if len(bytes.TrimRight(rest, " ")) > 0 {
		return reasonEnvoyQuotes
	}
	f.key, reason = keyOf(e.key, e, &e.text)
	return reason
}

func (e *envoyLog) host() ([]byte, string) {
	last := e.forwarded[bytes.LastIndexByte(e.forwarded, ',')+1:]
	if last = bytes.Trim(last, " \t"); len(last) == 0 {
		return nil, reasonForwarded
	}
	return last, ""
}

// path refuses "-", which Envoy writes where there was no path.
func (e *envoyLog) path() ([]byte, string) {
	path, reason := requestPath(e.request)
	if string(path) == "-" {
		return nil, reasonNoPath
	}
	return path, reason
}

func (e *envoyLog) agent() ([]byte, string) {
	if len(e.device) == 0 {
		return nil, reasonNoAgent
	}
	return e.device, ""
}

// cutPlainQuoted cuts ` "…"` off the front of b, in which a backslash is a backslash. No quote may stand inside.
func cutPlainQuoted(b []byte) (text, rest []byte, ok bool) {
	if len(b) < 3 || b[0] != ' ' || b[1] != '"' {
		return nil, nil, false
	}
	end := bytes.IndexByte(b[2:], '"') + 2
	if end < 2 || end+1 < len(b) && b[end+1] != ' ' {
		return nil, nil, false
	}
	return b[2:end], b[end+1:], true
}

// looksEnvoy reports whether a line begins with a date in brackets.
func looksEnvoy(line []byte) bool { return line[0] == '[' && looksStamp(line[1:]) }
