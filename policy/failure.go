package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/store"
)

// fallback answers for a decider that failed with err: as the strictest OnFailure of the
// enforced limits says.
func (e *Enforcer) fallback(ctx context.Context, v *Verdict, places []int, asks []weir.Ask, err error, take bool) (weir.Result, error) {
	if errors.Is(err, store.ErrCrossNode) {
		return weir.Result{}, e.crossNode(v, places, err)
	}
	mode := e.strictest(v, places)
	if mode == FailClosed || ctx.Err() != nil || !weir.IsFailure(err) {
		return weir.Result{}, err
	}
	if mode == FailOpen {
		return uncounted(v, places, err), nil
	}
	local := e.local.Peek
	if take {
		local = e.local.Take
	}
	result, localErr := local(ctx, asks...)
	if localErr != nil {
		return weir.Result{}, errors.Join(localErr, err)
	}
	for i := range result.Decisions {
		result.Decisions[i].Degraded, result.Decisions[i].Cause = true, err
	}
	return result, nil
}

// strictest returns the OnFailure that counts.
func (e *Enforcer) strictest(v *Verdict, places []int) OnFailure {
	strictest := FailOpen
	for _, place := range places {
		mode := v.Rules[place].rule.onFailure
		if mode == "" {
			mode = e.onFailure
		}
		if mode == FailClosed || mode == FailLocal && strictest == FailOpen {
			strictest = mode
		}
	}
	return strictest
}

// uncounted admits without a state what a fresh key could admit.
func uncounted(v *Verdict, places []int, cause error) weir.Result {
	r := weir.Result{Decisions: make([]weir.Decision, len(places))}
	for i, place := range places {
		planned := &v.Rules[place]
		d := &r.Decisions[i]
		*d = weir.Decision{Allowed: planned.Cost <= planned.spec.capacity, Limit: planned.spec.capacity, Degraded: true, Cause: cause}
		if !d.Allowed {
			d.RetryAfter = weir.Never
		}
	}
	return r
}

// CrossNodeError says that the limits of a request lie on different nodes of a cluster, so
// that they cannot be decided in one step. It matches store.ErrCrossNode.
type CrossNodeError struct {
	// Rules are the rules whose limits were asked for.
	Rules []string
	// Colocate is the attribute that Rule.Colocate of all of them would have to name. ""
	// where their keys have no attribute in common.
	Colocate string
	// Err is the error of the store.
	Err error
}

func (e *CrossNodeError) Error() string {
	cure := "their keys have no attribute in common: they cannot be enforced together on a cluster"
	if e.Colocate != "" {
		cure = "colocate: " + e.Colocate + " in all of them would keep them together"
	}
	return fmt.Sprintf("policy: rules %s: %v; %s", strings.Join(e.Rules, ", "), e.Err, cure)
}

// Unwrap returns Err.
func (e *CrossNodeError) Unwrap() error { return e.Err }

func (e *Enforcer) crossNode(v *Verdict, places []int, err error) error {
	cross := &CrossNodeError{Err: err}
	var common []string
	for i, place := range places {
		r := v.Rules[place].rule
		if n := len(cross.Rules); n == 0 || cross.Rules[n-1] != r.id {
			cross.Rules = append(cross.Rules, r.id)
		}
		if i == 0 {
			common = slices.Clone(r.keyNames)
			continue
		}
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(r.keyNames, name) })
	}
	if len(common) > 0 {
		cross.Colocate = common[0]
	}
	return cross
}
