package acceptance_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// traced is a call of a script as MONITOR shows it: the keys that it declares, and
// the commands that it runs.
type traced struct {
	keys     []string
	commands [][]string
}

// trace takes the lines of a monitor apart. Commands that are no scripts and come
// from clients by themselves, such as PING, are left out.
func trace(t *testing.T, lines []string) (all []traced) {
	t.Helper()
	for _, line := range lines {
		head, rest, _ := strings.Cut(line, "] ")
		words := split(t, rest)
		command := strings.ToUpper(words[0])
		switch {
		case strings.HasSuffix(head, " lua"):
			if len(all) == 0 {
				t.Fatalf("a command of no script: %s", line)
			}
			last := &all[len(all)-1]
			last.commands = append(last.commands, append([]string{command}, words[1:]...))
		case strings.HasPrefix(command, "EVAL"):
			n, err := strconv.Atoi(words[2])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			all = append(all, traced{keys: words[3 : 3+n]})
		case !slices.Contains([]string{"PING", "HELLO", "CLIENT", "ECHO", "CONFIG", "INFO", "SCRIPT"}, command):
			t.Fatalf("a command that nobody asked for: %s", line)
		}
	}
	return all
}

// split reads the quoted words of a line.
func split(t *testing.T, text string) (words []string) {
	t.Helper()
	for text != "" {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", quoted, err)
		}
		words = append(words, word)
		text = strings.TrimPrefix(text[len(quoted):], " ")
	}
	return words
}

// reading are the commands with a key that write nothing.
var reading = map[string]bool{"GET": true, "LLEN": true, "LINDEX": true, "LRANGE": true}

// mustTouchOnlyItsKeys checks that a call touches no key that it has not declared,
// and reads the clock once.
func (c traced) mustTouchOnlyItsKeys(t *testing.T) {
	t.Helper()
	clock := 0
	for _, command := range c.commands {
		if command[0] == "TIME" {
			clock++
		} else if len(command) < 2 || !slices.Contains(c.keys, command[1]) {
			t.Errorf("%q touches a key that was not declared: %q", command, c.keys)
		}
	}
	if clock > 1 {
		t.Errorf("the clock was read %d times", clock)
	}
}

// written are the keys that a call writes.
func (c traced) written() map[string]bool {
	keys := map[string]bool{}
	for _, command := range c.commands {
		if command[0] != "TIME" && !reading[command[0]] {
			keys[command[1]] = true
		}
	}
	return keys
}

// writtenBy are the keys that any of the calls writes, and checks what each touches.
func writtenBy(t *testing.T, calls []traced) map[string]bool {
	t.Helper()
	keys := map[string]bool{}
	for _, c := range calls {
		c.mustTouchOnlyItsKeys(t)
		maps.Copy(keys, c.written())
	}
	return keys
}
