package audit

import (
	"encoding/json"
	"time"
)

// Entry is one line of the log.
type Entry struct {
	// Time and Seq are set by the Log. Seq counts lines from 1 and never has a gap or goes
	// back.
	Time time.Time `json:"time"`
	Seq  int64     `json:"seq"`
	// Actor is the name of the caller, with Role and Tenant; "" where the caller is not
	// known. The service itself is "service".
	Actor  string `json:"actor"`
	Role   string `json:"role"`
	Tenant string `json:"tenant"`
	// Remote is the address of the peer.
	Remote string `json:"remote"`
	// Action is what was done, such as "rule.put", and Target to what: "rule:login", or a
	// user as UserTarget writes it.
	Action string `json:"action"`
	Target string `json:"target"`
	// Before and After are what was changed, as JSON; absent where there is none.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// PolicyVersion is the version of the policy that decided when the line was written.
	PolicyVersion string `json:"policy_version"`
	// RequestID is the same in both lines of a change.
	RequestID string `json:"request_id"`
	// Result is "begun" before a change, and then "done", "refused" or "failed: " and why.
	Result string `json:"result"`
}

// Results of entries.
const (
	Begun   = "begun"
	Done    = "done"
	Refused = "refused"
	// Failed is the beginning of a result.
	Failed = "failed: "
)
