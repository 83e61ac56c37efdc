package check

import (
	"strconv"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/model"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// Limit is one limit of a run.
type Limit struct {
	*model.Limit
	Index     int32
	Name      string
	Algorithm algorithm.Algorithm
	Result    result.Limit
	// Local is the limit in the local store of a node; nil without one.
	Local *LocalLimit
	// Groups are the slots that keys share; empty where each key has its own.
	Groups []*Slot

	curve    curve
	retained int64 // slots that are never forgotten
}

// NewLimit returns a limit of a run of that duration in µs.
func NewLimit(index int, l scenario.Limit, duration int64) (*Limit, error) {
	a, err := algorithm.ParseSpec(l.Spec)
	if err != nil {
		return nil, err
	}
	m, err := model.New(a)
	if err != nil {
		return nil, err
	}
	return &Limit{
		Limit: m, Index: int32(index), Name: l.Name, Algorithm: a,
		Result: result.Limit{Name: l.Name, Spec: l.Spec},
		Groups: make([]*Slot, l.Groups), curve: newCurve(m, duration),
	}, nil
}

// Slot is what the checker knows of one state of the server.
type Slot struct {
	Limit  *Limit
	Key    string
	Hash   uint64
	Server int // that has its state

	model model.Model
	// delivered is charged only with the charges whose answer reached its caller. Where
	// byTrueTime is set it goes by true time, as with clocks that are right. nil is the
	// same as model.
	delivered  model.Model
	byTrueTime bool
	// lossy reports whether the server has forgotten a part of what model holds.
	lossy bool
	state *State // of the server, where several limits may share it; else nil
	// carried reports whether the server's state may hold more than model does: what was
	// charged under another limit, which was there before this one, or what it was given back, where
	// that was lost.
	carried bool
	// forgotten is how many units the server has forgotten, which may so be admitted
	// once more; losses is how often that happened.
	forgotten, losses int64

	// retryAt is the instant at which the RetryAfter of a cost of retryCost ends, while
	// nothing else is charged; 0 is none.
	retryAt, retryCost int64
	// freshAt is the instant at which ResetAfter ends; 0 is unknown.
	freshAt   int64
	last      int64 // the latest instant of a decision
	denied    bool  // the last decision
	fractions int8  // charges in a row that left a fraction of a µs

	// trueTime is charged with what the server charged and what was admitted without it, in true time;
	// nil where that cannot differ from model. trueForgotten and trueLosses are forgotten and losses
	// for it, without the units that failure modes admitted, and withServer reports whether the server has
	// charged it since it was fresh.
	trueTime                           model.Model
	trueForgotten, trueLosses, without int64
	withServer, charged                bool

	// answered is charged with what callers were told to use, in true time; nil before the first. It begins
	// anew with the next admission where anew is set. unmeasured is the number of admissions that
	// it is still to be charged with.
	answered   model.Model
	anew       bool
	unmeasured int

	// locally is how many units the local stores of nodes have admitted, and localSince when
	// the first was.
	locally, localSince int64

	window window
	leased leased
	reserved
	retained bool // it is never forgotten
}

// maxRetained is how many slots of a limit are never forgotten: the slots of keys that
// come first.
const maxRetained = 16

// SlotOf returns the slot of a new key: its own, or the one that its group shares.
func (c *Checker) SlotOf(l *Limit, key string, hash uint64) *Slot {
	if len(l.Groups) == 0 {
		return c.newSlot(l, key, hash)
	}
	i := hash % uint64(len(l.Groups))
	if l.Groups[i] == nil {
		name := "group-" + strconv.FormatUint(i, 10)
		l.Groups[i] = c.newSlot(l, name, Hash(name))
	}
	return l.Groups[i]
}

// State is a state of the server that several limits of one kind may be asked for, one
// after the other, as where the tier of somebody changes.
type State struct {
	last    *Slot // whose limit was asked for last
	several bool  // there were different ones
	locally bool  // there were different ones in the local store of a node
}

// FollowedLocally notes that the local store of a node was asked for the state of a slot under several limits.
func (s *Slot) FollowedLocally() {
	if s.state != nil {
		s.state.locally = true
	}
}

// SlotIn returns the slot of a new key of a limit, whose state is that of other limits, too.
func (c *Checker) SlotIn(state *State, l *Limit, key string) *Slot {
	s := c.newSlot(l, key, Hash(key))
	s.state = state
	return s
}

// follow lets the models of a slot start anew where another limit was asked for in between.
// Then they say what is too much, and not what is too little.
func (c *Checker) follow(s *Slot) {
	state := s.state
	if state == nil || state.last == s {
		return
	}
	if state.several = state.several || state.last != nil; state.several {
		c.start(s)
		s.carried, s.lossy, s.forgotten, s.losses = true, false, 0, 0
		s.retryAt, s.freshAt, s.fractions, s.denied = 0, 0, 0, false
		s.trueForgotten, s.trueLosses, s.without, s.withServer = 0, 0, 0, false
	}
	state.last = s
}

func (c *Checker) newSlot(l *Limit, key string, hash uint64) *Slot {
	s := &Slot{Limit: l, Key: key, Hash: hash, Server: int(hash >> 32 % uint64(len(c.Servers))), window: l.curve.back(key), retained: l.retained < maxRetained}
	l.retained += One(s.retained)
	c.start(s)
	return s
}

// start makes the models of a slot.
func (c *Checker) start(s *Slot) {
	l := s.Limit
	s.model, s.delivered, s.anew = l.Start(), nil, true
	if c.Reserves && l.KnowsTakes() {
		s.ifActual = l.Start()
	}
	if c.Measure {
		s.trueTime = l.StartTrueTime(c.ClocksVary)
	}
	if c.ClocksVary && !l.Aligned {
		s.delivered, s.byTrueTime = l.Start(), true
	}
}

// AtRest reports whether nothing of a client's own slot counts any more.
func (c *Checker) AtRest(s *Slot) bool {
	if len(s.Limit.Groups) > 0 {
		return true // it is not the client's own
	}
	at := s.clock(c).Read()
	return !s.retained && s.open == 0 && s.unmeasured == 0 && s.forgotten == 0 && s.model.Fresh(at) && (s.delivered == nil || s.byTrueTime || s.delivered.Fresh(at)) &&
		(s.trueTime == nil || s.trueTime.Fresh(c.Epoch+c.Now)) && s.window.before(c.Now-s.Limit.Period)
}

// Forget is called before a client's slot is dropped: what it was admitted may still
// count for the curve.
func (s *Slot) Forget() {
	if len(s.Limit.Groups) == 0 {
		s.Limit.curve.keep(&s.window, s.Key)
	}
}

// Debt returns how many units would be lost with a slot.
func (c *Checker) Debt(s *Slot) int64 {
	switch {
	case !s.charged:
		return 0
	case c.ClocksVary:
		return s.Limit.Capacity
	}
	return s.model.Debt(s.clock(c).Read())
}

// chargeModels charges the models, at an instant of the decision and of true time. What
// the server has lost explains nothing any more once the slot was fresh. That is seen
// here and not when it becomes fresh: until this charge the clock might have gone back.
func (s *Slot) chargeModels(at, now, cost int64) {
	if (s.lossy || s.debts > 0) && s.model.Fresh(at) {
		s.lossy, s.forgotten, s.losses, s.debts = false, 0, 0, 0
	}
	switch {
	case s.delivered == nil:
	case s.byTrueTime:
		s.delivered.Charge(now, cost)
	case s.model.Fresh(at) && s.delivered.Fresh(at):
		s.delivered = nil
	default:
		s.delivered.Charge(at, cost)
	}
	s.model.Charge(at, cost)
}

// Undelivered notes that the answer to a charge will never reach its caller; now is the
// instant of true time.
func (s *Slot) Undelivered(at, now, cost int64) {
	if s.byTrueTime {
		at = now
	}
	if s.delivered == nil {
		s.delivered = s.model.Clone()
	}
	s.delivered.Refund(at, cost)
}

// falselyDenied reports whether a denial would have been an admission without the
// charges whose answers were not delivered. Then it is one in delivered.
func (s *Slot) falselyDenied(at, now, cost int64) bool {
	if s.byTrueTime {
		at = now
	}
	if s.delivered == nil || !s.delivered.Room(at, cost) {
		return false
	}
	s.delivered.Charge(at, cost)
	return true
}
