package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// asked is a JSON Lines event.
func asked(at, cost int64) string {
	return fmt.Sprintf(`{"at_us":%d,"key":"a","cost":%d}`+"\n", at, cost)
}

// answers returns the decisions of a trace, as "+" or the µs to wait.
func answers(t *testing.T, trace, limit string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(replayed(t, trace, "--limit", limit, "--decisions", "-")) {
		var d struct {
			Allowed bool  `json:"allowed"`
			Retry   int64 `json:"retry_after_us"`
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		if answer := fmt.Sprint(d.Retry); d.Allowed {
			all = append(all, "+")
		} else {
			all = append(all, answer)
		}
	}
	return strings.Join(all, " ")
}

// B129: waits that an LLM service has named.
func TestWaitsThatAServiceHasNamed(t *testing.T) {
	for _, kind := range []string{"gcra", "token-bucket"} {
		for _, c := range []struct {
			limit                  string
			used, cost, wait, near int64
		}{
			{"200000/1m", 162_960, 42_288, 1_574_400, 100},
			{"10000/1m", 8_554, 3_082, 9_816_000, 1},
		} {
			trace := asked(0, c.used) + asked(0, c.cost) + asked(c.wait-c.near, c.cost) + asked(c.wait, c.cost)
			if got, want := answers(t, trace, kind+":"+c.limit), fmt.Sprintf("+ %d %d +", c.wait, c.near); got != want {
				t.Errorf("%s:%s: %s, want %s", kind, c.limit, got, want)
			}
		}
		if got := answers(t, asked(0, 10_001), kind+":10000/1m"); got != "-1" {
			t.Errorf("%s: more than the limit: %s", kind, got)
		}
	}
}

// B130: five cases that a guide counts for 10,000 a second and a burst of 5,000.
func TestTokenBucketOfAGuideInNumbers(t *testing.T) {
	leftToTheRaceRun(t)
	every := func(from, step, n, cost int64) (trace string) {
		for i := range n {
			trace += strings.Repeat(asked(from+i*step, 1), int(cost))
		}
		return trace
	}
	for _, kind := range []string{"gcra", "token-bucket"} {
		for name, c := range map[string]struct {
			trace string
			want  int
		}{
			"10 each ms":             {every(0, 1000, 1000, 10), 10_000},
			"10,000 in the first ms": {every(0, 0, 1, 10_000), 5_000},
			"5,000, then 5 each ms":  {every(0, 0, 1, 5_000) + every(1000, 1000, 999, 5), 9_995},
			"5,000 and 5,000":        {every(0, 0, 1, 5_000) + every(100_000, 0, 1, 5_000), 6_000},
			"5,000, 1,000, 4,000":    {every(0, 0, 1, 5_000) + every(100_000, 0, 1, 1_000) + every(109_000, 9_000, 100, 40), 10_000},
		} {
			if got := strings.Count(answers(t, c.trace, kind+":10000/1s,burst=5000"), "+"); got != c.want {
				t.Errorf("%s, %s: %d admitted, want %d", kind, name, got, c.want)
			}
		}
	}
}

// B134: several requests within a few ms at a high rate, and nginx's own example.
func TestRequestsWithinAFewMilliseconds(t *testing.T) {
	trace := asked(0, 1) + asked(400, 1) + asked(500, 1) + asked(90_000, 1) + asked(150_000, 1)
	if got := answers(t, trace, "gcra:2000/1s,burst=1"); got != "+ 100 + + +" {
		t.Error(got)
	}
	nginx := strings.Repeat(asked(0, 1), 21) + strings.Repeat(asked(101_000, 1), 20)
	if got := answers(t, nginx, "gcra:10/1s,burst=21"); strings.Count(got, "+") != 22 {
		t.Error(got)
	}
}
