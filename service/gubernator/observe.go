package gubernator

import (
	"context"
	"strings"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/service/gubernator/pb"
)

// maxShown is how many bytes of a name the Observer gets.
const maxShown = 256

// observe shows the Observer what came of an item: r, or err.
func (q *query) observe(ctx context.Context, r *pb.RateLimitResp, err error, took time.Duration) {
	if q.service.opts.Observer == nil {
		return
	}
	name := q.item.GetName()
	if len(name) > maxShown { // clients choose it: pages, logs and spans are not for texts of any length
		name = strings.ToValidUTF8(name[:maxShown], "")
	}
	o := weir.Observation{
		Kind: q.kind(), Limit: limitPrefix + name, Key: q.item.GetUniqueKey(),
		Algorithm: q.decides, Cost: q.item.GetHits(), Err: err, Took: took,
	}
	if o.Cost < 0 {
		o.Cost, o.Verb = -o.Cost, algorithm.Refund
	}
	if err == nil && o.Kind != weir.KindReset {
		o.Allowed = r.GetStatus() == pb.Status_UNDER_LIMIT
		o.Decision = weir.Decision{
			Allowed: o.Allowed, Limit: r.GetLimit(), Remaining: r.GetRemaining(), Debt: q.outcome.Debt,
			ResetAfter: q.outcome.ResetAfter,
		}
		if q.at != 0 {
			o.Decision.At = q.at.Time()
		}
		if !o.Allowed {
			o.Decision.RetryAfter = q.outcome.RetryAfter
		}
	}
	q.service.opts.Observer.Observe(ctx, o)
}

// kind is what an item asks for.
func (q *query) kind() weir.Kind {
	switch {
	case has(q.item, pb.Behavior_RESET_REMAINING) && q.item.GetAlgorithm() == pb.Algorithm_TOKEN_BUCKET && q.decides != nil:
		return weir.KindReset // the hits do not count
	case q.item.GetHits() == 0:
		return weir.KindPeek
	}
	return weir.KindTake
}
