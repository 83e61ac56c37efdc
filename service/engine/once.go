package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// claims bind an idempotency key to the request that came with it first. A claim is one
// take of a sliding log, whose capacity is the largest there is, and its cost is above
// half of that: the first take is admitted, and any other is denied until the first one
// leaves the log. The cost is made of the digest of the request, and a denial shows it.
//
// Where the store fails the claims are those of this process: the failure mode of the
// request itself decides what is answered.
type claims struct {
	limit   weir.Limit
	limiter *weir.MultiLimiter
	local   *memorystore.Store
}

// maxLocalClaims bounds the claims of this process.
const maxLocalClaims = 100_000

func newClaims(s store.Store, life, timeout time.Duration) (*claims, error) {
	a, err := algorithm.NewSlidingLog(algorithm.Rate{Units: algorithm.MaxUnits, Per: life})
	if err != nil {
		return nil, err
	}
	local, err := memorystore.New(&memorystore.Options{MaxKeys: maxLocalClaims, EvictLeastDebt: true})
	if err != nil {
		return nil, err
	}
	limiter, err := weir.NewMultiLimiter(s, &weir.Options{Timeout: timeout, OnFailure: weir.FailLocal, Local: local})
	if err != nil {
		return nil, errors.Join(err, local.Close())
	}
	return &claims{limit: weir.Limit{Name: "idempotency", Algorithm: a}, limiter: limiter, local: local}, nil
}

// take claims a key for a request, and reports whether the same request has claimed it
// before. A key of another request is an error.
func (c *claims) take(ctx context.Context, key [32]byte, request [32]byte) (before bool, err error) {
	const half = algorithm.MaxUnits / 2
	cost := half + 1 + int64(binary.BigEndian.Uint64(request[:])%uint64(half))
	r, err := c.limiter.Take(ctx, c.limit.ForN("idempotency:"+base64.RawURLEncoding.EncodeToString(key[:]), cost))
	switch {
	case err != nil:
		return false, As(err)
	case r.Allowed:
		return false, nil
	case r.Decisions[0].Limit-r.Decisions[0].Remaining != cost:
		return false, &Error{Code: KeyReused, Message: "the idempotency key is of another request"}
	}
	return true, nil
}

func (c *claims) close() error {
	_ = c.limiter.Close() // always nil
	return c.local.Close()
}

// digest is a hash of texts that tells ("a", "bc") from ("ab", "c").
func digest(parts ...string) [32]byte {
	h := sha256.New()
	var n [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return [32]byte(h.Sum(nil))
}

// begin claims the key of a call, and returns the ID of its take.
func (e *Engine) begin(ctx context.Context, once *Once, method string, request [32]byte) (id string, before bool, err error) {
	key := digest(e.tenant, once.Caller, cmp.Or(once.Method, method), once.Key)
	before, err = e.claims.take(ctx, key, request)
	id = base64.RawURLEncoding.EncodeToString(key[:]) + base64.RawURLEncoding.EncodeToString(request[:16])
	return id, before, err
}

// checkOnce is Check with an idempotency key.
func (e *Engine) checkOnce(ctx context.Context, once *Once, r policy.Request, cost int64) (Answer, error) {
	parts := []string{r.Method, r.Path, itoa(cost)}
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		parts = append(parts, name, r.Attributes[name])
	}
	id, before, err := e.begin(ctx, once, "Check", digest(parts...))
	if err != nil {
		return Answer{}, err
	}
	asked := r
	asked.ID = id
	var start time.Time
	if before {
		if start, err = e.now(ctx, r); err != nil {
			return Answer{}, As(err)
		}
	}
	v, err := e.enforcer.Decide(ctx, asked)
	if errors.Is(err, store.ErrIDReused) {
		// It was admitted, as an ID says, by an earlier policy.
		r.Look = true
		if v, err = e.enforcer.Peek(ctx, r); err != nil {
			return Answer{}, As(err)
		}
		a := answerOf(v)
		a.Allowed, a.RetryAfter, a.Replayed = true, 0, true
		return a, nil
	}
	if err != nil {
		return Answer{}, As(err)
	}
	a := answerOf(v)
	a.Replayed = before && a.answeredBefore(start)
	return a, nil
}

// now is an instant on the clock that decides a request, before it is decided: an answer
// with an earlier instant was given before.
func (e *Engine) now(ctx context.Context, r policy.Request) (time.Time, error) {
	r.Look = true
	v, err := e.enforcer.Peek(ctx, r)
	if err != nil || v.Binding < 0 {
		return time.Time{}, err
	}
	return v.Rules[v.Binding].Decision.At, nil
}

// allowOnce is AllowN with an idempotency key.
func (e *Engine) allowOnce(ctx context.Context, once *Once, ask weir.Ask) (LimitAnswer, error) {
	id, before, err := e.begin(ctx, once, "AllowN", digest(ask.Limit.Name, ask.Key, itoa(ask.Cost)))
	if err != nil {
		return LimitAnswer{}, err
	}
	look := func() (weir.Decision, error) {
		r, err := e.named.Peek(ctx, ask.Limit.ForN(ask.Key, 0))
		if err != nil {
			return weir.Decision{}, As(err)
		}
		return r.Decisions[0], nil
	}
	var start weir.Decision
	if before {
		if start, err = look(); err != nil {
			return LimitAnswer{}, err
		}
	}
	r, err := e.named.Take(ctx, weir.Once(id, ask)...)
	if errors.Is(err, store.ErrIDReused) {
		// It was admitted, as an ID says, with other parameters of the limit.
		now, err := look()
		if err != nil {
			return LimitAnswer{}, err
		}
		a := limitAnswerOf(now)
		a.Replayed = true
		return a, nil
	}
	if err != nil {
		return LimitAnswer{}, As(err)
	}
	a := limitAnswerOf(r.Decisions[0])
	a.Replayed = before && a.answeredBefore(start.At)
	return a, nil
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
