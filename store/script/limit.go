package script

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// source is a Source in use.
type source struct {
	Source
	index  int // in a batch, counted from 1
	custom bool
	log    bool                                                     // the state is a list
	single *program                                                 // for one op
	verbs  func(a algorithm.Algorithm, r algorithm.Request) []int64 // kind.Kind.All, or nil
	around func(a algorithm.Algorithm, at algorithm.Instant) (numbers []int64, from, until algorithm.Instant)
	once   sync.Once
	count  int // of all the numbers of a call; set by once
}

// sourcesOf returns the sources of the built-in kinds and those of a user, by kind, and
// the latter in order.
func sourcesOf(own []Source) (byKind map[string]*source, custom []*source, err error) {
	byKind = make(map[string]*source)
	for i, k := range kinds {
		family, _ := algorithm.FamilyOf(k.Name)
		byKind[k.Name] = &source{
			Source: Source{Kind: k.Name, Limit: k.Limit, Request: k.Request},
			index:  i + 1, log: family.Log, single: k.program, verbs: k.All, around: k.Around,
		}
	}
	for i, one := range own {
		field := fmt.Sprintf("Scripts[%d]", i)
		if one.Kind == "" || one.Lua == "" {
			return nil, nil, refuse(field, strconv.Quote(one.Kind), "a Source with Kind and Lua")
		}
		if byKind[one.Kind] != nil {
			return nil, nil, refuse(field+".Kind", strconv.Quote(one.Kind), "a kind without Lua so far")
		}
		if one.Request == nil {
			one.Request = plainRequest
		}
		if one.Limit == nil {
			one.Limit = plainLimit
		}
		s := &source{Source: one, index: len(kinds) + i + 1, custom: true, single: userProgram(one.Lua)}
		byKind[one.Kind], custom = s, append(custom, s)
	}
	return byKind, custom, nil
}

// plainLimit are the parameters as they are.
func plainLimit(a algorithm.Algorithm, numbers []int64) []int64 {
	p := a.Spec().Params
	return append(numbers, p[:]...)
}

// plainRequest are the cost and the MaxDelay in µs, each cut down to what Lua can hold.
func plainRequest(_ algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	return append(numbers, min(r.Cost, algorithm.MaxWord), min(int64(r.MaxDelay/time.Microsecond), algorithm.MaxWord))
}

// prepared is what a limit adds to the calls of its ops.
type prepared struct {
	source   *source
	identity string   // of the Spec
	limit    []string // the numbers of Limit
	unit     []string // all numbers of a take of cost 1
	charge   []string // all numbers of a charge of cost 1; nil where no Lua decides it

	// Where the numbers follow the clock: those behind the others, and the instants that
	// they are made for.
	edges       []string
	from, until algorithm.Instant
}

// slotID is slot.ID() for a slot of the limit, without another call of Spec.
func (p *prepared) slotID(slot *store.Slot) store.SlotID {
	return store.SlotID{Key: slot.Key, Limit: slot.Limit, Kind: p.source.Kind, Identity: p.identity}
}

// maxNumbers is how many numbers a call can have at most: lua/groups.lua unpacks eight.
const maxNumbers = 8

// numbers returns all the numbers of a call, as text; nil where no Lua decides the verb.
func (p *prepared) numbers(a algorithm.Algorithm, r algorithm.Request) ([]string, error) {
	switch {
	case r == algorithm.Request{Cost: 1} && p.unit != nil:
		return p.unit, nil
	case r == algorithm.Request{Cost: 1, Verb: algorithm.Charge} && p.charge != nil:
		return p.charge, nil
	case r.Verb != algorithm.Take:
		return p.numbersOfVerb(a, r), nil
	}
	var room [maxNumbers]int64
	wanted := p.source.Request(a, r, room[:0])
	all := append(make([]string, 0, len(p.limit)+len(wanted)+len(p.edges)), p.limit...)
	for _, n := range wanted {
		all = append(all, strconv.FormatInt(n, 10))
	}
	all = append(all, p.edges...)
	p.source.once.Do(func() { p.source.count = len(all) })
	if len(all) > maxNumbers {
		return nil, &store.InputError{
			Op: -1, Field: "Source " + p.source.Kind, Value: fmt.Sprintf("%d numbers", len(all)),
			Allowed: fmt.Sprintf("at most %d", maxNumbers),
		}
	}
	if len(all) != p.source.count {
		return nil, &store.InputError{
			Op: -1, Field: "Source " + p.source.Kind, Value: fmt.Sprintf("%d numbers", len(all)),
			Allowed: fmt.Sprintf("the same count always, %d at first", p.source.count),
		}
	}
	return all, nil
}

// numbersOfVerb are the numbers of a charge or a refund. The Lua of a user knows takes only.
func (p *prepared) numbersOfVerb(a algorithm.Algorithm, r algorithm.Request) (all []string) {
	if p.source.custom {
		return nil
	}
	for _, n := range p.source.verbs(a, r) {
		all = append(all, strconv.FormatInt(n, 10))
	}
	if all == nil {
		return nil
	}
	return append(all, p.edges...)
}

// limits remembers what was prepared.
type limits struct {
	mu    sync.RWMutex
	known map[algorithm.Spec]*prepared
}

// maxPrepared bounds what is remembered: a program that makes up limits anew for
// every request must not grow without end.
const maxPrepared = 10_000

// prepare returns what the calls of an algorithm need; nil where it has no Lua.
func (s *Store) prepare(a algorithm.Algorithm) (*prepared, error) {
	spec := a.Spec()
	s.limits.mu.RLock()
	p := s.limits.known[spec]
	s.limits.mu.RUnlock()
	at := algorithm.Instant(0)
	if p != nil && p.moves() {
		at = s.around()
	}
	if p != nil && p.suits(at) {
		return p, nil
	}
	from := s.byKind[spec.Kind]
	if from == nil {
		return nil, nil
	}
	p = &prepared{source: from, identity: spec.Identity}
	for _, n := range from.Limit(a, nil) {
		p.limit = append(p.limit, strconv.FormatInt(n, 10))
	}
	if from.around != nil {
		p.surround(a, s.around())
	}
	var err error
	if p.unit, err = p.numbers(a, algorithm.Request{Cost: 1}); err != nil {
		return nil, err
	}
	if _, charges := a.(algorithm.Charger); charges {
		p.charge = p.numbersOfVerb(a, algorithm.Request{Cost: 1, Verb: algorithm.Charge})
	}
	s.limits.mu.Lock()
	defer s.limits.mu.Unlock()
	if len(s.limits.known) >= maxPrepared {
		clear(s.limits.known)
	}
	s.limits.known[spec] = p
	return p, nil
}
