package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Once names a step, so that it is made once however often it is asked for: see
// Features.Once.
type Once struct {
	// ID is 1 to MaxID bytes. It names the step among those of one hash tag: the
	// smallest of the keys of the ops, see HashTag.
	ID string
	// TTL is how long the ID is remembered, from the instant of the step: MinTTL to
	// MaxTTL, in whole µs. After that it names a new step.
	TTL time.Duration
}

// Bounds of a Once.
const (
	MaxID  = 255
	MinTTL = time.Millisecond
	MaxTTL = 24 * time.Hour
)

// OnceFunc is the type of Features.Once.
type OnceFunc func(ctx context.Context, o Once, ops []Op) (at algorithm.Instant, committed bool, err error)

// Errors of Features.Once.
var (
	// ErrUnsupported: the store cannot do what was asked, such as to know a step by an
	// ID. Nothing was changed.
	ErrUnsupported = errors.New("store: unsupported")
	// ErrIDReused: the ID names a step with other ops, which was made and is remembered.
	// This one was not made.
	ErrIDReused = errors.New("store: the ID is of another step")
)

// ValidateOnce refuses what no store takes: an ID or a TTL out of its bounds, and ops that
// Validate refuses. A store with Features.Once calls it before it does anything else.
func ValidateOnce(o Once, ops []Op) error {
	if len(o.ID) < 1 || len(o.ID) > MaxID {
		return &InputError{-1, "Once.ID", strconv.Itoa(len(o.ID)) + " bytes long", "1 to " + strconv.Itoa(MaxID) + " bytes long"}
	}
	if o.TTL < MinTTL || o.TTL > MaxTTL || o.TTL%time.Microsecond != 0 {
		return &InputError{-1, "Once.TTL", o.TTL.String(), MinTTL.String() + " to " + MaxTTL.String() + " in whole µs"}
	}
	return Validate(ops)
}

// Takes reports whether a committed step of ops is one that an ID remembers: one of them
// has a cost, or gives back, also nothing. A step of looks has no ID.
func Takes(ops []Op) bool {
	for i := range ops {
		if r := &ops[i].Request; r.Cost > 0 || r.Verb == algorithm.Refund {
			return true
		}
	}
	return false
}

// HashTag returns the part of a key that says where it lies in a cluster: what stands
// between its first brace pair, as t in "a{t}b", unless that is nothing; otherwise the
// whole key.
func HashTag(key string) string {
	if _, after, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(after, "}"); found && tag != "" {
			return tag
		}
	}
	return key
}

// OnceTag returns the hash tag that the ID of ops belongs to: the smallest of their keys.
// The order of the ops does not matter to it.
func OnceTag(ops []Op) string {
	tag := HashTag(ops[0].Key)
	for i := range ops[1:] {
		tag = min(tag, HashTag(ops[i+1].Key))
	}
	return tag
}

// OnceDigest returns 32 hexadecimal digits that are equal where ops ask the same slots, with
// the same parameters and in the same order, for the same. An ID that is remembered with
// another digest is ErrIDReused.
func OnceDigest(ops []Op) string {
	hash := sha256.New()
	var room [512]byte
	for i := range ops {
		op := &ops[i]
		spec := op.Algorithm.Spec()
		b := room[:0]
		for _, part := range []string{op.Key, op.Limit, spec.Kind, spec.Identity} {
			b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
		}
		for _, n := range spec.Params {
			b = binary.AppendVarint(b, n)
		}
		r := op.Request
		for _, n := range []int64{r.Cost, int64(r.MaxDelay), int64(r.Verb), int64(r.At)} {
			b = binary.AppendVarint(b, n)
		}
		hash.Write(b)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
