package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/cmd/weir/internal/manual"
)

// TestEveryFlagIsInCompletionsAndManualPages: each command with its flags and its help.
func TestEveryFlagIsInCompletionsAndManualPages(t *testing.T) {
	all := start("man")
	for _, c := range manualCommands() {
		page := start("man", c.Name)
		if page.status != exitOK || !strings.Contains(all.out, ".B "+c.Name+"\n") {
			t.Errorf("%s: %+v", c.Name, page)
		}
		flags := start("completion", "zsh", "--", c.Name, "--")
		help := strings.Join(strings.Fields(start(c.Name, "--help").out), " ")
		for _, f := range c.Flags {
			if !strings.Contains(flags.out, "--"+f.Name+"\t") {
				t.Errorf("%s: the completions have no --%s", c.Name, f.Name)
			}
			if !strings.Contains(page.out, `\fB\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)+`\fP`) {
				t.Errorf("the page of %s has no --%s", c.Name, f.Name)
			}
			if !strings.Contains(help, f.Help) {
				t.Errorf("the help of %s does not say %q", c.Name, f.Help)
			}
		}
	}
	for _, args := range [][]string{{"man", "none"}, {"completion", "tcsh"}, {"completion"}} {
		if got := start(args...); got.status != exitUsage || got.out != "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// TestShellsReadTheCompletions, and bash completes commands, flags, values and files.
func TestShellsReadTheCompletions(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "some policy.yaml"), "")
	for _, shell := range manual.Shells {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not installed: its completions were not read", shell)
			continue
		}
		script := filepath.Join(folder, shell)
		write(t, script, start("completion", shell).out)
		if out, err := exec.Command(path, "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", shell, err, out)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(folder, "weir")); err != nil {
		t.Fatal(err)
	}
	// What each shell is told to complete a line, after it has read its script.
	asking := map[string]string{
		"bash": `. ./bash; COMP_WORDS=(%s) COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _weir; printf '%%s\n' "${COMPREPLY[@]}"`,
		"fish": `source ./fish; complete -C '%s' | cut -f 1`,
		"zsh": `compdef() {}; . ./zsh; compset() {}; _files() { print -l -- *$words[CURRENT]*(N) }; _describe() { print -l -- ${(P)3%%%%:*} }
words=(%s) CURRENT=$#words; _weir; true`,
	}
	for line, want := range map[string][]string{
		"weir comp":                      {"compare", "completion"},
		"weir help re":                   {"replay"},
		"weir load --max-p":              {"--max-p50", "--max-p95", "--max-p99", "--max-p99.9"},
		"weir load --arrivals p":         {"poisson"},
		"weir load --arrivals = p":       {"poisson"}, // as bash splits --arrivals=p
		"weir completion z":              {"zsh"},
		"weir policy check some":         {"some policy.yaml"},
		"weir serve --config so":         {"some policy.yaml"},
		"weir load --rate so":            nil,
		"weir replay --format combi":     {"combined"},
		"weir suggest --max-clients-hit": {"--max-clients-hit"},
	} {
		for shell, script := range asking {
			path, err := exec.LookPath(shell)
			if err != nil || shell != "bash" && strings.Contains(line, " = ") {
				continue
			}
			cmd := exec.Command(path, "-c", fmt.Sprintf(script, line))
			cmd.Dir, cmd.Env = folder, append(os.Environ(), asCommand+"=1", "PATH="+folder+":"+os.Getenv("PATH"), "HOME="+folder)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %s: %v %s", shell, line, err, out)
			}
			got := strings.FieldsFunc(string(out), func(c rune) bool { return c == '\n' })
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s: %q, want %q", shell, line, got, want)
			}
		}
	}
}

func TestVersionSaysWhatItWasBuiltFrom(t *testing.T) {
	short, long := start("version"), start("version", "-v")
	if short.status != exitOK || !strings.HasPrefix(short.out, start("--version").out) || !strings.Contains(short.out, "\ngo ") || strings.Contains(short.out, "module") {
		t.Errorf("%+v", short)
	}
	if long.status != exitOK || !strings.HasPrefix(long.out, short.out) {
		t.Errorf("%+v", long)
	}
}
