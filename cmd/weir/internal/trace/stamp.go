package trace

const reasonStampForm = "the time is not yyyy-mm-ddThh:mm:ss, with a fraction and a zone or without"

// stampLength is the length of a stamp without fraction and zone.
const stampLength = len("2006-01-02T15:04:05")

// parseStamp reads a date in the form of RFC 3339, section 5.6: 2006-01-02T15:04:05, a fraction of any length, and a zone, Z or
// +hh:mm. As many programs write it, there may be a space for the T, no colon in the zone, or no zone at all, which is
// UTC. A leap second (:60) does not exist in Unix time.
func parseStamp(b []byte) (e exact, reason string) {
	if !looksStamp(b) {
		return e, reasonStampForm
	}
	year, ok1 := decimal(b[0:4])
	month, ok2 := decimal(b[5:7])
	day, ok3 := decimal(b[8:10])
	hour, ok4 := decimal(b[11:13])
	minute, ok5 := decimal(b[14:16])
	second, ok6 := decimal(b[17:19])
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 {
		return e, reasonStampForm
	}
	rest := b[stampLength:]
	var fraction []byte
	if len(rest) > 0 && rest[0] == '.' {
		end := passDigits(rest, 1)
		if fraction, rest = rest[1:end], rest[end:]; len(fraction) == 0 {
			return e, reasonStampForm
		}
	}
	zone, reason := parseZone(rest)
	if reason != "" {
		return e, reason
	}
	if e.micros, reason = micros(year, month, day, hour, minute, second, zone); reason != "" {
		return e, reason
	}
	for i, unit := 0, int64(100_000); i < len(fraction) && unit > 0; i, unit = i+1, unit/10 {
		e.micros += unit * int64(fraction[i]-'0')
	}
	e.below = belowMicros(fraction)
	return e, ""
}

// looksStamp reports whether b begins like a date and not like a number.
func looksStamp(b []byte) bool {
	return len(b) >= stampLength && b[4] == '-' && b[7] == '-' && (b[10]|0x20 == 't' || b[10] == ' ') && b[13] == ':' && b[16] == ':'
}

// parseZone reads nothing, Z, +hh:mm or +hhmm as minutes east.
func parseZone(b []byte) (zone int, reason string) {
	if len(b) == 0 || len(b) == 1 && b[0]|0x20 == 'z' {
		return 0, ""
	}
	if b[0] != '+' && b[0] != '-' {
		return 0, reasonStampForm
	}
	var minutes []byte
	switch {
	case len(b) == 5:
		minutes = b[3:]
	case len(b) == 6 && b[3] == ':':
		minutes = b[4:]
	default:
		return 0, reasonStampForm
	}
	hour, ok1 := decimal(b[1:3])
	minute, ok2 := decimal(minutes)
	if !ok1 || !ok2 {
		return 0, reasonStampForm
	}
	return zoneMinutes(b[0], hour, minute)
}
