package trace

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// KeyMethod is the method of an access log line, for Options.Fields.
const KeyMethod = "method"

// wantFields makes the key of a line from several fields; see Options.Fields.
func (p *parser) wantFields(o *Options) error {
	if len(o.Fields) > maxFields/2 {
		return optionError("fields", "%d of them: must be at most %d", len(o.Fields), maxFields/2)
	}
	for _, name := range o.Fields {
		if p.format.lacks(name) {
			p.keys = append(p.keys, keyPart{})
		} else {
			p.wantNamed(name)
		}
		if len(p.names) > maxFields {
			return optionError("fields", "a line has at most %d of them that are wanted", maxFields)
		}
	}
	p.record = true
	return nil
}

// lacks reports whether a name is the name of a part that no line of the format has. A member may be in some lines of JSON.
func (f *format) lacks(name string) bool {
	switch name {
	case KeyHost:
		return f.name == csvName
	case KeyPath:
		return f.name == csvName || f.hosts != nil && f.targets == nil
	case KeyMethod:
		return f.name == csvName || f.hosts != nil && f.method == "" && !f.hasRequest()
	case KeyUserAgent:
		return f.name == csvName || f.hosts != nil && f.agent == ""
	}
	return false
}

// hasRequest reports whether the path is a part of a request line, and so is the method.
func (f *format) hasRequest() bool { return slices.Contains(f.targets, "request") }

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
