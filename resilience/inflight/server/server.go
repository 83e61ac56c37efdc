// Package inflightserver keeps the holders of package inflight in Redis or Valkey, through a
// store of store/redis or store/valkey, for the processes that share the server:
//
//	s, err := redisstore.New(client, nil)
//	...
//	holders, err := inflightserver.New(s)
//
// The client, its connections, the prefix, the clock and the errors are those of the store.
package inflightserver

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience/inflight"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// Store is an inflight.Store on a server. A call is one round trip, and is sent at most once.
// It is safe for concurrent use, and needs no closing; after its script.Store was closed it
// returns store.ErrClosed.
//
// The clock is that of the server, unless the script.Store has one: the clocks of the
// processes do not matter.
//
// With script.Options.Replicas a call waits until the replicas have what it has written, and is
// store.ErrOutcomeUnknown where too few have it in time, a refusal too.
//
// The holders of a slot lie in one sorted set, <prefix>{<key>}:inflight/1:<limit>, named as the states
// of limits are: 50 to 120 bytes for a holder with an ID of weir.NewID. The set vanishes with its last
// holder, or when the last hold has expired for a second. What is no such set is
// store.ErrCorrupt, and left as it is; delete it.
type Store struct{ server *script.Store }

var _ inflight.Store = (*Store)(nil)

// kind says in stored names what is stored, with the version of its layout.
const kind = "inflight/1"

//go:embed holders.lua
var text string

var program = script.NewProgram(text)

// New returns a Store that uses s, and leaves it open. It sends nothing. nil is refused.
func New(s *script.Store) (*Store, error) {
	if s == nil {
		return nil, &store.InputError{Op: -1, Field: "store", Value: "nil", Allowed: "a *script.Store"}
	}
	return &Store{s}, nil
}

// Acquire implements inflight.Store.
func (s *Store) Acquire(ctx context.Context, h inflight.Holder, limit int64) (inflight.Standing, error) {
	if err := inflight.ValidateAcquire(h, limit); err != nil {
		return inflight.Standing{}, err
	}
	return s.run(ctx, "acquire", h, limit)
}

// Renew implements inflight.Store.
func (s *Store) Renew(ctx context.Context, h inflight.Holder) (inflight.Standing, error) {
	if err := inflight.ValidateRenew(h); err != nil {
		return inflight.Standing{}, err
	}
	return s.run(ctx, "renew", h, 0)
}

// Release implements inflight.Store.
func (s *Store) Release(ctx context.Context, h inflight.Holder) (inflight.Standing, error) {
	if err := inflight.ValidateRelease(h); err != nil {
		return inflight.Standing{}, err
	}
	return s.run(ctx, "release", h, 0)
}

// Peek implements inflight.Store.
func (s *Store) Peek(ctx context.Context, slot inflight.Slot) (inflight.Standing, error) {
	if err := inflight.ValidatePeek(slot); err != nil {
		return inflight.Standing{}, err
	}
	return s.run(ctx, "peek", inflight.Holder{Slot: slot}, 0)
}

func (s *Store) run(ctx context.Context, verb string, h inflight.Holder, limit int64) (inflight.Standing, error) {
	cost := strconv.FormatInt(h.Cost, 10)
	reply, err := s.server.Run(ctx, program, verb, verb == "peek", store.SlotID{Key: h.Key, Limit: h.Limit, Kind: kind},
		verb, cost+":"+h.ID, cost, strconv.FormatInt(limit, 10), strconv.FormatInt(int64(h.Life/time.Microsecond), 10), strconv.Itoa(inflight.MaxHolders))
	switch {
	case err != nil:
		return inflight.Standing{}, fmt.Errorf("inflightserver: %w", err)
	case reply == "!":
		return inflight.Standing{}, fmt.Errorf("inflightserver: %s: %w", verb, store.ErrCorrupt)
	case reply == "full":
		return inflight.Standing{}, fmt.Errorf("inflightserver: %s: %w: %d holders", verb, store.ErrFull, inflight.MaxHolders)
	}
	standing, err := parse(reply)
	if err != nil {
		return inflight.Standing{}, fmt.Errorf("inflightserver: %s: %w: %w", verb, store.ErrOutcomeUnknown, err)
	}
	return standing, nil
}

var errReply = errors.New("the reply is not that of the script")

// parse reads "<held> <in use> <until> <next> <instant>".
func parse(reply string) (inflight.Standing, error) {
	words := strings.Split(reply, " ")
	if len(words) != 5 {
		return inflight.Standing{}, errReply
	}
	var numbers [5]int64
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 {
			return inflight.Standing{}, errReply
		}
		numbers[i] = n
	}
	return inflight.Standing{
		Held: numbers[0] == 1, InUse: numbers[1], Until: algorithm.Instant(numbers[2]),
		Next: algorithm.Instant(numbers[3]), At: algorithm.Instant(numbers[4]),
	}, nil
}
