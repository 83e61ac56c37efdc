package script

import (
	"regexp"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
)

// The debug build of the scripts (A5): after every assignment it looks at what was
// assigned, and a number that is not whole, or not below 2^53 in size, is an error.
const boundCheck = `
local function bound(...)
  for i = 1, select('#', ...) do
    local x = select(i, ...)
    if type(x) == 'number' and (x ~= math.floor(x) or x >= 9007199254740992 or x <= -9007199254740992) then
      error('beyond the bounds: ' .. string.format('%.17g', x))
    end
  end
  return ...
end
`

var (
	assigns       = regexp.MustCompile(`^\s*(?:local )?(\w+(?:, \w+)*) = [^{]*[\w')\]]$`)
	assignsInLine = regexp.MustCompile(`\b(then|else) (local )?(\w+(?:, \w+)*) = ([^{;]*?) end\b`)
	opens         = regexp.MustCompile(`\b(function|if|do)\b`)
	comment       = regexp.MustCompile(`\s*--.*$`)
)

// beyond2to53 are the assignments that may pass 2^53: what is compared with it.
var beyond2to53 = []string{"local product = a * b"}

// debugText adds the checks and says how many there are.
func debugText(text string) (debug string, checks int) {
	var b strings.Builder
	b.WriteString(boundCheck)
lines:
	for line := range strings.Lines(text) {
		line = comment.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
		for _, exempt := range beyond2to53 {
			if strings.TrimSpace(line) == exempt {
				b.WriteString(line + "\n")
				continue lines
			}
		}
		if m := assigns.FindStringSubmatch(line); m != nil && !opens.MatchString(line) {
			line += " bound(" + m[1] + ")"
			checks++
		}
		if changed := assignsInLine.ReplaceAllString(line, "$1 $2$3 = $4; bound($3) end"); changed != line {
			line = changed
			checks++
		}
		b.WriteString(line + "\n")
	}
	return b.String(), checks
}

func debugProgram(p *program) *program {
	text, _ := debugText(p.text)
	return newProgram(text)
}

// debugBuild makes a store use the debug build of its scripts.
func debugBuild(s *Store) {
	s.batch = debugProgram(s.batch)
	for _, source := range s.byKind {
		source.single = debugProgram(source.single)
	}
}

// TestDebugBuildSeesWhatPassesTheBounds: it has a check for most of what the scripts
// compute, and each finds what it is for. The histories of twin_test.go run on it.
func TestDebugBuildSeesWhatPassesTheBounds(t *testing.T) {
	for name, p := range allPrograms(t) {
		_, checks := debugText(p.text)
		if (name == "batch" || strings.HasPrefix(name, "single ")) && !strings.Contains(name, "custom") && checks < 8 {
			t.Errorf("%s: %d checks", name, checks)
		}
	}
	server := servertest.Start(t, servertest.Redis, nil)
	w := dialWire(t, server)
	for _, snippet := range []string{
		"local x = 9007199254740991 + 1\nreturn 1", "local x = -9007199254740991 - 1\nreturn 1", "local x = 1 / 2\nreturn 1", "local x = 0 / 0\nreturn 1",
		"local a, b = 1, 2\n  a, b = 5, 1 / 2\nreturn 1", "if KEYS then local x = 1 / 2 end\nreturn 1", "if not KEYS then return 2 else local x = 1 / 0 end return 1",
	} {
		text, _ := debugText(snippet)
		_, err := server.Try("EVAL", text, "0")
		if err == nil || !strings.Contains(err.Error(), "beyond the bounds") {
			t.Errorf("%s: %v", snippet, err)
		}
		if got := w.ask(t, "EVAL", snippet, "0"); got != "1" {
			t.Errorf("%s: %s without the checks", snippet, got)
		}
	}
}
