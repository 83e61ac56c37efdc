package conformance_test

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// checksThenActs asks first and charges then, and by then others may have.
func checksThenActs(f *faultyStore) {
	f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
		at, err := f.plainStore.Peek(ctx, ops)
		if err != nil {
			return 0, false, err
		}
		committed := true
		for i := range ops {
			committed = committed && ops[i].Outcome.Allowed
		}
		if !committed {
			return f.plainStore.Apply(ctx, ops)
		}
		runtime.Gosched()
		_, _, err = f.plainStore.Apply(ctx, slices.Clone(ops))
		return at, true, err
	}
}

// remembersSpecs makes a store that notices the parameters of a limit, and starts
// afresh where they change, or goes on with the first.
func remembersSpecs(f *faultyStore, afresh bool) {
	first := map[place]algorithm.Algorithm{}
	f.rewrite = func(op *store.Op) {
		p := placeOf(op.Slot)
		f.mu.Lock()
		defer f.mu.Unlock()
		seen, found := first[p]
		switch {
		case found && seen.Spec() != op.Algorithm.Spec() && afresh:
			delete(f.states, p)
			first[p] = op.Algorithm
		case found && !afresh && op.Key != "":
			op.Algorithm = seen
		default:
			first[p] = op.Algorithm
		}
	}
}

// replacingGCRA makes a store that runs a GCRA with another rate than it was asked.
func replacingGCRA(rate func(units int64, per time.Duration) algorithm.Rate) func(f *faultyStore) {
	return func(f *faultyStore) {
		f.rewrite = func(op *store.Op) {
			spec := op.Algorithm.Spec()
			if spec.Kind != algorithm.KindGCRA {
				return
			}
			units, per, burst := spec.Params[0], time.Duration(spec.Params[1])*time.Microsecond, spec.Params[2]
			if other, err := algorithm.NewGCRA(rate(units, per), burst); err == nil {
				op.Algorithm = other
			}
		}
	}
}
