package script

import (
	"context"

	"github.com/weirgo/weir/store"
)

// Program is Lua that a package runs on the server through a Store, for states that are no
// limits in time, such as those of resilience/inflight/server. It is safe for concurrent use.
type Program struct{ *program }

// NewProgram returns the Program of a text. It sends nothing: a text that is no Lua is an
// error of Run.
func NewProgram(text string) *Program { return &Program{newProgram(text)} }

// Run runs p on one key of the server, KEYS[1]: the stored name of slot, as that of a limit.
// ARGV[1] is the instant in µs where the Store has a Clock, and "" for the clock of the
// server; ARGV[2] is how long a state is kept at least, in ms; then come args. verb says in
// errors what was being done. A Program that is readOnly must write nothing.
//
// It is one round trip, or two where the server does not know the Program yet, sent at most
// once. Errors are those of a store.Store; a Program raises errors before its first write
// only, and they match store.ErrUnavailable. Options.Replicas counts for a Program that is not
// readOnly, whether it has written or not.
func (s *Store) Run(ctx context.Context, p *Program, verb string, readOnly bool, slot store.SlotID, args ...string) (reply string, err error) {
	if err := s.ready(ctx); err != nil {
		return "", s.counters.failed(err)
	}
	now, err := s.instant()
	if err != nil {
		return "", s.counters.failed(err)
	}
	c := &Command{Args: append([]string{"", "", "1", s.nameOf(slot), now, s.least()}, args...), ReadOnly: readOnly}
	reply, err = s.evalFor(ctx, p.program, c)
	return reply, s.counters.failed(explain(verb, err, !readOnly))
}
