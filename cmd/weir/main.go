// Command weir tries rate limits, and the servers that keep them, out before they
// are rolled out.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // zones of schedules and calendar windows, on machines without a database
)

// subcommand is what the first word of a command line names.
type subcommand struct {
	name, help string
	// make returns a pointer to a struct whose fields are the flags; see option.
	make func() runner
}

// runner is a command with its flags.
type runner interface {
	// Help is the long help, before the flags.
	Help() string
	Run(ctx context.Context, s *streams) error
}

// commands are the table that help, completions and manual pages are made of.
func commands() []subcommand {
	return []subcommand{
		{"replay", "Decide every request of a trace and report whom a limit would have hit.", func() runner { return &replayCommand{} }},
		{"compare", "Decide a trace under several limits and show them side by side.", func() runner { return &compareCommand{} }},
		{"suggest", "Find the smallest limits that a trace would have met.", func() runner { return &suggestCommand{} }},
		{"verify", "Check that a server decides as the algorithms say, with the suite for stores.", func() runner { return &verifyCommand{} }},
		{"policy", "Check, explain and compare policies: limits by endpoint, attribute and tier.", func() runner { return &policyCommand{} }},
		{"serve", "Serve limits over gRPC and HTTP, to programs, gateways and operators.", func() runner { return &serveCommand{} }},
		{"load", "Put load on a store or a service, and measure how long answers take.", func() runner { return &loadCommand{} }},
		{"top", "Show in a terminal what a service decides now.", func() runner { return &topCommand{} }},
		{"sim", "Simulate traffic, faults and clocks, and check every decision.", func() runner { return &simCommand{} }},
		{"completion", "Write the completions of commands and flags for a shell.", func() runner { return &completionCommand{} }},
		{"man", "Write the manual page of weir or of a command.", func() runner { return &manCommand{} }},
		{"version", "Print the version, and what it was built from.", func() runner { return &versionCommand{} }},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends what the first cannot
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	given    []*option // that the command line holds
}

// run is main without the process around it.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) (status int) {
	s := &streams{in: in, out: out, err: errs}
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	switch {
	case asks(args, "--version", "-V"):
		return s.show("weir " + moduleVersion() + "\n")
	case len(args) == 0:
		return misuse(errs, fmt.Errorf("the command is missing: must be one of %s", commandNames()))
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		called := c.make()
		options := optionsOf(reflect.ValueOf(called).Elem())
		if asks(args[1:], "--help", "-h") {
			return s.show(c.usage(called, options))
		}
		if err := parseOptions(options, args[1:]); err != nil {
			return misuse(errs, err)
		}
		s.given = slices.DeleteFunc(options, func(o *option) bool { return !o.given })
		if err := called.Run(ctx, s); err != nil {
			return fail(errs, err)
		}
		return exitOK
	}
	if args[0] == "--help" || args[0] == "-h" {
		return s.show(usage())
	}
	return misuse(errs, fmt.Errorf("unknown command %q: must be one of %s", args[0], commandNames()))
}

// asks reports whether one of some words is among those of a command line that may be
// flags.
func asks(args []string, words ...string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(words, arg) && (arg[0] == '-' || arg == args[0]) })
}

// show writes a text that was asked for.
func (s *streams) show(text string) int {
	if _, err := io.WriteString(s.out, text); err != nil {
		return fail(s.err, err)
	}
	return exitOK
}

func commandNames() string {
	names := ""
	for _, c := range commands() {
		names += fmt.Sprintf("%q, ", c.name)
	}
	return names + `"help"`
}

// always are the flags of every command.
var always = [][2]string{{"-h, --help", "Show this help and exit."}, {"-V, --version", "Print the version and exit."}}

// purpose is what weir is for.
const purpose = `Tries rate limits out: on a recorded trace or in a simulated world, with exact decisions.
Checks the servers that keep them, puts load on them, and serves limits.
`

// usage is the help of weir.
func usage() string {
	var b strings.Builder
	b.WriteString("Usage: weir COMMAND [flags]\n\n" + purpose + "\nCommands:\n")
	rows := [][2]string{}
	for _, c := range commands() {
		rows = append(rows, [2]string{c.name, c.help})
	}
	writeHelp(&b, append(rows, [2]string{"help COMMAND", "Show the help of a command."}))
	b.WriteString("\nFlags:\n")
	writeHelp(&b, always)
	return b.String()
}

// usage is the help of a command.
func (c *subcommand) usage(called runner, options []*option) string {
	var b strings.Builder
	line := "Usage: weir " + c.name
	var arguments, flags [][2]string
	for _, o := range options {
		row := [2]string{o.shown(), o.tag("help")}
		_, required := o.tags.Lookup("required")
		switch {
		case o.isArgument() && o.tags.Get("arg") == "optional":
			line += " [" + o.shown() + "]"
		case o.isArgument() || required:
			line += " " + o.shown()
		}
		if o.isArgument() {
			arguments = append(arguments, row)
		} else {
			flags = append(flags, row)
		}
	}
	fmt.Fprintf(&b, "%s [flags]\n\n%s\n\n%s\n", line, c.help, strings.TrimRight(called.Help(), "\n")+"\n")
	if arguments != nil {
		b.WriteString("Arguments:\n")
		writeHelp(&b, arguments)
		b.WriteByte('\n')
	}
	b.WriteString("Flags:\n")
	writeHelp(&b, append(flags, always...))
	return b.String()
}
