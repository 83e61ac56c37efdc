// Package policy says which limits a request has to pass: by endpoint, by who asks,
// by tier, with exceptions for somebody and for some time.
//
// [Policy] is a policy as data. [Compile] checks all of it and returns a [Compiled],
// which is immutable. Compiled.Resolve is a pure function: the same policy, request and
// instant give the same [Plan], which says what to ask of which limit for which key.
// An [Enforcer] resolves, asks a weir.Decider, and returns a [Verdict]. The stores
// decide; nothing here holds a count.
//
// # Who does what
//
//   - policy.go, values.go: a policy as data. Compile and the files compile_*.go check
//     it; each error is a [FieldError] with the [Path] of its field, such as
//     rules[3].match.endpoints[0].
//   - attribute.go, address.go, match.go: what a request says of itself, in one
//     canonical form, and conditions on it.
//   - pattern.go, endpoint.go, index.go: endpoints, with the meaning of
//     net/http.ServeMux, and the rules that a request may meet, found without looking at
//     the others.
//   - resolve.go, key.go, plan.go: from a request to a Plan.
//   - enforcer.go, verdict.go, failure.go, standing.go, lookup.go, stats.go: from a Plan
//     to a Verdict.
//   - terms.go: what the application keeps for somebody beside the policy.
//   - explain.go, survey.go: what was looked at, and why; what somebody may meet.
//
// Texts (YAML, JSON) become a Policy in load.go; what watches a file or a server calls
// Enforcer.Swap with what was loaded.
package policy
