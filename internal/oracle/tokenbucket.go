package oracle

import (
	"fmt"
	"math/big"
)

// TokenBucket is the token bucket.
const TokenBucket Kind = "token-bucket"

func tokenBucket() family {
	return family{kind: TokenBucket, start: func() model { return &bucket{} }}
}

// bucket is the state of a token bucket: the tokens at the instant of the last
// change. nil tokens are a key that was never used.
//
//	level = min(B, tokens + max(0, now − last)·L/P), admitted iff level ≥ n;
//	then tokens = level − n and last = max(last, now)
//
// Ticks are 1/P' of a token, so that a µs brings L' of them.
type bucket struct {
	tokens *big.Rat
	last   int64
}

// level returns what the bucket holds at now, in ticks. Tokens left under
// another rate are rounded down, against the caller.
func (b *bucket) level(p *parameters, now int64) *big.Int {
	full := times(p.capacity, p.per)
	if b.tokens == nil {
		return full
	}
	held := larger(floorTicks(b.tokens, p.per), minus(full, deepest(p)))
	return smaller(full, plus(held, times(max(0, now-b.last), p.units)))
}

// deepest is the most, in ticks, by which a bucket is short of full: what another limit
// left beyond that is forgiven.
func deepest(p *parameters) *big.Int {
	most := smaller(floorDivide(times(MaxTimeToFull, p.units), p.per), big.NewInt(p.capacity+MaxUnits))
	return most.Mul(most, p.per)
}

func (b *bucket) admits(p *parameters, now, cost int64) bool {
	return b.level(p, now).Cmp(times(cost, p.per)) >= 0
}

func (b *bucket) take(p *parameters, now, cost int64) {
	b.tokens = new(big.Rat).SetFrac(minus(b.level(p, now), times(cost, p.per)), p.per)
	b.last = max(b.last, now)
}

// refund: level + n, not above B.
func (b *bucket) refund(p *parameters, now, _, cost int64) {
	full := times(p.capacity, p.per)
	level := b.level(p, now)
	if b.tokens == nil || level.Cmp(full) == 0 {
		return
	}
	b.tokens = new(big.Rat).SetFrac(smaller(full, plus(level, times(cost, p.per))), p.per)
	b.last = max(b.last, now)
}

// fresh: a full bucket whose last change still lies ahead would, once used,
// gain nothing until then. One that was never used would.
func (b *bucket) fresh(p *parameters, now int64) bool {
	return b.tokens == nil || now >= b.last && b.level(p, now).Cmp(times(p.capacity, p.per)) == 0
}

func (b *bucket) turn(*parameters, int64) *big.Rat { return new(big.Rat) }

func (b *bucket) clone() model { c := *b; return &c }

func (b *bucket) String() string {
	if b.tokens == nil {
		return "fresh"
	}
	return fmt.Sprintf("tokens %s at %d", b.tokens.RatString(), b.last)
}
