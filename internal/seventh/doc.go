// Package seventh tests that a new algorithm touches five places and no list: below
// testdata lies a seventh algorithm, as its author would write it.
package seventh
