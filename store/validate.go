package store

import (
	"strconv"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/nilcheck"
)

// Validate refuses ops that no store takes: none or more than MaxOps of them, a
// slot that ValidateSlots refuses, a cost or MaxDelay below 0, a charge or a refund of
// an algorithm that is no algorithm.Charger. Every store calls it before it does
// anything else. It allocates nothing for up to 16 good ops.
func Validate(ops []Op) error {
	if len(ops) < 1 || len(ops) > MaxOps {
		return &InputError{-1, "number of ops", strconv.Itoa(len(ops)), "1 to " + strconv.Itoa(MaxOps)}
	}
	for i := range ops {
		if err := validateSlot(i, &ops[i].Slot); err != nil {
			return err
		}
		if err := validateRequest(i, ops[i].Algorithm, ops[i].Request); err != nil {
			return err
		}
	}
	return distinct(len(ops), func(i int) *Slot { return &ops[i].Slot })
}

// ValidateSlots refuses slots without a key or an algorithm, or whose kind or
// identity is not as algorithm.Spec asks for it, and the same slot twice. No slots
// at all are fine.
func ValidateSlots(slots []Slot) error {
	for i := range slots {
		if err := validateSlot(i, &slots[i]); err != nil {
			return err
		}
	}
	return distinct(len(slots), func(i int) *Slot { return &slots[i] })
}

// ValidateLimit refuses an algorithm as Validate does. i is the Op of the error: -1
// where it is not about an op.
func ValidateLimit(i int, a algorithm.Algorithm) error {
	if nilcheck.IsNil(a) {
		return &InputError{i, "Slot.Algorithm", "nil", "an algorithm"}
	}
	spec := a.Spec()
	if !algorithm.ValidKind(spec.Kind) {
		return &InputError{i, "Slot.Algorithm kind", strconv.Quote(spec.Kind), "1 to 64 of a-z, 0-9, '-', '.', '/'"}
	}
	if !algorithm.ValidIdentity(spec.Identity) {
		return &InputError{i, "Slot.Algorithm identity", strconv.Quote(spec.Identity), "at most 64 of a-z, A-Z, 0-9, '-', '.', '/', '_', '+'"}
	}
	return nil
}

// ValidateRequest refuses what a Bound of the algorithm a refuses, as Validate does: an
// empty key, and a request that is not valid.
func ValidateRequest(key string, a algorithm.Algorithm, r algorithm.Request) error {
	if err := validateKey(0, key); err != nil {
		return err
	}
	return validateRequest(0, a, r)
}

func validateRequest(i int, a algorithm.Algorithm, r algorithm.Request) error {
	if r.Cost < 0 {
		return &InputError{i, "Request.Cost", strconv.FormatInt(r.Cost, 10), "0 or more"}
	}
	if r.MaxDelay < 0 {
		return &InputError{i, "Request.MaxDelay", r.MaxDelay.String(), "0 or more"}
	}
	if r.Verb != algorithm.Take {
		return validateVerb(i, a, r)
	}
	return nil
}

// validateVerb refuses a charge or a refund that is not one.
func validateVerb(i int, a algorithm.Algorithm, r algorithm.Request) error {
	if r.Verb != algorithm.Charge && r.Verb != algorithm.Refund {
		return &InputError{i, "Request.Verb", r.Verb.String(), "take, charge or refund"}
	}
	if _, is := a.(algorithm.Charger); !is {
		return &InputError{i, "Request.Verb", r.Verb.String(), "take: " + a.Spec().Kind + " is no algorithm.Charger"}
	}
	if r.MaxDelay != 0 {
		return &InputError{i, "Request.MaxDelay", r.MaxDelay.String(), "0 for a " + r.Verb.String()}
	}
	if r.At < 0 || r.At > algorithm.MaxInstant {
		return &InputError{i, "Request.At", r.At.String(), "an instant from 0 to " + algorithm.MaxInstant.String()}
	}
	return nil
}

func validateKey(i int, key string) error {
	if key == "" {
		return &InputError{i, "Slot.Key", `""`, "at least one byte"}
	}
	return nil
}

func validateSlot(i int, s *Slot) error {
	if err := validateKey(i, s.Key); err != nil {
		return err
	}
	return ValidateLimit(i, s.Algorithm)
}

// distinct refuses the same identity twice. Few slots are compared in pairs, which
// allocates nothing; many through a map. Limits and keys are compared before IDs, limits first
// since slots of one request often have one key: the IDs of all pairs took a fifth of a Take of
// 8 limits in memory.
func distinct(n int, slot func(int) *Slot) error {
	if n <= 16 {
		for second := 1; second < n; second++ {
			for first := range second {
				if a, b := slot(first), slot(second); a.Limit == b.Limit && a.Key == b.Key && a.ID() == b.ID() {
					return &DuplicateError{first, second}
				}
			}
		}
		return nil
	}
	seen := make(map[SlotID]int, n)
	for i := range n {
		id := slot(i).ID()
		if first, found := seen[id]; found {
			return &DuplicateError{first, i}
		}
		seen[id] = i
	}
	return nil
}
