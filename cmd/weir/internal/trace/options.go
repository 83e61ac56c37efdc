package trace

import (
	"fmt"
	"slices"
	"strings"
)

// Options are the optional settings of Open. The zero value is all defaults.
type Options struct {
	// Format is the name of a format as listed by Formats. "" is auto.
	Format string

	// Key is the part of an access log line that becomes the key, one of Keys, or a field of it by its name. "" is the host. Of
	// JSON Lines it is a member, and "" is the member "key"; of CSV a column, and "" is one key, "all", for all events. Open refuses
	// a Key that the format or the header does not have.
	Key string

	// Fields makes the key of several fields in place of Key: SplitFields takes it apart. Each is one of the parts of an access log
	// line (host, path, method, user-agent) or a field by its name. A field that a line does not have is empty; a column that CSV
	// does not have is refused, but for the parts. At most 16.
	Fields []string

	// TimeColumn and CostColumn are columns of a CSV trace, by their names in its header, compared exactly. TimeColumn is
	// required; without CostColumn the cost is 1. Open refuses a name that is not in the header, or there twice, and any of them
	// for another format. With any of them or with TimeUnit, auto is csv.
	TimeColumn, CostColumn string

	// SettleColumn is the actual cost of a request, which is known at its end: a column of CSV or a member of JSON, 0 or more units.
	// ReserveColumn is the cost that is reserved at its start, in place of the cost; without it nothing is reserved, and Cost is 0.
	// DurationColumn is how long the request took, at most a day: of CSV in TimeUnit, or seconds, and of JSON Lines in whole µs. Other
	// formats know their ends. Without SettleColumn the other two are refused.
	SettleColumn, ReserveColumn, DurationColumn string

	// TimeUnit is the unit of a time column of decimal numbers: s, ms, us or ns, since the Unix epoch. "" takes numbers of
	// seconds and dates.
	TimeUnit string

	// Sort sorts the events by time, stably, where the format alone would keep the order of the file. CSV and access logs are
	// always sorted.
	Sort bool

	// LogFormat is a log_format of nginx, a LogFormat of Apache or a format string of Envoy, as it stands in their configuration. Where it is set, Format must be
	// "" or auto.
	LogFormat string

	// Envelope is the name of what stands around each line of a server, as listed by Envelopes. "" is auto.
	Envelope string

	// RunEvents is how many events the sort holds in memory, 40 bytes each, before it writes them to a temporary file.
	// 0 is 1<<20. At most 1<<30.
	RunEvents int

	// TempDir is the folder of that temporary file. "" is os.TempDir().
	TempDir string
}

const (
	defaultRun = 1 << 20
	maxRun     = 1 << 30
)

// OptionError is the error of Open where an option has no such value, or one that does not fit the format or the header.
// Everything else that Open may return is about the input.
type OptionError struct{ Option, Problem string } // the option in words, such as "time column"

func (e *OptionError) Error() string { return "trace: " + e.Option + ": " + e.Problem }

// InputError is an error of Open or Next about what an input holds, and not about the reading of it.
type InputError struct{ err error }

func (e *InputError) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *InputError) Unwrap() error { return e.err }

func inputError(text string, args ...any) error { return &InputError{fmt.Errorf(text, args...)} }

func optionError(option, text string, args ...any) error {
	return &OptionError{option, fmt.Errorf(text, args...).Error()}
}

// check refuses what is wrong in any format, and puts defaults in.
func (o *Options) check() error {
	if o.RunEvents < 0 || o.RunEvents > maxRun {
		return optionError("run events", "%d is not in 0 to %d", o.RunEvents, maxRun)
	}
	if _, ok := timeUnits[o.TimeUnit]; !ok {
		return optionError("time unit", "%q is not one of s, ms, us, ns", o.TimeUnit)
	}
	if o.SettleColumn == "" && o.ReserveColumn != "" {
		return optionError("reserve column", "must be left out without a settle column")
	}
	if o.SettleColumn == "" && o.DurationColumn != "" {
		return optionError("duration column", "must be left out without a settle column")
	}
	if o.SettleColumn != "" && o.CostColumn != "" {
		return optionError("cost column", "must be left out with a settle column; a reserve column is the cost at the start")
	}
	if o.RunEvents == 0 {
		o.RunEvents = defaultRun
	}
	if o.Envelope != "" && !slices.Contains(Envelopes(), o.Envelope) {
		return optionError("envelope", "%q is not one of %s", o.Envelope, strings.Join(Envelopes(), ", "))
	}
	return nil
}

// columnOption returns the name of an option that is only for CSV and that is set, or "".
func (o *Options) columnOption() string {
	switch {
	case o.TimeColumn != "":
		return "time column"
	case o.CostColumn != "":
		return "cost column"
	case o.TimeUnit != "":
		return "time unit"
	}
	return ""
}
