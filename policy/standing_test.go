package policy

import (
	"context"
	"strings"
	"testing"
)

func TestStandingHasHysteresisAndIsBounded(t *testing.T) {
	b := newBench(t, one(Rule{ID: "r", Key: []string{"user"}, Limit: specOf("gcra:10/10s")}), &EnforcerOptions{Standings: 1})
	var got []string
	say := func(r Request) { got = append(got, b.decide(r).Standing.String()) }
	u := of("user", "u")
	for range 11 {
		say(u) // 10 %, 20 % ... 100 %, denied
	}
	b.at(2)
	say(u) // 80 + 10 %
	b.at(4)
	say(u) // 70 + 10 %
	b.at(5.5)
	say(u) // 75 %: neither 80 nor below 70
	b.at(8)
	say(u) // 60 %
	b.at(9)
	say(u) // 60 %: calm again
	b.at(10)
	want := "normal normal normal normal normal normal normal warning warning warning throttled warning warning warning normal normal"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	for range 8 {
		b.decide(u)
	}
	for range 8 {
		b.decide(of("user", "v")) // there is room for one
	}
	v0 := b.Stats()
	if n := v0.Standings; n != 1 {
		t.Errorf("%d standings are kept, want 1", n)
	}
	if v, _ := b.Peek(context.Background(), u); v.Standing != Throttled || b.Stats().Denied != v0.Denied {
		t.Errorf("a look says %s", v.Standing)
	}
}
