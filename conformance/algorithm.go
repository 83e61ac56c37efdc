package conformance

import (
	"testing"

	"github.com/weirgo/weir/algorithm"
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
// The algorithms in earlier must be of the same kind as a. Parts of the history
// are then decided by them, as when the parameters of a limit change while its
// keys live on.
func (l Law) Check(t *rapid.T, a algorithm.Algorithm, earlier ...algorithm.Algorithm) {
	t.Helper()
	l.law.Check(law.New(t, law.FromRapid{T: t}, l.law, a, earlier))
}

// TestAlgorithm checks every law for a, each in a subtest named "law/" and the
// name of the law. A failure shows the law, its rule, the history that breaks
// it, made as short as possible, and how to run it again.
//
// The flags of rapid apply: -rapid.checks is the number of histories for each
// law (100; a fifth of that under -short), -rapid.seed repeats a run.
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
func TestAlgorithm(t *testing.T, a algorithm.Algorithm) {
	t.Helper()
	for _, l := range Laws() {
		t.Run("law/"+l.Name, rapid.MakeCheck(func(t *rapid.T) { l.Check(t, a) }))
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
