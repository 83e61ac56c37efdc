package report

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPercentSaysNoneAndAllOnlyWhereExact(t *testing.T) {
	for _, c := range []struct {
		part, whole int64
		want        string
	}{
		{0, 0, "0 %"},
		{0, 10, "0 %"},
		{10, 10, "100 %"},
		{1, 3, "33.3 %"},
		{2, 3, "66.7 %"},
		{1, 1_000_000, "0.1 %"},
		{999_999, 1_000_000, "99.9 %"},
		{9995, 10_000, "99.9 %"},
		{1, 2, "50.0 %"},
		{math.MaxInt64 - 1, math.MaxInt64, "99.9 %"},
		{1, math.MaxInt64, "0.1 %"},
	} {
		if got := Percent(c.part, c.whole); got != c.want {
			t.Errorf("Percent(%d, %d) = %q, want %q", c.part, c.whole, got, c.want)
		}
	}
}

func TestDigitsAreInGroups(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 12_345: "12,345", 123_456: "123,456", 1_234_567: "1,234,567",
		math.MaxInt64: "9,223,372,036,854,775,807",
	} {
		if got := Digits(n); got != want {
			t.Errorf("Digits(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestCountsTakeTheirNoun(t *testing.T) {
	for n, want := range map[int64]string{0: "0 lines", 1: "1 line", 2: "2 lines", 1000: "1,000 lines"} {
		if got := Count(n, "line"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestRowsShowTimeAsFineAsTheyAre(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 7000, time.UTC)
	for width, want := range map[time.Duration]string{
		time.Microsecond:       "2026-02-03 04:05:06.000007",
		100 * time.Millisecond: "2026-02-03 04:05:06.000007",
		time.Second:            "2026-02-03 04:05:06",
		30 * time.Second:       "2026-02-03 04:05:06",
		time.Minute:            "2026-02-03 04:05",
		12 * time.Hour:         "2026-02-03 04:05",
		24 * time.Hour:         "2026-02-03",
		364 * 24 * time.Hour:   "2026-02-03",
	} {
		if got := at.Format(rowFormat(width)); got != want {
			t.Errorf("%v: %q, want %q", width, got, want)
		}
	}
	if got, want := utcTime(at), "2026-02-03 04:05:06.000007 UTC"; got != want {
		t.Errorf("utcTime: %q, want %q", got, want)
	}
}

func TestQuotedQuotesWhatATerminalWouldActOn(t *testing.T) {
	for s, want := range map[string]string{
		"203.0.113.7":      "203.0.113.7",
		"2001:db8::1":      "2001:db8::1",
		"two words":        "two words",
		`C:\new "x"`:       `C:\new "x"`,
		"日本":               "日本",
		"":                 `""`,
		`"x"`:              `"\"x\""`,
		" x":               `" x"`,
		"x ":               `"x "`,
		"\x1b[31m":         `"\x1b[31m"`,
		"a\nb":             `"a\nb"`,
		"a\tb":             `"a\tb"`,
		"\xff":             `"\xff"`,
		"\u009b2J":         `"\u009b2J"`,
		"a\u202eb":         `"a\u202eb"`,
		"a\u00a0b":         `"a\u00a0b"`,
		"\x7f":             `"\x7f"`,
		"\ufeffx":          `"\ufeffx"`,
		"\U000e0041hidden": `"\U000e0041hidden"`,
	} {
		if got := Quoted(s); got != want {
			t.Errorf("Quoted(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestQuotedIsPrintableAndTellsStringsApart(t *testing.T) {
	texts := rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.StringOfN(rapid.SampledFrom([]rune{'"', '\\', 'n', '\n', ' ', 'x', '1', 'b', 0x1b}), 0, 6, -1),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		shown := Quoted(a)
		if !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(c rune) bool { return !strconv.IsPrint(c) }) {
			t.Fatalf("Quoted(%q) = %q", a, shown)
		}
		if a != b && shown == Quoted(b) {
			t.Fatalf("%q and %q both show as %s", a, b, shown)
		}
	})
}

// A terminal shows what matters first and what few ask for only when it is asked for; the
// text says that there is more.
func TestTextFoldsAwayUnlessVerbose(t *testing.T) {
	folded := []string{"Digests", "0123456789abcdef", "corner cases  ", "what the server did", "bad       0 lines"}
	d := simulation(madeUp()).Document()
	d.Lead = append(d.Lead, Fact{"bad", "0 lines", true})
	write := func() string {
		var b strings.Builder
		if err := d.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	short := write()
	d.Verbose = true
	long := write()
	for _, text := range folded {
		if strings.Contains(short, text) || !strings.Contains(long, text) {
			t.Errorf("%q: in the short text %v, in the long one %v", text, strings.Contains(short, text), strings.Contains(long, text))
		}
	}
	if end := "\n\n--verbose also shows: corner cases, digests, the server, RetryAfter and keys; "; !strings.Contains(short, end) || !strings.HasSuffix(short, " rows of zeros.\n") {
		t.Errorf("the end does not say that there is more:\n%s", short)
	}
	if strings.Contains(long, "--verbose") {
		t.Errorf("the end says that there is more:\n%s", long)
	}
	words := func(line string) string { return strings.Join(strings.Fields(line), " ") + "\n" } // columns are as wide as their rows
	all := ""
	for line := range strings.Lines(long) {
		all += words(line)
	}
	for line := range strings.Lines(short) {
		if !strings.HasPrefix(line, "--verbose") && !strings.Contains(all, words(line)) {
			t.Errorf("%q is in the short text only", line)
		}
	}
}
