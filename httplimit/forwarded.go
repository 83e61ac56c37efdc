package httplimit

import (
	"net/netip"
	"strings"
)

// walkForwardedFor visits the hops of a line of X-Forwarded-For from right to left,
// until visit wants no more. A hop that cannot be read is visited as the zero Addr.
// Empty elements are no hops. It returns the last answer of visit.
func walkForwardedFor(line string, visit func(netip.Addr) bool) bool {
	for line != "" {
		comma := strings.LastIndexByte(line, ',')
		hop := strings.Trim(line[comma+1:], " \t")
		line = line[:max(comma, 0)]
		if hop == "" {
			continue
		}
		addr, _ := parseNode(hop)
		if !visit(addr) {
			return false
		}
	}
	return true
}

// walkForwarded is walkForwardedFor for the header of RFC 7239. A quoted string may
// hold a comma, so a line is read from left to right; a line that breaks the grammar
// is one hop that cannot be read.
func walkForwarded(line string, visit func(netip.Addr) bool) bool {
	var buffer [8]netip.Addr // as many proxies as there usually are
	hops := buffer[:0]
	for rest := line; rest != ""; {
		node, after, ok := cutElement(rest)
		if !ok {
			return visit(netip.Addr{})
		}
		if node != emptyElement {
			addr, _ := parseNode(node)
			hops = append(hops, addr)
		}
		rest = after
	}
	for i := len(hops) - 1; i >= 0; i-- {
		if !visit(hops[i]) {
			return false
		}
	}
	return true
}

// emptyElement stands for an element without any pair, which is no hop. It is no node
// that a header can hold.
const emptyElement = ","

// cutElement reads one element, such as `for="[2001:db8::1]:80";proto=https`, and
// returns the value of for, "" where it has none. ok is false where the element is
// against the grammar or has two values of for.
func cutElement(text string) (node, after string, ok bool) {
	pairs, named := 0, false
	for {
		text = strings.TrimLeft(text, " \t")
		if text == "" || text[0] == ',' {
			if pairs == 0 {
				node = emptyElement
			}
			return node, strings.TrimPrefix(text, ","), true
		}
		if text[0] == ';' { // an empty pair
			text = text[1:]
			continue
		}
		name, value, rest, ok := cutPair(text)
		if !ok {
			return "", "", false
		}
		if strings.EqualFold(name, "for") {
			if named {
				return "", "", false
			}
			node, named = value, true
		}
		pairs++
		text = strings.TrimLeft(rest, " \t")
		if text != "" && text[0] != ';' && text[0] != ',' {
			return "", "", false
		}
	}
}

// cutPair reads name=value, where the value is a token or a quoted string. A token may
// hold ':', '[' and ']' here, as proxies write addresses that should be quoted.
func cutPair(text string) (name, value, rest string, ok bool) {
	end := 0
	for end < len(text) && isToken(text[end]) {
		end++
	}
	if end == 0 || end == len(text) || text[end] != '=' {
		return "", "", "", false
	}
	name, text = text[:end], text[end+1:]
	if text != "" && text[0] == '"' {
		value, rest, ok = cutQuoted(text[1:])
		return name, value, rest, ok
	}
	end = 0
	for end < len(text) && (isToken(text[end]) || strings.IndexByte(":[]", text[end]) >= 0) {
		end++
	}
	return name, text[:end], text[end:], end > 0
}

// cutQuoted reads what follows an opening quote, up to the closing one.
func cutQuoted(text string) (value, rest string, ok bool) {
	var unescaped []byte
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			if unescaped != nil {
				return string(unescaped), text[i+1:], true
			}
			return text[:i], text[i+1:], true
		case '\\':
			if i+1 == len(text) {
				return "", "", false
			}
			if unescaped == nil {
				unescaped = []byte(text[:i])
			}
			i++
		}
		if unescaped != nil {
			unescaped = append(unescaped, text[i])
		}
	}
	return "", "", false
}

// isToken reports whether c may be in a token (RFC 9110).
func isToken(c byte) bool {
	return isLower(c) || isUpper(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// parseNode reads a hop: 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1] or
// [2001:db8::1]:80. The port may be an obfuscated one, "_" and a name.
func parseNode(node string) (netip.Addr, bool) {
	host := node
	if inside, isBracketed := strings.CutPrefix(node, "["); isBracketed {
		address, port, closed := strings.Cut(inside, "]")
		if !closed || !strings.Contains(address, ":") || port != "" && !isPort(port) {
			return netip.Addr{}, false
		}
		host = address
	} else if colon := strings.IndexByte(node, ':'); colon >= 0 && colon == strings.LastIndexByte(node, ':') {
		if !isPort(node[colon:]) {
			return netip.Addr{}, false
		}
		host = node[:colon]
	}
	return parseAddr(host)
}

// isPort reports whether text is ":" and a port of one to five digits, or ":_" and a
// name.
func isPort(text string) bool {
	if text[0] != ':' {
		return false
	}
	text = text[1:]
	if name, isObfuscated := strings.CutPrefix(text, "_"); isObfuscated {
		for i := range len(name) {
			if !isToken(name[i]) {
				return false
			}
		}
		return name != ""
	}
	for i := range len(text) {
		if !isDigit(text[i]) {
			return false
		}
	}
	return len(text) >= 1 && len(text) <= 5
}
