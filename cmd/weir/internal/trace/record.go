package trace

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// KeyMethod is the method of an access log line, for Options.Fields.
const KeyMethod = "method"

// methodFields are the fields of the method in formats whose request line is not one field.
var methodFields = map[string]string{
	"nginx-json": "request_method", "caddy": "request.method", "traefik": "RequestMethod",
	"cloudfront": "cs-method", "cloudfront-realtime": "cs-method", "w3c": "cs-method",
}

// wantFields makes the key of a line from several fields; see Options.Fields.
func (p *parser) wantFields(o *Options) error {
	if len(o.Fields) > maxFields/2 {
		return optionError("fields", "%d of them: must be at most %d", len(o.Fields), maxFields/2)
	}
	f := p.format
	for _, name := range o.Fields {
		isPart := name == KeyHost || name == KeyPath || name == KeyMethod || name == KeyUserAgent
		switch {
		case isPart && f.hosts == nil && f.name != csvName:
			p.wantPart(nil, name) // a member, which may be absent
		case isPart && f.hosts == nil:
			p.keys = append(p.keys, keyPart{})
		case name == KeyHost:
			p.wantPart(f.hostForm, f.hosts...)
			p.keys[len(p.keys)-1].host = true
		case name == KeyPath:
			p.wantPart(f.pathForm, f.targets...)
		case name == KeyMethod && slices.Contains(f.targets, "request"):
			p.wantPart(requestMethod, "request")
		case name == KeyMethod:
			p.wantPart(nil, cmp.Or(methodFields[f.name], KeyMethod))
		case name == KeyUserAgent && f.agent == "":
			p.keys = append(p.keys, keyPart{})
		case name == KeyUserAgent:
			p.wantPart(nil, f.agent)
		default:
			p.wantPart(nil, name)
		}
		if len(p.names) > maxFields {
			return optionError("fields", "a line has at most %d of them that are wanted", maxFields)
		}
	}
	p.record = true
	return nil
}

// requestMethod returns the method of "METHOD target PROTOCOL".
func requestMethod(request []byte) (method []byte, reason string) {
	method, _, found := bytes.Cut(request, []byte(" "))
	if !found || len(method) == 0 {
		return nil, reasonNoPath
	}
	return method, ""
}

// fields makes a key of the fields of a line: the length of each, a colon, and its text. A
// field that is absent or that cannot be read is empty.
func (p *parser) fields() []byte {
	p.joined = p.joined[:0]
	for _, k := range p.keys {
		var text []byte
		if k.to > k.from {
			value := p.values[k.from]
			_, isJSON := p.cutter.(*object)
			if isJSON && len(value) > 0 && strings.IndexByte(`"[{n`, value[0]) < 0 {
				text = value // a number, true or false
			} else if found, reason := p.part(k); reason == "" && string(found) != "-" {
				text = found
			}
		}
		p.joined = append(strconv.AppendInt(p.joined, int64(len(text)), 10), ':')
		p.joined = append(p.joined, text...)
	}
	return p.joined
}

// SplitFields returns the fields of a key, where Options.Fields were set.
func SplitFields(key string) (fields []string) {
	for key != "" {
		end := 0
		for key[end] != ':' {
			end++
		}
		n, _ := strconv.Atoi(key[:end]) // as fields wrote it
		fields = append(fields, key[end+1:end+1+n])
		key = key[end+1+n:]
	}
	return fields
}
