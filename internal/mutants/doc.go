// Package mutants tests the tests: each mutant in its tables is one deliberate
// mistake in the code, and the law or test that is meant to catch it must fail.
// A law that lets its mutant live proves nothing.
package mutants
