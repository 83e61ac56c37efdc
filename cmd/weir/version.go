package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
)

// versionCommand is the command line of weir version.
type versionCommand struct {
	Verbose bool `short:"v" help:"Show the modules, too, with their versions and checksums."`
}

// Help is the long help, before the flags.
func (versionCommand) Help() string {
	return `Prints the version, the commit and its date, where they are known, and the version of Go.
"modified" says that the program was built from something else than the commit.
`
}

// Run prints it.
func (c *versionCommand) Run(_ context.Context, s *streams) error {
	var b strings.Builder
	fmt.Fprintf(&b, "weir %s\n", moduleVersion())
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	settings := map[string]string{}
	for _, one := range info.Settings {
		settings[one.Key] = one.Value
	}
	if commit := settings["vcs.revision"]; commit != "" {
		if settings["vcs.modified"] == "true" {
			commit += ", modified"
		}
		fmt.Fprintf(t, "commit\t%s\ndate\t%s\n", commit, settings["vcs.time"])
	}
	fmt.Fprintf(t, "go\t%s, %s/%s\n", info.GoVersion, runtime.GOOS, runtime.GOARCH)
	if err := t.Flush(); err != nil {
		return err
	}
	if c.Verbose {
		for _, m := range info.Deps {
			if m.Replace != nil { // by a folder of the repository, which the commit names
				fmt.Fprintf(t, "module\t%s\t(of the commit)\n", m.Path)
				continue
			}
			fmt.Fprintf(t, "module\t%s\t%s\t%s\n", m.Path, m.Version, m.Sum)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

// moduleVersion is the version of the module, or the commit that it was built from.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "(unknown version)"
}
