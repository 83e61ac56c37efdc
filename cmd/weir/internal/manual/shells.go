package manual

import (
	"fmt"
	"slices"
	"strings"
)

func names(commands []Command) []string {
	all := []string{"help"}
	for _, c := range commands {
		all = append(all, c.Name)
	}
	slices.Sort(all)
	return all
}

// argumentValues are what the first argument of a command may be.
func (c *Command) argumentValues() []string {
	if len(c.Arguments) == 0 {
		return nil
	}
	return c.Arguments[0].Values
}

func bash(program string, commands []Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# bash completion for %[1]s. Written by %[1]s completion bash.
_%[1]s_files() {
	local IFS=$'\n'
	COMPREPLY=($(compgen -f -- "$1"))
}
_%[1]s() {
	local cur prev IFS=$' \t\n'
	cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	COMPREPLY=()
	if [[ $COMP_CWORD -eq 1 || $COMP_CWORD -eq 2 && $prev == help ]]; then
		COMPREPLY=($(compgen -W %[2]s -- "$cur"))
		return
	fi
	[[ $cur == = ]] && cur=
	[[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
	case "${COMP_WORDS[1]} $prev" in
`, program, quoted(strings.Join(names(commands), " ")))
	for _, c := range commands {
		for _, f := range c.Flags {
			for _, name := range f.names() {
				switch {
				case f.Values != nil:
					fmt.Fprintf(&b, "	%s) COMPREPLY=($(compgen -W %s -- \"$cur\")); return ;;\n", quoted(c.Name+" "+name), quoted(strings.Join(f.Values, " ")))
				case f.Placeholder != "" && !f.isFile():
					fmt.Fprintf(&b, "	%s) return ;;\n", quoted(c.Name+" "+name))
				case f.isFile():
					fmt.Fprintf(&b, "	%s) _%s_files \"$cur\"; return ;;\n", quoted(c.Name+" "+name), program)
				}
			}
		}
	}
	b.WriteString("	esac\n	case ${COMP_WORDS[1]} in\n")
	for _, c := range commands {
		var flags []string
		for _, f := range c.Flags {
			flags = append(flags, f.names()...)
		}
		fmt.Fprintf(&b, "	%s)\n		if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W %s -- \"$cur\")); return; fi\n", quoted(c.Name), quoted(strings.Join(flags, " ")))
		if values := c.argumentValues(); values != nil {
			fmt.Fprintf(&b, "		if [[ $COMP_CWORD -eq 2 ]]; then COMPREPLY=($(compgen -W %s -- \"$cur\")); return; fi\n", quoted(strings.Join(values, " ")))
		}
		b.WriteString("		;;\n")
	}
	fmt.Fprintf(&b, "	esac\n	_%[1]s_files \"$cur\"\n}\ncomplete -o filenames -F _%[1]s %[1]s\n", program)
	return b.String()
}

func fish(program string, commands []Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for %[1]s. Written by %[1]s completion fish.\n", program)
	fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -f -a help -d 'Show the help of a command'\n", program)
	for _, c := range commands {
		fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -f -a %s -d %s\n", program, c.Name, quoted(first(c.Help)))
	}
	for _, c := range commands {
		in := fmt.Sprintf("complete -c %s -n '__fish_seen_subcommand_from %s'", program, c.Name)
		if values := c.argumentValues(); values != nil {
			fmt.Fprintf(&b, "%s -f -a %s\n", in, quoted(strings.Join(values, " ")))
		}
		for _, f := range c.Flags {
			line := in + " -l " + f.Name
			if f.Short != "" {
				line += " -s " + f.Short
			}
			switch {
			case f.Values != nil:
				line += " -x -a " + quoted(strings.Join(f.Values, " "))
			case f.isFile():
				line += " -r -F"
			case f.Placeholder != "":
				line += " -x"
			}
			fmt.Fprintf(&b, "%s -d %s\n", line, quoted(first(f.Help)))
		}
	}
	return b.String()
}

// spec escapes a text within a spec of zsh's _arguments.
var spec = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`)

func zsh(program string, commands []Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, `#compdef %[1]s
# zsh completion for %[1]s. Written by %[1]s completion zsh.
_%[1]s() {
	local -a commands
	commands=(
		'help:Show the help of a command'
`, program)
	for _, c := range commands {
		fmt.Fprintf(&b, "		%s\n", quoted(c.Name+":"+spec.Replace(first(c.Help))))
	}
	b.WriteString(`	)
	if (( CURRENT == 2 )); then
		_describe command commands
		return
	fi
	local command=$words[2]
	shift words
	(( CURRENT-- ))
	case $command in
	help) _describe command commands ;;
`)
	for _, c := range commands {
		fmt.Fprintf(&b, "	%s)\n		_arguments", c.Name)
		for _, f := range c.Flags {
			value := ""
			switch {
			case f.Values != nil:
				value = ":" + spec.Replace(f.Placeholder) + ":(" + spec.Replace(strings.Join(f.Values, " ")) + ")"
			case f.isFile():
				value = ":" + f.Placeholder + ":_files"
			case f.Placeholder != "":
				value = ":" + spec.Replace(f.Placeholder) + ": "
			}
			for _, name := range f.names() {
				if value != "" && strings.HasPrefix(name, "--") {
					name += "="
				}
				fmt.Fprintf(&b, " \\\n			%s", quoted("*"+name+"["+spec.Replace(first(f.Help))+"]"+value))
			}
		}
		rest := "*:file:_files"
		if values := c.argumentValues(); values != nil {
			fmt.Fprintf(&b, " \\\n			%s", quoted("1: :("+spec.Replace(strings.Join(values, " "))+")"))
		}
		fmt.Fprintf(&b, " \\\n			%s\n		;;\n", quoted(rest))
	}
	fmt.Fprintf(&b, "	esac\n}\nif [[ $funcstack[1] == _%[1]s ]]; then\n	_%[1]s \"$@\"\nelse\n	compdef _%[1]s %[1]s\nfi\n", program)
	return b.String()
}
