package manual

import (
	_ "embed"
	"slices"
	"strings"
)

// Shells are those that have a script.
var Shells = []string{"bash", "fish", "zsh"}

var (
	//go:embed completion.bash
	bash string
	//go:embed completion.fish
	fish string
	//go:embed completion.zsh
	zsh string
)

// Completion returns the script that a shell reads at its start. It asks the program what the end of a command line may be.
func Completion(shell string) string {
	return map[string]string{"bash": bash, "fish": fish, "zsh": zsh}[shell]
}

// File is the line of Complete that says that a word is the name of a file.
const File = "FILE"

// Complete returns what the last of some words, those behind the name of the program, may be: a line for each, with a tab and its
// help, or File.
func Complete(commands []Command, words []string) (lines []string) {
	word := words[len(words)-1]
	words = slices.DeleteFunc(slices.Clone(words[:len(words)-1]), func(w string) bool { return w == "=" }) // bash makes three words of --flag=value
	if word == "=" {
		word = ""
	}
	add := func(text, help string) {
		if strings.HasPrefix(text, word) {
			lines = append(lines, text+"\t"+first(help))
		}
	}
	if len(words) == 0 || len(words) == 1 && words[0] == "help" {
		for _, c := range commands {
			add(c.Name, c.Help)
		}
		add("help", "Show the help of a command.")
		return lines
	}
	at := slices.IndexFunc(commands, func(c Command) bool { return c.Name == words[0] })
	if at < 0 {
		return nil
	}
	c := &commands[at]
	flag, before := words[len(words)-1], ""
	if name, _, has := strings.Cut(word, "="); has && strings.HasPrefix(name, "--") {
		flag, before = name, name+"="
	}
	for _, f := range c.Flags {
		switch {
		case f.Placeholder == "" || !slices.Contains(f.names(), flag):
			continue
		case f.Placeholder == File:
			return []string{File}
		}
		for _, value := range f.Values {
			add(before+value, "")
		}
		return lines
	}
	switch {
	case strings.HasPrefix(word, "-"):
		for _, f := range c.Flags {
			for _, name := range f.names() {
				add(name, f.Help)
			}
		}
	case len(words) == 1 && len(c.Arguments) > 0 && c.Arguments[0].Values != nil:
		for _, value := range c.Arguments[0].Values {
			add(value, "")
		}
	default:
		lines = []string{File}
	}
	return lines
}
