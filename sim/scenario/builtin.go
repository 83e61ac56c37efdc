package scenario

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed builtin/*.yaml
var files embed.FS

// builtins are the built-in scenarios, each in a file of its name: the plain ones first.
var builtins = []string{
	"boundary-attack", "flash-crowd", "diurnal", "hot-key", "hot-key-leases", "key-spray", "noisy-neighbour",
	"token-costs", "late-costs", "retry-storm", "skewed-clocks", "fail-over", "frozen-node", "policy-tiers",
	"store-outage", "slow-store", "recovery-herd",
}

// List returns the built-in scenarios. They are the caller's to change.
func List() []*Scenario {
	var all []*Scenario
	for _, name := range builtins {
		s, err := Load(name)
		if err != nil {
			panic("scenario: a built-in scenario is broken: " + err.Error())
		}
		all = append(all, s)
	}
	return all
}

// Load returns the built-in scenario of a name. It is the caller's to change.
func Load(name string) (*Scenario, error) {
	text, err := Text(name)
	if err != nil {
		return nil, err
	}
	return Parse(strings.NewReader(text))
}

// Text returns the text of the built-in scenario of a name, with its comments.
func Text(name string) (string, error) {
	if !slices.Contains(builtins, name) {
		return "", refuse("", fmt.Sprintf("built-in scenario %q", name), "one of "+strings.Join(builtins, ", "))
	}
	text, err := files.ReadFile("builtin/" + name + ".yaml")
	if err != nil {
		return "", fmt.Errorf("scenario: %w", err)
	}
	return string(text), nil
}
