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
	for part := range strings.SplitSeq(code("prelude")+"\n"+code("values"), "\n\n") {
		if name := defines.FindStringSubmatch(part); name != nil {
			all = append(all, helper{strings.TrimSpace(part), regexp.MustCompile(`\b` + name[1] + `\b`)})
		}
	}
	return all
}()

// helper is a part that defines one name.
type helper struct {
	text string
	used *regexp.Regexp
}

var defines = regexp.MustCompile(`(?m)^local (?:function )?(\w+)`)

// withHelpers puts in front of text the helpers that it uses and does not define, and
// those that they use: to define a function on the server costs as much as to call it.
func withHelpers(text string) string {
	for _, h := range slices.Backward(helpers) {
		if h.used.MatchString(text) && !strings.Contains(text, h.text) {
			text = h.text + "\n" + text
		}
	}
	return text
}

// lonePrograms are for one op of one kind.
func lonePrograms(s *source) pair {
	numbers := make([]string, s.count)
	for i := range numbers {
		numbers[i] = "ARGV[" + strconv.Itoa(3+i) + "] + 0"
	}
	if s.custom {
		call := strings.ReplaceAll(callDecide, "NUMBERS", strings.Join(numbers, ", "))
		return newPair(s.text(), strings.Replace(code("lone"), "DECIDE", call, 1))
	}
	driver, results := code("lone"), "after, life"
	if s.log {
		driver, results = code("lonelog"), "after, life, before"
	}
	all := functionsOf(s.Lua)
	if s.log {
		var write function
		write, all = take(all, "append")
		driver = strings.Replace(driver, "APPEND", write.body, 1)
	}
	decide, all := take(all, "decide")
	driver = strings.Replace(driver, "DECIDE", unfoldDecide(decide, numbers, results), 1)
	return newPair(define(driver, append(functionsOf(code("prelude")), all...)))
}

// callDecide stands in the script for one op where the Lua is a user's.
const callDecide = `local admitted
admitted, after, life = decide(state, now, NUMBERS)
if admitted == nil then return after or '!' end
if not admitted then verdict = '-' end`

// listPrograms are for groups of ops of all kinds.
func listPrograms(sources []*source) pair {
	parts := []string{"local kinds = {}"}
	for _, s := range sources {
		kind := "{ decide = decide }"
		if s.log {
			kind = "{ decide = decide, append = append }"
		}
		parts = append(parts, "do", s.text(), "kinds['"+strconv.Itoa(s.index)+"'] = "+kind, "end")
	}
	return newPair(append(parts, code("list"))...)
}

var (
	readProgram  = newProgram(false, code("whole"), code("read"))
	swapProgram  = newProgram(true, code("whole"), code("swap"))
	testProgram  = newProgram(false, code("selftest"))
	probeProgram = newProgram(true, code("probe"))
)
