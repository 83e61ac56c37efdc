package httplimit

import (
	"fmt"
	"testing"
	"time"
)

func TestPausesAreBounded(t *testing.T) {
	var p pauses
	start := time.Now().Add(time.Hour)
	for i := range maxPauses + 100 {
		p.set(fmt.Sprint(i), start.Add(time.Duration(i)*time.Second))
	}
	if len(p.until) != maxPauses || !p.get("99").IsZero() || p.get("100").IsZero() {
		t.Errorf("%d pauses", len(p.until))
	}
	p.set("100", start)
	if p.get("100") == start {
		t.Error("a pause became shorter")
	}
	for key := range p.until {
		p.until[key] = time.Now().Add(-time.Second)
	}
	p.set("new", start)
	if len(p.until) != 1 {
		t.Errorf("%d pauses that are over are kept", len(p.until))
	}
}
