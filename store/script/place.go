package script

import (
	"fmt"
	"strings"

	"github.com/weirgo/weir/store"
)

// place is what stored names must share to travel in one call: the hash tag where
// keys lie on several servers, and "" where there is one server.
func (s *Store) place(name string) string {
	if !s.sharded {
		return ""
	}
	tag := name[len(s.opts.Prefix)+len("{"):] // there are no braces in Prefix
	return tag[:strings.IndexByte(tag, '}')]
}

// placeOf is the place of all names, or an error that says which two differ.
func (s *Store) placeOf(names []string) (string, error) {
	place := s.place(names[0])
	for i, name := range names[1:] {
		if s.place(name) != place {
			return "", fmt.Errorf("script: %w: ops 0 and %d have different hash tags: keys that share a {tag} lie together",
				store.ErrCrossSlot, i+1)
		}
	}
	return place, nil
}
