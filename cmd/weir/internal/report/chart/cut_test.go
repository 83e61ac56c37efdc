package chart

import (
	"strings"
	"testing"
	"unicode/utf8"

	"gonum.org/v1/plot/vg"
)

// A long text is measured a few times, and not once for each of its runes.
func TestCutMeasuresALongTextAFewTimes(t *testing.T) {
	calls := 0
	width := func(text string) vg.Length {
		calls++
		return vg.Length(utf8.RuneCountInString(text))
	}
	for text, want := range map[string]string{"": "", "abc": "abc", "abcdef": "ab…", strings.Repeat("é", 100000): "éé…"} {
		if got := cut(text, 3, width); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if calls > 40 {
		t.Errorf("measured %d times", calls)
	}
	if got := cut("abc", 0.5, width); got != "…" {
		t.Errorf("without room: %q", got)
	}
}
