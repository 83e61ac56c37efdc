package traffic

import (
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

// Gate is the throttle of one client.
type Gate struct {
	factor int64 // millionths
	width  int64 // µs of a tenth
	tenth  int64 // the present one, counted from time 0
	tenths [10]tally
	total  tally // of all tenths
}

// tally counts requests, those dropped included, and how many of them were accepted.
type tally struct{ requests, accepts int64 }

// NewGate returns the throttle of one client, which has seen no requests.
func NewGate(t scenario.Throttle) *Gate {
	t = scenario.Complete(t)
	return &Gate{factor: int64(t.Factor), width: micros(t.Window) / 10}
}

// Pass reports whether the client sends a request at an instant, in µs from 0, or
// drops it. Either way the request counts. An instant before the last one counts as
// that one. It takes one draw.
func (g *Gate) Pass(now int64, draw *random.Stream) bool {
	g.move(now)
	// The counts would have to pass 9·10^10 for these to overflow.
	over := g.total.requests*random.Million - g.factor*g.total.accepts
	drop := draw.Chance(over, (g.total.requests+1)*random.Million)
	g.tenths[g.tenth%10].requests++
	g.total.requests++
	return !drop
}

// Accept counts a request that the server has admitted.
func (g *Gate) Accept(now int64) {
	g.move(now)
	g.tenths[g.tenth%10].accepts++
	g.total.accepts++
}

// move forgets the tenths that are past.
func (g *Gate) move(now int64) {
	tenth := now / g.width
	for i := max(g.tenth+1, tenth-9); i <= tenth; i++ {
		old := &g.tenths[i%10]
		g.total.requests -= old.requests
		g.total.accepts -= old.accepts
		*old = tally{}
	}
	g.tenth = max(g.tenth, tenth)
}
