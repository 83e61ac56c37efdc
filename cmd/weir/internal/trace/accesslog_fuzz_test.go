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
		var host, path, pair, agent fields
		reason := (&accessLog{combined: true}).parse(line, &host)
		pathReason := (&accessLog{combined: true, key: KeyPath}).parse(line, &path)
		pairReason := (&accessLog{combined: true, key: KeyHostPath}).parse(line, &pair)
		agentReason := (&accessLog{combined: true, key: KeyUserAgent}).parse(line, &agent)
		if reason != "" {
			if pathReason != reason || pairReason != reason || agentReason != reason {
				t.Fatalf("%q: a key makes a bad line good, or changes the reason", line)
			}
			return
		}
		if len(host.key) == 0 || pathReason == "" && len(path.key) == 0 || agentReason == "" && len(agent.key) == 0 {
			t.Fatalf("%q: empty key", line)
		}
		if host.at < 0 || host.at > MaxAt || host.cost != 1 {
			t.Fatalf("%q: at %d cost %d", line, host.at, host.cost)
		}
		if pairReason != pathReason {
			t.Fatalf("%q: path: %q, host+path: %q", line, pathReason, pairReason)
		}
		if h, p, _ := bytes.Cut(pair.key, []byte(" ")); pairReason == "" && (!bytes.Equal(h, host.key) || !bytes.Equal(p, path.key)) {
			t.Fatalf("%q: %q is not %q and %q", line, pair.key, host.key, path.key)
		}
		var clf fields
		if reason := (&accessLog{}).parse(line, &clf); reason != "" || clf.at != host.at || !bytes.Equal(clf.key, host.key) {
			t.Fatalf("%q: clf reads it otherwise: %q", line, reason)
		}
		checkRendered(t, line)
	})
}

func checkRendered(t *testing.T, line []byte) {
	var a, b logLine
	if reason := a.parse(line, true); reason != "" {
		t.Fatalf("%q: %s", line, reason)
	}
	again := render(&a)
	if reason := b.parse(again, true); reason != "" {
		t.Fatalf("%q\nrendered %q\nis refused: %s", line, again, reason)
	}
	show := func(l *logLine) string {
		return fmt.Sprintf("%q %q %q %d %q %q %q %q %q %q", l.host, l.ident, l.user, l.at,
			plain(l.request), l.status, l.bytes, plain(l.referer), plain(l.agent), l.extra)
	}
	if show(&a) != show(&b) {
		t.Fatalf("%q\nrendered %q\nbefore %s\n after %s", line, again, show(&a), show(&b))
	}
}

// plain is the text of a quoted field, or the field where an escape in it is unknown.
func plain(field []byte) string {
	if text, ok := unescape(field); ok {
		return "text " + string(text)
	}
	return "field " + string(field)
}

func render(l *logLine) []byte {
	return fmt.Appendf(nil, `%s %s %s [%s] "%s" %s %s "%s" "%s"%s`, l.host, l.ident, l.user,
		time.UnixMicro(l.at).UTC().Format("02/Jan/2006:15:04:05 -0700"),
		escape(l.request), l.status, l.bytes, escape(l.referer), escape(l.agent), l.extra)
}

// escape writes a field again as Apache does.
func escape(field []byte) string {
	text, ok := unescape(field)
	if !ok {
		return string(field)
	}
	var b strings.Builder
	for _, c := range text {
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
