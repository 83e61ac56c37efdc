package main

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/manual"
)

// completionCommand is the command line of weir completion.
type completionCommand struct {
	Shell string   `arg:"" enum:"bash, fish, zsh" help:"bash, fish or zsh."`
	Words []string `arg:"optional" name:"word" help:"The words of a command line, which the script passes on. Writes what the last word may be, and not the script."`
}

// Help is the long help, before the flags.
func (completionCommand) Help() string {
	return `The shell reads the script at its start:
  bash  weir completion bash > /etc/bash_completion.d/weir
  fish  weir completion fish > ~/.config/fish/completions/weir.fish
  zsh   weir completion zsh > "${fpath[1]}/_weir"
`
}

// Run writes the script.
func (c *completionCommand) Run(_ context.Context, s *streams) error {
	text := manual.Completion(c.Shell)
	if c.Words != nil {
		text = strings.Join(append(manual.Complete(manualCommands(), c.Words), ""), "\n")
	}
	_, err := io.WriteString(s.out, text)
	return err
}

// manCommand is the command line of weir man.
type manCommand struct {
	Command string `arg:"optional" help:"The command (default: weir itself)."`
}

// Help is the long help, before the flags.
func (manCommand) Help() string {
	return `The page is written in the language of man:
  weir man load > weir-load.1 && man -l weir-load.1
`
}

// Run writes the page.
func (c *manCommand) Run(_ context.Context, s *streams) error {
	all, text := manualCommands(), ""
	for i := range all {
		if all[i].Name == c.Command {
			text = all[i].Page("weir", moduleVersion())
		}
	}
	switch {
	case c.Command == "":
		text = manual.Overview("weir", moduleVersion(), "try, serve and check rate limits", purpose, all)
	case text == "":
		return usageError{fmt.Errorf("%q is no command: must be one of %s", c.Command, commandNames())}
	}
	_, err := io.WriteString(s.out, text)
	return err
}

// manualCommands are the commands with their flags, for completions and manual pages.
func manualCommands() (all []manual.Command) {
	for _, c := range commands() {
		called := c.make()
		one := manual.Command{Name: c.name, Help: c.help, Long: called.Help()}
		for _, o := range optionsOf(reflect.ValueOf(called).Elem()) {
			_, required := o.tags.Lookup("required")
			values := o.values()
			if c.name == "man" && o.isArgument() {
				values = namesOfCommands()
			}
			if o.isArgument() {
				one.Arguments = append(one.Arguments, manual.Argument{Shown: o.shown(), Help: o.tag("help"), Required: o.tags.Get("arg") != "optional", Values: values})
				continue
			}
			one.Flags = append(one.Flags, manual.Flag{
				Name: o.name, Short: o.tags.Get("short"), Help: o.tag("help"), Placeholder: o.tags.Get("placeholder"), Values: values, Required: required,
			})
		}
		for _, row := range always {
			short, name, _ := strings.Cut(row[0], ", --")
			one.Flags = append(one.Flags, manual.Flag{Name: name, Short: short[1:], Help: row[1]})
		}
		all = append(all, one)
	}
	return all
}

func namesOfCommands() (names []string) {
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}
