package trace

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// FuzzCombinedLine checks that no line disturbs the parser, and that what it understood of a line, written as a server would write
// it, is understood as the same.
func FuzzCombinedLine(f *testing.F) {
	f.Fuzz(func(t *testing.T, line []byte) {
		host, used := checkLine(t, line, fuzzed(t, "combined"))
		if !used {
			return
		}
		var clf fields
		reason := parserOf(t, "clf", "").parse(line, &clf)
		if byHost := parserOf(t, "combined", "").parse(line, &host); reason != byHost || clf.at != host.at || !bytes.Equal(clf.key, host.key) {
			t.Fatalf("%q: clf reads it otherwise: %q", line, reason)
		}
		checkRendered(t, line)
	})
}

// combinedFields are the fields of a line in order, the quoted ones decoded where they can be, and the time in µs.
func combinedFields(t *testing.T, line []byte) (got [9]string) {
	l := newLayout(combinedTemplate, layoutOptions{backslash: true, more: true})
	names := []string{"host", "ident", "user", "time", "request", "status", "bytes", "referer", "user_agent"}
	if err := l.want(names); err != nil {
		t.Fatal(err)
	}
	values := make([][]byte, len(names))
	if reason := l.cut(line, values); reason != "" {
		t.Fatalf("%q: %s", line, reason)
	}
	for i, value := range values {
		got[i] = string(value)
		if text, ok := unescape(value); ok && (names[i] == "request" || names[i] == "referer" || names[i] == "user_agent") {
			got[i] = "text " + string(text)
		}
	}
	at, reason := date(values[3])
	if reason != "" {
		t.Fatalf("%q: %s", line, reason)
	}
	got[3] = time.UnixMicro(at.micros).UTC().Format("02/Jan/2006:15:04:05 -0700")
	return got
}

func checkRendered(t *testing.T, line []byte) {
	before := combinedFields(t, line)
	again := fmt.Appendf(nil, `%s %s %s [%s] "%s" %s %s "%s" "%s"`, before[0], before[1], before[2], before[3],
		escape(before[4]), before[5], before[6], escape(before[7]), escape(before[8]))
	if after := combinedFields(t, again); before != after {
		t.Fatalf("%q\nrendered %q\nbefore %q\n after %q", line, again, before, after)
	}
}

// escape writes a decoded field again as Apache does, and another as it is.
func escape(field string) string {
	text, decoded := strings.CutPrefix(field, "text ")
	if !decoded {
		return field
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
