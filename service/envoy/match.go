package envoy

import (
	"strings"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
)

// find returns the limit of a descriptor below a domain, and the key of its state. nil is
// no limit.
//
// At each level an exact key counts before a wildcard, a wildcard that stands earlier in
// the file before a later one, and all of them before a key without a value. What is
// chosen is final: if nothing below it matches, there is no limit. A limit counts only
// where the descriptor has as many entries as the configuration has levels.
func (n *node) find(entries []*ratelimit.RateLimitDescriptor_Entry) (limit *rule, key string) {
	if len(entries) == 0 {
		return nil, ""
	}
	var shared []string // by entry: the value that its state has in place of its own
	for i, e := range entries {
		next, byWildcard := n.child(e.GetKey(), e.GetValue())
		if next == nil {
			return nil, ""
		}
		if byWildcard && next.pattern != "" {
			if shared == nil {
				shared = make([]string, len(entries))
			}
			shared[i] = strings.TrimPrefix(next.pattern, e.GetKey()+"_")
		}
		n = next
	}
	if n.limit == nil {
		return nil, ""
	}
	return n.limit, keyOf(entries, shared)
}

// child returns the level below n that an entry belongs to, or nil.
func (n *node) child(key, value string) (next *node, byWildcard bool) {
	whole := key + "_" + value
	if next := n.children[whole]; next != nil {
		return next, false
	}
	for _, w := range n.wildcards {
		if w.matches(whole) {
			return w.node, true
		}
	}
	return n.children[key], false
}

// matches reports whether the parts stand in a text in their order without overlapping,
// the first at its beginning and the last at its end.
func (w *wildcard) matches(text string) bool {
	first, last := w.parts[0], w.parts[len(w.parts)-1]
	text, found := strings.CutPrefix(text, first)
	if !found {
		return false
	}
	if text, found = strings.CutSuffix(text, last); !found {
		return false
	}
	for _, part := range w.parts[1 : len(w.parts)-1] {
		if _, text, found = strings.Cut(text, part); !found {
			return false
		}
	}
	return true
}

// keyOf joins keys and values as the service does that this package replaces, so that what
// shares a state there shares it here.
func keyOf(entries []*ratelimit.RateLimitDescriptor_Entry, shared []string) string {
	n := 1
	for i, e := range entries {
		n += len(e.GetKey()) + len(valueOf(e, shared, i)) + 2
	}
	var b strings.Builder
	b.Grow(n)
	if len(entries) == 0 {
		b.WriteByte('_') // an override of nothing; a key is not empty
	}
	for i, e := range entries {
		b.WriteString(e.GetKey())
		b.WriteByte('_')
		b.WriteString(valueOf(e, shared, i))
		b.WriteByte('_')
	}
	return b.String()
}

func valueOf(e *ratelimit.RateLimitDescriptor_Entry, shared []string, i int) string {
	if shared != nil && shared[i] != "" {
		return shared[i]
	}
	return e.GetValue()
}
