// Package script runs rate-limiting algorithms on servers that speak the Redis
// protocol and run Lua: one round trip for any number of limits, all or nothing.
//
// Store is the whole of a store but for the client library; redisstore
// (store/redis) and valkeystore (store/valkey) give it one. Another library needs
// an implementation of Client, of one method.
//
// Each built-in algorithm has a Lua twin in lua/, which decides on the server
// whether to admit and writes the next state. It answers with the state before,
// from which the Go function computes the Outcome, and so checks the verdict of
// the twin on every call. An algorithm that has no Lua runs by compare-and-set.
package script
