// Package attack does harm to real Redis and Valkey servers while processes of
// callers take units of limits on them, and then compares what the callers were told
// with what the servers hold. For every key
//
//	acked ≤ charged ≤ acked + unknown
//
// where acked are the units that were admitted, unknown those whose outcome the store
// could not tell, and charged what is counted from the stored bytes, by code that
// shares nothing with the stores. An event that loses writes, such as a fail-over, is
// declared lossy: there what was lost is measured apart, and no unit may be missing or
// admitted beyond it. The command in cmd runs every event on every server with every
// client library and prints one table; `make attack` is its short name.
package attack
