package script

import (
	"fmt"
	"slices"
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
				store.ErrCrossNode, i+1)
		}
	}
	return place, nil
}

// place is where the groups of one tag wait for the calls of their lane.
type place struct {
	Batcher
	tag  string
	held bool // in places.held
}

// places are those of a lane at which there is something to do: there are as many as
// keys. The lock of the lane guards them.
type places struct {
	known map[string]*place // by tag
	held  []*place          // they wait for a call to land, in order
	idle  int               // of held, those that nobody waits at any more
	spare []*place
}

// maxSpare is how many places are kept to be used again.
const maxSpare = maxFlying

// find returns the place of a tag.
func (p *places) find(tag string, limits BatchLimits) *place {
	at := p.known[tag]
	if at != nil {
		return at
	}
	if n := len(p.spare); n > 0 {
		at, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		at = &place{Batcher: *NewBatcher(limits)}
	}
	at.tag, p.known[tag] = tag, at
	return at
}

// hold lets a place wait, unless it does.
func (p *places) hold(at *place) {
	if !at.held {
		at.held = true
		p.held = append(p.held, at)
	}
}

// release returns the place that has waited for longest.
func (p *places) release() *place {
	at := p.held[0]
	p.held[0], p.held = nil, p.held[1:]
	at.held = false
	return at
}

// leave forgets a place at which nothing is left to do. One that is held is forgotten
// when its turn comes, or before that with others: while calls hang, callers come and
// give up, and what they leave must not pile up.
func (p *places) leave(at *place) {
	if !at.Idle() || at.tag == "" {
		return
	}
	if !at.held {
		p.forget(at)
		return
	}
	if p.idle++; p.idle <= len(p.held)/2 {
		return
	}
	p.idle = 0
	p.held = slices.DeleteFunc(p.held, func(at *place) bool {
		if at.held = !at.Idle(); !at.held {
			p.forget(at)
		}
		return !at.held
	})
}

func (p *places) forget(at *place) {
	delete(p.known, at.tag)
	at.tag = ""
	if len(p.spare) < maxSpare {
		p.spare = append(p.spare, at)
	}
}
