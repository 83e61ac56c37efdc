// Command cmd attacks real servers and checks what was charged; see package attack.
// It exits with 1 where a bound is broken, and with 2 where it could not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/weirgo/weir/internal/attack"
)

func main() {
	attack.CallersMain()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	os.Exit(run(ctx))
}

func run(ctx context.Context) int {
	var o attack.Options
	flags := flag.NewFlagSet("attack", flag.ExitOnError)
	list := func(into *[]string) func(string) error {
		return func(text string) error { *into = strings.Split(text, ","); return nil }
	}
	flags.Func("event", "the `names` of events, with commas between them (default all)", list(&o.Events))
	flags.Func("server", "redis, valkey or both (default both)", list(&o.Servers))
	flags.Func("client", "go-redis, valkey-go or both (default both)", list(&o.Clients))
	flags.Float64Var(&o.Seconds, "seconds", 4, "how `long` callers run in each event; some events need longer")
	flags.IntVar(&o.Processes, "processes", 4, "how many processes of callers")
	flags.IntVar(&o.Callers, "callers", 64, "how many callers each process has")
	flags.IntVar(&o.Keys, "keys", 48, "how many keys")
	flags.BoolVar(&o.Double, "double", false, "send each command twice: the run must fail")
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "Usage: attack [flags]\n\n")
		flags.PrintDefaults()
		fmt.Fprintf(flags.Output(), "\nEvents:\n%s", attack.Names())
	}
	_ = flags.Parse(os.Args[1:]) // ExitOnError
	_, err := attack.Run(ctx, os.Stdout, o)
	switch {
	case errors.Is(err, attack.ErrBroken):
		fmt.Fprintln(os.Stderr, err)
		return 1
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}
