package script

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed lua/*.lua
var files embed.FS

// program is a script as the server runs it.
type program struct {
	text     string
	sha      string // by which EVALSHA names it
	readOnly bool
	eval     string // EVALSHA, or EVALSHA_RO where it is read-only
	load     string // EVAL or EVAL_RO, which also makes it known
}

// programs are those that were made: a process has few, and stores come and go.
var programs sync.Map // of *program, by what they were made of

func newProgram(writes bool, parts ...string) *program {
	source := strconv.FormatBool(writes) + strings.Join(parts, "\n")
	if made, known := programs.Load(source); known {
		return made.(*program)
	}
	made, _ := programs.LoadOrStore(source, makeProgram(writes, parts))
	return made.(*program)
}

func makeProgram(writes bool, parts []string) *program {
	text := withHelpers(strings.Join(parts, "\n"))
	text = strings.ReplaceAll(text, "WRITES", strconv.FormatBool(writes))
	sum := sha1.Sum([]byte(text)) // the protocol names scripts so
	p := &program{text: text, sha: hex.EncodeToString(sum[:]), readOnly: !writes, eval: "EVALSHA", load: "EVAL"}
	if !writes {
		p.eval, p.load = "EVALSHA_RO", "EVAL_RO"
	}
	return p
}

// pair is a script that decides, and the same without its writes.
type pair struct{ apply, peek *program }

func newPair(parts ...string) pair {
	return pair{newProgram(true, parts...), newProgram(false, parts...)}
}

func (p pair) program(take bool) *program {
	if take {
		return p.apply
	}
	return p.peek
}

// lua returns the text of a file in lua/.
func lua(name string) string {
	text, err := files.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // embedded with this code
	}
	return string(text)
}

// helpers are the parts of prelude.lua and values.lua, in order.
var helpers = func() (all []helper) {
	for part := range strings.SplitSeq(unfolded("prelude")+"\n"+unfolded("values"), "\n\n") {
		if name := defines.FindStringSubmatch(part); name != nil {
			all = append(all, helper{name[1], strings.TrimSpace(part), functions.MatchString(part)})
		}
	}
	return all
}()

// helper is a part that defines one name.
type helper struct {
	name     string
	text     string
	function bool
}

// isUsed reports whether text has the name of h as a word, and not as that of a field.
func (h *helper) isUsed(text string) bool {
	inWord := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
	}
	for at := 0; ; {
		i := strings.Index(text[at:], h.name)
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(h.name)
		if (begin == 0 || !inWord(text[begin-1]) && text[begin-1] != '.') && (end == len(text) || !inWord(text[end])) {
			return true
		}
		at = end
	}
}

var defines = regexp.MustCompile(`(?m)^local (?:function )?(\w+)`)

// withHelpers puts in front of text the helpers that it uses, and those that they use:
// to define a function on the server costs as much as to call it. What text defines
// itself it has where it needs it.
func withHelpers(text string) string {
	for _, h := range slices.Backward(helpers) {
		head, _, _ := strings.Cut(h.text, "\n")
		if h.isUsed(text) && !(h.function && strings.Contains(text, head)) {
			text = h.text + "\n" + text
		}
	}
	return text
}

// withFunctions puts in front of the Lua of a user the functions of prelude.lua that it
// uses, which the rest of a script has elsewhere.
func withFunctions(text string) string {
	for _, h := range slices.Backward(helpers) {
		ours := slices.ContainsFunc(prelude, func(f function) bool { return f.name == h.name })
		if ours && h.isUsed(text) {
			text = h.text + "\n" + text
		}
	}
	return text
}

// lonePrograms are for one op of one kind.
func lonePrograms(s *source) pair {
	if s.custom {
		call := strings.Replace(callDecide, ", NUMBERS", numbersAfter(s.count), 1)
		return newPair(s.text(), strings.Replace(unfolded("lone"), "DECIDE", call, 1))
	}
	return newPair(lone(loneKey{s.Lua, s.count, s.log}))
}

// loneKey is what the script for one op of a built-in kind is made of.
type loneKey struct {
	lua   string
	count int // of the numbers of a call
	log   bool
}

var lone = remember(func(key loneKey) string {
	driver, results := code("lone"), "after, life"
	all := functionsOf(key.lua)
	if key.log {
		var write function
		write, all = take(all, "append")
		driver, results = strings.Replace(code("lonelog"), "APPEND", write.body, 1), "after, life, before"
	}
	decide, others := take(all, "decide")
	driver = strings.Replace(driver, "DECIDE", unfoldDecide(decide, key.count, results), 1)
	return byFullName(inLine(driver, slices.Concat(prelude, others)))
})

// callDecide stands in the script for one op where the Lua is a user's.
const callDecide = `local admitted
admitted, after, life = decide(state, now, NUMBERS)
if admitted == nil then return after or '!' end
if not admitted then verdict = '-' end`

// numbersAfter are the numbers of a call behind other arguments.
func numbersAfter(count int) string {
	if count == 0 {
		return ""
	}
	return ", " + numbersOf(nil, count)
}

// listPrograms are for groups of ops of all kinds. Functions are defined for the kinds
// that a call has.
func listPrograms(sources []*source) pair {
	parts := []string{usedKinds}
	for _, s := range sources {
		index := "['" + strconv.Itoa(s.index) + "']"
		kind := "{ decide = decide }"
		if s.log {
			kind = "{ decide = decide, append = append }"
		}
		parts = append(parts, "if all or used"+index+" then", s.text(), "kinds"+index+" = "+kind, "end")
	}
	return newPair(append(parts, unfolded("list"))...)
}

// usedKinds finds the kinds of the calls in ARGV, which list.lua describes. No call is
// a check that all kinds are Lua.
const usedKinds = `local kinds, used, all, at = {}, {}, ARGV[3] == '0', 4
for _ = 1, ARGV[3] + 0 do
  used[ARGV[at]] = true
  at = at + 2 + ARGV[at + 1]
end`

var (
	readProgram  = newProgram(false, unfolded("whole"), unfolded("read"))
	swapProgram  = newProgram(true, unfolded("whole"), unfolded("swap"))
	testProgram  = newProgram(false, unfolded("selftest"))
	probeProgram = newProgram(true, unfolded("probe"))
)
