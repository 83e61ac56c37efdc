package audit

import "encoding/json"

// Change is a change that was begun.
type Change struct {
	log   *Log
	entry Entry
}

// Begin writes down that a change is going to be made. With an error it must not be made.
// Result and After of the entry are not written: a change has them at its end.
func (l *Log) Begin(e Entry) (*Change, error) {
	first := e
	first.Result, first.Before, first.After = Begun, nil, nil
	if _, err := l.Write(first); err != nil {
		return nil, err
	}
	return &Change{log: l, entry: e}, nil
}

// End writes down what came of the change: before and after it as JSON, or why it failed.
// With an error the change was made, or not, as it was, and the first line stands.
func (c *Change) End(before, after json.RawMessage, policyVersion string, failed error) error {
	e := c.entry
	e.Before, e.After, e.Result = before, after, Done
	if policyVersion != "" {
		e.PolicyVersion = policyVersion
	}
	if failed != nil {
		e.Before, e.After, e.Result = nil, nil, Failed+failed.Error()
	}
	_, err := c.log.Write(e)
	return err
}
