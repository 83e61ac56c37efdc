// Package conformance holds what must be true of every algorithm and of every
// store, as tests that anybody can run: the laws of an algorithm, the checks of a
// store, and those of a script.
//
// # An algorithm of your own
//
// One call checks the laws, for an algorithm with fixed parameters:
//
//	func TestQuota(t *testing.T) {
//		conformance.TestAlgorithm(t, quota{limit: 5, length: time.Minute})
//	}
//
// A law is broken by a history: readings of a clock that may go back, and costs,
// drawn at random around what the last answers promised. A failure names the law
// and its rule and shows the shortest history found. TestFamily tries the laws with
// tiny, usual and the largest parameters, and with parameters that change. Where the
// parameters should be drawn as well, loop over Laws and call Check inside rapid.Check.
//
// # A store of your own
//
// TestStore runs all checks against a store, each in a subtest, against stores
// of its own. What a store adds to a decision of its algorithm, or loses of it,
// is a failure: the pure functions of package algorithm say what is right. Config
// says what a store cannot do, which is tested too, and how to look into it.
// BenchmarkStore measures it. examples/filestore is a store with its test.
//
// # A script of your own
//
// TestScript runs the Lua of an algorithm on a server and compares each outcome
// and each state with its Step.
//
// # Names
//
// Each law and check is named for what it demands and carries its rule, one
// sentence. Names are stable: checks can be waived by them, with a reason. The
// short name in front of a law, and of a check's property (P1, L2, M7 …), stands for
// what has to hold: P for pure functions and states, S for what may be admitted, L
// for waits, M for monotony, E for equivalences, T for stored states, C for clocks,
// K for changed limits, I for inputs, X for several limits together, H for concurrent
// callers, D for calls that fail and J for keys apart. docs/reference/conformance.md
// lists them, and what tries to break each.
package conformance
