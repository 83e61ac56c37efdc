package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

var perSecond = algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(5), 5))

const secret = "somebody@example.com"

func op(key, limit string, a algorithm.Algorithm, cost int64) store.Op {
	return store.Op{Slot: store.Slot{Key: key, Limit: limit, Algorithm: a}, Request: algorithm.Request{Cost: cost}}
}

// named is an algorithm of the kind that it says.
type named string

func (n named) Spec() algorithm.Spec { return algorithm.Spec{Kind: string(n)} }
func (named) Step(s algorithm.State, _ algorithm.Instant, _ algorithm.Request) (algorithm.State, algorithm.Outcome) {
	return s, algorithm.Outcome{Allowed: true}
}

// periodic is an algorithm of the identity that it says.
type periodic string

func (p periodic) Spec() algorithm.Spec {
	return algorithm.Spec{Kind: "x/1", Identity: string(p)}
}
func (periodic) Step(s algorithm.State, _ algorithm.Instant, _ algorithm.Request) (algorithm.State, algorithm.Outcome) {
	return s, algorithm.Outcome{Allowed: true}
}

func TestValidateRefusesWhatNoStoreTakes(t *testing.T) {
	good := op(secret, "l", perSecond, 1)
	late := good
	late.Limit, late.Request.MaxDelay = "m", -time.Nanosecond
	verb := func(a algorithm.Algorithm, r algorithm.Request) []store.Op {
		return []store.Op{{Slot: store.Slot{Key: secret, Algorithm: a}, Request: r}}
	}
	many := make([]store.Op, store.MaxOps+1)
	for i := range many {
		many[i] = good
	}
	for _, c := range []struct {
		name string
		ops  []store.Op
		want store.InputError
	}{
		{"no ops", nil, store.InputError{Op: -1, Field: "number of ops", Value: "0", Allowed: "1 to 1000"}},
		{"too many ops", many, store.InputError{Op: -1, Field: "number of ops", Value: "1001", Allowed: "1 to 1000"}},
		{"an empty key", []store.Op{op("", "l", perSecond, 1)}, store.InputError{Op: 0, Field: "Slot.Key", Value: `""`, Allowed: "at least one byte"}},
		{"no algorithm", []store.Op{good, op(secret, "m", nil, 1)}, store.InputError{Op: 1, Field: "Slot.Algorithm", Value: "nil", Allowed: "an algorithm"}},
		{"a negative cost", []store.Op{good, op(secret, "m", perSecond, -3)}, store.InputError{Op: 1, Field: "Request.Cost", Value: "-3", Allowed: "0 or more"}},
		{"a negative delay", []store.Op{good, late}, store.InputError{Op: 1, Field: "Request.MaxDelay", Value: "-1ns", Allowed: "0 or more"}},
		{"a bad kind", []store.Op{op(secret, "l", named("A:b"), 1)}, store.InputError{Op: 0, Field: "Slot.Algorithm kind", Value: `"A:b"`, Allowed: "1 to 64 of a-z, 0-9, '-', '.', '/'"}},
		{"a bad identity", []store.Op{op(secret, "l", periodic("1 m"), 1)}, store.InputError{Op: 0, Field: "Slot.Algorithm identity", Value: `"1 m"`, Allowed: "at most 64 of a-z, A-Z, 0-9, '-', '.', '/', '_', '+'"}},
		{"a verb that is none", verb(perSecond, algorithm.Request{Cost: 1, Verb: 3}), store.InputError{Op: 0, Field: "Request.Verb", Value: "verb(3)", Allowed: "take, charge or refund"}},
		{"a verb below none", verb(perSecond, algorithm.Request{Cost: 1, Verb: -1}), store.InputError{Op: 0, Field: "Request.Verb", Value: "verb(-1)", Allowed: "take, charge or refund"}},
		{"a charge of what knows none", verb(named("x/1"), algorithm.Request{Cost: 1, Verb: algorithm.Charge}), store.InputError{Op: 0, Field: "Request.Verb", Value: "charge", Allowed: "take: x/1 is no algorithm.Charger"}},
		{"a charge with a bound on its delay", verb(perSecond, algorithm.Request{Cost: 1, Verb: algorithm.Charge, MaxDelay: 1}), store.InputError{Op: 0, Field: "Request.MaxDelay", Value: "1ns", Allowed: "0 for a charge"}},
		{"a negative refund", verb(perSecond, algorithm.Request{Cost: -1, Verb: algorithm.Refund}), store.InputError{Op: 0, Field: "Request.Cost", Value: "-1", Allowed: "0 or more"}},
		{"a refund of before the epoch", verb(perSecond, algorithm.Request{Cost: 1, Verb: algorithm.Refund, At: -1}), store.InputError{Op: 0, Field: "Request.At", Value: algorithm.Instant(-1).String(), Allowed: "an instant from 0 to " + algorithm.MaxInstant.String()}},
		{"a refund of after all time", verb(perSecond, algorithm.Request{Cost: 1, Verb: algorithm.Refund, At: algorithm.MaxInstant + 1}), store.InputError{Op: 0, Field: "Request.At", Value: (algorithm.MaxInstant + 1).String(), Allowed: "an instant from 0 to " + algorithm.MaxInstant.String()}},
	} {
		err := store.Validate(c.ops)
		var got *store.InputError
		if !errors.As(err, &got) || *got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, err, &c.want)
			continue
		}
		if !errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrDuplicateSlot) {
			t.Errorf("%s: %v must match ErrInvalid and nothing else", c.name, err)
		}
		for _, part := range []string{c.want.Field, c.want.Value, c.want.Allowed} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", c.name, err, part)
			}
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %q shows a key", c.name, err)
		}
	}
}

func TestValidateAcceptsEveryGoodCall(t *testing.T) {
	most := make([]store.Op, store.MaxOps)
	for i := range most {
		most[i] = op(strings.Repeat("k", i+1), "", perSecond, 1<<63-1)
	}
	for name, ops := range map[string][]store.Op{
		"most ops":  most,
		"cost zero": {op("a", "", perSecond, 0)},
		"any bytes": {op("\x00", "\xff{}:", perSecond, 1), op("\xff", "", perSecond, 1)},
		"a charge": {{Slot: store.Slot{Key: "a", Algorithm: perSecond}, Request: algorithm.Request{Cost: 1, Verb: algorithm.Charge}},
			{Slot: store.Slot{Key: "b", Algorithm: perSecond}, Request: algorithm.Request{Cost: 1, Verb: algorithm.Refund, At: algorithm.MaxInstant}}},
		"the longest kind": {op("a", "", named(strings.Repeat("k", 64)), 1)},
	} {
		if err := store.Validate(ops); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKindIsShortAndPlain(t *testing.T) {
	for kind, good := range map[string]bool{
		"gcra/1": true, "a": true, "0-9.z/": true, strings.Repeat("k", 64): true,
		"": false, strings.Repeat("k", 65): false, "Gcra": false, "a b": false, "a:b": false, "a_b": false, "é": false,
		"a\x00": false, "`": false, "{": false, "@": false, ",": false, ";": false,
	} {
		if err := store.ValidateLimit(-1, named(kind)); (err == nil) != good || err != nil && !errors.Is(err, store.ErrInvalid) {
			t.Errorf("kind %q: %v", kind, err)
		}
	}
}

func TestValidateLimitRefusesNilInAnyForm(t *testing.T) {
	var gcra *algorithm.GCRA // as after a constructor whose error was ignored
	for _, a := range []algorithm.Algorithm{nil, gcra} {
		if err := store.ValidateLimit(-1, a); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%T: got %v", a, err)
		}
	}
	if err := store.ValidateLimit(-1, perSecond); err != nil {
		t.Error(err)
	}
}

func TestSameSlotTwiceIsFoundAmongFewAndMany(t *testing.T) {
	counter := algorithm.Must(algorithm.NewSlidingCounter(algorithm.PerSecond(5)))
	faster := algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(50), 50))
	for _, n := range []int{2, 3, 16, 17, 100, store.MaxOps} {
		for _, pair := range [][2]int{{0, 1}, {0, n - 1}, {n - 2, n - 1}} {
			ops := make([]store.Op, n)
			for i := range ops {
				ops[i] = op(secret, strings.Repeat("l", i), perSecond, 1)
			}
			if err := store.Validate(ops); err != nil {
				t.Fatalf("%d ops: %v", n, err)
			}
			first, second := pair[0], pair[1]
			if first == second {
				continue
			}
			ops[second].Limit = ops[first].Limit

			ops[second].Algorithm = counter
			if err := store.Validate(ops); err != nil {
				t.Errorf("another kind is another slot, and gives %v", err)
			}
			ops[second].Algorithm = faster // the parameters do not make another slot
			err := store.Validate(ops)
			var twice *store.DuplicateError
			if !errors.As(err, &twice) || twice.First != first || twice.Second != second {
				t.Errorf("%d ops, %d and %d of one slot: got %v", n, first, second, err)
			}
			if !errors.Is(err, store.ErrDuplicateSlot) || errors.Is(err, store.ErrInvalid) || strings.Contains(err.Error(), secret) {
				t.Errorf("%v must match ErrDuplicateSlot, nothing else, and show no key", err)
			}
			slots := make([]store.Slot, n)
			for i := range ops {
				slots[i] = ops[i].Slot
			}
			if err := store.ValidateSlots(slots); !errors.Is(err, store.ErrDuplicateSlot) {
				t.Errorf("slots: got %v", err)
			}
		}
	}
}

func TestValidateSlots(t *testing.T) {
	good := store.Slot{Key: "a", Algorithm: perSecond}
	if err := store.ValidateSlots(nil); err != nil {
		t.Errorf("no slots: %v", err)
	}
	if err := store.ValidateSlots([]store.Slot{good, {Key: "b", Algorithm: perSecond}}); err != nil {
		t.Error(err)
	}
	for _, bad := range []store.Slot{{Algorithm: perSecond}, {Key: "b"}, {Key: "b", Algorithm: named("")}} {
		var got *store.InputError
		if err := store.ValidateSlots([]store.Slot{good, bad}); !errors.As(err, &got) || got.Op != 1 {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
}

func TestValidateOfFewGoodOpsDoesNotAllocate(t *testing.T) {
	ops := make([]store.Op, 16)
	for i := range ops {
		ops[i] = op("a", strings.Repeat("l", i), perSecond, 1)
	}
	if n := testing.AllocsPerRun(100, func() {
		if store.Validate(ops) != nil {
			t.Fatal("good ops are refused")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
