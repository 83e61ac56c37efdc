package envoy

import (
	"fmt"
	"math"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weirgo/weir/algorithm"
)

// unit is how long a unit is. All windows are aligned to the Unix epoch: a week starts on a
// Thursday, a month has 30 days, and a year 365.
type unit struct {
	name   pb.RateLimitResponse_RateLimit_Unit
	length time.Duration
}

// units are from long to short.
var units = []unit{
	{pb.RateLimitResponse_RateLimit_YEAR, 365 * 24 * time.Hour},
	{pb.RateLimitResponse_RateLimit_MONTH, 30 * 24 * time.Hour},
	{pb.RateLimitResponse_RateLimit_WEEK, 7 * 24 * time.Hour},
	{pb.RateLimitResponse_RateLimit_DAY, 24 * time.Hour},
	{pb.RateLimitResponse_RateLimit_HOUR, time.Hour},
	{pb.RateLimitResponse_RateLimit_MINUTE, time.Minute},
	{pb.RateLimitResponse_RateLimit_SECOND, time.Second},
}

// calendarUnit returns how a unit of the calendar is shown, from the length of its longest
// window.
func calendarUnit(longest time.Duration) (pb.RateLimitResponse_RateLimit_Unit, *wrapperspb.UInt32Value) {
	const day = 24 * time.Hour
	switch {
	case longest <= day:
		return pb.RateLimitResponse_RateLimit_DAY, nil
	case longest <= 7*day:
		return pb.RateLimitResponse_RateLimit_WEEK, nil
	case longest <= 31*day:
		return pb.RateLimitResponse_RateLimit_MONTH, nil
	case longest <= 92*day:
		return pb.RateLimitResponse_RateLimit_MONTH, wrapperspb.UInt32(3)
	}
	return pb.RateLimitResponse_RateLimit_YEAR, nil
}

// lengthOf returns 0 for a unit that is not known.
func lengthOf(name pb.RateLimitResponse_RateLimit_Unit) time.Duration {
	for _, u := range units {
		if u.name == name {
			return u.length
		}
	}
	return 0
}

// perUnit makes r a fixed window of so many of its units.
func (r *rule) perUnit(multiplier uint32) error {
	length := lengthOf(r.limit.GetUnit())
	if length == 0 {
		return fmt.Errorf("invalid rate limit unit '%s'", r.limit.GetUnit())
	}
	if multiplier < 1 || time.Duration(multiplier) > algorithm.MaxPeriod/length {
		return fmt.Errorf("rate limit unit multiplier %d is not allowed: must be 1 to %d for %s",
			multiplier, algorithm.MaxPeriod/length, r.limit.GetUnit())
	}
	r.window = length * time.Duration(multiplier)
	// A limit of 0 is counted by a window that admits 1, so that a look knows whether
	// somebody came. See over.
	requests := max(1, int64(r.limit.GetRequestsPerUnit()))
	window, err := algorithm.NewFixedWindow(algorithm.Rate{Units: requests, Per: r.window})
	if err != nil {
		return err
	}
	r.algorithm = window
	return nil
}

// parse makes r a limit of any algorithm. What is shown of it is its rate.
func (r *rule) parse(spec string) error {
	a, err := algorithm.ParseSpec(spec)
	if err != nil {
		return err
	}
	family, known := algorithm.FamilyOf(a.Spec().Kind)
	if !known {
		return fmt.Errorf("%s is of no family", spec)
	}
	rate, _ := family.Parameters(a.Spec())
	if rate.Units > math.MaxUint32 {
		return fmt.Errorf("limit %d is not allowed: must be at most %d", rate.Units, uint32(math.MaxUint32))
	}
	r.algorithm, r.isLog = a, family.Log
	if a.Spec().Kind == algorithm.KindFixedWindow {
		r.window = rate.Per
	}
	r.limit.RequestsPerUnit = uint32(rate.Units)
	if family.Calendar {
		r.limit.Unit, r.limit.UnitMultiplier = calendarUnit(rate.Per)
		return nil
	}
	for _, u := range units {
		if n := rate.Per / u.length; rate.Per%u.length == 0 && n <= math.MaxUint32 {
			r.limit.Unit = u.name
			if n > 1 {
				r.limit.UnitMultiplier = wrapperspb.UInt32(uint32(n))
			}
			break
		}
	}
	return nil
}

// override returns the limit that a request brings along.
func override(l *ratelimit.RateLimitDescriptor_RateLimitOverride) (*rule, error) {
	r := &rule{limit: &pb.RateLimitResponse_RateLimit{
		RequestsPerUnit: l.GetRequestsPerUnit(),
		Unit:            pb.RateLimitResponse_RateLimit_Unit(l.GetUnit()),
		UnitMultiplier:  l.GetUnitMultiplier(),
	}}
	multiplier := uint32(1)
	if m := l.GetUnitMultiplier(); m != nil {
		multiplier = m.GetValue()
	}
	return r, r.perUnit(multiplier)
}

// over reports whether an Outcome is over the limit: whether more than the limit counts.
func (r *rule) over(o algorithm.Outcome) bool {
	return !o.Allowed || o.Debt > 0 || r.limit.GetRequestsPerUnit() == 0 && o.Remaining == 0
}

// remaining is what an Outcome shows of what is left.
func (r *rule) remaining(o algorithm.Outcome) uint32 {
	if r.limit.GetRequestsPerUnit() == 0 {
		return 0
	}
	return uint32(min(o.Remaining, math.MaxUint32))
}

// untilReset returns how many seconds after an instant the window ends, or the key is
// fresh, rounded up.
func (r *rule) untilReset(at algorithm.Instant, o algorithm.Outcome) int64 {
	left := o.ResetAfter
	if r.window > 0 {
		left = r.window - time.Duration(int64(at)%r.window.Microseconds())*time.Microsecond
	}
	return int64((left + time.Second - 1) / time.Second)
}
