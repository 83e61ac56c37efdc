package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/cmd/weir/internal/manual"
)

// TestEveryFlagIsInCompletionsAndManualPages: each command with its flags and its help.
func TestEveryFlagIsInCompletionsAndManualPages(t *testing.T) {
	scripts := map[string]string{}
	for _, shell := range manual.Shells {
		got := start("completion", shell)
		if got.status != exitOK || got.err != "" {
			t.Fatalf("%+v", got)
		}
		scripts[shell] = got.out
	}
	flag := map[string]string{"bash": "--%", "fish": " -l % ", "zsh": "--%"}
	all := start("man")
	for _, c := range manualCommands() {
		page := start("man", c.Name)
		if page.status != exitOK || !strings.Contains(all.out, ".B "+c.Name+"\n") {
			t.Errorf("%s: %+v", c.Name, page)
		}
		help := strings.Join(strings.Fields(start(c.Name, "--help").out), " ")
		for _, f := range c.Flags {
			for _, shell := range manual.Shells {
				if !strings.Contains(scripts[shell], strings.ReplaceAll(flag[shell], "%", f.Name)) {
					t.Errorf("%s: the completions for %s have no --%s", c.Name, shell, f.Name)
				}
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
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash on this machine: it completes nothing")
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
		words := strings.Fields(line)
		quoted := "'" + strings.Join(words, "' '") + "'"
		script := `. ./bash; COMP_WORDS=(` + quoted + `) COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _weir; printf '%s\n' "${COMPREPLY[@]}"`
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v %s", line, err, out)
		}
		got := strings.FieldsFunc(string(out), func(c rune) bool { return c == '\n' })
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
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
