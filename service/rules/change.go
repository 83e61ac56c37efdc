package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weirgo/weir/policy"
)

// Change is a change that was made.
type Change struct {
	// Before is nil where there was no rule, After where there is none.
	Before, After *Rule
	// Version is the version of the policy that the document has now.
	Version string
}

// Create adds a rule behind the others. body is the rule as JSON, and id the ID in it.
// ErrExists and *InvalidError say why not.
func (r *Rules) Create(ctx context.Context, id, name string, body json.RawMessage) (Change, error) {
	return r.change(ctx, id, func(c *content, e *edit) error {
		if e.at >= 0 {
			return ErrExists
		}
		e.at, e.rules = len(e.rules), append(e.rules, body)
		now := r.now().UTC().Truncate(1000)
		e.about = about{Name: name, CreatedAt: now, UpdatedAt: now}
		return nil
	})
}

// Replace replaces a rule in its place, if match, which gets its ETag, returns true; else
// it is ErrChanged. ErrNotFound and *InvalidError say why not, too. body has the same ID.
func (r *Rules) Replace(ctx context.Context, id, name string, body json.RawMessage, match func(etag string) bool) (Change, error) {
	return r.change(ctx, id, func(c *content, e *edit) error {
		if err := c.matches(e.at, match); err != nil {
			return err
		}
		e.rules[e.at] = body
		e.about = about{Name: name, CreatedAt: c.about[id].CreatedAt, UpdatedAt: r.now().UTC().Truncate(1000)}
		return nil
	})
}

// Delete deletes a rule, if match, which gets its ETag, returns true; else it is
// ErrChanged. ErrNotFound and *InvalidError say why not, too: others may need the rule.
func (r *Rules) Delete(ctx context.Context, id string, match func(etag string) bool) (Change, error) {
	return r.change(ctx, id, func(c *content, e *edit) error {
		if err := c.matches(e.at, match); err != nil {
			return err
		}
		e.rules = append(e.rules[:e.at:e.at], e.rules[e.at+1:]...)
		e.at = -1
		return nil
	})
}

func (c *content) matches(at int, match func(etag string) bool) error {
	if at < 0 {
		return ErrNotFound
	}
	if rule := c.rule(at); !match(rule.ETag()) {
		return ErrChanged
	}
	return nil
}

// edit is a change of a document that is being made.
type edit struct {
	rules []json.RawMessage
	at    int // of the rule that is changed; -1: there is none
	about about
}

// change reads the document, lets do edit its rules, and writes what is a valid policy.
func (r *Rules) change(ctx context.Context, id string, do func(*content, *edit) error) (made Change, err error) {
	_, err = r.doc.Update(ctx, func(text []byte) ([]byte, error) {
		c, err := read(text, r.compile)
		if err != nil {
			return nil, err
		}
		made = Change{}
		e := edit{at: c.find(id)}
		if e.at >= 0 {
			before := c.rule(e.at)
			made.Before = &before
		}
		for i := range c.file.Policy.Rules {
			rule, err := json.Marshal(c.file.Policy.Rules[i])
			if err != nil {
				return nil, fmt.Errorf("rules: %w", err)
			}
			e.rules = append(e.rules, rule)
		}
		if err := do(c, &e); err != nil {
			return nil, err
		}
		next, after, err := r.made(c, id, &e)
		if err != nil {
			return nil, err
		}
		if e.at >= 0 {
			rule := after.rule(e.at)
			made.After = &rule
		}
		made.Version = after.file.Compiled.Version()
		return next, nil
	})
	if err != nil {
		return Change{}, err
	}
	return made, nil
}

// made returns the text of what an edit makes of c, and what is read of it.
func (r *Rules) made(c *content, id string, e *edit) (text []byte, after *content, err error) {
	head := comment{Change: c.change + 1, Rules: map[string]about{}}
	for i := range c.file.Policy.Rules {
		if rule := c.file.Policy.Rules[i].ID; rule != id {
			if a, has := c.about[rule]; has {
				head.Rules[rule] = a
			}
		}
	}
	if e.at >= 0 {
		e.about.Change = head.Change
		head.Rules[id] = e.about
	}
	if text, err = write(c.file.Policy, e.rules, head); err != nil {
		return nil, nil, err
	}
	after, err = read(text, r.compile)
	if invalid := (*policy.InvalidError)(nil); errors.As(err, &invalid) {
		return nil, nil, apart(invalid, e.at)
	}
	if err != nil {
		return nil, nil, err
	}
	// Written from what was read, so that the document has one form.
	normal := make([]json.RawMessage, len(after.file.Policy.Rules))
	for i := range normal {
		if normal[i], err = json.Marshal(after.file.Policy.Rules[i]); err != nil {
			return nil, nil, fmt.Errorf("rules: %w", err)
		}
	}
	text, err = write(after.file.Policy, normal, head)
	return text, after, err
}

// apart tells the errors of the rule at a position from those of the rest.
func apart(all *policy.InvalidError, at int) *InvalidError {
	e := &InvalidError{}
	for _, f := range all.Fields {
		shown := *f
		shown.Line, shown.Column = 0, 0 // of a text that nobody sees
		if len(f.Path) >= 2 && f.Path[0] == any("rules") && f.Path[1] == any(at) {
			shown.Path = f.Path[2:]
			e.Fields = append(e.Fields, &shown)
			continue
		}
		e.Others = append(e.Others, &shown)
	}
	return e
}
