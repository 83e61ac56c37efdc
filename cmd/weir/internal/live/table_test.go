package live

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestTableAlignsWideCharacters: characters of two columns, and marks over another one.
func TestTableAlignsWideCharacters(t *testing.T) {
	got := table([][]string{{"rule", "limit"}, {"限制", "1/1m"}, {"cafe\u0301", "２"}, {"🚦", "10/1m"}})
	want := []string{
		"rule  limit",
		"限制   1/1m",
		"cafe\u0301     ２",
		"🚦    10/1m",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestCutLeavesNoLineWiderThanItsRoom, and cuts nothing that fits.
func TestCutLeavesNoLineWiderThanItsRoom(t *testing.T) {
	for _, c := range []struct {
		text string
		room int
		want string
	}{
		{"abc", 0, "abc"}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abc", 1, "…"},
		{"限制", 4, "限制"}, {"限制", 3, "限…"}, {"限制", 2, "…"}, {"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
	} {
		if got := cut(c.text, c.room); got != c.want || c.room > 0 && columns(got) > c.room {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.room, got, c.want)
		}
	}
}

// TestReadBoundsThePage: what has no end is an error, and not read on.
func TestReadBoundsThePage(t *testing.T) {
	line := strings.Repeat("rate_limiter_config_reload_total 1\n", 1<<10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 2 * maxPage / len(line) {
			if _, err := w.Write([]byte("# " + line)); err != nil {
				return // the reader has gone
			}
		}
	}))
	defer s.Close()
	if _, err := Read(t.Context(), s.Client(), s.URL, ""); err == nil || !strings.Contains(err.Error(), "larger than 16 MB") {
		t.Error(err)
	}
}
