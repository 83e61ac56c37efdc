package loglist_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/loglist"
)

// A text comes back from its elements: one of a state, short or long, and one of none.
func TestTextComesBackFromItsElements(t *testing.T) {
	long := make([]string, 5000)
	for i := range long {
		if long[i] = strconv.Itoa(i); i%3 == 0 {
			long[i] += ":7"
		}
	}
	texts := []string{"5", "5:2", "1 2 3", "+9 1 2:10", strings.Join(long, " "), "x", "+", "+7", "-5", "1:-1", "1.5", "", " ", "{}", "\xff"}
	for _, text := range texts {
		elements := loglist.Elements(text)
		if got := loglist.Text(elements); got != text || slices.Contains(elements, "") && strings.TrimSpace(text) != "" {
			t.Errorf("%.40q lies as %.40q and is read as %.40q", text, elements, got)
		}
	}
}
