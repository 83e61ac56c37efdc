package store

// SlotID is the identity of a slot: slots with equal IDs have one state, and slots
// with different IDs have two. It is comparable and fits as the key of a map.
type SlotID struct{ Key, Limit, Kind, Identity string }

// ID returns the identity of s. The Algorithm of s must not be nil.
func (s *Slot) ID() SlotID {
	spec := s.Algorithm.Spec()
	return SlotID{s.Key, s.Limit, spec.Kind, spec.Identity}
}
