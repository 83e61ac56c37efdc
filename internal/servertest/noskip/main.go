// Command noskip prints what go test would print, from the output of go test
// -json on its standard input, and fails if a test was skipped for want of a
// server: without -v, go test does not show skips at all.
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

// want is in the message of every skip for want of a server.
const want = "scripts/setup servers"

func main() {
	skips, err := report(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "noskip:", err)
		os.Exit(1)
	}
	if len(skips) > 0 {
		fmt.Fprintf(os.Stderr, "noskip: skipped for want of a server, of which there must be none here:\n\t%s\n", strings.Join(skips, "\n\t"))
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
// were skipped for want of a server. Failures of tests are no errors of report:
// go test itself exits with them.
func report(r io.Reader, w io.Writer) (skips []string, err error) {
	packages := map[string]*run{}
	lines := bufio.NewReader(r)
	for {
		line, readErr := lines.ReadString('\n')
		if line != "" {
			found, err := read(line, packages, w)
			if err != nil {
				return nil, err
			}
			skips = append(skips, found...)
		}
		if errors.Is(readErr, io.EOF) {
			break
		} else if readErr != nil {
			return nil, readErr
		}
	}
	if len(packages) > 0 {
		return nil, fmt.Errorf("%d packages have not ended", len(packages))
	}
	return skips, nil
}

// read takes one line. Where it ends a package, the package is printed and its
// skips are returned.
func read(line string, packages map[string]*run, w io.Writer) ([]string, error) {
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
			return p.skips(), p.print(w)
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

func (p *run) skips() []string {
	var found []string
	for _, e := range p.output {
		if e.Test != "" && p.result[e.Test] == "skip" && strings.Contains(e.Output, want) {
			found = append(found, e.Package+" "+e.Test+": "+strings.TrimSpace(e.Output))
		}
	}
	return found
}
