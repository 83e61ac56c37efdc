package policy

import (
	"math"
	"net"
	"net/url"
	"strings"
)

// endpoints finds all patterns that match a request, those of many rules together. It is
// the tree of net/http.ServeMux, but for two things: the same pattern may be there for
// several rules, and a search goes on behind the first match. A search meets the patterns
// of one rule in the order of the search of ServeMux, so that the first match of a rule is
// the match that a ServeMux with the patterns of this rule alone would have.
type endpoints struct {
	trees map[origin]*node
	hosts bool // some pattern has a host
}

// origin is what a pattern says beside the path; "" matches everything.
type origin struct{ host, method string }

type node struct {
	literal map[string]*node
	wild    *node
	multi   []target // patterns that match whatever follows, one segment or more
	leaf    []target // patterns that end here
}

// target is a pattern of a rule.
type target struct {
	rule  int32
	limit int32 // the index of the pattern in the rule
	multi bool
}

func (e *endpoints) add(p *pattern, rule, limit int) {
	if e.trees == nil {
		e.trees = map[origin]*node{}
	}
	e.hosts = e.hosts || p.host != ""
	at := origin{p.host, p.method}
	n := e.trees[at]
	if n == nil {
		n = &node{}
		e.trees[at] = n
	}
	t := target{rule: int32(rule), limit: int32(limit)}
	for _, s := range p.segments {
		switch {
		case s.multi:
			t.multi = true
			n.multi = append(n.multi, t)
			return
		case s.wild:
			if n.wild == nil {
				n.wild = &node{}
			}
			n = n.wild
		default:
			if n.literal == nil {
				n.literal = map[string]*node{}
			}
			next := n.literal[s.literal]
			if next == nil {
				next = &node{}
				n.literal[s.literal] = next
			}
			n = next
		}
	}
	n.leaf = append(n.leaf, t)
}

// endpoint is the endpoint of a request, as patterns see it.
type endpoint struct {
	method, host string
	segments     []string // decoded; a slash at the end is a segment "/"
	slashed      bool     // the path ends with a slash
	cut          bool     // it has more segments
	none         bool     // it matches no pattern
}

// set reads the endpoint of a request. Segments behind more than every pattern has are
// left out.
func (e *endpoint) set(r *Request, depth int) {
	*e = endpoint{method: r.Method, host: canonicalHost(r.Host), segments: e.segments[:0]}
	if r.Method == "" && r.Path == "" || !decodable(r.Path) {
		e.none = true
		return
	}
	path := cleanPath(r.Path)
	e.slashed = path[len(path)-1] == '/'
	for rest := path; rest != ""; {
		if len(e.segments) > depth {
			e.cut = true
			return
		}
		var text string
		text, rest = cutSegment(rest)
		if strings.IndexByte(text, '%') >= 0 {
			text, _ = url.PathUnescape(text) // decodable has looked
		}
		e.segments = append(e.segments, text)
	}
}

// decodable reports whether every percent sign of a path starts an escape.
func decodable(path string) bool {
	for {
		i := strings.IndexByte(path, '%')
		if i < 0 {
			return true
		}
		if i+2 >= len(path) || !isHex(path[i+1]) || !isHex(path[i+2]) {
			return false
		}
		path = path[i+3:]
	}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// canonicalHost returns a host in lower case, without a port and without a dot at the end.
func canonicalHost(host string) string {
	if strings.IndexByte(host, ':') >= 0 {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// search is one search through endpoints. Its memory is used again.
type search struct {
	found   []target // the match of each rule that has one
	marks   []uint32 // by rule: the last pass that has met it
	place   []int32  // by rule: where in found it is, if it is there
	pass    uint32
	slashed bool // the second pass: with a slash at the end
}

// match writes into s.found the pattern of each rule that ServeMux would choose among the
// patterns of the rule. As there, a path without a slash at the end that a pattern matches
// exactly with one is the path with the slash, if no pattern matches it exactly without.
func (e *endpoints) match(s *search, at *endpoint, rules int) {
	s.found = s.found[:0]
	if at.none || len(e.trees) == 0 {
		return
	}
	if len(s.marks) < rules {
		s.marks, s.place = make([]uint32, rules), make([]int32, rules)
	}
	if s.pass > math.MaxUint32-2 {
		clear(s.marks)
		s.pass = 0
	}
	s.pass++
	s.slashed = false
	e.each(at, func(n *node) { s.walk(n, at.segments) })
	s.pass++
	if at.slashed || at.cut {
		return
	}
	s.slashed = true
	with := append(at.segments, "/")
	e.each(at, func(n *node) { s.walk(n, with) })
	at.segments = with[:len(at.segments)]
}

// each calls f with the trees that a request may match, the more specific first.
func (e *endpoints) each(at *endpoint, f func(*node)) {
	if e.hosts && at.host != "" {
		e.eachMethod(at.host, at.method, f)
	}
	e.eachMethod("", at.method, f)
}

func (e *endpoints) eachMethod(host, method string, f func(*node)) {
	if n := e.trees[origin{host, method}]; n != nil {
		f(n)
	}
	if method == "HEAD" {
		if n := e.trees[origin{host, "GET"}]; n != nil {
			f(n)
		}
	}
	if n := e.trees[origin{host, ""}]; n != nil && method != "" {
		f(n)
	}
}

// walk collects the patterns below a node that match segments, the more specific first.
func (s *search) walk(n *node, segments []string) {
	if len(segments) == 0 {
		s.collect(n.leaf)
		return
	}
	first := segments[0]
	if next := n.literal[first]; next != nil {
		s.walk(next, segments[1:])
	}
	if n.wild != nil && first != "/" {
		s.walk(n.wild, segments[1:])
	}
	s.collect(n.multi)
}

// collect takes in the patterns of rules that this pass has not met.
func (s *search) collect(targets []target) {
	for _, t := range targets {
		before := s.marks[t.rule]
		if before == s.pass {
			continue
		}
		s.marks[t.rule] = s.pass
		switch {
		case !s.slashed || before != s.pass-1: // the first pass, or no match in it
			s.place[t.rule] = int32(len(s.found))
			s.found = append(s.found, t)
		default:
			// A multi that takes a path without a slash at the end is not exact. A match with
			// the slash that is not exact either is the same multi.
			if at := &s.found[s.place[t.rule]]; at.multi {
				*at = t
			}
		}
	}
}
