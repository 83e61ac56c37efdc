// Command weir tries rate limits, and the servers that keep them, out before they
// are rolled out.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"
)

// cli is the command line: a field for each command.
type cli struct {
	Replay  replayCommand  `cmd:"" help:"Decide every request of a trace and report whom a limit would have hit."`
	Compare compareCommand `cmd:"" help:"Decide a trace under several limits and show them side by side."`
	Verify  verifyCommand  `cmd:"" help:"Check that a server decides as the algorithms say, with the suite for stores."`
	Sim     simCommand     `cmd:"" help:"Simulate traffic, faults and clocks, and check every decision."`
	Version versionFlag    `help:"Print the version and exit." short:"V"`

	// The two that people try first. They are read as flags.
	HelpCommand struct {
		Command string `arg:"" optional:""`
	} `cmd:"" name:"help" help:"Show the help of a command."`
	VersionCommand struct{} `cmd:"" name:"version" help:"Print the version."`
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
}

// exited carries the status of a flag such as --help out of the parser.
type exited int

// run is main without the process around it.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) (status int) {
	defer func() {
		if r := recover(); r != nil {
			code, ok := r.(exited)
			if !ok {
				panic(r)
			}
			status = int(code)
		}
	}()
	parser, err := kong.New(&cli{},
		kong.Name("weir"),
		kong.Description("Tries rate limits out: on a recorded trace or in a simulated world, with exact decisions. Checks the servers that keep them."),
		kong.Writers(out, errs),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Vars(flagVars),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&streams{in, out, errs}),
	)
	if err != nil {
		return fail(errs, err)
	}
	command, err := parser.Parse(asFlags(args))
	if err != nil {
		return misuse(errs, err)
	}
	if err := command.Run(); err != nil {
		return fail(errs, err)
	}
	return exitOK
}

// asFlags writes weir help COMMAND as weir COMMAND --help, and weir version as weir --version.
func asFlags(args []string) []string {
	switch {
	case len(args) > 0 && args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && args[0] == "version":
		return []string{"--version"}
	}
	return args
}

// versionFlag prints the version of the module, or of the commit it was built from.
type versionFlag bool

// BeforeReset runs as soon as the flag is seen, so that it needs no command.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	version := "(unknown version)"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	fmt.Fprintln(app.Stdout, "weir", version)
	app.Exit(exitOK)
	return nil
}
