package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service"
	"github.com/weirgo/weir/service/config"
)

// serveCommand is the command line of weir serve.
type serveCommand struct {
	Config    *string  `placeholder:"FILE" help:"The configuration, in YAML (default: what WEIR_CONFIG names, or none)."`
	Check     bool     `help:"Check the configuration and the files that it names, say what it means, and serve nothing."`
	GRPC      *string  `name:"grpc" placeholder:"ADDRESS" help:"Where gRPC is served (default 127.0.0.1:8081)."`
	HTTP      *string  `name:"http" placeholder:"ADDRESS" help:"Where HTTP is served (default 127.0.0.1:8080)."`
	Admin     *string  `placeholder:"ADDRESS" help:"Where operators are served (default 127.0.0.1:6070)."`
	Store     *string  `placeholder:"URL" help:"Where states are kept (default memory://)."`
	OnFailure *string  `placeholder:"MODE" help:"What is answered while the server of the store does not: closed, open or local."`
	Policy    *string  `placeholder:"FILE" help:"The policy (default: an example, where there is no configuration)."`
	Insecure  *string  `placeholder:"true" help:"true: listen beyond loopback without auth."`
	Set       []string `placeholder:"FIELD=VALUE" help:"Any other field of the configuration, such as shutdown.drain=10s. Give the flag once for each."`
	Log       string   `default:"text" enum:"text, json" placeholder:"FORMAT" help:"How log lines are written to standard error: text (default) or json."`
	Verbose   bool     `short:"v" help:"Log what is for debugging, too."`
}

// Help is the long help, before the flags.
func (serveCommand) Help() string {
	return `Serves weir.v1.RateLimiter over gRPC and the same over HTTP. Without a configuration it keeps
states in memory, listens on loopback, and has a policy to try:

    weir serve
    curl -d '{"identifier":"me","dimension":"USER","endpoint":"/"}' http://127.0.0.1:8080/api/v1/check

A flag counts more than a variable, and a variable more than the file. The variable of the
field store.url is WEIR_STORE_URL, and so for all fields. SIGHUP reads the configuration
again; what is wrong in it changes nothing. SIGTERM and an interrupt drain: calls that were
accepted are answered. A second one ends immediately.

Exit status: 0 stopped by a signal, or --check found nothing wrong, 2 wrong usage or
configuration, 3 something outside failed, such as the server of the store.

Example: weir serve --store redis://127.0.0.1:6379 --on-failure open --policy policy.yaml
`
}

// source is where the configuration comes from.
func (c *serveCommand) source() (config.Source, error) {
	s := config.Source{Environment: os.Environ(), Flags: map[string]string{}}
	if s.File = os.Getenv(config.FileEnvironment); c.Config != nil {
		s.File = *c.Config
	}
	for path, flag := range map[string]*string{
		"listen.grpc": c.GRPC, "listen.http": c.HTTP, "listen.admin": c.Admin, "store.url": c.Store, "on_failure": c.OnFailure,
		"policy.file": c.Policy, "insecure": c.Insecure,
	} {
		if flag != nil {
			s.Flags[path] = *flag
		}
	}
	for _, set := range c.Set {
		path, text, found := strings.Cut(set, "=")
		if _, twice := s.Flags[path]; !found || twice {
			return s, usageError{fmt.Errorf("--set: %q is not allowed: must be FIELD=VALUE, once for each field", set)}
		}
		s.Flags[path] = text
	}
	return s, nil
}

// load reads the configuration. Without a file and without a policy it has an example.
func (c *serveCommand) load() (*config.Config, []byte, error) {
	s, err := c.source()
	if err != nil {
		return nil, nil, err
	}
	loaded, err := config.Load(s)
	if err != nil {
		return nil, nil, inputError{err}
	}
	if s.File != "" || loaded.Policy.File != "" || !loaded.URL().InMemory() {
		return loaded, nil, nil
	}
	return loaded, service.ExamplePolicy(), nil
}

// headroom is how much garbage a service may have at least before it is collected.
const headroom = 32 << 20

// collectLess returns memory that is never touched, and so takes no space, as long as which is
// kept the heap may grow by headroom before it is collected: a service on a server keeps
// almost nothing, and would otherwise collect every few hundred requests. GOGC and GOMEMLIMIT
// say otherwise.
func collectLess() []byte {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, headroom)
}

// Run serves until it is stopped.
func (c *serveCommand) Run(ctx context.Context, s *streams) error {
	loaded, example, err := c.load()
	if err != nil {
		return err
	}
	text, err := service.Explain(ctx, loaded, &service.Options{Policy: example})
	if err != nil {
		return inputError{err} // it asks for nothing but files
	}
	if c.Check {
		_, err = fmt.Fprint(s.out, text)
		return err
	}
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if c.Verbose {
		options.Level = slog.LevelDebug
	}
	handler := slog.Handler(slog.NewTextHandler(s.err, options))
	if c.Log == "json" {
		handler = slog.NewJSONHandler(s.err, options)
	}
	log := slog.New(handler)
	defer runtime.KeepAlive(collectLess())
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // one that comes during the start ends nothing
	defer signal.Stop(hangup)
	served, err := service.New(ctx, loaded, &service.Options{Logger: log, Policy: example})
	if err != nil {
		return fileError(err)
	}
	_, http, _ := served.Addresses()
	if example != nil {
		log.Info("no configuration: states are in memory, and the policy is an example", "try",
			`curl -d '{"identifier":"me","dimension":"USER","endpoint":"/"}' http://`+http.String()+`/api/v1/check`)
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-hangup:
			}
			next, _, err := c.load()
			if err != nil {
				served.ReloadFailed(err)
				continue
			}
			served.Reload(next) // says itself what is wrong
		}
	}()
	return served.Run(ctx)
}

// fileError is an error of what a configuration names: wrong where a file is, and failed
// where something outside is.
func fileError(err error) error {
	var invalid *policy.InvalidError
	if errors.As(err, &invalid) || errors.Is(err, fs.ErrNotExist) {
		return inputError{err}
	}
	return err
}
