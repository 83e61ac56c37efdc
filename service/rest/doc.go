// Package rest is the HTTP interface of the service: checks and quotas, and for operators
// the rules of the policy, the tiers and overrides of users, and the audit. The package api
// has its description (OpenAPI), and every answer in every test of this package is held
// against it.
//
//   - rest.go, route.go: a Handler, its routes, and how a request finds its own.
//   - call.go, body.go, query.go: what a request says, read strictly.
//   - answer.go, problem.go: what is answered.
//   - check.go; rules.go; policy.go; users.go; audit.go: the routes.
package rest
