package algorithm

import "strconv"

// ParameterError says which parameter was refused, what it was, and what is
// allowed. Constructors, ParseSpec, ParseState and InstantOf return it.
type ParameterError struct {
	Of      string // what was being built, such as "gcra"
	Field   string // the parameter, such as "burst"
	Value   string // as it was given
	Allowed string // the values that are accepted
}

func (e *ParameterError) Error() string {
	return e.Of + ": " + e.Field + " " + e.Value + " is not allowed: must be " + e.Allowed
}

func refuseInt(of, field string, value int64, allowed string) error {
	return &ParameterError{Of: of, Field: field, Value: strconv.FormatInt(value, 10), Allowed: allowed}
}
