// Command bench measures weir beside floors and beside other limiters, in memory and
// through servers, and writes what it finds as Markdown. All numbers are ratios taken in
// turns in one run: these hold on a noisy machine, nanoseconds do not.
//
//	go run ./bench -quick               two minutes
//	go run ./bench > all.md             half an hour
//	go run ./bench -only 'server/.*256' what has such a name
//
// The names are part/situation/limiter; -list prints them. With -check the command exits
// with 1 where a ratio is more than twice its goal. docs/measurements.md is written by
//
//	go run ./bench -into docs/measurements.md -plots docs/images
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
)

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

// The exit states of the command.
const (
	exitDone   = 0
	exitMissed = 1
	exitUsage  = 2
	exitFailed = 3
)

func command(args []string, out, log io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(log)
	quick := flags.Bool("quick", false, "fewer and shorter rounds, without growth: about two minutes")
	only := flags.String("only", "", "measure what has a name that matches the `regexp`")
	check := flags.Bool("check", false, "exit with 1 where a ratio is more than twice its goal")
	list := flags.Bool("list", false, "print the names, and measure nothing")
	plots := flags.String("plots", "", "write the pictures of growth into the `folder`")
	into := flags.String("into", "", "write the tables into a `file` of Markdown too, between the lines <!-- bench --> and <!-- /bench -->")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	names, err := regexp.Compile(*only)
	if err != nil || flags.NArg() > 0 {
		fmt.Fprintf(log, "bench: -only: %v, arguments: %q\n", err, flags.Args())
		return exitUsage
	}
	r := &run{scale: whole, only: names, list: *list, log: log, values: book{}}
	if *quick {
		r.scale = brief
	}
	if err := servertest.AsTest(r.all); err != nil {
		fmt.Fprintf(log, "bench: %v\n", err)
		return exitFailed
	}
	if *list {
		return exitDone
	}
	if _, err := io.WriteString(out, r.markdown()); err != nil {
		fmt.Fprintf(log, "bench: %v\n", err)
		return exitFailed
	}
	if *plots != "" {
		if err := r.draw(*plots); err != nil {
			fmt.Fprintf(log, "bench: -plots: %v\n", err)
			return exitFailed
		}
	}
	if *into != "" {
		if err := replaceBetween(*into, r.markdown()); err != nil {
			fmt.Fprintf(log, "bench: -into: %v\n", err)
			return exitFailed
		}
	}
	if missed := r.missed(); *check && len(missed) > 0 {
		fmt.Fprintf(log, "bench: more than twice the goal: %q\n", missed)
		return exitMissed
	}
	return exitDone
}

// replaceBetween replaces what stands between the two marks of a file.
func replaceBetween(file, text string) error {
	const from, to = "<!-- bench -->\n", "<!-- /bench -->\n"
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), from)
	_, after, closed := strings.Cut(rest, to)
	if !found || !closed {
		return fmt.Errorf("%s has no lines %q and %q", file, from, to)
	}
	return os.WriteFile(file, []byte(before+from+text+to+after), 0o666)
}

// all measures every part.
func (r *run) all(tb testing.TB) {
	r.memory(tb)
	r.heap(tb)
	for _, kind := range servers {
		r.isolated(tb, func(tb testing.TB) { r.server(tb, kind) })
		r.isolated(tb, func(tb testing.TB) { r.processor(tb, kind) })
		r.isolated(tb, func(tb testing.TB) { r.bytes(tb, kind) })
		r.isolated(tb, func(tb testing.TB) { r.inside(tb, kind) })
	}
	if r.growth {
		r.grow(tb)
	}
}
