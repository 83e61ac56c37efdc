package rules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service/document"
	"github.com/weirgo/weir/store"
)

// Rule is a rule as it is shown.
type Rule struct {
	policy.Rule
	Name      string    `json:"name,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`

	change int64
}

// ETag returns the entity tag of the rule, in quotes: another one after each change.
func (r *Rule) ETag() string {
	text, err := json.Marshal(struct {
		*Rule
		Change int64
	}{r, r.change})
	if err != nil {
		panic(err) // a rule that was read as text
	}
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// Of returns the rules of a policy that is in no document.
func Of(p *policy.Policy) []Rule {
	all := make([]Rule, len(p.Rules))
	for i := range p.Rules {
		all[i].Rule = p.Rules[i]
	}
	return all
}

// Errors of changes.
var (
	// ErrNotFound: no rule has the ID.
	ErrNotFound = errors.New("rules: no rule has this id")
	// ErrExists: a rule has the ID already.
	ErrExists = errors.New("rules: a rule has this id already")
	// ErrChanged: the rule has another ETag.
	ErrChanged = errors.New("rules: the rule has changed in between")
)

// InvalidError says that a change would make a policy that is not valid.
type InvalidError struct {
	// Fields are the errors of the rule that was sent, with paths from the rule on.
	Fields []*policy.FieldError
	// Others are errors elsewhere in the policy: what needs the rule as it was.
	Others []*policy.FieldError
}

func (e *InvalidError) Error() string {
	var texts []string
	for _, f := range append(slices.Clone(e.Fields), e.Others...) {
		texts = append(texts, f.Error())
	}
	return "rules: " + strings.Join(texts, "; ")
}

// Options are the optional settings of Open. nil means all defaults.
type Options struct {
	// Compile are the options for the policy: as the watcher has them.
	Compile *policy.CompileOptions
	// Initial is the text of the policy where there is no document yet. nil is a policy
	// without rules.
	Initial []byte
	// Clock says when rules were made and changed. nil is the wall clock.
	Clock store.Clock
}

// Rules are the rules of one document. It is safe for concurrent use. Each method is a
// call to the server or more.
type Rules struct {
	doc     document.Document
	compile *policy.CompileOptions
	now     func() time.Time
}

// Open returns the rules of a document, and writes Options.Initial where it is missing. The
// document is then a Source of package watch that has a policy.
func Open(ctx context.Context, doc document.Document, opts *Options) (*Rules, error) {
	if opts == nil {
		opts = &Options{}
	}
	r := &Rules{doc: doc, compile: opts.Compile, now: time.Now}
	if opts.Clock != nil {
		r.now = opts.Clock.Now
	}
	initial := opts.Initial
	if initial == nil {
		initial = fmt.Appendf(nil, "version: %d\n", policy.FormatVersion)
	}
	if _, err := policy.Parse(initial, r.compile); err != nil {
		return nil, fmt.Errorf("rules: Options.Initial: %w", err)
	}
	_, revision, err := doc.Read(ctx)
	if err == nil && revision == 0 {
		_, err = doc.Write(ctx, initial, 0)
		if errors.Is(err, store.ErrContention) {
			err = nil // another node was faster
		}
	}
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return r, nil
}

// List returns all rules in the order of the policy, and its version.
func (r *Rules) List(ctx context.Context) (all []Rule, version string, err error) {
	c, err := r.read(ctx)
	if err != nil {
		return nil, "", err
	}
	return c.rules(), c.file.Compiled.Version(), nil
}

// Get returns the rule of an ID, or ErrNotFound.
func (r *Rules) Get(ctx context.Context, id string) (Rule, error) {
	c, err := r.read(ctx)
	if err != nil {
		return Rule{}, err
	}
	i := c.find(id)
	if i < 0 {
		return Rule{}, ErrNotFound
	}
	return c.rule(i), nil
}

// File returns the policy of the document as it is now.
func (r *Rules) File(ctx context.Context) (*policy.File, error) {
	c, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	return c.file, nil
}

func (r *Rules) read(ctx context.Context) (*content, error) {
	text, _, err := r.doc.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return read(text, r.compile)
}

// find returns the position of a rule, or -1.
func (c *content) find(id string) int {
	return slices.IndexFunc(c.file.Policy.Rules, func(r policy.Rule) bool { return r.ID == id })
}

func (c *content) rules() []Rule {
	all := make([]Rule, len(c.file.Policy.Rules))
	for i := range all {
		all[i] = c.rule(i)
	}
	return all
}

func (c *content) rule(i int) Rule {
	r := c.file.Policy.Rules[i]
	a := c.about[r.ID]
	return Rule{Rule: r, Name: a.Name, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt, change: a.Change}
}
