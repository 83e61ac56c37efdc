package script

import (
	"errors"
	"fmt"

	"github.com/weirgo/weir/store"
)

// notSent marks an error of our own from before anything was sent.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }

// refusals are the error replies that a server gives before it has carried out
// anything: the command was certainly not applied, and another one may be.
// Scripts write all strings at their end, so that a write that is refused is so
// before anything has changed.
var refusals = map[string]bool{
	"READONLY":    true, // a replica
	"LOADING":     true, // reading its data after a start
	"MASTERDOWN":  true, // a replica without its primary
	"OOM":         true, // maxmemory is reached
	"NOPERM":      true, // the ACL does not allow a command or a key
	"NOAUTH":      true, // not logged in
	"WRONGPASS":   true, // log-in failed
	"BUSY":        true, // another script runs for too long
	"TRYAGAIN":    true, // the slot is being moved
	"CLUSTERDOWN": true, // the cluster does not serve the slot
	"MOVED":       true, // another node serves the slot
	"ASK":         true, // another node serves the key
	"NOREPLICAS":  true, // too few replicas follow
	"MISCONF":     true, // data cannot be saved to disk
	"NOSCRIPT":    true, // the script is not known
	"NOPROTO":     true, // the protocol version is not known
}

// writeRefusals are those of refusals that concern writes alone.
var writeRefusals = map[string]bool{"READONLY": true, "OOM": true, "NOREPLICAS": true, "MISCONF": true}

// explain gives an error of a call its meaning. writes says whether the call could
// have changed anything: what was not answered is unknown only then.
func explain(verb string, err error, writes bool) error {
	var own notSent
	var reply *ServerError
	var short *ReplicaError
	switch {
	case err == nil:
		return nil
	case writes && errors.As(err, &short):
		return fmt.Errorf("script: %s: %w", verb, err)
	case errors.As(err, &own):
		return own.error
	case errors.Is(err, store.ErrUnavailable):
		return fmt.Errorf("script: %s: %w", verb, err)
	case errors.As(err, &reply) && reply.Code() == "CROSSSLOT":
		return fmt.Errorf("script: %s: %w: %w", verb, store.ErrCrossNode, err)
	case errors.As(err, &short): // of a check, which is of no use without
		return fmt.Errorf("script: %s: %w: %s", verb, store.ErrUnavailable, short)
	case !writes, errors.As(err, &reply) && refusals[reply.Code()]:
		return fmt.Errorf("script: %s: %w: %w", verb, store.ErrUnavailable, err)
	}
	return fmt.Errorf("script: %s: %w: %w", verb, store.ErrOutcomeUnknown, err)
}
