package algorithm

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// nameOf is a kind without the version of its layout: what a spec starts with.
func nameOf(kind string) string {
	name, _, _ := strings.Cut(kind, "/")
	return name
}

func formatSpec(kind string, limit, period int64, field string, capacity int64) string {
	text := nameOf(kind) + ":" + Rate{limit, micros(period)}.String()
	if capacity != limit {
		text += "," + field + "=" + strconv.FormatInt(capacity, 10)
	}
	return text
}

// ParseSpec builds an algorithm from its text:
//
//	gcra:L/P[,burst=N]           token-bucket:L/P[,burst=N]
//	leaky-bucket:L/P[,capacity=N]
//	fixed-window:L/P             sliding-log:L/P             sliding-counter:L/P
//	calendar-window:L/UNIT[,zone=ZONE][,anchor=DAY]
//
// L and N are decimal numbers, P is a Go duration with a unit such as 500ms,
// 1m or 24h; burst and capacity are L where they are left out. A period P is a
// length of time; UNIT is day, week, month, quarter or year, see Calendar. Nothing is guessed or rounded: what does
// not fit is a *ParameterError. String gives the canonical text of an algorithm,
// which parses to the same one.
func ParseSpec(text string) (Algorithm, error) { return (*Registry)(nil).Parse(text) }

// parse reads what follows the name.
func (f *Family) parse(text string) (Algorithm, error) {
	if f.read != nil {
		return f.read(text)
	}
	rateText, option, hasOption := strings.Cut(text, ",")
	limitText, periodText, found := strings.Cut(rateText, "/")
	if !found {
		return nil, refuseSpec("rate", rateText, "LIMIT/PERIOD, such as 100/1m")
	}
	limit, err := parseUnits("limit", limitText)
	if err != nil {
		return nil, err
	}
	period, err := parsePeriod(periodText)
	if err != nil {
		return nil, err
	}
	capacity := limit
	if hasOption {
		field, value, _ := strings.Cut(option, "=")
		if f.Option == "" {
			return nil, refuseSpec("option", option, "absent: "+f.Name+" takes LIMIT/PERIOD only")
		}
		if field != f.Option {
			return nil, refuseSpec("option", option, f.Option+"=N")
		}
		if capacity, err = parseUnits(field, value); err != nil {
			return nil, err
		}
	}
	a, err := f.Build(Rate{limit, period}, capacity)
	if err == nil && (a == nil || a.Spec().Kind != f.Kind) {
		return nil, &ParameterError{Of: "family", Field: "Build", Value: "of " + f.Name, Allowed: "a function that returns algorithms of kind " + f.Kind}
	}
	return a, err
}

// parseUnits reads a plain decimal number; its range is for the constructor.
func parseUnits(field, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strings.HasPrefix(text, "+") {
		return 0, refuseSpec(field, text, fmt.Sprintf("a whole number from 1 to %d", MaxUnits))
	}
	return n, nil
}

// durationPart is one number and unit of a Go duration.
var durationPart = regexp.MustCompile(`([0-9.]+)(ns|us|µs|μs|ms|s|m|h)`)

// parsePeriod reads a Go duration exactly. time.ParseDuration says whether the
// text is one, but drops what is below 1 ns and works out fractions in floating
// point; the value is therefore summed up in rationals.
func parsePeriod(text string) (time.Duration, error) {
	const allowed = "a duration with a unit, such as 500ms, 1m or 24h, of whole microseconds up to 9600h"
	if d, err := time.ParseDuration(text); err != nil || d <= 0 || text[0] == '+' {
		if near := nearPeriod(text); near != "" {
			return 0, refuseSpec("period", text, allowed+"; perhaps "+near)
		}
		if unit := nearUnit(text); unit != "" {
			return 0, refuseSpec("period", text, allowed+"; only calendar-window has a "+unit+" of the calendar")
		}
		return 0, refuseSpec("period", text, allowed)
	}
	sum := new(big.Rat)
	for _, part := range durationPart.FindAllStringSubmatch(text, -1) {
		unit, _ := time.ParseDuration("1" + part[2]) // part[2] is a unit: cannot fail
		number, ok := new(big.Rat).SetString(part[1])
		if !ok {
			return 0, refuseSpec("period", text, allowed)
		}
		sum.Add(sum, number.Mul(number, new(big.Rat).SetInt64(int64(unit))))
	}
	if !sum.IsInt() || !sum.Num().IsInt64() {
		return 0, refuseSpec("period", text, allowed)
	}
	return time.Duration(sum.Num().Int64()), nil
}

// writtenPeriod is a period as other programs write it: 60/min, 10/m, 5/1day.
var writtenPeriod = regexp.MustCompile(`^(\d{0,4}) ?(ms|msec|s|sec|second|m|min|minute|h|hr|hour|d|day|w|week)s?$`)

// nearPeriod returns the duration that a period was meant to be, or "". A day is 24
// hours. A month is no length of time, and "M" is a month in many programs.
func nearPeriod(text string) string {
	match := writtenPeriod.FindStringSubmatch(strings.ToLower(text))
	if match == nil || strings.HasSuffix(text, "M") {
		return ""
	}
	number, err := strconv.Atoi(match[1])
	if err != nil { // no number
		number = 1
	}
	unit := match[2][:1]
	switch {
	case unit == "w":
		number, unit = 7*24*number, "h"
	case unit == "d":
		number, unit = 24*number, "h"
	case strings.HasPrefix(match[2], "ms"):
		unit = "ms"
	}
	near := strconv.Itoa(number) + unit
	if d, err := time.ParseDuration(near); err != nil || d <= 0 || d > MaxPeriod {
		return ""
	}
	return near
}

// nearSpec returns the spec that a text without the name of an algorithm was meant to
// be, or "".
func nearSpec(text string) string {
	limit, period, _ := strings.Cut(text, "/")
	period, options, has := strings.Cut(period, ",")
	near := "gcra:" + limit + "/" + period
	if length := nearPeriod(period); length != "" {
		near = "gcra:" + limit + "/" + length
	} else if unit := nearUnit(period); unit != "" {
		near = "calendar-window:" + limit + "/" + unit
	}
	if has {
		near += "," + options
	}
	if _, err := ParseSpec(near); err != nil {
		return ""
	}
	return near
}

func refuseSpec(field, value, allowed string) error {
	return &ParameterError{Of: "spec", Field: field, Value: strconv.Quote(value), Allowed: allowed}
}
