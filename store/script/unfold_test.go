package script

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDecidesCanBeUnfolded: within a loop a break would leave the wrong block, and a
// local could hide what the driver has under the same name.
func TestDecidesCanBeUnfolded(t *testing.T) {
	list, _, err := sourcesOf(nil)
	if err != nil {
		t.Fatal(err)
	}
	loops := regexp.MustCompile(`\b(for|while|repeat|function)\b`)
	locals := regexp.MustCompile(`\blocal ([\w, ]+)`)
	drivers := locals.FindAllStringSubmatch(code("lone")+code("lonelog"), -1)
	for _, source := range list {
		decide, _ := take(functionsOf(source.Lua), "decide")
		if loop := loops.FindString(decide.body); loop != "" {
			t.Errorf("%s: decide has a %s", source.Kind, loop)
		}
		names := strings.Split(decide.params, ", ")[2:]
		for _, m := range locals.FindAllStringSubmatch(decide.body, -1) {
			names = append(names, strings.Split(strings.TrimSpace(m[1]), ", ")...)
		}
		for _, m := range drivers {
			for _, name := range strings.Split(strings.TrimSpace(m[1]), ", ") {
				if slices.Contains(names, name) {
					t.Errorf("%s: decide has a local %s, as the driver has", source.Kind, name)
				}
			}
		}
	}
}

// TestScriptsForOneOpHaveNoFunctionsOnTheWay: what they define is in a branch.
func TestScriptsForOneOpHaveNoFunctionsOnTheWay(t *testing.T) {
	list, _, err := sourcesOf(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range list {
		source.count = 5
		text := lonePrograms(source).apply.text
		depth := 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "local function ") && depth == 0 {
				t.Errorf("%s: %s", source.Kind, line)
			}
			words := regexp.MustCompile(`\b(then|elseif|function|do|end)\b`).FindAllString(line, -1)
			for _, word := range words {
				switch word {
				case "then", "function", "do":
					depth++
				case "elseif", "end":
					depth--
				}
			}
		}
		if depth != 0 {
			t.Errorf("%s: %d blocks are open at the end", source.Kind, depth)
		}
	}
}

// TestScriptsAreSentWithoutComments: they would be text to send and to search only.
func TestScriptsAreSentWithoutComments(t *testing.T) {
	for name, p := range allPrograms(t) {
		if strings.Contains(p.text, "--") {
			t.Errorf("%s has a comment", name)
		}
	}
}

func TestReturnsOfDecideLeaveTheBlockAroundThem(t *testing.T) {
	decide, _ := take(functionsOf(`local function decide(state, now, limit, cost)
  if not state then return nil end
  if now < 0 then return call('GET', state) end
  if cost > limit then return false end
  if cost == 0 then
    return true
  end
  if cost == 1 then return true, text(now), cost end
  return true, text(now) .. ' ' .. text(cost), cost
end`), "decide")
	const want = `local limit, cost = argv[3] + 0, argv[4] == '1' and 1 or argv[4] + 0
  if not state then return '!' end
  if now < 0 then return call('GET', state) end
  if cost > limit then verdict = '-'; break end
  if cost == 0 then
    break
  end
  if cost == 1 then after, life = now, cost; break end
  after, life = text(now) .. ' ' .. text(cost), cost
break
`
	if got := unfoldDecide(decide, 2, "after, life"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestExpressionsAreUnfoldedByTheNamesOfTheirArguments(t *testing.T) {
	const small = "(x < 2147483648 and format('%d', x) or format('%d%08d', floor(x / 100000000), x % 100000000))"
	for text, want := range map[string]string{
		"return text(x)":                small,
		"return text(d)":                strings.ReplaceAll(small, "x", "d"),
		"return text(5), text(x + 1)":   "return text(5), text(x + 1)",
		"local function text(x) end":    "local function text(x) end",
		"return context(x), subtext(x)": "return context(x), subtext(x)",
	} {
		if got := unfoldExpressions(text); strings.TrimPrefix(got, "return ") != strings.TrimPrefix(want, "return ") {
			t.Errorf("%s gives\n%s, want\n%s", text, got, want)
		}
	}
	if got := unfoldExpressions("words4(b, c, d, a)"); !strings.Contains(got, "format('%d%08d %d %d %d', floor(b / 100000000), b % 100000000, c, d, a)") {
		t.Errorf("arguments with names of parameters: %s", got)
	}
	if got := folded(unfoldExpressions("return words4(b, c, d, a), words3(x, y, z), text(a)")); !strings.HasSuffix(got, "return words4(b, c, d, a), words3(x, y, z), text(a)") {
		t.Errorf("folded back: %s", got)
	}
}
