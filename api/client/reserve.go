package client

import (
	"context"
	"errors"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/api/weirv1"
)

// Reservation is an estimate that was taken, whose actual cost is not known yet. It is
// safe for concurrent use. Settle replaces the estimate with the actual cost; a
// Reservation that is never settled keeps its estimate.
type Reservation struct {
	// Decision is the answer to the estimate. A denied Reservation has taken nothing, and
	// settles to nothing. One that Resume made has only Allowed.
	Decision Decision

	client *Client
	token  string            // "" where the service has not taken it
	local  *weir.Reservation // of weir.FailLocal, or nil
}

// Settlement is what came of a Reservation.
type Settlement struct {
	// Charged is what it costs in the end, in units: the actual cost, but for what was
	// clamped.
	Charged int64
	// Clamped reports that less than the excess over the estimate was left.
	Clamped bool
	// Degraded reports that the service has not counted the estimate.
	Degraded bool
	// Decision is how the limit stands afterwards; nil where nothing had to be changed.
	Decision *Decision
}

// Reserve takes n units of the limit with a name, an estimate, as AllowN does. The actual
// cost is told to Settle, later; Cancel gives all back. Where Options.OnFailure has
// answered, the Reservation is settled where it was taken: with weir.FailLocal in
// Local.Store, with weir.FailOpen nowhere.
func (c *Client) Reserve(ctx context.Context, limit, key string, n int64) (*Reservation, error) {
	r, err := send(ctx, c, c.rpc.Reserve, &weirv1.ReserveRequest{LimitName: limit, Key: key, N: n})
	if err == nil {
		d := r.GetDecision()
		return &Reservation{Decision: decisionOf(d, d.GetDegraded(), d.GetReplayed()), client: c, token: r.GetReservation()}, nil
	}
	e, covered := c.covers(ctx, err)
	if !covered {
		return nil, err
	}
	switch c.opts.OnFailure {
	case weir.FailOpen:
		return &Reservation{Decision: open(e), client: c}, nil
	case weir.FailLocal:
		if l, known := c.local.limits[limit]; known {
			reserved, err := c.local.limiter.Reserve(ctx, c.local.ask(ctx, l.ForN(key, n)))
			if err != nil {
				return nil, errors.Join(err, e)
			}
			return &Reservation{Decision: degraded(reserved.Decision(), e), client: c, local: reserved}, nil
		}
	}
	return nil, err
}

// Token returns the Reservation as text, for Resume in this process or another one.
// Whoever has it can settle. It is "" where the service has not taken the estimate.
func (r *Reservation) Token() string { return r.token }

// Resume returns the Reservation of a token. It sends nothing: Settle and Cancel find out
// whether it is one.
func (c *Client) Resume(token string) *Reservation {
	return &Reservation{Decision: Decision{Decision: weir.Decision{Allowed: true}}, client: c, token: token}
}

// Settle replaces the estimate with the actual cost, 0 or more: what is left is given
// back, and what is above it is taken as far as the service lets it. To settle again
// with the same cost gives the same answer; with another cost it is an *Error with
// codes.FailedPrecondition, or weir.ErrSettled of a local one. It has no failure mode.
// After an error that MayHaveCounted, to call it again finds out.
func (r *Reservation) Settle(ctx context.Context, actual int64) (Settlement, error) {
	switch {
	case r.local != nil:
		s, err := r.local.Settle(ctx, actual)
		if err != nil {
			return Settlement{}, err
		}
		out := Settlement{Charged: s.Charged[0], Clamped: s.Clamped, Degraded: true}
		if len(s.Decisions) > 0 {
			out.Decision = &Decision{Decision: s.Decisions[0]}
		}
		return out, nil
	case r.token == "":
		return Settlement{Degraded: r.Decision.Degraded}, nil
	}
	s, err := send(ctx, r.client, r.client.rpc.Settle, &weirv1.SettleRequest{Reservation: r.token, Actual: actual})
	if err != nil {
		return Settlement{}, err
	}
	out := Settlement{Charged: s.GetCharged(), Clamped: s.GetClamped(), Degraded: s.GetDegraded()}
	if d := s.GetDecision(); d != nil {
		after := decisionOf(d, d.GetDegraded(), d.GetReplayed())
		out.Decision = &after
	}
	return out, nil
}

// Cancel gives the estimate back, and does nothing where the Reservation is settled. So
// it can be deferred.
func (r *Reservation) Cancel(ctx context.Context) error {
	switch {
	case r.local != nil:
		return r.local.Cancel(ctx)
	case r.token == "":
		return nil
	}
	_, err := send(ctx, r.client, r.client.rpc.Cancel, &weirv1.CancelRequest{Reservation: r.token})
	return err
}
