package trace

import "testing"

func TestStamps(t *testing.T) {
	const second = 1_700_158_623_000_000 // 2023-11-16T18:17:03Z
	for text, want := range map[string]int64{
		"2023-11-16T18:17:03Z":                       second,
		"2023-11-16T18:17:03+00:00":                  second,
		"2023-11-16T18:17:03-00:00":                  second,
		"2023-11-16t18:17:03z":                       second,
		"2023-11-16 18:17:03":                        second,
		"2023-11-16T18:17:03":                        second,
		"2023-11-16 18:17:03Z":                       second,
		"2023-11-16 19:17:03+01:00":                  second,
		"2023-11-16T19:17:03+0100":                   second,
		"2023-11-16T12:47:03-05:30":                  second,
		"2023-11-16 18:17:03.9":                      second + 900_000,
		"2023-11-16 18:17:03.9799600":                second + 979_960,
		"2023-11-16 18:17:03.9799609":                second + 979_960,
		"2023-11-16T18:17:03.979960999999999999999Z": second + 979_960,
		"2023-11-16T18:17:03.000000Z":                second,
		"2023-11-16 18:17:03.979960+00:00":           second + 979_960,
		"1970-01-01T00:00:00Z":                       0,
		"1969-12-31T23:59:59-00:01":                  59_000_000,
		"2191-10-27T12:26:40Z":                       MaxAt,
		"2191-10-27T12:26:40.0000009Z":               MaxAt,
		"2000-02-29T00:00:00Z":                       951_782_400_000_000,
	} {
		e, reason := stamp([]byte(text))
		if reason == "" {
			e.micros, reason = e.before(exact{})
		}
		if e.micros != want || reason != "" {
			t.Errorf("%s = %d, %q, want %d", text, e.micros, reason, want)
		}
	}
}

func TestImpossibleStamps(t *testing.T) {
	for text, want := range map[string]string{
		"":                            reasonStamp,
		"2023-11-16":                  reasonStamp,
		"2023-11-16T18:17":            reasonStamp,
		"2023-11-16T18:17Z":           reasonStamp,
		"2023-11-16_18:17:03":         reasonStamp,
		"2023/11/16 18:17:03":         reasonStamp,
		"16-11-2023 18:17:03":         reasonStamp,
		"2023-11-16  18:17:03":        reasonStamp,
		"2023-11-16T18.17.03Z":        reasonStamp,
		"2023-1a-16T18:17:03Z":        reasonStamp,
		"2023-11-16T18:17:03.Z":       reasonStamp,
		"2023-11-16T18:17:03.":        reasonStamp,
		"2023-11-16T18:17:03,5Z":      reasonStamp,
		"2023-11-16T18:17:03 Z":       reasonStamp,
		"2023-11-16T18:17:03 UTC":     reasonStamp,
		"2023-11-16T18:17:03ZZ":       reasonStamp,
		"2023-11-16T18:17:03+1":       reasonStamp,
		"2023-11-16T18:17:03+01":      reasonStamp,
		"2023-11-16T18:17:03+01:0":    reasonStamp,
		"2023-11-16T18:17:03+0a:00":   reasonStamp,
		"2023-11-16T18:17:03+01-00":   reasonStamp,
		"2023-11-16T18:17:03+01:00:0": reasonStamp,
		"2023-11-16T18:17:03+15:00":   reasonZone,
		"2023-11-16T18:17:03+01:60":   reasonStamp,
		"2023-13-16T18:17:03Z":        reasonStamp,
		"2023-00-16T18:17:03Z":        reasonStamp,
		"2023-11-31T18:17:03Z":        reasonStamp,
		"2023-02-29T18:17:03Z":        reasonStamp,
		"2023-11-00T18:17:03Z":        reasonStamp,
		"2023-11-16T24:00:00Z":        reasonStamp,
		"2023-11-16T23:59:60Z":        reasonStamp,
		"1969-12-31T23:59:59.999Z":    reasonEarly,
		"1970-01-01T00:00:00+00:01":   reasonEarly,
		"0000-01-01T00:00:00Z":        reasonEarly,
		"2191-10-27T12:26:41Z":        reasonLate,
		"2191-10-27T12:26:40.000001Z": reasonLate,
	} {
		e, reason := stamp([]byte(text))
		if reason == "" {
			_, reason = e.before(exact{})
		}
		if reason != want {
			t.Errorf("%q = %d, %q, want %q", text, e.micros, reason, want)
		}
	}
}
