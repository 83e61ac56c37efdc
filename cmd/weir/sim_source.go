package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/scenario"
)

// simSource is where scenarios come from: a built-in one, a file, standard input, or a
// seed that makes one up.
type simSource struct {
	scenario *scenario.Scenario // nil where each seed makes one up
	words    []string           // of a command line that leads here again
	builtin  bool
	file     string // "" where it is none
	name     string // of what was read, for errors
	dropped  int    // expectations of the scenario that --limit or --policy left out
	policy   string // the text of --policy
	files    fs.FS  // that traffic may name
	flags    *simCommand
}

// source reads the scenario that the command line names, and changes it as the flags
// say.
func (c *simCommand) source(ctx context.Context, s *streams) (*simSource, error) {
	src := &simSource{flags: c}
	err := src.readPolicy(ctx, s)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Replay != "":
		err = src.read(ctx, c.Replay, s)
	case c.Scenario == "":
		_, err = c.limits()
		return src, err
	case isBuiltin(c.Scenario):
		src.words, src.builtin = []string{c.Scenario}, true
		src.scenario, err = scenario.Load(c.Scenario)
	default:
		err = src.read(ctx, c.Scenario, s)
		if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(c.Scenario, "./") {
			err = usageError{fmt.Errorf("%q is neither a file nor a built-in scenario: must be one of %s", c.Scenario, scenarioNames())}
		}
	}
	if err != nil {
		return nil, err
	}
	return src, src.change(src.scenario)
}

func isBuiltin(name string) bool {
	return slices.ContainsFunc(scenario.List(), func(s *scenario.Scenario) bool { return s.Name == name })
}

// wordsFor are what to say on a command line for a file, or standard input.
func wordsFor(file string) []string {
	if isBuiltin(file) || strings.HasPrefix(file, "-") && file != "-" {
		return []string{"--replay=" + file}
	}
	return []string{file}
}

func scenarioNames() string {
	var names []string
	for _, b := range scenario.List() {
		names = append(names, b.Name)
	}
	return strings.Join(names, ", ")
}

// read reads a scenario from a file, or from standard input.
func (src *simSource) read(ctx context.Context, name string, s *streams) error {
	in, err := openSource(ctx, name, s.in)
	if err != nil {
		return err
	}
	defer in.Close() // always nil
	if err := in.checkOutputs(src.flags.outputFlags(), s.out, "the scenario itself"); err != nil {
		return err
	}
	src.name = in.name
	src.scenario, err = scenario.Parse(in)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err != nil {
		return inputError{fmt.Errorf("%s: %w", in.name, err)}
	}
	src.words = wordsFor(name)
	if name == "-" {
		src.files = plainFiles{os.DirFS(".")}
		return src.checkOutput()
	}
	src.file, src.files = name, plainFiles{os.DirFS(filepath.Dir(name))}
	return src.checkOutput()
}

// readPolicy reads the policy that stands in place of the limits of scenarios.
func (src *simSource) readPolicy(ctx context.Context, s *streams) error {
	if src.flags.Policy == "" {
		return nil
	}
	_, text, err := readPolicy(ctx, s, src.flags.Policy, nil, src.flags.outputFlags())
	src.policy = string(text)
	return err
}

// located adds the file to an error about a field of the scenario.
func (src *simSource) located(err error) error {
	if field := (*scenario.Error)(nil); src.name == "" || !errors.As(err, &field) {
		return err
	}
	return fmt.Errorf("%s: %w", src.name, err)
}

// limits returns the limits that were given, named for their kind.
func (c *simCommand) limits() (all []scenario.Limit, err error) {
	seen := map[string]int{}
	for _, spec := range c.Limit {
		a, err := algorithm.ParseSpec(spec)
		if err != nil {
			return nil, usageError{fmt.Errorf("--limit: %w", err)}
		}
		name, _, _ := strings.Cut(fmt.Sprint(a), ":")
		if seen[name]++; seen[name] > 1 {
			name += "-" + strconv.Itoa(seen[name])
		}
		all = append(all, scenario.Limit{Name: name, Spec: fmt.Sprint(a)})
	}
	return all, nil
}

// change puts what the flags say in place of what a scenario says. With other limits all
// expectations go: they were about the old ones.
func (src *simSource) change(s *scenario.Scenario) error {
	c := src.flags
	limits, err := c.limits()
	if err != nil {
		return err
	}
	if src.policy != "" {
		src.dropped = len(s.Expect)
		s.Policy, s.PolicyFile, s.Expect = src.policy, "", nil
		s.Limits, s.Together, s.Server.Count = nil, false, 0
		s.Nodes.Breaker, s.Nodes.DenyCache, s.Nodes.LocalShare, s.Nodes.Lease = false, 0, 0, nil
		for i := range s.Faults { // there is one server
			s.Faults[i].Servers = nil
		}
		if err := s.Validate(); err != nil {
			return usageError{fmt.Errorf("--policy: %w", err)}
		}
	}
	if len(limits) > 0 {
		if s.Governed() {
			s.Policy, s.PolicyFile = "", ""
			for i := range s.Traffic {
				s.Traffic[i].Request = nil
			}
		}
		groups := int64(0)
		if len(s.Limits) > 0 {
			groups = s.Limits[0].Groups
		}
		if slices.ContainsFunc(s.Limits, func(l scenario.Limit) bool { return l.Groups != groups }) {
			groups = 0
		}
		for i := range limits {
			limits[i].Groups = groups
		}
		src.dropped = len(s.Expect)
		s.Limits, s.Together, s.Expect = limits, false, nil
	}
	if c.Seed != nil {
		s.Seed = *c.Seed
	}
	if c.Duration == nil {
		return nil
	}
	s.Duration = *c.Duration
	if err := s.Validate(); err != nil {
		return usageError{fmt.Errorf("--duration: %v: %w", s.Duration, err)}
	}
	return nil
}

// seeded returns the scenario of a seed.
func (src *simSource) seeded(seed uint64) (*scenario.Scenario, error) {
	if src.scenario != nil {
		one := *src.scenario
		one.Seed = seed
		return &one, nil
	}
	one := scenario.Generate(seed)
	if d := src.flags.Duration; d != nil { // what would begin later does not happen
		one.Faults = slices.DeleteFunc(one.Faults, func(f scenario.Fault) bool { return f.At >= *d })
	}
	if err := src.change(one); err != nil {
		return nil, err
	}
	one.Seed = seed
	return one, nil
}

// print writes the scenario: the text of a built-in one, with its comments, unless flags
// change it.
func (c *simCommand) print(w io.Writer, src *simSource) error {
	text, err := src.scenario.YAML()
	if src.builtin && len(c.Limit) == 0 && c.Policy == "" && c.Seed == nil && c.Duration == nil {
		var own string
		own, err = scenario.Text(c.Scenario)
		text = []byte(own)
	}
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("scenario: %w", err)
	}
	return nil
}

// save writes a scenario that came of this one to a file, which it replaces; but not one
// that its traffic names.
func (src *simSource) save(s *scenario.Scenario, name string) error {
	for _, file := range src.named() {
		if sameFile(name, filepath.Join(filepath.Dir(src.file), file)) {
			return inputError{fmt.Errorf("%q is a file that the scenario names: must be another file", name)}
		}
	}
	text, err := s.YAML()
	if err == nil {
		err = os.WriteFile(name, text, 0o666)
	}
	return err
}

// beside returns the name of a file for a scenario that came of this one, in the folder
// of the file: what it names is found from there.
func (src *simSource) beside(tail string) string {
	name := "weir-sim"
	if src.builtin {
		name = src.words[0]
	}
	if src.file != "" {
		name = strings.TrimSuffix(strings.TrimSuffix(src.file, ".yaml"), ".yml")
	}
	return name + tail + ".yaml"
}

// rerun is the command that runs the scenario again.
func (src *simSource) rerun() string {
	c := src.flags
	words := slices.Clone(src.words)
	for _, spec := range c.Limit {
		words = append(words, "--limit", spec)
	}
	if c.Policy != "" {
		words = append(words, "--policy", c.Policy)
	}
	if c.Seed != nil {
		words = append(words, "--seed", strconv.FormatUint(*c.Seed, 10))
	}
	if c.Duration != nil {
		words = append(words, "--duration", c.Duration.String())
	}
	return simLine(words...)
}

// simLine is a command line of weir sim.
func simLine(words ...string) string {
	return shellLine(append([]string{"weir", "sim"}, words...)...)
}
