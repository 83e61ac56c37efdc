package script

import (
	"fmt"
	"strings"

	"github.com/weirgo/weir/store"
)

// tag is what stored names must have in common to be sent in one call: the hash tag where
// keys lie on several servers, and "" where there is one server.
func (s *Store) tag(name string) string {
	if !s.sharded {
		return ""
	}
	rest := name[len(s.opts.Prefix)+len("{"):] // there are no braces in Prefix
	return rest[:strings.IndexByte(rest, '}')]
}

// tagOf is the tag of all names, or an error that says which two differ.
func (s *Store) tagOf(names []string) (string, error) {
	tag := s.tag(names[0])
	for i, name := range names[1:] {
		if s.tag(name) != tag {
			return "", fmt.Errorf("script: %w: ops 0 and %d have different hash tags: keys that share a {tag} lie together",
				store.ErrCrossNode, i+1)
		}
	}
	return tag, nil
}

// node is the name of the server on which a stored name lies, "" where it is not known.
func (s *Store) node(name string) string {
	if s.locator == nil {
		return ""
	}
	return s.locator.Node(name)
}

// nodeOfKey is node for a key: where a stored name lies depends on the key alone.
func (s *Store) nodeOfKey(key string) string {
	return s.node(string(appendName(nil, s.opts.Prefix, store.SlotID{Key: key})))
}
