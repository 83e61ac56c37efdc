package algorithm

import (
	"strings"
	"testing"
)

// A spec that is nearly right is refused with what it was meant to be.
func TestNearlyRightSpecsAreCorrected(t *testing.T) {
	for text, want := range map[string]string{
		"gcra:10/m": "1m", "gcra:10/min": "1m", "gcra:10/2 minutes": "2m", "gcra:10/Minute": "1m", "gcra:1/1d": "24h", "gcra:1/day": "24h",
		"gcra:1/7days": "168h", "gcra:1/w": "168h", "gcra:1/s": "1s", "gcra:1/sec": "1s", "gcra:1/hr": "1h", "gcra:1/ms": "1ms", "gcra:1/100msec": "100ms",
		"60/min": "gcra:60/1m", "60/1m": "gcra:60/1m", "10/d": "gcra:10/24h", "gcra:5/month": "", "gcra:5/0d": "", "gcra:5/": "", "gcra:5/1x": "",
		"60": "", "x/min": "", "60/month": "calendar-window:60/month", "gcra:5/99999d": "",
		"100/1m,burst=20": "gcra:100/1m,burst=20", "10/d,burst=5": "gcra:10/24h,burst=5", "60/1m,capacity=5": "",
		"gcra:5/M": "", "gcra:5/1M": "", "5/M": "calendar-window:5/month", "gcra:1/400d": "9600h", "gcra:1/401d": "", "gcra:1/9999w": "", "1/9999w": "",
		"0/1m": "", "-5/1m": "", "+5/m": "", "1000000000001/1m": "", "5/100ns": "", "5/0s": "", "gcra:1/00h": "",
	} {
		_, err := ParseSpec(text)
		if err == nil {
			t.Errorf("%s is read", text)
			continue
		}
		_, got, _ := strings.Cut(err.Error(), "; perhaps ")
		if got != want {
			t.Errorf("%s: perhaps %q, want %q: %v", text, got, want, err)
		}
		if want == "" {
			continue
		}
		if !strings.Contains(want, ":") {
			want = text[:strings.IndexByte(text, '/')+1] + want
		}
		if _, err := ParseSpec(want); err != nil {
			t.Errorf("%s: the correction is wrong: %v", text, err)
		}
	}
}
