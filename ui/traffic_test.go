package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir"
)

// TestNumbersAreThoseOfTheRecorder: of the last second, minute and hour, and since the start.
func TestNumbersAreThoseOfTheRecorder(t *testing.T) {
	p := open(t, nil)
	p.recorder.tick(start)
	p.decide(t, "ann", 5) // 2 of 5 by user, 1 of 5 in shadow
	p.recorder.tick(start.Add(time.Second))
	p.decide(t, "bob", 1)
	p.recorder.tick(start.Add(2 * time.Minute))
	body := get(t, p, "/")
	for _, want := range []string{
		`<th scope="row">allowed</th><td>1</td><td>1</td><td>3</td><td data-total="allowed">3</td>`,
		`<th scope="row">denied</th><td>0</td><td>0</td><td>3</td><td data-total="denied">3</td>`,
		`<th scope="row">denied in shadow</th><td>0</td><td>0</td><td>4</td><td data-total="denied in shadow">4</td>`,
		`<a href="rule?id=trial">trial</a></th><td class="left">shadow</td><td class="left">gcra:1/1h</td>`,
		`<td class="left throttled">throttled</td>`,
		`keys 4, evicted 0`, `closed`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// TestTheBusiestRulesAreShownInTheirOrder: where there are more than fit.
func TestTheBusiestRulesAreShownInTheirOrder(t *testing.T) {
	r := still(t, 0)
	h := weir.Must(New(r, nil))
	for i := range 60 {
		for range i {
			r.ObserveVerdict(t.Context(), ruleVerdict(fmt.Sprintf("rule%02d", i), i != 1, 1), nil)
		}
		r.ObserveVerdict(t.Context(), ruleVerdict(fmt.Sprintf("rule%02d", i), true, 1), nil)
	}
	v := h.rules(3)
	if v.More != 57 || v.Rules[0].ID != "rule01" || v.Rules[1].ID != "rule58" || v.Rules[2].ID != "rule59" {
		t.Errorf("%+v", v)
	}
	if body := get(t, h, "/"); !strings.Contains(body, `<a href="rules">10 more</a>`) || strings.Count(get(t, h, "/rules"), `href="rule?id=`) != 60 {
		t.Error("not all rules are shown somewhere")
	}
}

// TestAStreamSendsEachSecond: until its Recorder is closed, and no more streams than there may
// be.
func TestAStreamSendsEachSecond(t *testing.T) {
	p := open(t, nil)
	server := httptest.NewServer(p)
	defer server.Close()
	answer, err := http.Get(server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if media := answer.Header.Get("Content-Type"); media != "text/event-stream" {
		t.Errorf("%q", media)
	}
	read := func() string {
		text, b := "", make([]byte, 1)
		for !strings.HasSuffix(text, "\n\n") {
			if _, err := answer.Body.Read(b); err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		return text
	}
	if first := read(); !strings.Contains(first, "data: {") || !strings.Contains(first, `data-total=\"allowed\"\u003e0\u003c`) {
		t.Errorf("%s", first)
	}
	p.decide(t, "ann", 1)
	p.recorder.tick(start)
	if second := read(); !strings.Contains(second, `data-total=\"allowed\"\u003e1\u003c`) || !strings.Contains(second, `"last":{"at":[`+fmt.Sprint(start.Unix()-1)+`],"allowed":[1]`) {
		t.Errorf("%s", second)
	}
	p.streams.Add(maxStreams)
	if status, _, head := ask(p, "GET", "/events", nil); status != http.StatusServiceUnavailable || head.Get("Retry-After") == "" {
		t.Errorf("one stream too many: %d", status)
	}
	if err := p.recorder.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(answer.Body); err != nil {
		t.Errorf("the stream did not end: %v", err)
	}
}

// TestSeriesWithoutANumberAreEmptyLists: the page adds to them, also where it was opened in the first
// second of a process.
func TestSeriesWithoutANumberAreEmptyLists(t *testing.T) {
	p := open(t, nil)
	for _, path := range []string{"/data?range=minutes", "/data?range=hour", "/data?rule=none"} {
		var answer map[string]any
		if err := json.Unmarshal([]byte(get(t, p, path)), &answer); err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"at", "allowed", "denied", "shadow", "errors", "p50", "p99"} {
			if _, is := answer[field].([]any); !is {
				t.Errorf("%s: %s is %v", path, field, answer[field])
			}
		}
	}
}
