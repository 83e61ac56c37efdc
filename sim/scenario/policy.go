package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/weirgo/weir/internal/document"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/sim/internal/rules"
)

// Governed reports whether a policy decides, and no Limits.
func (s *Scenario) Governed() bool { return s.Policy != "" || s.PolicyFile != "" }

// WithPolicy returns the scenario with the text of its PolicyFile as Policy; where it has
// no PolicyFile, s itself. files holds the file; nil means that no file may be read.
func (s *Scenario) WithPolicy(files fs.FS) (*Scenario, error) {
	if s.PolicyFile == "" {
		return s, nil
	}
	wrong := func(err error) error { return &Error{Path: "policy_file", Cause: err} }
	if files == nil {
		return nil, wrong(fmt.Errorf("%s: no file may be read here", s.PolicyFile))
	}
	text, err := fs.ReadFile(files, s.PolicyFile)
	if err != nil {
		return nil, wrong(err)
	}
	if len(text) == 0 || len(text) > document.MaxBytes {
		return nil, wrong(fmt.Errorf("%s has %d bytes: must be 1 to %d", s.PolicyFile, len(text), document.MaxBytes))
	}
	one := *s
	one.Policy, one.PolicyFile = string(text), ""
	err = one.Validate()
	var refused *Error
	if errors.As(err, &refused) && refused.Path == "policy" {
		return nil, wrong(fmt.Errorf("%s: %w", s.PolicyFile, refused.Cause))
	}
	return &one, err
}

// crossPolicy checks what goes together with a policy, and the policy, which it returns; nil where there
// is none, or where it is in a file.
func (s *Scenario) crossPolicy() (*policy.File, error) {
	if err := s.suitsPolicy(); err != nil || s.Policy == "" {
		return nil, err
	}
	file, err := rules.Parse([]byte(s.Policy))
	if err != nil {
		return nil, &Error{Path: "policy", Cause: err}
	}
	for i, r := range file.Policy.Rules {
		if r.Shards != 0 {
			return nil, &Error{Path: "policy", Cause: fmt.Errorf("rules[%d].shards %d is not allowed: must be absent in a simulation", i, r.Shards)}
		}
		if r.Lease {
			return nil, &Error{Path: "policy", Cause: fmt.Errorf("rules[%d].lease true is not allowed: must be absent in a simulation; a scenario without a policy has nodes.lease", i)}
		}
	}
	for _, spec := range rules.Specs(&file.Policy) {
		if _, err := (&Limit{Spec: spec}).model(); err != nil {
			return nil, &Error{Path: "policy", Cause: err}
		}
	}
	return file, nil
}

// suitsPolicy checks what goes together with a policy.
func (s *Scenario) suitsPolicy() error {
	switch {
	case !s.Governed() && len(s.Limits) == 0:
		return refuse("limits", "0 of them", "1 to 16 of them, or a policy in their place")
	case !s.Governed():
		return s.refuseRequests()
	case s.Policy != "" && s.PolicyFile != "":
		return refuse("policy_file", s.PolicyFile, "absent where policy is given")
	case s.PolicyFile != "" && !fs.ValidPath(s.PolicyFile):
		return refuse("policy_file", s.PolicyFile, "the name of a file in the same folder or below it")
	case len(s.Limits) > 0:
		return refuse("limits", strconv.Itoa(len(s.Limits))+" of them", "absent where a policy is given")
	case s.Together:
		return refuse("together", "true", "absent where a policy is given")
	case s.Server.Count > 1:
		return refuse("server.count", s.Server.Count, "1 where a policy is given")
	}
	return nil
}

func (s *Scenario) refuseRequests() error {
	for i, t := range s.Traffic {
		if t.Request != nil {
			return refuse(fmt.Sprintf("traffic[%d].request", i), "a request", "absent where there is no policy")
		}
	}
	return nil
}

// limitNames returns the names of the limits, or of those of the rules of the policy, where it is known.
func (s *Scenario) limitNames(file *policy.File) (names []string) {
	for _, l := range s.Limits {
		names = append(names, l.Name)
	}
	if file == nil {
		return names
	}
	for _, l := range rules.Limits(&file.Policy) {
		names = append(names, l.Name)
	}
	return names
}
