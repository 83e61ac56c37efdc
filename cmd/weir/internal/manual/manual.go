// Package manual writes completions for shells and manual pages, from the table that the
// help texts are made of.
package manual

import "strings"

// Command is a command line that a program takes.
type Command struct {
	Name, Help string
	Long       string // the help before the flags
	Arguments  []Argument
	Flags      []Flag
}

// Argument is a word that is no flag.
type Argument struct {
	Shown, Help string
	Required    bool
	Values      []string // that it may be; nil is any, such as a file
}

// Flag is a flag of a command.
type Flag struct {
	Name, Short, Help string
	Placeholder       string   // what stands for its value; "" for one without a value
	Values            []string // that it may have; nil is any
	Required          bool
}

// names are the forms of a flag on a command line.
func (f *Flag) names() []string {
	if f.Short != "" {
		return []string{"-" + f.Short, "--" + f.Name}
	}
	return []string{"--" + f.Name}
}

// first is a help text up to its first full stop, for a line.
func first(help string) string {
	if end := strings.Index(help, ". "); end >= 0 {
		help = help[:end]
	}
	return strings.TrimRight(help, ".")
}
