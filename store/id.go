package store

import "cmp"

// SlotID is the identity of a slot: slots with equal IDs have one state, and slots
// with different IDs have two. It is comparable and fits as the key of a map.
type SlotID struct{ Key, Limit, Kind, Identity string }

// ID returns the identity of s. The Algorithm of s must not be nil.
func (s *Slot) ID() SlotID {
	spec := s.Algorithm.Spec()
	return SlotID{s.Key, s.Limit, spec.Kind, spec.Identity}
}

// Compare orders IDs: it is below 0 where a comes before b, 0 where they are one, and
// above 0 where a comes behind b. Callers that wait for several slots take them in this
// order, so that no two wait for each other.
func (a SlotID) Compare(b SlotID) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Limit, b.Limit), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Identity, b.Identity))
}
