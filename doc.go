// Package weir limits rates: it decides, for a key such as a user or an address,
// whether a request of some cost may pass now.
//
// Three parts make a limiter. An algorithm (package algorithm) is a pure
// function that says what a limit means. A store (package store; store/memory
// for one process) remembers states and runs the algorithm atomically. This
// package is what an application calls:
//
//   - [Limit] is a name and an algorithm. [ParseLimit] makes one from a text such as
//     "gcra:100/1m,burst=20".
//   - [Limiter] holds one limit. Allow asks for one unit, AllowN for several,
//     Wait blocks until they may pass, Peek looks without taking, Reset forgets
//     a key.
//   - [MultiLimiter] asks several limits in one step, all or nothing: either every
//     limit admits its cost and all are charged, or none is.
//   - [Decider] is the interface of a MultiLimiter, for code that needs only the
//     answer.
//
// Every number is exact: costs are whole units, time is whole microseconds, and
// a rate such as 7 per 3 s never drifts. A denied request changes nothing, so a
// client that keeps trying is served as soon as its limit allows.
//
// An error is never a decision: Decision.Allowed is false then. Where a store
// cannot answer, the error says so, unless [Options].OnFailure has something else
// answer for it; such a Decision is Degraded.
package weir
