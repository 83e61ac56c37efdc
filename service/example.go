package service

import _ "embed"

//go:embed example.yaml
var examplePolicy string

// ExamplePolicy returns a policy for a service that was given none: something to try it
// with.
func ExamplePolicy() []byte { return []byte(examplePolicy) }
