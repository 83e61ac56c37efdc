package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weirgo/weir/policy"
)

// heading begins the comment that has what a policy has no place for.
const heading = "# weir-rules: "

// about is what is kept of a rule beside the policy.
type about struct {
	Name      string    `json:"name,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	// Change counts the changes of the document; it tells apart what else is equal.
	Change int64 `json:"change"`
}

// content is a document as it was read.
type content struct {
	file   *policy.File
	about  map[string]about // by the ID of the rule
	change int64            // of the last change
}

type comment struct {
	Change int64            `json:"change"`
	Rules  map[string]about `json:"rules"`
}

// read reads a document. A comment that is not there, or that somebody has changed, is an
// empty one: the policy counts.
func read(text []byte, opts *policy.CompileOptions) (*content, error) {
	file, err := policy.Parse(text, opts)
	if err != nil {
		return nil, err
	}
	c := &content{file: file, about: map[string]about{}}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if rest, has := bytes.CutPrefix(first, []byte(heading)); has {
		var read comment
		if json.Unmarshal(rest, &read) == nil && read.Change >= 0 {
			c.change = read.Change
			if read.Rules != nil {
				c.about = read.Rules
			}
		}
	}
	return c, nil
}

// wire is a policy whose rules are JSON: those that are there, and the one that a
// caller sends as it sends it, so that errors have its places.
type wire struct {
	policy.Policy
	Rules []json.RawMessage `json:"rules,omitempty"`
}

// write writes a document in lines: one for each rule.
func write(p policy.Policy, rules []json.RawMessage, c comment) ([]byte, error) {
	head, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	text, err := json.MarshalIndent(wire{p, rules}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return append(append(append([]byte(heading), ascii(head)...), '\n'), append(text, '\n')...), nil
}

// ascii writes JSON without the characters that end a line of YAML, and others beyond ASCII.
func ascii(text []byte) []byte {
	var made []byte
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r < utf8.RuneSelf:
			made = append(made, text[0])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			made = fmt.Appendf(made, `\u%04x\u%04x`, high, low)
		default:
			made = fmt.Appendf(made, `\u%04x`, r)
		}
		text = text[n:]
	}
	return made
}
