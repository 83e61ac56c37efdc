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
	"github.com/weirgo/weir/internal/generate"
	"github.com/weirgo/weir/store/script/kind"
)

// luaOfUser is the Lua of a custom algorithm that does nothing.
const luaOfUser = "local function decide(state, now, limit) if limit > now then return false end return true end"

// allPrograms are the scripts that a store can send, each by a name.
func allPrograms(t *testing.T) map[string]*program {
	s := open(t, unused, &Options{Scripts: []Source{{Kind: "custom/1", Lua: luaOfUser}}})
	all := map[string]*program{
		"read": readProgram, "swap": swapProgram, "selftest": testProgram, "probe": probeProgram, "document": documentProgram,
		"batch": batchProgram, "batch custom": s.batch, "once": onceProgram, "once custom": s.onceScript,
	}
	for _, source := range s.byKind {
		all["single "+source.Kind] = source.single
	}
	return all
}

// writers are the scripts that never look.
var writers = map[string]bool{"swap": true, "probe": true, "document": true, "once": true, "once custom": true}

// TestGeneratedScriptsAreCurrent: what the server runs is what go generate writes.
func TestGeneratedScriptsAreCurrent(t *testing.T) {
	var files []string
	for _, k := range kind.All() {
		files = append(files, k.File)
	}
	want, err := generate.Scripts(".", files)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := generated.ReadDir("generated")
	if err != nil || len(entries) != len(want) {
		t.Fatalf("%d files, want %d: run go generate (%v)", len(entries), len(want), err)
	}
	for name, text := range want {
		if lua(name) != text {
			t.Errorf("generated/%s.lua is not current: run go generate", name)
		}
	}
}

// TestKindsAreCurrent: the list of kinds is what go generate writes.
func TestKindsAreCurrent(t *testing.T) {
	want, err := generate.List("kind", "Kind", "All", "kinds_generated.go")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("kind/kinds_generated.go")
	if err != nil || string(got) != string(want) {
		t.Errorf("kind/kinds_generated.go is not current: run go generate (%v)", err)
	}
}

// TestScriptsKeepTheRulesOfExactLua (P7, C8): every script names its keys, makes
// text of numbers in one way, divides with floor, reads the clock once and touches
// no global; and where it looks it reaches no write.
func TestScriptsKeepTheRulesOfExactLua(t *testing.T) {
	for name, p := range allPrograms(t) {
		for _, problem := range checkLua(p.text, !writers[name]) {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

func TestRulesOfLuaFindWhatBreaksThem(t *testing.T) {
	const helpers = "local call = redis.call local try = redis.pcall local floor = math.floor local function text(x) return string.format('%.0f', x) end local argv, writes = ARGV, ARGV[2] ~= '' "
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
			"local n = 1 return 'a' .. n + 1", "local n = 1 return n * 2 .. 'a'", "local f = string.format return f('%s', 5)", "return string.format('%d', 5)", "return string.format('%s', 5)",
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
			"call('DEL', KEYS[1])", "if KEYS[1] then call('DEL', KEYS[1]) end", "if KEYS[1] or writes then call('DEL', KEYS[1]) end",
			"if not writes then call('DEL', KEYS[1]) end", "if KEYS[1] and writes then return 1 else call('DEL', KEYS[1]) end",
			"local function f(key) try('SET', key, '1') end f(KEYS[1])",
			"local function f(key) call('SET', key, '1') end local function g(key) f(key) end g(KEYS[1])",
			"if writes == false then call('DEL', KEYS[1]) end", "if 1 and writes then return 1 end call('DEL', KEYS[1])",
			"if argv[2] == '' then call('DEL', KEYS[1]) end", "if argv[3] ~= '' then call('DEL', KEYS[1]) end",
			"local function write(key) call('DEL', key) end local t = { write = write } t.write(KEYS[1])",
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
		"return 'a' .. text(5) .. 'b'", "return floor((5 + 1) / 3) * 2", "if KEYS[1] and writes then call('DEL', KEYS[1]) end", "if argv[2] ~= '' then call('DEL', KEYS[1]) end",
		"local function write(key) call('DEL', key) end local t = { write = write } if writes then t.write(KEYS[1]) end",
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

// TestGeneratedScriptsSayWhatTheyAre: what goes in, what comes out, and the Go beside it.
func TestGeneratedScriptsSayWhatTheyAre(t *testing.T) {
	known := goFunctions(t)
	entries, err := generated.ReadDir("generated")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(\w+\.\w+) in (?:-- )?([\w/]+\.go)`)
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".lua")
		if name == "user" {
			continue // a part of others
		}
		text := lua(name)
		head := ""
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "--") {
				break
			}
			head += line
		}
		body := strings.TrimPrefix(text, head)
		for _, word := range []string{"KEYS", "ARGV"} {
			if strings.Contains(body, word) != strings.Contains(head, word) {
				t.Errorf("%s uses %s or says so, and not both", entry.Name(), word)
			}
		}
		for _, part := range []string{"\n-- reply", "\n-- Go"} {
			if !strings.Contains(head, part) {
				t.Errorf("%s has no line%s", entry.Name(), part)
			}
		}
		found := names.FindAllStringSubmatch(strings.ReplaceAll(text, "\n", " "), -1)
		if len(found) == 0 {
			t.Errorf("%s names no Go", entry.Name())
		}
		for _, m := range found {
			if !slices.Contains(known[filepath.Base(m[2])], m[1]) {
				t.Errorf("%s names %s in %s, which there is not; there are %v", entry.Name(), m[1], m[2], known[filepath.Base(m[2])])
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

// TestEveryFamilyHasLua: a new algorithm is not forgotten.
func TestEveryFamilyHasLua(t *testing.T) {
	var want []string
	for _, family := range algorithm.Families() {
		want = append(want, family.Kind)
	}
	byKind, _, err := sourcesOf(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(byKind)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("there is Lua for %v, want %v", got, want)
	}
}
