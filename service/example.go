package service

import (
	_ "embed"

	"github.com/weirgo/weir/policy"
)

// examplePolicy is the policy of a service that was given none, as YAML: something to
// try it with.
//
//go:embed example.yaml
var examplePolicy string

// ExamplePolicy is examplePolicy.
func ExamplePolicy() (*policy.Compiled, error) {
	file, err := policy.Parse([]byte(examplePolicy), nil)
	if err != nil {
		return nil, err
	}
	return file.Compiled, nil
}
