package conformance

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/draw"
	"github.com/weirgo/weir/conformance/internal/law"
	"pgregory.net/rapid"
)

// Law is something that must hold for every algorithm, built in or written
// elsewhere. A law is checked by trying to break it: with a history that leads
// to some state, and with requests that probe around it.
type Law struct {
	// Name is stable: its first part is the property it stands for, the
	// rest says it in words, such as "L2-denied-until-retry-after".
	Name string
	// Rule is the law in one sentence.
	Rule string

	law law.Law
}

// Check tries once to break the law for a with inputs drawn from t, and fails t
// if it can. It is one run of a property: use it inside rapid.Check, where the
// parameters of a can be drawn as well.
//
// The algorithms in earlier must be of the kind and identity of a. Parts of the
// history are then decided by them, as when the parameters of a limit change while its
// keys live on.
func (l Law) Check(t *rapid.T, a algorithm.Algorithm, earlier ...algorithm.Algorithm) {
	t.Helper()
	l.law.Check(law.New(t, law.FromRapid{T: t}, l.law, a, earlier))
}

// TestAlgorithm checks every law for a, each in a subtest named "law/" and the
// name of the law. A failure shows the law, its rule, the history that breaks
// it, made as short as possible, and how to run it again.
//
// The algorithms in earlier are a with other parameters, of the same kind and
// identity: parts of the histories are decided by them, as when the parameters of a
// limit change while its keys live on. Without them a change is not tested.
// TestFamily brings all parameters itself.
//
// The flag -rapid.checks is the number of histories for each law (100), and
// -rapid.seed repeats a run.
//
// The laws demand what the documentation of algorithm.Algorithm and
// algorithm.Outcome promises, so also that the waits are the shortest ones, to
// the microsecond: RetryAfter (L2, L3) and ResetAfter (L6-not-fresh-before). Not
// every algorithm can know that much. Two limits in one, for example, of which
// the looser one no longer matters some time before it is empty, can only name
// the later instant. Such an algorithm works with every store, but its callers
// wait longer than they need, or its keys live longer. Its test loops over Laws
// and skips, by name, what it does not claim.
//
// Beyond that the laws take for granted what is sane for a limit: that waiting
// alone never lowers what remains (M1), that cost is additive, so that a + b
// admitted at one instant is a and then b (E4, S6), and that every key that is
// left alone becomes fresh in the end (L4, L6).
func TestAlgorithm(t *testing.T, a algorithm.Algorithm, earlier ...algorithm.Algorithm) {
	t.Helper()
	for _, l := range law.All() {
		t.Run("law/"+l.Name, func(t *testing.T) {
			o := draw.Options{Name: t.Name(), Runs: lawDepth(), Seed: seed(), Shrink: shrinkTime}
			if err := draw.Search(o, func(d *draw.T) { l.Check(law.New(d, d, l, a, earlier)) }); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestFamily is TestAlgorithm for a family of algorithms, with tiny, usual and the
// largest parameters, each in a subtest named as its rate: a mistake may show with some
// of them only, such as a wait that is never above an hour. Parameters that Build
// refuses with a *ParameterError are left out and logged; it must accept some.
//
// Parts of the histories are decided by algorithms of the family with other
// parameters and the same identity.
func TestFamily(t *testing.T, f algorithm.Family) {
	t.Helper()
	var all []algorithm.Algorithm
	var names []string
	for _, p := range law.AllParameters() {
		a, err := f.Build(p.Rate, p.Capacity)
		if refused := (*algorithm.ParameterError)(nil); errors.As(err, &refused) {
			t.Logf("%v with the capacity %d is refused: %v", p.Rate, p.Capacity, err)
			continue
		} else if err != nil {
			t.Fatalf("Build of %v with the capacity %d: %v", p.Rate, p.Capacity, err)
		}
		all, names = append(all, a), append(names, fmt.Sprintf("%v,%d", p.Rate, p.Capacity))
	}
	if len(all) == 0 {
		t.Fatal("Build accepts none of the parameters")
	}
	for i, a := range all {
		var earlier []algorithm.Algorithm
		for _, other := range all {
			if other.Spec() != a.Spec() && other.Spec().Identity == a.Spec().Identity {
				earlier = append(earlier, other)
			}
		}
		t.Run(names[i], func(t *testing.T) { TestAlgorithm(t, a, earlier...) })
	}
}

// Laws returns all laws, those about states first.
func Laws() []Law {
	all := law.All()
	laws := make([]Law, len(all))
	for i, l := range all {
		laws[i] = Law{l.Name, l.Rule, l}
	}
	return laws
}
