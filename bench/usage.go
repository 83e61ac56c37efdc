package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
)

// usage is what a server has spent on calls of scripts, and the time of
// processors: the server's and our own.
type usage struct {
	calls, micros  float64
	server, client float64 // seconds
}

func (u usage) since(before usage) usage {
	return usage{u.calls - before.calls, u.micros - before.micros, u.server - before.server, u.client - before.client}
}

// spent reads the server's own counts: calls of scripts, the time they took, that
// of the commands within included, and the time of the processor.
func spent(tb testing.TB, server *servertest.Server) (u usage) {
	tb.Helper()
	info, _ := server.Do("INFO", "commandstats", "cpu").(string)
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch strings.TrimPrefix(name, "cmdstat_") {
		case "eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro":
			for pair := range strings.SplitSeq(value, ",") {
				switch field, n, _ := strings.Cut(pair, "="); field {
				case "calls":
					u.calls += number(tb, n)
				case "usec":
					u.micros += number(tb, n)
				}
			}
		case "used_cpu_sys", "used_cpu_user":
			u.server += number(tb, value)
		}
	}
	u.client = ownTime(tb)
	return u
}

// ownTime returns the time of processors that this process has used, in seconds.
func ownTime(tb testing.TB) float64 {
	tb.Helper()
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		tb.Fatal(err)
	}
	return float64(own.Utime.Nano()+own.Stime.Nano()) / 1e9
}

func number(tb testing.TB, text string) float64 {
	tb.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}
