package script

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/weirgo/weir/store/script/kind"
)

//go:generate go generate ./kind
//go:generate go run ../../internal/generate/scripts

// generated are the scripts that the server runs, as they are in the repository. A
// store adds the Lua of Options.Scripts where a comment says so, and nothing else.
//
//go:embed generated/*.lua
var generated embed.FS

// Comments of generated scripts for which the Lua of users stands in.
const (
	placeOfUser  = "-- USER'S LUA\n"     // in usersingle.lua
	placeOfKinds = "-- KINDS OF USERS\n" // in batch.lua and once.lua
)

// program is a script as the server runs it.
type program struct {
	text string
	sha  string // by which EVALSHA names it
}

func newProgram(text string) *program {
	sum := sha1.Sum([]byte(text)) // the protocol names scripts so
	return &program{text, hex.EncodeToString(sum[:])}
}

// Programs that all stores share.
var (
	kinds           = builtInKinds()
	batchProgram    = newProgram(lua("batch"))
	onceProgram     = newProgram(lua("once"))
	readProgram     = newProgram(lua("read"))
	swapProgram     = newProgram(lua("swap"))
	testProgram     = newProgram(lua("selftest"))
	probeProgram    = newProgram(lua("probe"))
	documentProgram = newProgram(lua("document"))
)

// builtInKind is a built-in kind with the script for one op.
type builtInKind struct {
	kind.Kind
	program *program
}

// builtInKinds are in the order in which batch.lua numbers them.
func builtInKinds() (all []builtInKind) {
	for _, k := range kind.All() {
		all = append(all, builtInKind{k, newProgram(lua(k.File))})
	}
	return all
}

// lua returns the text of a generated script.
func lua(name string) string {
	text, err := generated.ReadFile("generated/" + name + ".lua")
	if err != nil {
		panic(err) // embedded with this code
	}
	return string(text)
}

// userLua defines the decide of a user's kind, which fails for itself alone. The Lua of
// the user stands in a function: what it names like something of ours is its own.
func userLua(source string) string {
	return "local theirs = (function()\n" + source + "\nreturn decide\nend)()\n" + lua("user")
}

// userProgram is the script for one op of a user's kind.
func userProgram(source string) *program {
	return newProgram(strings.Replace(lua("usersingle"), placeOfUser, userLua(source), 1))
}

// withKinds is a script that holds all kinds, with those of a user.
func withKinds(p *program, custom []*source) *program {
	if len(custom) == 0 {
		return p
	}
	var kinds strings.Builder
	for _, s := range custom {
		index := "['" + strconv.Itoa(s.index) + "']"
		kinds.WriteString("if all or used" + index + " then\n" + userLua(s.Lua) + "kinds" + index + " = { decide = decide }\nend\n")
	}
	return newProgram(strings.Replace(p.text, placeOfKinds, kinds.String(), 1))
}
