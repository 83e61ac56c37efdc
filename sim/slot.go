package sim

import (
	"strconv"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
)

// limited is one limit of a run.
type limited struct {
	index     int32
	Limit     // as in the scenario
	algorithm algorithm.Algorithm
	law       *law
	groups    []*slot // shared slots; nil where each key has its own
	first     int64   // slots that stay
	curve     curve
	result    LimitResult
}

// named is the limit as a Limiter takes it.
func (l *limited) named() weir.Limit { return weir.Limit{Name: l.Name, Algorithm: l.algorithm} }

// firstSlots is how many slots of a limit are never forgotten: those of keys that are
// there from the beginning.
const firstSlots = 16

func newLimited(index int, l Limit, duration int64) (*limited, error) {
	a, err := algorithm.ParseSpec(l.Spec)
	if err != nil {
		return nil, err
	}
	law := newLaw(a)
	return &limited{
		index: int32(index), Limit: l, algorithm: a, law: law,
		groups: make([]*slot, l.Groups),
		curve:  newCurve(law, duration),
		result: LimitResult{Name: l.Name, Spec: l.Spec},
	}, nil
}

// client is whom requests are for: a key, with its slot in each limit.
type client struct {
	Client // whose key it is, and what it got
	hash   uint64
	slots  []*slot
	open   int // requests that are not done
}

// slot is what the simulator knows of one state of the server.
type slot struct {
	limit *limited
	key   string
	hash  uint64

	model model
	// spent is what would be charged, had every caller heard of what was charged for it,
	// and, where heeds is set, had the clocks been right: then it goes by true time.
	// nil is the same as model.
	spent model
	heeds bool
	// lossy says that the server has forgotten a part of what the model holds.
	lossy bool
	// allow is how many units the server has forgotten and that may so be admitted
	// once more.
	allow  int64
	losses int64 // how often that happened

	// promised is the instant at which a cost was told to be admitted, if nothing
	// else is; 0 is none.
	promised, promisedCost int64
	// resets is the instant at which the slot was told to be fresh; 0 is unknown.
	resets int64
	last   int64 // the latest instant of a decision
	denied bool  // the last decision
	parts  int8  // charges in a row that left a fraction

	// overall measures what was admitted with and without the server, in true time;
	// nil where that cannot differ. overallAllow is allow for it, and without the
	// units that failure modes admitted.
	overall       model
	overallAllow  int64
	overallLosses int64
	without       int64
	charged       bool

	window window
	stays  bool // it is never forgotten
}

func (l *limited) newSlot(key string, hash uint64, w *world) *slot {
	s := &slot{limit: l, key: key, hash: hash, model: l.law.start(), window: l.curve.back(key), stays: l.first < firstSlots}
	l.first += int64(truth(s.stays))
	switch {
	case w.blind && l.law.kind == algorithm.KindFixedWindow:
		s.overall = l.law.interval(2 * l.law.limit) // windows may lie anywhere
	case w.overall:
		s.overall = l.law.start()
	}
	if w.blind && !l.law.aligned() {
		s.spent, s.heeds = l.law.start(), true
	}
	return s
}

// slotOf returns the slot of a key, shared or its own.
func (l *limited) slotOf(key string, hash uint64, w *world) *slot {
	if l.Groups == 0 {
		return l.newSlot(key, hash, w)
	}
	i := hash % uint64(l.Groups)
	if l.groups[i] == nil {
		name := "group-" + strconv.FormatUint(i, 10)
		l.groups[i] = l.newSlot(name, hashOf(name), w)
	}
	return l.groups[i]
}

// charge charges the models, at an instant of the decision and of true time. What the
// server has lost explains nothing any more once the slot was fresh. That is seen here and
// not when it becomes so: until this charge the clock might have gone back.
func (s *slot) charge(at, now, cost int64) {
	if s.lossy && s.model.fresh(at) {
		s.lossy, s.allow, s.losses = false, 0, 0
	}
	switch {
	case s.spent == nil:
	case s.heeds:
		s.spent.charge(now, cost)
	case s.model.fresh(at) && s.spent.fresh(at):
		s.spent = nil
	default:
		s.spent.charge(at, cost)
	}
	s.model.charge(at, cost)
}

// unheard says that a charge will never be answered.
func (s *slot) unheard(at, now, cost int64) {
	if s.heeds {
		at = now
	}
	if s.spent == nil {
		s.spent = s.model.clone()
	}
	s.spent.refund(at, cost)
}

// falsely says whether a denial would have been an admission, had all been right. Then it
// is one there.
func (s *slot) falsely(at, now, cost int64) bool {
	if s.heeds {
		at = now
	}
	if s.spent == nil || !s.spent.room(at, cost) {
		return false
	}
	s.spent.charge(at, cost)
	return true
}
