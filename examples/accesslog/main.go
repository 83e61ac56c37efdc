// Command accesslog writes one day of synthetic web traffic in Combined Log Format.
//
// The result is input for the replaying examples and tests: it has a daily shape, popular and rare clients, bursts, a crawler,
// a password guesser, lines out of order and five broken lines. The same seed gives the same bytes on every platform.
//
//	go run ./examples/accesslog > examples/accesslog/access.log
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// defaultSeed is the seed of the checked-in access.log.
const defaultSeed = 2026

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit status: 0 written, 1 the log could not be written, 2 wrong usage.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("accesslog", flag.ContinueOnError)
	flags.SetOutput(stderr)
	output := flags.String("o", "-", "write the log to `FILE`; - is standard output")
	seed := flags.Uint64("seed", defaultSeed, "seed `N` of all random choices, 0 to 2^64-1")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "accesslog: unexpected argument %q\n", flags.Arg(0))
		flags.Usage()
		return 2
	}
	if *output == "" {
		fmt.Fprintln(stderr, "accesslog: -o needs a file name")
		flags.Usage()
		return 2
	}
	if err := write(*output, stdout, generate(*seed)); err != nil {
		fmt.Fprintf(stderr, "accesslog: write log: %v\n", err)
		return 1
	}
	return 0
}

func write(output string, stdout io.Writer, log []byte) error {
	if output == "-" {
		_, err := stdout.Write(log)
		return err
	}
	return os.WriteFile(output, log, 0o644)
}
