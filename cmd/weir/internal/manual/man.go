package manual

import (
	"fmt"
	"strings"
)

// roff escapes a text for a manual page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

// page begins a manual page of section 1.
func page(b *strings.Builder, name, version, help string) {
	fmt.Fprintf(b, ".TH %s 1 \"\" \"weir %s\" \"weir\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(roff(name)), roff(version), roff(name), roff(first(help)))
}

// Overview is the manual page of a program: its commands.
func Overview(program, version, help, text string, commands []Command) string {
	var b strings.Builder
	page(&b, program, version, help)
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[flags]\n.SH DESCRIPTION\n", program)
	long(&b, text)
	b.WriteString(".SH COMMANDS\n")
	for _, c := range commands {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s See\n.BR %s (1).\n", c.Name, roff(c.Help), roff(program+"-"+c.Name))
	}
	fmt.Fprintf(&b, ".TP\n.B help \\fICOMMAND\\fP\nShow the help of a command.\n.SH SEE ALSO\n")
	for i, c := range commands {
		comma := ","
		if i == len(commands)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(program+"-"+c.Name), comma)
	}
	return b.String()
}

// Page is the manual page of a command.
func (c *Command) Page(program, version string) string {
	var b strings.Builder
	page(&b, program+"-"+c.Name, version, c.Help)
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s %s\n", program, c.Name)
	for _, f := range c.Flags {
		if f.Required {
			fmt.Fprintf(&b, ".BI \\-\\-%s= %s\n", roff(f.Name), roff(f.Placeholder))
		}
	}
	for _, a := range c.Arguments {
		shown := roff(a.Shown)
		if !a.Required {
			shown = "[" + shown + "]"
		}
		fmt.Fprintf(&b, ".I %s\n", shown)
	}
	b.WriteString("[flags]\n.SH DESCRIPTION\n" + roff(c.Help) + "\n")
	long(&b, c.Long)
	if c.Arguments != nil {
		b.WriteString(".SH ARGUMENTS\n")
	}
	for _, a := range c.Arguments {
		fmt.Fprintf(&b, ".TP\n.I %s\n%s\n", roff(a.Shown), roff(a.Help))
	}
	b.WriteString(".SH OPTIONS\n")
	for _, f := range c.Flags {
		var shown []string
		for _, name := range f.names() {
			shown = append(shown, `\fB`+roff(name)+`\fP`)
		}
		if f.Placeholder != "" {
			shown[len(shown)-1] += `=\fI` + roff(f.Placeholder) + `\fP`
		}
		fmt.Fprintf(&b, ".TP\n%s\n%s\n", strings.Join(shown, ", "), roff(f.Help))
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(program))
	return b.String()
}

// long writes a help text as it stands, in the lines that it has.
func long(b *strings.Builder, text string) {
	text = strings.Trim(text, "\n")
	if text == "" {
		return
	}
	b.WriteString(".PP\n.nf\n")
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			b.WriteString(".sp\n")
			continue
		}
		b.WriteString(roff(line) + "\n")
	}
	b.WriteString(".fi\n")
}
