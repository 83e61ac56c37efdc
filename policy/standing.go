package policy

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
)

// defaultStandings is how many keys are remembered.
const defaultStandings = 10_000

// standings remembers the keys that are not Normal, in this process, so that a key that
// was warned stays so until it has calmed down. It is bounded: when it is full, the
// standing of another key is what its last decision says.
type standings struct {
	most  int
	count atomic.Int64 // len(keys), to be read without mu

	mu   sync.Mutex
	keys map[standingKey]algorithm.Instant // when the key is fresh at the latest
}

type standingKey struct{ limit, key string }

func newStandings(most int) *standings {
	if most == 0 {
		most = defaultStandings
	}
	return &standings{most: most, keys: map[standingKey]algorithm.Instant{}}
}

// of returns the standing of a limit that was decided, and remembers it if keep is true.
func (s *standings) of(r *RuleVerdict, at algorithm.Instant, keep bool) Standing {
	d := &r.Decision
	if d.Degraded && d.At.IsZero() {
		return Normal // what remains is not known
	}
	used := (d.Limit - d.Remaining) * 100
	switch {
	case !d.Allowed:
		s.remember(r, at, keep)
		return Throttled
	case used >= r.rule.warnAt*d.Limit:
		s.remember(r, at, keep)
		return Warning
	case s.count.Load() == 0:
		return Normal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := standingKey{r.Limit.Name, r.Key}
	fresh, known := s.keys[key]
	if known && at < fresh && used >= r.rule.calmAt*d.Limit {
		return Warning
	}
	if known && keep {
		delete(s.keys, key)
		s.count.Store(int64(len(s.keys)))
	}
	return Normal
}

func (s *standings) remember(r *RuleVerdict, at algorithm.Instant, keep bool) {
	if !keep {
		return
	}
	fresh := algorithm.MaxInstant
	if wait := r.Decision.ResetAfter; wait != weir.Never {
		fresh = at + algorithm.Instant((wait+time.Microsecond-1)/time.Microsecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := standingKey{r.Limit.Name, r.Key}
	if _, known := s.keys[key]; !known && len(s.keys) >= s.most && !s.makeRoom(at) {
		return
	}
	s.keys[key] = fresh
	s.count.Store(int64(len(s.keys)))
}

// makeRoom drops keys that are fresh by now, among a few that a map happens to give.
func (s *standings) makeRoom(at algorithm.Instant) bool {
	looked := 0
	for key, fresh := range s.keys {
		if at >= fresh {
			delete(s.keys, key)
			return true
		}
		if looked++; looked == 16 {
			break
		}
	}
	return false
}
