package policy

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// pattern is a pattern of net/http.ServeMux. A segment is a literal, or wild, or, as the
// last one, multi: "/" at the end and "{name...}". "{$}" is the literal "/".
type pattern struct {
	text         string // as it was written
	method, host string
	segments     []segment
}

type segment struct {
	literal     string
	wild, multi bool
}

// parsePattern reads a pattern that ServeMux takes. It refuses what ServeMux refuses, in
// its words, and what can never match there: a path that is not clean, and a host with a
// port.
func parsePattern(text string) (pattern, error) {
	if err := accept(http.NewServeMux(), text); err != nil {
		return pattern{}, err
	}
	method, rest := "", text
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		method, rest = text[:i], strings.TrimLeft(text[i+1:], " \t")
	}
	slash := strings.IndexByte(rest, '/')
	host := rest[:slash]
	p := pattern{text: text, method: method, host: canonicalHost(host)}
	rest = rest[slash:]
	if strings.Contains(host, ":") {
		return pattern{}, fmt.Errorf("the host has a port: no host that is compared has one")
	}
	if cleanPath(rest) != rest {
		return pattern{}, fmt.Errorf("the path is not clean: no path that is compared is %s", rest)
	}
	for rest != "" {
		var text string
		text, rest = cutSegment(rest)
		p.segments = append(p.segments, segmentOf(text, rest == ""))
	}
	return p, nil
}

func segmentOf(text string, last bool) segment {
	switch {
	case text == "/" && last:
		return segment{wild: true, multi: true}
	case text == "{$}":
		return segment{literal: "/"}
	case strings.HasSuffix(text, "...}"):
		return segment{wild: true, multi: true}
	case strings.HasPrefix(text, "{"):
		return segment{wild: true}
	}
	if decoded, err := url.PathUnescape(text); err == nil {
		text = decoded
	}
	return segment{literal: text}
}

// cutSegment cuts the first segment off a path that starts with a slash. A slash at the end
// is a segment of its own.
func cutSegment(path string) (segment, rest string) {
	if path == "/" {
		return "/", ""
	}
	path = path[1:]
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// accept registers a pattern with a mux, and returns what the mux says of it.
func accept(mux *http.ServeMux, text string) (err error) {
	defer func() {
		if refused := recover(); refused != nil {
			err = fmt.Errorf("%v", refused)
		}
	}()
	mux.Handle(text, http.NotFoundHandler())
	return nil
}

// conflicts reports whether ServeMux refuses the second of two patterns beside the first.
func conflicts(first, second string) bool {
	mux := http.NewServeMux()
	return accept(mux, first) != nil || accept(mux, second) != nil
}

// overlap reports whether a request can match two patterns, as far as they tell without
// their wild parts.
func overlap(a, b *pattern) bool {
	if a.host != "" && b.host != "" && a.host != b.host {
		return false
	}
	get := func(p *pattern) bool { return p.method == "GET" || p.method == "HEAD" }
	if a.method != "" && b.method != "" && a.method != b.method && !(get(a) && get(b)) {
		return false
	}
	for i := range max(len(a.segments), len(b.segments)) {
		switch {
		case i >= len(a.segments):
			return b.segments[i].multi // a path without the last slash
		case i >= len(b.segments):
			return a.segments[i].multi
		case a.segments[i].multi || b.segments[i].multi:
			return true
		case !a.segments[i].wild && !b.segments[i].wild && a.segments[i].literal != b.segments[i].literal:
			return false
		}
	}
	return true
}

// cleanPath is what ServeMux makes of a path before it compares it.
func cleanPath(p string) string {
	if p == "" {
		return "/"
	}
	if p[0] != '/' {
		p = "/" + p
	}
	clean := path.Clean(p)
	if p[len(p)-1] != '/' || clean == "/" {
		return clean
	}
	if len(p) == len(clean)+1 { // it has lost its last slash only
		return p
	}
	return clean + "/"
}
