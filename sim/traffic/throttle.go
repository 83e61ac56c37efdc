package traffic

import (
	"cmp"
	"time"

	"github.com/weirgo/weir/sim/random"
)

// Throttle is a client that drops some of its own requests while a server refuses
// many, as data: the adaptive throttling of Site Reliability Engineering (Beyer et
// al. 2016, chapter 21). It drops with a chance of (requests − Factor·accepts) /
// (requests + 1), both counted over Window.
type Throttle struct {
	// Factor is K, from 1 to 100 [2].
	Factor Decimal `yaml:"factor,omitempty"`
	// Window is from 10µs to 24h [2m]. It moves in tenths.
	Window time.Duration `yaml:"window,omitempty"`
}

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

// NewGate returns the throttle of one client, which has seen no requests. The error
// is an *algorithm.ParameterError.
func NewGate(t Throttle) (*Gate, error) {
	defaults(&t.Factor, 2*one)
	defaults(&t.Window, 2*time.Minute)
	if err := cmp.Or(between("throttle", "factor", t.Factor, one, 100*one),
		span("throttle", "window", t.Window, 10*time.Microsecond, 24*time.Hour)); err != nil {
		return nil, err
	}
	return &Gate{factor: int64(t.Factor), width: micros(t.Window) / 10}, nil
}

// Pass says whether the client sends a request at an instant, in µs from 0, or
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
