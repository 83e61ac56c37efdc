package httplimit

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// parseExhausted reads the RateLimit field of draft-ietf-httpapi-ratelimit-headers-10,
// a List of structured fields (RFC 9651) over all lines. It returns the longest t of
// the items with r=0, and whether there is one. A field that breaks the grammar says
// nothing.
func parseExhausted(lines []string) (seconds int64, exhausted bool) {
	p := parser{strings.Trim(strings.Join(lines, ","), " ")}
	for p.rest != "" {
		item, ok := p.item()
		if !ok {
			return 0, false
		}
		if item.remaining == 0 && item.reset > 0 {
			seconds, exhausted = max(seconds, item.reset), true
		}
		p.skip(" \t")
		if p.rest == "" {
			break
		}
		if !p.take(',') {
			return 0, false
		}
		if p.skip(" \t"); p.rest == "" {
			return 0, false // a comma at the end
		}
	}
	return seconds, exhausted
}

// quota is one item; -1 is a parameter that it does not have.
type quota struct{ remaining, reset int64 }

type parser struct{ rest string }

func (p *parser) skip(chars string) { p.rest = strings.TrimLeft(p.rest, chars) }

func (p *parser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// item reads a String and its parameters.
func (p *parser) item() (q quota, ok bool) {
	q = quota{-1, -1}
	if !strings.HasPrefix(p.rest, `"`) || !p.string() {
		return q, false
	}
	for p.take(';') {
		p.skip(" ")
		name := p.while(isKeyByte)
		if name == "" || !isLower(name[0]) && name[0] != '*' {
			return q, false
		}
		value := int64(-1) // true, and every other value that is no Integer
		if p.take('=') {
			if value, ok = p.value(); !ok {
				return q, false
			}
		}
		switch name { // the last one of a name counts
		case "r":
			q.remaining = value
		case "t":
			q.reset = value
		}
	}
	return q, true
}

func (p *parser) while(is func(byte) bool) string {
	end := 0
	for end < len(p.rest) && is(p.rest[end]) {
		end++
	}
	text := p.rest[:end]
	p.rest = p.rest[end:]
	return text
}

// value reads a bare item. It is -1 unless it is an Integer of 0 or more.
func (p *parser) value() (n int64, ok bool) {
	if p.rest == "" {
		return 0, false
	}
	switch c := p.rest[0]; {
	case c == '"':
		return -1, p.string()
	case c == '-' || isDigit(c):
		return p.number()
	case c == '@': // a Date
		p.rest = p.rest[1:]
		before := p.rest
		_, ok = p.number()
		return -1, ok && !strings.Contains(before[:len(before)-len(p.rest)], ".")
	case c == ':': // a Byte Sequence
		end := strings.IndexByte(p.rest[1:], ':')
		if end < 0 || !isBase64(p.rest[1:1+end]) {
			return 0, false
		}
		p.rest = p.rest[end+2:]
		return -1, true
	case c == '?':
		ok = len(p.rest) > 1 && (p.rest[1] == '0' || p.rest[1] == '1')
		if ok {
			p.rest = p.rest[2:]
		}
		return -1, ok
	case c == '*' || isLower(c) || isUpper(c):
		p.while(func(c byte) bool { return isToken(c) || c == ':' || c == '/' })
		return -1, true
	}
	return 0, false // a Display String, too, which no parameter here has
}

// number reads an Integer or a Decimal.
func (p *parser) number() (n int64, ok bool) {
	negative := p.take('-')
	whole := p.while(isDigit)
	if whole == "" || len(whole) > 15 {
		return 0, false
	}
	if p.take('.') {
		fraction := p.while(isDigit)
		return -1, len(whole) <= 12 && len(fraction) >= 1 && len(fraction) <= 3
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if negative && n > 0 {
		n = -1
	}
	return n, err == nil
}

// string reads a String.
func (p *parser) string() bool {
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			p.rest = p.rest[i+1:]
			return true
		case c < ' ' || c > '~':
			return false
		case c == '\\':
			i++
			if i == len(p.rest) || p.rest[i] != '"' && p.rest[i] != '\\' {
				return false
			}
		}
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func isKeyByte(c byte) bool {
	return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0
}

func isBase64(text string) bool {
	_, err := base64.StdEncoding.DecodeString(text)
	return err == nil
}
