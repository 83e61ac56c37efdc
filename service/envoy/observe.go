package envoy

import (
	"cmp"
	"context"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
)

// observe shows the Observer what each limit of a request has answered.
func (s *Service) observe(ctx context.Context, asks []*ask, err error, took time.Duration) {
	if s.opts.Observer == nil {
		return
	}
	for _, a := range asks {
		failed := cmp.Or(err, a.err)
		o := weir.Observation{
			Kind: weir.KindTake, Limit: a.slot.Limit, Key: a.slot.Key, Algorithm: a.slot.Algorithm, Cost: a.cost,
			Shadow: a.rule.shadow || s.opts.Shadow, Err: failed, Took: took,
		}
		if a.negative {
			o.Verb = algorithm.Refund
		}
		if failed == nil {
			o.Allowed = !a.over()
			o.Decision = weir.Decision{
				Allowed: o.Allowed, Limit: a.outcome.Limit, Remaining: a.outcome.Remaining, Debt: a.outcome.Debt,
				ResetAfter: a.outcome.ResetAfter, At: a.at.Time(),
			}
		}
		s.opts.Observer.Observe(ctx, o)
	}
}
