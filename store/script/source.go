package script

import "github.com/weirgo/weir/algorithm"

// Source is the Lua of an algorithm. The algorithms of package algorithm have
// theirs; one that a user writes can bring it in Options.Scripts, and then also
// takes one round trip. conformance.TestScript shows that it equals its Go.
type Source struct {
	// Kind is the Spec().Kind of the algorithm.
	Kind string

	// Lua defines one local function,
	//
	//	local function decide(state, now, ...)
	//
	// that decides as the Go function does. state is the text of the state, or
	// false where the key is fresh; now is the instant in µs; then come the
	// numbers of Limit and those of Request. It returns
	//
	//	nil                 state is not a state of this kind
	//	false               denied
	//	true                admitted, without a change
	//	true, next, reset   admitted: the text of the next state, "" for the
	//	                    fresh one, and its ResetAfter in µs
	//
	// The text of a state is one to four words. Whatever else is stored is reported
	// as corrupt, and whatever else is returned as an error, for this op alone.
	//
	// It must be a function of its arguments: no redis.call, no global. All
	// numbers must stay whole and below 2^53; text(x) makes the text of one,
	// number(s) reads one (nil if it is not as text writes it), and
	// muldiv(a, b, m) gives ⌊a·b/m⌋ and the remainder for whole a ≤ m < 2^45.
	Lua string

	// Limit appends the numbers that decide needs of the limit: always the same
	// count, each at most 2^53 - 1 in size. It must depend on the Spec only. nil
	// is the four Spec().Params.
	Limit func(a algorithm.Algorithm, numbers []int64) []int64

	// Request appends the numbers that decide needs of a request, in the same
	// way. nil is the cost and the MaxDelay in µs, each cut down to 2^53 - 1.
	// Limit and Request give eight numbers together at most.
	Request func(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64
}
