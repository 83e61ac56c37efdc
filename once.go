package weir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// NewID returns an ID that nobody else has: 26 letters and digits, at random.
func NewID() string { return rand.Text() }

// Once returns asks with an ID, for a Take that counts once however often it is asked
// for; see Ask.ID. The asks that it is given stay as they are.
func Once(id string, asks ...Ask) []Ask {
	asks = slices.Clone(asks)
	for i := range asks {
		asks[i].ID = id
	}
	return asks
}

const maxID = 200

// idOf is the ID of a Take; "" for none.
func idOf(asks []Ask) (id string, err error) {
	for i := range asks {
		if asks[i].ID != asks[0].ID {
			return "", &store.InputError{Op: i, Field: "Ask.ID", Value: "another than that of ask 0", Allowed: "the same in all asks of a Take: see Once"}
		}
	}
	if len(asks) > 0 {
		id = asks[0].ID
	}
	if len(id) > maxID {
		return "", &store.InputError{Op: 0, Field: "Ask.ID", Value: strconv.Itoa(len(id)) + " bytes long", Allowed: "at most " + strconv.Itoa(maxID) + " bytes long"}
	}
	return id, nil
}

const (
	defaultIDTTL = 10 * time.Minute
	// longestResolve bounds how long something is asked again: the ID must still be
	// remembered then.
	longestResolve = time.Minute
	firstPause     = time.Millisecond
	longestPause   = 100 * time.Millisecond
)

// Resolve calls ask, and where the outcome is unknown (store.ErrOutcomeUnknown) calls it
// again until it is known, with pauses of 1 to 100 ms, until ctx ends and for a minute at
// most. ask must be one that counts once: a Take with an ID, AllowOnce, the Settle of a
// Reservation. After the first unknown outcome, a store that fails is asked again, too.
//
// Where the outcome stays unknown, the error matches store.ErrOutcomeUnknown, and the
// error of ctx where that has ended. To call Resolve again goes on finding out.
func Resolve(ctx context.Context, ask func(ctx context.Context) error) error {
	return resolve(ctx, longestResolve, ask)
}

func resolve(ctx context.Context, longest time.Duration, ask func(ctx context.Context) error) error {
	unknown := ask(ctx)
	if !errors.Is(unknown, store.ErrOutcomeUnknown) {
		return unknown
	}
	within, cancel := deadline.Patience(ctx, longest)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		if err := deadline.Pause(within, pause); err != nil {
			if ctx.Err() == nil {
				return unknown // it was our time that has ended
			}
			return fmt.Errorf("%w: asked again: %w", unknown, err)
		}
		err := ask(within)
		switch {
		case isOutcome(err):
			return err
		case !IsFailure(err) && within.Err() == nil:
			return fmt.Errorf("%w: asked again: %w", unknown, err)
		}
	}
}

// isOutcome reports whether err says what came of a step.
func isOutcome(err error) bool {
	var debt *DebtError
	return err == nil || errors.As(err, &debt) || errors.Is(err, store.ErrIDReused) || errors.Is(err, ErrSettled)
}

// askOnce is ask for a step with an ID.
func (g *guard) askOnce(ctx context.Context, id string, ops []store.Op) (at algorithm.Instant, cause, err error) {
	at, err = g.decideOnce(ctx, id, ops)
	if err == nil {
		return at, nil, nil
	}
	return g.fallback(ctx, id, ops, true, err)
}

// decideOnce is askOnce without a failure mode.
func (g *guard) decideOnce(ctx context.Context, id string, ops []store.Op) (at algorithm.Instant, err error) {
	ask := func(ctx context.Context) error {
		at, err = once(ctx, g.store, g.timeout, store.Once{ID: id, TTL: g.idTTL}, ops)
		return err
	}
	if g.resolveWithin == 0 {
		err = ask(ctx)
	} else {
		err = resolve(ctx, g.resolveWithin, ask)
	}
	return at, err
}

// once is one call to a store with an ID, with the time-out.
func once(ctx context.Context, s store.Store, timeout time.Duration, o store.Once, ops []store.Op) (at algorithm.Instant, err error) {
	apply := store.FeaturesOf(s).Once
	if apply == nil {
		if err := store.Validate(ops); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("weir: %w: the store knows no IDs", store.ErrUnsupported)
	}
	within, cancel := deadline.Within(ctx, timeout)
	defer cancel()
	at, _, err = apply(within, o, ops) // the outcomes say whether it was committed
	return at, deadline.Explain(ctx, within, timeout, err)
}
