package trace

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// cut returns the lines of a text, with a "+" behind those that are too long.
func cut(t *testing.T, r io.Reader, longest int) (got []string, err error) {
	t.Helper()
	l := newLines(r, longest)
	for {
		line, long, err := l.next()
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		text := string(line)
		if long {
			text += "+"
		}
		got = append(got, text)
	}
}

func TestLinesEndInLFOrCRLFOrWithTheInput(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                  {"", nil},
		"one empty line":           {"\n", []string{""}},
		"lf":                       {"a\nb\n", []string{"a", "b"}},
		"crlf":                     {"a\r\nb\r\n", []string{"a", "b"}},
		"no end":                   {"a\nb", []string{"a", "b"}},
		"cr at the end":            {"a\r", []string{"a"}},
		"cr inside stays":          {"a\rb\n", []string{"a\rb"}},
		"only one cr goes":         {"a\r\r\n", []string{"a\r"}},
		"byte order mark":          {"\xef\xbb\xbfa\nb", []string{"a", "b"}},
		"byte order mark alone":    {"\xef\xbb\xbf", nil},
		"byte order mark later":    {"a\n\xef\xbb\xbfb", []string{"a", "\xef\xbb\xbfb"}},
		"byte order mark cut off":  {"\xef\xbb", []string{"\xef\xbb"}},
		"nul":                      {"a\x00b\n", []string{"a\x00b"}},
		"longest":                  {"0123456789\na", []string{"0123456789", "a"}},
		"longest crlf":             {"0123456789\r\na", []string{"0123456789", "a"}},
		"longest at the end":       {"0123456789", []string{"0123456789"}},
		"too long by one":          {"0123456789a\nb\n", []string{"0123456789a+", "b"}},
		"too long by one at end":   {"0123456789a", []string{"0123456789a+"}},
		"too long by one crlf":     {"0123456789a\r\nb\n", []string{"0123456789a+", "b"}},
		"too long by two":          {"0123456789ab\nb\n", []string{"0123456789ab+", "b"}},
		"much too long":            {strings.Repeat("x", 100) + "\nb\n", []string{"xxxxxxxxxxxxxxxx+", "b"}},
		"much too long at the end": {"b\n" + strings.Repeat("x", 100), []string{"b", "xxxxxxxxxxxxxxxx+"}},
		"too long twice":           {strings.Repeat("x", 30) + "\n" + strings.Repeat("y", 30) + "\n", []string{"xxxxxxxxxxxxxxxx+", "yyyyyyyyyyyyyyyy+"}},
	} {
		for how, r := range map[string]io.Reader{
			"at once":      strings.NewReader(c.text),
			"byte by byte": iotest.OneByteReader(strings.NewReader(c.text)),
			"end with eof": iotest.DataErrReader(strings.NewReader(c.text)),
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				got, err := cut(t, r, 10)
				if err != nil || !slices.Equal(got, c.want) {
					t.Errorf("got %q, %v, want %q", got, err, c.want)
				}
			})
		}
	}
}

func TestLinesOfEveryLengthSurviveTheBuffer(t *testing.T) {
	var text strings.Builder
	var want []string
	for i := range 400 {
		line := strings.Repeat(string(rune('a'+i%26)), i*7%1000)
		want = append(want, line)
		text.WriteString(line + "\n")
	}
	want = append(want, strings.Repeat("z", 3*64<<10), "end")
	text.WriteString(want[400] + "\nend")
	got, err := cut(t, iotest.HalfReader(strings.NewReader(text.String())), MaxLine)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d lines, %v, want %d", len(got), err, len(want))
	}
}

func TestLineLongerThanAMebibyteDoesNotEndTheTrace(t *testing.T) {
	line := func(n int) string {
		const frame = `{"at_us":1,"key":"a","x":""}`
		return frame[:len(frame)-2] + strings.Repeat("x", n-len(frame)) + `"}` + "\n"
	}
	text := line(MaxLine) + line(MaxLine+1) + line(5*MaxLine) + `{"at_us":2,"key":"b"}`
	for _, format := range []string{"jsonl", "auto"} {
		got, r := readAll(t, text, &Options{Format: format})
		if keysOf(got) != "a b" {
			t.Errorf("%s: keys %q, want a b", format, keysOf(got))
		}
		count, first := r.Bad()
		if count != 2 || first[0].Number != 2 || first[1].Number != 3 || first[0].Reason != reasonTooLong {
			t.Errorf("%s: %d bad: %+v", format, count, first)
		}
		if n := len(first[1].Text); n > maxDisplay+len("…") {
			t.Errorf("%s: %d bytes are shown", format, n)
		}
	}
}

func TestBlankLinesAreSkippedAndCounted(t *testing.T) {
	text := "\n \t\r\n{\"at_us\":1,\"key\":\"a\"}\r\n\r\n{\"at_us\":1,\"key\":\"a\"}\n\n"
	_, r := readAll(t, text, nil)
	if want := (Counts{Lines: 6, Events: 2, Skipped: 4, Keys: 1}); r.Counts() != want {
		t.Errorf("counts\n got %+v\nwant %+v", r.Counts(), want)
	}
}

func TestFailingInputIsAnErrorAndNotAShortTrace(t *testing.T) {
	line := `{"at_us":1,"key":"a"}` + "\n"
	for _, sorted := range []bool{false, true} {
		for _, text := range []string{line + line, line + line + `{"at_us":1`} {
			r, err := Open(&failing{strings.NewReader(text), errBroken}, &Options{Format: "jsonl", Sort: sorted})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for err == nil {
				if _, err = r.Next(); err == nil {
					n++
				}
			}
			if want := map[bool]int{false: 2, true: 0}[sorted]; n != want || !errors.Is(err, errBroken) {
				t.Errorf("sorted %v: %d events, then %v", sorted, n, err)
			}
			if !strings.Contains(fmt.Sprint(err), "after line 2") {
				t.Errorf("error %q does not say where", err)
			}
			if _, again := r.Next(); again != err {
				t.Errorf("the error does not stay: %v", again)
			}
		}
	}
	if _, err := Open(&failing{strings.NewReader(""), errBroken}, nil); !errors.Is(err, errBroken) {
		t.Errorf("detection: %v", err)
	}
	if _, err := cut(t, &failing{strings.NewReader(strings.Repeat("x", 100)), errBroken}, 10); !errors.Is(err, errBroken) {
		t.Errorf("inside a long line: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestInputThatNeverAnswersIsAnError(t *testing.T) {
	if _, err := Open(stuck{}, nil); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("Open: %v", err)
	}
}

func TestShownLineIsHarmlessAndShort(t *testing.T) {
	for line, want := range map[string]string{
		"plain äöü":               "plain äöü",
		"\x1b[31mred\x00\t\x7f":   `\x1b[31mred\x00\x09\x7f`,
		"broken \xff\xc3":         `broken \xff\xc3`,
		"back\u202ewards":         `back\xe2\x80\xaewards`,
		strings.Repeat("x", 120):  strings.Repeat("x", 120),
		strings.Repeat("x", 121):  strings.Repeat("x", 120) + "…",
		strings.Repeat("€", 1000): strings.Repeat("€", 40) + "…",
	} {
		if got := display([]byte(line)); got != want {
			t.Errorf("display(%q)\n got %q\nwant %q", line, got, want)
		}
	}
}
