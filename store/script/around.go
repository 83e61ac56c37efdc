package script

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// What follows is for algorithms whose windows the Lua cannot compute: see Around of
// kind.Kind. The Lua is told where three windows around an instant lie, and the clock of
// the decision says which of them counts. So it is enough to know that clock to within a
// window. Where it shows another instant, or the state a later one, the Lua decides
// nothing and writes nothing, and Go decides by compare-and-set.

// errOutside is the error of a group that was not decided, since its instant is outside
// of the windows that were sent.
var errOutside = errors.New("script: the instant of the decision is outside of the windows that were sent")

// around is about what the clock of decisions shows now: the reading of the Clock, or that
// of this process and by how much the server was ahead of it when that mattered last.
func (s *Store) around() algorithm.Instant {
	now, ahead := time.Now(), time.Duration(s.ahead.Load())
	if s.opts.Clock != nil {
		now, ahead = s.opts.Clock.Now(), 0
	}
	at, err := algorithm.InstantOf(now.Add(ahead))
	if err != nil {
		return 0 // the call says what is wrong with the Clock
	}
	return at
}

// surround adds the numbers around an instant, where the kind has any.
func (p *prepared) surround(a algorithm.Algorithm, at algorithm.Instant) {
	if p.source.around == nil {
		return
	}
	var numbers []int64
	numbers, p.from, p.until = p.source.around(a, at)
	for _, n := range numbers {
		p.edges = append(p.edges, strconv.FormatInt(n, 10))
	}
}

// moves reports whether the numbers of the limit follow the clock.
func (p *prepared) moves() bool { return p.until > 0 }

// suits reports whether the numbers are made for an instant.
func (p *prepared) suits(at algorithm.Instant) bool {
	return !p.moves() || p.from <= at && at < p.until
}

// patience is how long a caller waits, from its begin on; 0 for without end.
type patience struct {
	timeout time.Duration
	begun   time.Time
}

// begin notes when a caller begins to wait for limits of which one moves.
func (p *pending) begin() patience {
	for _, limit := range p.limits {
		if limit.moves() && p.timeout > 0 {
			return patience{p.timeout, time.Now()}
		}
	}
	return patience{timeout: p.timeout}
}

// left is what is left of it, at least 1 ns.
func (w patience) left() time.Duration {
	if w.timeout == 0 {
		return 0
	}
	return max(1, w.timeout-time.Since(w.begun))
}

// decideOutside decides ops whose instant was outside of the windows that were sent.
func (s *Store) decideOutside(ctx context.Context, w patience, ops []store.Op, takes bool) (at algorithm.Instant, committed bool, err error) {
	err = deadline.Call(ctx, w.left(), func(ctx context.Context) error {
		at, committed, err = s.compare(ctx, ops, takes, nil)
		return err
	})
	if err == nil {
		s.sawClock(at)
	}
	return at, committed, err
}

// sawClock notes by how much the server is ahead of this process.
func (s *Store) sawClock(at algorithm.Instant) {
	if s.opts.Clock == nil {
		s.ahead.Store(int64(time.Until(at.Time())))
	}
}
