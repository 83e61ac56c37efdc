package algorithm_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/oracle"
)

// The corpora lie in testdata/fuzz, a file for each case, named for what it is
// about. A file that cannot be read fails its target; this test fails where one
// is gone altogether.
func TestFuzzCorporaAreKept(t *testing.T) {
	least := map[string]int{"FuzzParseSpec": 8, "FuzzParseState": 8, "FuzzStep": 8, "FuzzDecisions": 8}
	directories, err := os.ReadDir("testdata/fuzz")
	if err != nil {
		t.Fatal(err)
	}
	if len(directories) != len(least) {
		t.Errorf("%d corpora, want %v", len(directories), slices.Sorted(maps.Keys(least)))
	}
	for name, n := range least {
		files, err := os.ReadDir("testdata/fuzz/" + name)
		if err != nil {
			t.Error(err)
		}
		if len(files) < n {
			t.Errorf("%s: %d files, want at least %d", name, len(files), n)
		}
	}
}

// FuzzParseSpec: no text panics, and what parses is written as a text that
// parses to the same limit.
func FuzzParseSpec(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		a, err := algorithm.ParseSpec(text)
		if err != nil {
			var refused *algorithm.ParameterError
			if a != nil || !errors.As(err, &refused) || refused.Allowed == "" {
				t.Fatalf("%q: %v, %#v", text, a, err)
			}
			return
		}
		spec := a.Spec()
		limit, period, capacity := spec.Params[0], spec.Params[1], spec.Params[2]
		if limit < 1 || limit > maxUnits || period < 1 || period > maxPeriod || capacity < 0 || capacity > maxUnits {
			t.Fatalf("%q parses to %+v, which is out of bounds", text, spec)
		}
		canonical := a.(fmt.Stringer).String()
		b, err := algorithm.ParseSpec(canonical)
		if err != nil || b.Spec() != spec || b.(fmt.Stringer).String() != canonical {
			t.Fatalf("%q is %+v, its text %q is %v (%v)", text, spec, canonical, b, err)
		}
		_, fresh := a.Step(algorithm.State{}, 0, algorithm.Request{})
		if _, o := a.Step(algorithm.State{}, 0, algorithm.Request{Cost: fresh.Limit}); !o.Allowed || o.Remaining != 0 {
			t.Fatalf("%q: a fresh key answers %+v to its capacity", text, o)
		}
	})
}

// FuzzParseState: a text is the one form of a state, or an error; only no text
// at all is fresh (P5).
func FuzzParseState(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		s, err := algorithm.ParseState(text)
		if err != nil {
			var refused *algorithm.ParameterError
			if !s.Fresh() || !errors.As(err, &refused) {
				t.Fatalf("%q: %v, %#v", text, s, err)
			}
			if len(refused.Value) > 120 { // 24 bytes, each quoted as \xff or \uffff
				t.Fatalf("%q: the error repeats %d bytes", text, len(refused.Value))
			}
			return
		}
		if s.String() != text || s.Fresh() != (text == "") {
			t.Fatalf("%q reads as %q, fresh: %v", text, s, s.Fresh())
		}
		again, err := algorithm.ParseState(s.String())
		if err != nil || !again.Equal(s) {
			t.Fatalf("%q, read twice: %q and %q (%v)", text, s, again, err)
		}
		for i := range algorithm.MaxWords {
			if w := s.Word(i); w < -algorithm.MaxWord || w > algorithm.MaxWord {
				t.Fatalf("%q: word %d is %d", text, i, w)
			}
		}
	})
}

// FuzzStep: no state makes a step panic, whoever wrote it: another kind, other
// parameters, or nobody. Where CheckState accepts it, the answer makes sense.
func FuzzStep(f *testing.F) {
	f.Fuzz(func(t *testing.T, kind, words uint8, w0, w1, w2, w3 int64, text string,
		limit, period, capacity, now, cost, maxDelay int64) {
		l := limits{kind: oracle.Kinds()[int(kind)%len(oracle.Kinds())], limit: wrap(limit, maxUnits), period: wrap(period, maxPeriod)}
		if l.capacity = l.limit; !l.kind.Windowed() {
			l.capacity = wrap(capacity, mostCapacity(l.limit, l.period))
		}
		var s algorithm.State
		if n := int(words) % 6; n <= algorithm.MaxWords {
			s = algorithm.NewState([]int64{w0, w1, w2, w3}[:n]...)
		} else if parsed, err := algorithm.ParseState(text); err == nil {
			s = parsed
		}
		r := algorithm.Request{Cost: cost, MaxDelay: time.Duration(max(0, maxDelay))}
		mustMakeSense(t, l, s, algorithm.Instant(now), r)
	})
}

// wrap folds n into 1 to most, so that a valid value stays what it is.
func wrap(n, most int64) int64 {
	if n >= 1 && n <= most {
		return n
	}
	return int64(uint64(n)%uint64(most)) + 1
}

// mustMakeSense takes a step from any state at all and checks what must hold
// even where the state is not the kind's own. A state that CheckState refuses
// never reaches a Step: of that it is asked only that nothing panics, that both
// forms of a step agree and that nothing is changed on the sly.
func mustMakeSense(t *testing.T, l limits, s algorithm.State, now algorithm.Instant, r algorithm.Request) {
	t.Helper()
	a, text := l.algorithm(), s.String()
	refused := a.(algorithm.StateChecker).CheckState(s)
	next, o := a.Step(s, now, r)
	must := func(holds bool, rule string) {
		t.Helper()
		if !holds {
			t.Errorf("%s, broken by %v in state %q (%v): %+v at %d: %+v, then %q", rule, l, text, refused, r, now, o, next)
		}
	}
	inPlace := s
	p := leftOver
	a.StepInPlace(&inPlace, now, r, &p)
	must(p == o && inPlace.Equal(next), "both forms of a step are one")
	must(s.String() == text, "the state that was given stays")
	must(next.Equal(s) || r.Cost != 0 && o.Allowed, "a look or a denied request changes nothing")
	must(o.RetryAfter == algorithm.Never || r.Cost >= 0 && r.Cost <= l.capacity, "a cost that nothing can admit is denied for ever")
	must(o.Limit == l.capacity, "Limit is the capacity")
	if refused != nil {
		return
	}
	must(o.Allowed || r.Cost != 0, "a look is never denied")
	must(o.Remaining >= 0 && o.Remaining <= o.Limit, "Remaining is from 0 to Limit")
	must(o.RetryAfter >= 0 && o.Allowed == (o.RetryAfter == 0), "RetryAfter is 0 when allowed and above 0 when denied")
	must(o.ResetAfter >= 0 && o.Delay >= 0, "times are not below 0")
	must(o.Delay == 0 || o.Allowed, "a denied request has no Delay")
	err := a.(algorithm.StateChecker).CheckState(next)
	must(err == nil, "a state that a step returns is accepted")
	parsed, err := algorithm.ParseState(next.String())
	must(err == nil && parsed.String() == next.String(), "a state that a step returns reads back")
}

// FuzzDecisions: bytes are a run under one or two versions of a limit, compared
// with the oracle.
func FuzzDecisions(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := playBytes(data); err != nil {
			t.Fatal(err)
		}
	})
}

// playBytes takes a run apart: a kind, the first version of the limit, the
// second, the start, and up to 60 moves. Bytes that are missing are 0.
func playBytes(data []byte) (goals, error) {
	d := decoder(data)
	kind := oracle.Kinds()[int(d.next())%len(oracle.Kinds())]
	versions := []limits{limitsOf(kind, d.raw(), d.raw(), d.raw()), limitsOf(kind, d.raw(), d.raw(), d.raw())}
	p := newPair(versions[0], d.raw().start(versions[0]))
	for range 60 {
		if len(d) == 0 {
			break
		}
		m := move{when: d.next(), what: d.next(), bound: d.next(), bits: d.bits()}
		if m.bound >= 0xe0 {
			p.change(versions[m.bound%2])
		}
		if err := p.play(m); err != nil {
			return nil, err
		}
	}
	return p.goals, nil
}

// decoder hands out bytes.
type decoder []byte

func (d *decoder) next() uint8 {
	if len(*d) == 0 {
		return 0
	}
	b := (*d)[0]
	*d = (*d)[1:]
	return b
}

func (d *decoder) bits() (n uint64) {
	for range 8 {
		n = n<<8 | uint64(d.next())
	}
	return n
}

func (d *decoder) raw() raw { return raw{d.next(), d.bits()} }
