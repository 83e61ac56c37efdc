// Package users keeps what single users of a tenant have beside the policy: a tier, limits
// of their own, and overrides that end. There is one document a user, written by
// compare-and-set; [Users.Lookup] is how a policy.Enforcer reads it, cached for 60 s.
package users

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service/document"
	"github.com/weirgo/weir/store"
)

// Record is what a user has.
type Record struct {
	// Tier is "" where the user has none.
	Tier string `json:"tier,omitempty"`
	// Limits are limits of the user's own, by the names of policy.Subject.Limits.
	Limits map[string]policy.Spec `json:"limits,omitempty"`
	// Overrides are those that have not ended.
	Overrides []Override `json:"overrides,omitempty"`
}

// Override replaces a limit of a rule until it ends.
type Override struct {
	ID string `json:"id"`
	// Rule and Name are those of policy.Override.
	Rule      string      `json:"rule"`
	Name      string      `json:"name,omitempty"`
	Limit     policy.Spec `json:"limit"`
	ExpiresAt time.Time   `json:"expires_at"`
	Reason    string      `json:"reason"`
	CreatedAt time.Time   `json:"created_at"`
}

// MaxOverrides is how many overrides that have not ended a user may have.
const MaxOverrides = 100

// Errors of changes.
var (
	// ErrNotFound: the user has no override of the ID.
	ErrNotFound = errors.New("users: the user has no such override")
	// ErrTooMany: the user has MaxOverrides.
	ErrTooMany = fmt.Errorf("users: the user has %d overrides: must be fewer", MaxOverrides)
)

// Users are the users of one tenant. It is safe for concurrent use. Each method is a call
// to the server or more.
type Users struct {
	docs document.Documents
	now  func() time.Time
}

// New returns the users whose records lie in documents. A nil clock is the wall clock.
func New(docs document.Documents, clock store.Clock) *Users {
	u := &Users{docs: docs, now: time.Now}
	if clock != nil {
		u.now = clock.Now
	}
	return u
}

// document returns that of a user, under a hash: names of documents are short and plain.
func (u *Users) document(user string) (document.Document, error) {
	sum := sha256.Sum256([]byte(user))
	return u.docs("user-" + hex.EncodeToString(sum[:24]))
}

// Get returns the record of a user; an empty one where there is none.
func (u *Users) Get(ctx context.Context, user string) (Record, error) {
	doc, err := u.document(user)
	if err != nil {
		return Record{}, err
	}
	text, _, err := doc.Read(ctx)
	if err != nil {
		return Record{}, fmt.Errorf("users: %w", err)
	}
	return u.read(text)
}

func (u *Users) read(text []byte) (r Record, err error) {
	if text == nil {
		return r, nil
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, fmt.Errorf("users: read: %w", store.ErrCorrupt)
	}
	now := u.now()
	r.Overrides = slices.DeleteFunc(r.Overrides, func(o Override) bool { return !now.Before(o.ExpiresAt) })
	return r, nil
}

// Change is a change that was made.
type Change struct{ Before, After Record }

// SetTier replaces the tier and the limits of a user. "" and nil take them away.
func (u *Users) SetTier(ctx context.Context, user, tier string, limits map[string]policy.Spec) (Change, error) {
	return u.change(ctx, user, func(r *Record) error {
		r.Tier, r.Limits = tier, limits
		return nil
	})
}

// AddOverride gives a user an override before the others, so that it counts first. It sets
// ID and CreatedAt, and returns it as it is stored.
func (u *Users) AddOverride(ctx context.Context, user string, o Override) (Override, Change, error) {
	o.ID, o.CreatedAt = newID(), u.now().UTC().Truncate(time.Microsecond)
	change, err := u.change(ctx, user, func(r *Record) error {
		if len(r.Overrides) >= MaxOverrides {
			return ErrTooMany
		}
		r.Overrides = slices.Insert(r.Overrides, 0, o)
		return nil
	})
	return o, change, err
}

func newID() string {
	id := make([]byte, 12)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

// DeleteOverride ends an override, or returns ErrNotFound.
func (u *Users) DeleteOverride(ctx context.Context, user, id string) (Change, error) {
	return u.change(ctx, user, func(r *Record) error {
		i := slices.IndexFunc(r.Overrides, func(o Override) bool { return o.ID == id })
		if i < 0 {
			return ErrNotFound
		}
		r.Overrides = slices.Delete(r.Overrides, i, i+1)
		return nil
	})
}

func (u *Users) change(ctx context.Context, user string, do func(*Record) error) (made Change, err error) {
	doc, err := u.document(user)
	if err != nil {
		return Change{}, err
	}
	_, err = doc.Update(ctx, func(text []byte) ([]byte, error) {
		before, err := u.read(text)
		if err != nil {
			return nil, err
		}
		after := before
		after.Overrides = slices.Clone(before.Overrides)
		if err := do(&after); err != nil {
			return nil, err
		}
		made = Change{before, after}
		return json.Marshal(after)
	})
	if err != nil {
		return Change{}, err
	}
	return made, nil
}

// attribute is the attribute of requests that has the user.
const attribute = "user"

// Lookup returns what a policy.Enforcer asks: for requests with the attribute user.
func (u *Users) Lookup() *policy.SubjectLookup {
	return &policy.SubjectLookup{
		Attributes: []string{attribute},
		Lookup: func(ctx context.Context, who policy.Attributes) (policy.Terms, error) {
			r, err := u.Get(ctx, who[attribute])
			return r.Terms(), err
		},
	}
}

// Who returns the attributes of a user, for Forget and Survey of an Enforcer.
func Who(user string) policy.Attributes { return policy.Attributes{attribute: user} }

// Terms returns the record as a policy takes it.
func (r *Record) Terms() policy.Terms {
	t := policy.Terms{Tier: r.Tier, Limits: r.Limits}
	for _, o := range r.Overrides {
		t.Overrides = append(t.Overrides, policy.Override{Rule: o.Rule, Name: o.Name, Limit: o.Limit, Until: o.ExpiresAt, Reason: o.Reason})
	}
	return t
}
