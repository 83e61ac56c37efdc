package engine

import (
	"context"
	"errors"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/store"
)

// Reserved is the answer to Reserve.
type Reserved struct {
	LimitAnswer
	// Token is what Settle and Cancel need: a secret, since whoever has it can settle. ""
	// where the estimate was denied.
	Token string
}

// Settled is what came of a reservation.
type Settled struct {
	// Charged is what it costs in the end.
	Charged int64
	// Clamped reports that Charged is less than the actual cost.
	Clamped bool
	// Degraded reports that no store has counted the estimate.
	Degraded bool
	// Limit is how the limit stands afterwards; nil where nothing had to be changed.
	Limit *LimitAnswer
}

// Reserve takes n units of the limit with a name as an estimate. once is an idempotency
// key, as for Check, or nil. It is an error with the code Conflict where the Engine has no
// Options.ReservationKey.
func (e *Engine) Reserve(ctx context.Context, name, key string, n int64, once *Once) (Reserved, error) {
	ask, err := e.ask(name, key, n, once)
	if err == nil {
		err = e.reservations()
	}
	if err != nil {
		return Reserved{}, err
	}
	before := false
	if once != nil {
		if ask.ID, before, err = e.begin(ctx, once, "Reserve", digest(name, key, itoa(n))); err != nil {
			return Reserved{}, err
		}
	}
	var start weir.Decision
	if before {
		r, err := e.named.Peek(ctx, ask.Limit.ForN(key, 0))
		if err != nil {
			return Reserved{}, As(err)
		}
		start = r.Decisions[0]
	}
	r, err := e.named.Reserve(ctx, ask)
	if errors.Is(err, store.ErrIDReused) {
		return Reserved{}, &Error{Code: Conflict, Message: "the limit has other parameters than when this was reserved", Err: err}
	}
	if err != nil {
		return Reserved{}, As(err)
	}
	a := Reserved{LimitAnswer: limitAnswerOf(r.Decision())}
	a.Replayed = before && a.answeredBefore(start.At)
	if a.Allowed {
		text, err := r.MarshalText()
		if err != nil {
			return Reserved{}, As(err)
		}
		a.Token = string(text)
	}
	return a, nil
}

// Settle replaces the estimate of a reservation by the actual cost: the rest is given
// back, and the excess is taken as far as the limit has units left. The same cost again
// gives the same answer; another cost is an error with the code Conflict.
func (e *Engine) Settle(ctx context.Context, token string, actual int64) (Settled, error) {
	var p problems
	checkUnits("actual", actual, &p)
	r, err := e.resume(token, &p)
	if err != nil {
		return Settled{}, err
	}
	s, err := r.Settle(ctx, actual)
	if err != nil {
		return Settled{}, As(err)
	}
	settled := Settled{Charged: s.Charged[0], Clamped: s.Clamped, Degraded: s.Degraded}
	if len(s.Decisions) > 0 {
		after := limitAnswerOf(s.Decisions[0])
		settled.Limit = &after
	}
	return settled, nil
}

// Cancel gives the estimate of a reservation back. It does nothing where the reservation
// is settled.
func (e *Engine) Cancel(ctx context.Context, token string) error {
	r, err := e.resume(token, &problems{})
	if err != nil {
		return err
	}
	if err := r.Cancel(ctx); err != nil {
		return As(err)
	}
	return nil
}

func (e *Engine) reservations() error {
	if e.signed {
		return nil
	}
	return &Error{Code: Conflict, Message: "reservations are off: the configuration has no secret_file to sign them with"}
}

// maxToken bounds the text of a reservation: it holds a name and a key.
const maxToken = 4096

func (e *Engine) resume(token string, p *problems) (*weir.Reservation, error) {
	if err := e.reservations(); err != nil {
		return nil, err
	}
	r, err := (*weir.Reservation)(nil), error(&store.InputError{})
	if len(token) <= maxToken {
		r, err = e.named.Resume([]byte(token), e.Limits()...)
	}
	if err != nil {
		p.add("reservation", "no reservation of this tenant", "the text that Reserve returned, of a limit that is still there")
	}
	return r, p.err()
}
