package script

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
)

// luaOfUser is the Lua of a custom algorithm that does nothing.
const luaOfUser = "local function decide(state, now, limit) if limit > now then return false end return true end"

// allPrograms are the scripts that a store can send, each by a name.
func allPrograms(t *testing.T) map[string]*program {
	s := open(t, unused, &Options{Scripts: []Source{{Kind: "custom/1", Lua: luaOfUser}}})
	all := map[string]*program{
		"read": readProgram, "swap": swapProgram, "selftest": testProgram, "probe": probeProgram,
		"list": s.list.apply, "list/peek": s.list.peek,
	}
	for _, source := range s.byKind {
		source.count = 5
		lone := lonePrograms(source)
		all["lone "+source.Kind], all["lone "+source.Kind+"/peek"] = lone.apply, lone.peek
	}
	return all
}

// TestScriptsKeepTheRulesOfExactLua (P7, C8): every script names its keys, makes
// text of numbers in one way, divides with floor, reads the clock once and touches
// no global; and the peek of each reaches no write.
func TestScriptsKeepTheRulesOfExactLua(t *testing.T) {
	for name, p := range allPrograms(t) {
		for _, problem := range checkLua(folded(p.text), p.eval == "EVALSHA_RO") {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// folded has calls of expressions in place of what was unfolded of them, and of nothing
// else, and in front the functions that they are.
func folded(text string) string {
	head := ""
	for _, f := range slices.Backward(prelude) {
		words := strings.Fields(f.body)
		if words[0] != "return" {
			continue
		}
		head = f.text + "\n" + head
		params := strings.Split(f.params, ", ")
		var places []int // of the parameters in the expression
		expression := variable.ReplaceAllStringFunc(unfoldExpressions(strings.Join(words[1:], " ")), func(name string) string {
			if i := slices.Index(params, name); i >= 0 {
				places = append(places, i)
				return "PARAMETER"
			}
			return name
		})
		shape := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta("("+expression+")"), "PARAMETER", `(\w+)`))
		text = shape.ReplaceAllStringFunc(text, func(found string) string {
			args := make([]string, len(params))
			for i, arg := range shape.FindStringSubmatch(found)[1:] {
				if known := args[places[i]]; known != "" && known != arg {
					return found
				}
				args[places[i]] = arg
			}
			return f.name + "(" + strings.Join(args, ", ") + ")"
		})
	}
	return "local floor = math.floor\nlocal format = string.format\n" + head + text
}

func TestScriptsThatLookAreSentAsReadOnly(t *testing.T) {
	writers := map[string]bool{"swap": true, "probe": true}
	for name, p := range allPrograms(t) {
		want := [2]string{"EVALSHA", "EVAL"}
		if !writers[name] && (strings.HasSuffix(name, "/peek") || !strings.HasPrefix(name, "l")) {
			want = [2]string{"EVALSHA_RO", "EVAL_RO"}
		}
		if got := [2]string{p.eval, p.load}; got != want {
			t.Errorf("%s is sent by %v, want %v", name, got, want)
		}
		if strings.Contains(p.text, "WRITES") || strings.Contains(p.text, "NUMBERS") {
			t.Errorf("%s has a place that was not filled", name)
		}
	}
}

func TestRulesOfLuaFindWhatBreaksThem(t *testing.T) {
	const helpers = "local call = redis.call local try = redis.pcall local floor = math.floor local format = string.format local function text(x) return format('%.0f', x) end "
	for rule, snippets := range map[string][]string{
		"key": {
			"call('GET', 'fixed')", "call('SET', ARGV[1], '1')", "call('GET', KEYS[1] .. ':more')",
			"local function f(key) return call('GET', key) end return f(ARGV[1])",
			"local key = ARGV[1] return call('GET', key)",
			"local a, key = KEYS[1], 5 return call('GET', key)",
			"local key = KEYS[1] do local key = 3 call('DEL', key) end",
			"local t = {} t[1] = ARGV[1] return call('GET', t[1])",
			"local key = KEYS[1] or ARGV[1] return call('GET', key)",
			"call('GET')",
		},
		"call": {
			"call('FLUSHALL')", "call(ARGV[1], KEYS[1])", "redis.call('GET', KEYS[1])", "local c = call c('GET', 'x')",
			"call('get', KEYS[1])",
		},
		"text": {
			"return tostring(5)", "return 5 .. ''", "local x = 5 return x .. ''", "return 'a' .. #KEYS", "return 'a' .. (5 + 1)",
			"local n = 1 return 'a' .. n + 1", "local n = 1 return n * 2 .. 'a'", "return format('%d', 5)", "return string.format('%s', 5)",
			"local t = { 5 } return table.concat(t, ',')", "local n = 1 return (n or 'x') .. 'a'", "local n = 1 return 'a' .. (n == 1 and n or 'x')",
			"local n = 1 return 'a' .. floor(n)", "return 'a' .. redis.sha", "return 'a' .. text(1) + 1", "return 'a' .. text(1) .. 5",
		},
		"division": {
			"return 5 / 3", "return floor(5 / 3 + 1)", "return floor((5 / 3) * 2)", "return (5 / 3)", "return math.max(5 / 3)",
			"return floor(5) / 3", "return floor(5 / 3 / 2)",
		},
		"global": {
			"x = 5", "local y = x", "KEYS = {}", "KEYS[1] = 'other'", "math.floor = nil", "function f() end", "print('x')",
			"local function f() count = 1 end", "for i = 1, 5 do end return i", "if KEYS then local a = 1 end return a", "os.time()",
			"string.x.y = 1", "goto done",
		},
		"time": {
			"local a = call('TIME') local b = call('TIME')", "for i = 1, 2 do local a = call('TIME') end",
			"local function f() return call('TIME') end f() f()", "while true do call('TIME') end", "repeat call('TIME') until true",
			"local function clock() return call('TIME') end for i = 1, 2 do clock() end",
			"local function clock() return call('TIME') end clock() clock()",
		},
		"peek": {
			"call('DEL', KEYS[1])", "if KEYS[1] then call('DEL', KEYS[1]) end", "if KEYS[1] or false then call('DEL', KEYS[1]) end",
			"if not false then call('DEL', KEYS[1]) end", "if KEYS[1] and false then return 1 else call('DEL', KEYS[1]) end",
			"local function f(key) try('SET', key, '1') end f(KEYS[1])",
			"local function f(key) call('SET', key, '1') end local function g(key) f(key) end g(KEYS[1])",
			"if KEYS[1] == false then call('DEL', KEYS[1]) end", "if 1 and false then return 1 end call('DEL', KEYS[1])",
		},
		"lua": {
			"return 5 // 3", "return 0x10", "return 1.5", "return 1e3", "return 'open", "return {", "return )", "if true then", "end",
			"return 5 & 3", "return ~5", "--[[ long ]]", "return (5]",
		},
	} {
		for _, snippet := range snippets {
			problems := checkLua(helpers+snippet, true)
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.HasPrefix(p, rule+":") }) {
				t.Errorf("%s is not found by the rule %q: %q", snippet, rule, problems)
			}
		}
	}
	for _, snippet := range []string{
		"return 'a' .. text(5) .. 'b'", "return floor((5 + 1) / 3) * 2", "if KEYS[1] and false then call('DEL', KEYS[1]) end",
		"local key, n = KEYS[1], 5 return call('GET', key)", "local function f(key) return call('GET', key) end return f(KEYS[2])",
		"local t = { floor = 1, text = 2 } return t.floor", "local n = 1 return 'a' .. (n == 1 and 'y' or 'x')", "-- tostring(5 / 3)",
		"local a = 'tostring / ..' return a", "for i = 1, #KEYS do call('LLEN', KEYS[i]) end",
		"local t, key = {}, KEYS[1] t[#t + 1] = key return call('GET', t[1])", "local x = 1 x = x + 1 return x",
	} {
		if problems := checkLua(helpers+snippet, true); len(problems) > 0 {
			t.Errorf("%s is fine: %q", snippet, problems)
		}
	}
}

// TestLuaFilesSayWhatTheyAre: what goes in, what comes out, and the Go beside it.
func TestLuaFilesSayWhatTheyAre(t *testing.T) {
	known := goFunctions(t)
	entries, err := files.ReadDir("lua")
	if err != nil {
		t.Fatal(err)
	}
	helper := map[string]bool{"prelude": true, "values": true, "whole": true, "user": true}
	mirrors := regexp.MustCompile(`(\w+\.\w+)\s+(?:--\s+)?in\s+(?:--\s+)?([\w/]+\.go)`)
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".lua")
		text := lua(name)
		head := ""
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "--") {
				break
			}
			head += line
		}
		if len(head) < 30 {
			t.Errorf("%s does not open with a comment", entry.Name())
		}
		body := strings.TrimPrefix(text, head)
		for _, word := range []string{"KEYS", "ARGV"} {
			if strings.Contains(body, word) != strings.Contains(head, word) {
				t.Errorf("%s uses %s or says so, and not both", entry.Name(), word)
			}
		}
		if helper[name] {
			continue
		}
		kind := strings.Contains(body, "local function decide(")
		if !kind && !strings.Contains(head, "\n-- reply") {
			t.Errorf("%s does not say what it replies", entry.Name())
		}
		if kind && !strings.Contains(head, "state") && !strings.Contains(head, "list") {
			t.Errorf("%s does not say what its state is", entry.Name())
		}
		if !regexp.MustCompile(`\bGo\b`).MatchString(head) {
			t.Errorf("%s does not name its Go", entry.Name())
		}
		for _, mirror := range mirrors.FindAllStringSubmatch(head, -1) {
			if !slices.Contains(known[filepath.Base(mirror[2])], mirror[1]) {
				t.Errorf("%s names %s in %s, which there is not; there are %v", entry.Name(), mirror[1], mirror[2], known[filepath.Base(mirror[2])])
			}
		}
	}
}

// goFunctions are the methods by file, as Type.Method.
func goFunctions(t *testing.T) map[string][]string {
	method := regexp.MustCompile(`(?m)^func \(\w+ \*?(\w+)\) (\w+)\(`)
	all := map[string][]string{}
	for _, folder := range []string{".", "../../algorithm"} {
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatal(folder, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range method.FindAllStringSubmatch(string(text), -1) {
				all[filepath.Base(path)] = append(all[filepath.Base(path)], m[1]+"."+m[2])
			}
		}
	}
	return all
}

// TestKindsWithLuaAreThoseOfPackageAlgorithm: a new algorithm is not forgotten.
func TestKindsWithLuaAreThoseOfPackageAlgorithm(t *testing.T) {
	want := []string{
		algorithm.KindGCRA, algorithm.KindTokenBucket, algorithm.KindLeakyBucket,
		algorithm.KindFixedWindow, algorithm.KindSlidingLog, algorithm.KindSlidingCounter,
	}
	_, byKind, err := sourcesOf(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(byKind)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("there is Lua for %v, want %v", got, want)
	}
}
