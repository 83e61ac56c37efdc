package trace

import "strings"

// dateLength is the length of 10/Oct/2000:13:55:36 -0700.
const dateLength = 26

const (
	reasonDateForm = "the date is not dd/Mon/yyyy:hh:mm:ss +hhmm"
	reasonDay      = "the date is not in the calendar"
	reasonClock    = "the time of day does not exist"
	reasonZone     = "the time zone is not between -1200 and +1400"
)

// parseDate reads a date of dateLength bytes as µs since the Unix epoch. Month names are English, written like Oct, as every
// server writes them in any locale. The zone is honoured. A leap second (:60) does not exist in Unix time, and no
// server that reads a Unix clock writes one.
func parseDate(b []byte) (at int64, reason string) {
	month := strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", string(b[3:6])) + 3 // 3, 6, … 36
	if b[2] != '/' || b[6] != '/' || b[11] != ':' || b[14] != ':' || b[17] != ':' || b[20] != ' ' ||
		b[21] != '+' && b[21] != '-' || month%3 != 0 {
		return 0, reasonDateForm
	}
	month /= 3
	day, ok1 := decimal(b[0:2])
	year, ok2 := decimal(b[7:11])
	hour, ok3 := decimal(b[12:14])
	minute, ok4 := decimal(b[15:17])
	second, ok5 := decimal(b[18:20])
	zoneHour, ok6 := decimal(b[22:24])
	zoneMinute, ok7 := decimal(b[24:26])
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !ok7 {
		return 0, reasonDateForm
	}
	zone, reason := zoneMinutes(b[21], zoneHour, zoneMinute)
	if reason != "" {
		return 0, reason
	}
	if at, reason = micros(year, month, day, hour, minute, second, zone); reason == "" && at > MaxAt {
		return 0, reasonLate
	}
	return at, reason
}

// zoneMinutes returns how many minutes a zone is east.
func zoneMinutes(sign byte, hour, minute int) (zone int, reason string) {
	zone = 60*hour + minute
	if sign == '-' {
		zone = -zone
	}
	if minute > 59 || zone < -12*60 || zone > 14*60 {
		return 0, reasonZone
	}
	return zone, ""
}

// micros returns the instant of a whole second of the calendar. It may be after MaxAt.
func micros(year, month, day, hour, minute, second, zone int) (at int64, reason string) {
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, reasonDay
	}
	if hour > 23 || minute > 59 || second > 59 {
		return 0, reasonClock
	}
	minutes := (int64(daysSince1970(year, month, day))*24+int64(hour))*60 + int64(minute) - int64(zone)
	if at = (minutes*60 + int64(second)) * 1_000_000; at < 0 {
		return 0, reasonEarly
	}
	return at, ""
}

// decimal reads all of b as digits; it is short enough not to overflow.
func decimal(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c-'0' > 9 {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysIn(year, month int) int {
	if month == 2 && isLeap(year) {
		return 29
	}
	return [...]int{1: 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month]
}

// daysSince1970 counts days in the Gregorian calendar, for years from 1 on; for year 0 the result is only sure to be negative.
// The year begins in March for it, so that the leap day is the last of its year and the months before need no correction.
func daysSince1970(year, month, day int) int {
	if month <= 2 {
		year--
		month += 12
	}
	const from1March0 = 719468 // days from 1 March of year 0 to 1 January 1970
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - from1March0
}
