// Package filestore is an example of a store written outside the project: states
// in a directory of files that processes of one machine share.
//
// It is complete, small and right: it passes package conformance. It is not fast,
// as every step takes a lock of the whole directory, and it trusts the operating
// system to keep what was written: a process that dies loses nothing, a machine
// that loses power may lose the last steps. It needs flock, so a Unix.
package filestore
