package policy

import (
	"strconv"
	"strings"
)

// AttributeType says how the values of an attribute are read.
type AttributeType string

const (
	// Text values are compared byte by byte, without spaces and tabs around them.
	Text AttributeType = "text"
	// Address values are IP addresses, without port and zone; an IPv4 address in IPv6 form
	// is an IPv4 address. An IPv6 address stands for its prefix in keys. All texts that
	// are no address are one value, "invalid".
	Address AttributeType = "address"
)

// Spec is a limit as text: what algorithm.ParseSpec reads, such as "gcra:100/1m,burst=20",
// or Block or Unlimited.
type Spec string

const (
	// Block denies every request.
	Block Spec = "0"
	// Unlimited exempts from the limit.
	Unlimited Spec = "unlimited"
)

// Mode says whether a rule counts: Enforce, Shadow, Off, or what EnforcePercent returns.
type Mode string

const (
	// Enforce is the zero value: the rule decides.
	Enforce Mode = "enforce"
	// Shadow decides and reports, and never changes an answer.
	Shadow Mode = "shadow"
	// Off is as if the rule were not there.
	Off Mode = "off"
)

// EnforcePercent enforces for n of 100 keys, chosen by their hash, and shadows for the
// others. A key that is enforced stays so when n grows. n is 1 to 100; Compile refuses
// what is outside.
func EnforcePercent(n int) Mode { return Mode("enforce " + strconv.Itoa(n) + "%") }

// percent returns how many of 100 keys a mode enforces for; known is false for a text
// that is no mode.
func (m Mode) percent() (n int, known bool) {
	switch m {
	case "", Enforce:
		return 100, true
	case Shadow, Off:
		return 0, true
	}
	text, is := strings.CutPrefix(string(m), "enforce ")
	digits, has := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	return n, is && has && err == nil && n >= 1 && n <= 100 && strconv.Itoa(n) == digits
}

// OnMissing says what a rule does with a request without one of its key attributes.
type OnMissing string

const (
	// SkipMissing: the rule does not apply. The zero value.
	SkipMissing OnMissing = "skip"
	// DenyMissing denies the request.
	DenyMissing OnMissing = "deny"
	// ShareMissing: all such requests have one key together.
	ShareMissing OnMissing = "shared"
)

// OnFailure says what a rule answers when the store cannot. Of several rules the
// strictest counts: closed before local, local before open.
type OnFailure string

const (
	// FailClosed returns the error.
	FailClosed OnFailure = "closed"
	// FailOpen admits without counting.
	FailOpen OnFailure = "open"
	// FailLocal asks EnforcerOptions.Local.
	FailLocal OnFailure = "local"
)
