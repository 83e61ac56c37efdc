// Command noskip prints what go test would print, from the output of go test
// -json on its standard input, and fails if a test was skipped for want of a
// server: without -v, go test does not show skips at all. Tests that were skipped for want of
// another program, which not every machine can install, are listed at the end.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// These are in the message of every skip for want of a server, and for want of any program.
const (
	wantServer  = "scripts/setup servers"
	wantProgram = "scripts/setup"
)

// skips are the tests that were skipped for want of a program, each with its message.
type skips struct {
	servers []string // for want of a server
	others  []string
}

func main() {
	skipped, err := report(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "noskip:", err)
		os.Exit(1)
	}
	if len(skipped.others) > 0 {
		fmt.Fprintf(os.Stderr, "noskip: skipped for want of a program that this machine does not have:\n\t%s\n", strings.Join(skipped.others, "\n\t"))
	}
	if len(skipped.servers) > 0 {
		fmt.Fprintf(os.Stderr, "noskip: skipped for want of a server, of which there must be none here:\n\t%s\n", strings.Join(skipped.servers, "\n\t"))
		os.Exit(1)
	}
}

// event is one line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
}

// run is what is known of a package that has not ended.
type run struct {
	output []event
	result map[string]string // by test: pass, fail or skip; none has not ended
}

// report copies a run to w as go test prints it and returns the tests that
// were skipped for want of a program. Failures of tests are no errors of report:
// go test itself exits with them.
func report(r io.Reader, w io.Writer) (skipped skips, err error) {
	packages := map[string]*run{}
	lines := bufio.NewReader(r)
	for {
		line, readErr := lines.ReadString('\n')
		if line != "" {
			ended, err := read(line, packages, w)
			if err != nil {
				return skips{}, err
			}
			if ended != nil {
				ended.addSkips(&skipped)
			}
		}
		if errors.Is(readErr, io.EOF) {
			break
		} else if readErr != nil {
			return skips{}, readErr
		}
	}
	if len(packages) > 0 {
		return skips{}, fmt.Errorf("%d packages have not ended", len(packages))
	}
	return skipped, nil
}

// read takes one line. Where it ends a package, the package is printed and
// returned.
func read(line string, packages map[string]*run, w io.Writer) (ended *run, err error) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		_, err := io.WriteString(w, line) // not of a test
		return nil, err
	}
	if e.Package == "" || e.Action == "build-output" {
		_, err := io.WriteString(w, e.Output)
		return nil, err
	}
	p := packages[e.Package]
	if p == nil {
		p = &run{result: map[string]string{}}
		packages[e.Package] = p
	}
	switch e.Action {
	case "output":
		p.output = append(p.output, e)
	case "pass", "fail", "skip":
		p.result[e.Test] = e.Action
		if e.Test == "" {
			delete(packages, e.Package)
			return p, p.print(w)
		}
	}
	return nil, nil
}

// print prints a package that has ended: its last line if it has passed, and
// otherwise also all that its tests said, but for those that passed.
func (p *run) print(w io.Writer) error {
	failed := p.result[""] == "fail"
	for _, e := range p.output {
		result := p.result[e.Test]
		summary := e.Test == "" && (strings.HasPrefix(e.Output, "ok  \t") || strings.HasPrefix(e.Output, "?   \t"))
		said := failed && result != "pass" && result != "skip" && !strings.HasPrefix(e.Output, "=== ")
		if summary || said {
			if _, err := io.WriteString(w, e.Output); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSkips adds the tests of a package that has ended.
func (p *run) addSkips(to *skips) {
	for _, e := range p.output {
		if e.Test == "" || p.result[e.Test] != "skip" || !strings.Contains(e.Output, wantProgram) {
			continue
		}
		message := e.Package + " " + e.Test + ": " + strings.TrimSpace(e.Output)
		if strings.Contains(e.Output, wantServer) {
			to.servers = append(to.servers, message)
		} else {
			to.others = append(to.others, message)
		}
	}
}
