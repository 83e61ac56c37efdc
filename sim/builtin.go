package sim

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed scenarios/*.yaml
var scenarios embed.FS

// builtins are the built-in scenarios, each in a file of its name: the plain ones first.
var builtins = []string{
	"boundary-attack", "flash-crowd", "diurnal", "hot-key", "key-spray", "noisy-neighbour",
	"token-costs", "retry-storm", "skewed-clocks", "fail-over",
}

// Builtin is a scenario that comes with the package.
type Builtin struct{ Name, About string }

// List returns the built-in scenarios.
func List() []Builtin {
	var all []Builtin
	for _, name := range builtins {
		s, err := Load(name)
		if err != nil {
			panic("sim: a built-in scenario is broken: " + err.Error())
		}
		all = append(all, Builtin{name, s.About})
	}
	return all
}

// Load returns a built-in scenario. It is the caller's to change.
func Load(name string) (*Scenario, error) {
	text, err := Text(name)
	if err != nil {
		return nil, err
	}
	return Parse(strings.NewReader(text))
}

// Text returns the file of a built-in scenario.
func Text(name string) (string, error) {
	if !slices.Contains(builtins, name) {
		return "", refuse("built-in scenario", quoted(name), "one of "+strings.Join(builtins, ", "))
	}
	text, err := scenarios.ReadFile("scenarios/" + name + ".yaml")
	if err != nil {
		return "", fmt.Errorf("sim: %w", err)
	}
	return string(text), nil
}
